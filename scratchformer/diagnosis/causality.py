"""What must hold for any causal model, seen from outside: whatever its weights."""

import math

import torch
from torch import Tensor, nn

from scratchformer.diagnosis.attention_trace import attention_of
from scratchformer.diagnosis.case import Case
from scratchformer.diagnosis.probes import copy_of, gap, logits_of
from scratchformer.diagnosis.report import Outcome

SAME = 1e-4  # what rounding may change where the order of operations differs
FELT = 1e-5  # a change beyond rounding where it does not
RESHAPE = "heads split or joined by a bare reshape, without the transpose"


def logits(case: Case) -> Outcome:
    """They are finite numbers, and no probabilities."""
    z = case.logits(case.ids)
    with torch.no_grad():
        unsharpened = logits_of(case.model(case.ids))  # with the weights as they are
    if not (z.isfinite().all() and unsharpened.isfinite().all()):
        closed = "a mask that closes a whole row: softmax of -inf"
        suspects = [closed, "weights that are nan, or too large"]
        return Outcome(False, "some are nan or infinite", suspects)
    ones = bool((z >= 0).all() and (z.sum(dim=-1) - 1).abs().max() < 1e-3)
    measured = f"finite numbers{', which sum to 1' * ones}"
    return Outcome(not ones, measured, ["softmax in the model, and again in the loss"])


def evaluation(case: Case) -> Outcome:
    """The same ids give the same logits again, whatever was read in between."""
    first = case.logits(case.ids)
    case.logits(case.ids[:1, : case.T // 2])
    diff = gap(case.logits(case.ids), first)
    dropout = "dropout active in evaluation: F.dropout without training=self.training"
    suspects = [dropout, "a call leaves a state"]
    return Outcome(diff < FELT, f"the second time differs by {diff:.1g}", suspects)


def rows(case: Case) -> Outcome:
    """A row of a batch does not depend on the others."""
    together = case.logits(case.ids)
    alone = [case.logits(row[None]) for row in case.ids]
    diff = gap(torch.cat(alone), together)
    norm, mixed = "statistics over the batch", "a view, a softmax or a mask that mixes rows"
    return Outcome(diff < SAME, f"rows alone differ by {diff:.1g}", [norm, mixed])


def causality(case: Case) -> Outcome:
    """No logit changes with a later token."""
    leak = case.influence.triu(1).max().item()
    suspects = ["mask missing, turned round, not passed on, or not strong enough"]
    suspects += ["mask applied after the softmax", "softmax over the wrong axis", RESHAPE]
    # (T, T): which later tokens (columns) get a weight in some layer
    attended = [a.weights.flatten(0, -3).amax(dim=0).triu(1) > 0 for a in case.attention]
    if attended and not any(later.any() for later in attended):
        suspects = [RESHAPE, "something computed over time, not over features"]
        suspects += ["a convolution that looks ahead", "a mask inside the chunks of a memory"]
    elif attended and not any(later.triu(2).any() for later in attended):
        suspects = ["mask off by one: each layer sees one token ahead"]
    return Outcome(leak < FELT, f"a later token changes earlier logits by {leak:.1g}", suspects)


def context(case: Case) -> Outcome:
    """Each place feels the tokens before it, as far back everywhere."""
    influence = case.influence.tril()  # (T, T)
    first = int((influence[-1] > FELT / 10).int().argmax())
    back = case.T - first  # of the last place, itself included
    measured = f"the last place looks back {back} of {case.T} tokens"
    if back == 1 != case.given.window:
        return Outcome(False, measured, ["what attention finds is not added to the stream"])
    band = torch.ones_like(influence).tril().triu(1 - back) > 0
    holds = bool((influence[band] > 0).all() and (influence[~band] < FELT / 10).all())
    return Outcome(holds, measured, [RESHAPE])


def prefix(case: Case) -> Outcome:
    """A text's beginning has the same logits alone, whatever its length."""
    T = min(case.context_length, 256)
    ids = case.random_ids(1, T)
    parts = [(n, case.logits(ids[:, :n])) for n in (T // 2, 1, 2, T - 1)]
    all_at_once = case.logits(ids)  # after them: a model may keep what its first call needed
    diff = max(gap(z, all_at_once[:, :n]) for n, z in parts)
    over_time = "something computed over, or counted from, the whole length"
    return Outcome(diff < SAME, f"beginnings alone differ by {diff:.1g}", [over_time, RESHAPE])


def positions(case: Case) -> Outcome:
    """In a text of one repeated token, only positions can tell places, or distances, apart.

    Without absolute positions, scores depend on the distance from key to query, and values on
    nothing.
    """
    if case.given.window == 1:
        return Outcome(None, "a window of 1 has one distance only")
    ids = torch.full_like(case.ids[:1], case.ids[0, 0].item())
    z, layers = case.logits(ids), attention_of(case.sharp, ids)
    absolute = gap(z, z[:, :1].expand_as(z))
    logs = _logs(case.sharp, ids)
    relative = max(map(_largest, logs), default=0.0)
    measured = f"over one repeated token logits differ by {absolute:.1g}, scores by {relative:.1g}"
    if absolute < SAME and relative < 10 * SAME:
        axis = "a rotation along the wrong axis, or of queries or keys alone"
        suspects = ["positions not added, or all the same", axis]
        return Outcome(False if logs else None, measured, suspects)
    v = layers[0].values if layers else None  # (N, T, D)
    if v is not None and gap(v, v[:, :1].expand_as(v)) > SAME:
        products = v @ v.mT  # (N, T, T)
        if _bent(products) < SAME * _largest(products):  # they know distances only: a rotation
            return Outcome(False, measured, ["values turn too: only queries and keys should"])
    bent = max(map(_bent, logs), default=0.0) if absolute < SAME else 0.0
    measured += f", at equal distances by {bent:.1g}"
    if bent < 0.01 or max(map(_bent, _logs(_even_vectors(case.sharp), ids))) > 0.01:
        return Outcome(bent < 0.01, measured, ["queries and keys turn apart"])
    behind = "a norm behind the rotation (harmless): its weights treat the places of a pair apart"
    return Outcome(
        False, f"{measured}, by 0 where a norm's weights are equal", [behind], noted=True
    )


def _logs(model: nn.Module, ids: Tensor) -> list[Tensor]:
    """(…, T, T) for each layer: the log of each weight, less that of the token itself."""
    logs = [a.weights.log() for a in attention_of(model, ids)]
    return [w - w.diagonal(dim1=-2, dim2=-1).unsqueeze(-1) for w in logs]


def _even_vectors(model: nn.Module) -> nn.Module:
    """A copy in which all numbers of a vector, as of a norm's weights, are their mean."""
    copy = copy_of(model)
    for p in copy.parameters():
        if p.dim() == 1:
            p.data = torch.full_like(p, p.mean().item())
    return copy


def _bent(w: Tensor) -> float:
    """How much (…, T, T) changes where the distance from row to column stays the same."""
    return _largest(w[..., 1:, 1:] - w[..., :-1, :-1])


def _largest(w: Tensor) -> float:
    """The largest of the finite numbers."""
    return torch.where(w.isfinite(), w.abs(), 0.0).max().item()


def padding(case: Case) -> Outcome:
    """Padding on the left, where attention could see it, changes no real token's logits."""
    if case.given.padding is None:
        return Outcome(None, "the model shows no way to be told of it: padding=…")
    n, ids = case.T // 3, case.ids[:2]
    real = torch.ones_like(ids, dtype=torch.bool)
    real[0, :n] = False
    with torch.no_grad():
        padded = ids.masked_fill(~real, case.pad_id)
        z = logits_of(case.given.padding(case.sharp, padded, real))[0, n:]
    diff = gap(z, case.logits(ids[:1, n:])[0])
    attended = "padding is attended to: no mask, or one turned round"
    counted = "positions count the padding (harmless if it never stands on the left)"
    if diff > SAME and getattr(case.model, "_is_stateful", False):  # transformers says so
        state = "a state takes in the padding (harmless if it never stands on the left)"
        return Outcome(False, f"behind padding logits differ by {diff:.1g}", [state], noted=True)
    return Outcome(diff < SAME, f"behind padding logits differ by {diff:.1g}", [attended, counted])


def cache(case: Case) -> Outcome:
    """Read in parts, with a cache, a text has the logits of the whole."""
    if case.given.cache is None:
        return Outcome(None, "the model shows none: cache=…")
    T, one_each, other = case.T, [1] * case.T, case.random_ids(3, case.T)
    forgotten, reset = "positions forgotten: each part begins at 0", "not reset: old keys are left"
    others = "keys or states of other tokens", "a window that keeps a token too few or too many"
    ways: list[tuple] = [
        ("token by token", case.ids, one_each, forgotten, *others),
        ("in a second text", other, one_each, reset),
        ("several at once", case.ids, [2, T - 3, 1], "the mask of several new tokens"),
    ]
    if n := next((n for n in (260, 132, 68) if T < n <= case.context_length), 0):
        sizes, lost = [n - 8, *[1] * 8], "a state that is not handed from chunk to chunk"
        ways.insert(2, ("over a chunk's end", case.random_ids(1, n), sizes, lost, *others))
    for what, ids, sizes, *suspects in ways:
        all_at_once = case.logits(ids)
        try:
            with torch.no_grad():
                read = case.given.cache(case.sharp)
                parts = [logits_of(read(p.contiguous())) for p in ids.split(sizes, dim=1)]
            diff = gap(torch.cat(parts, dim=1), all_at_once)
        except NotImplementedError as error:  # the model has another way to keep what it read
            return Outcome(None, str(error))
        except Exception as error:
            what, diff = f"{what} (raised {type(error).__name__}: {error})", math.inf
        if diff > SAME:
            measured = f"{what}, logits differ by {diff:.1g}"
            if what == "several at once" and getattr(case.model, "_is_stateful", False):
                alone = "a state that is read on one token at a time (harmless in generation)"
                return Outcome(False, measured, [alone], noted=True)
            return Outcome(False, measured, suspects)
    return Outcome(True, ", ".join(what for what, *_ in ways))
