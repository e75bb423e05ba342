"""What must hold for any causal model, with any weights, even large random ones.

A test returns whether it holds (None: left out), what it measured, and the mistakes that leave such
a trace. Most look from outside; those called `attention_…` watch the softmaxes inside.
"""

import math

import torch
from torch import Tensor

from scratchformer.diagnosis.case import Case
from scratchformer.diagnosis.probes import attention_of, gap, logits_of

SAME = 1e-4  # what rounding may change where the order of operations differs
FELT = 1e-5  # a change beyond rounding where it does not


def logits(case: Case) -> tuple:
    """They are finite numbers, and no probabilities."""
    z = case.logits(case.ids)
    with torch.no_grad():
        own = logits_of(case.model(case.ids))  # with the weights as they are
    if not (z.isfinite().all() and own.isfinite().all()):
        return False, "some are nan or infinite", "a mask that closes a whole row: softmax of -inf"
    ones = bool((z >= 0).all() and (z.sum(dim=-1) - 1).abs().max() < 1e-3)
    said = f"finite numbers{', which sum to 1' * ones}"
    return not ones, said, "softmax in the model, and again in the loss"


def evaluation(case: Case) -> tuple:
    """The same ids give the same logits again, whatever was read in between."""
    first = case.logits(case.ids)
    case.logits(case.ids[:1, : case.T // 2])
    off = gap(case.logits(case.ids), first)
    dropout = "dropout active in evaluation: F.dropout without training=self.training"
    return off < FELT, f"the second time differs by {off:.1g}", dropout, "a call leaves a state"


def rows(case: Case) -> tuple:
    """A row of a batch does not depend on the others."""
    together = case.logits(case.ids)
    worst = max(
        gap(case.logits(row[None])[0], z) for row, z in zip(case.ids, together, strict=True)
    )
    norm, mixed = "statistics over the batch", "a view, a softmax or a mask that mixes rows"
    return worst < SAME, f"rows alone differ by {worst:.1g}", norm, mixed


def causality(case: Case) -> tuple:
    """No logit changes with a later token."""
    leaks = case.felt.triu(1)
    said = f"a later token changes earlier logits by {leaks.max():.1g}"
    if leaks.max() < FELT:
        return True, said
    axis, late = "softmax over the wrong axis", "mask applied after the softmax"
    missing = "mask missing, turned round, not passed on, or not strong enough"
    if not case.attention:
        return False, said, missing, late, axis
    # (T, T): which later tokens (columns) get a weight in some layer, whose softmax sees them
    seen = torch.stack([s.weights.flatten(0, -3).amax(dim=0) for s in case.attention]).sum(dim=0)
    seen = seen.triu(1) > 0
    if any(s.axis != -1 for s in case.attention):
        return False, said, axis
    if not seen.any():
        reshape = "heads split or joined by a bare reshape, without the transpose"
        return False, said, "a norm or mean over time, not over features", reshape
    if not seen.triu(2).any():
        return False, said, "mask off by one: each layer sees one token ahead"
    if not seen[1:].any():
        return False, said, "mask off by one: the first token may see none, not even itself"
    closed = any(s.used is not None and not s.used.triu(1).any() for s in case.attention)
    return False, said, *((late,) if closed else (missing, axis))


def context(case: Case) -> tuple:
    """Each place feels the tokens before it, as far back everywhere."""
    felt = case.felt.tril()  # (T, T)
    back = case.T - int((felt[-1] > FELT / 10).int().argmax())  # of the last place, itself included
    said = f"the last place looks back {back} of {case.T} tokens"
    if back == 1 != case.given.window:
        return False, said, "what attention finds is not added to the stream"
    band = torch.ones_like(felt).tril().triu(1 - back) > 0
    uniform = bool((felt[band] > 0).all() and (felt[~band] < FELT / 10).all())
    return uniform, said, "heads split by a bare reshape, without the transpose: time and heads mix"


def prefix(case: Case) -> tuple:
    """A text's beginning has the same logits alone, whatever its length."""
    T = min(case.context_length, 256)
    ids = case.random_ids(1, T)
    parts = [(n, case.logits(ids[:, :n])) for n in (T // 2, 1, 2, T - 1)]
    whole = case.logits(ids)  # after them: a model may keep what its first call needed
    worst = max(gap(z, whole[:, :n]) for n, z in parts)
    reshape = "heads split or joined by a bare reshape, without the transpose"
    over_time = "something computed over the whole length, as a norm over time"
    return worst < SAME, f"beginnings alone differ by {worst:.1g}", reshape, over_time


def positions(case: Case) -> tuple:
    """In a text of one repeated token, only positions can tell places, or distances, apart."""
    if case.given.window == 1 and case.given.positions:
        return None, "a window of 1 has one distance only"
    ids = torch.full_like(case.ids[:1], case.ids[0, 0].item())
    z = case.logits(ids)
    absolute = gap(z, z[:, :1].expand_as(z))
    # (…, T, T): the log of each weight, less that of the token itself
    logs = [s.weights.log() for s in attention_of(case.sharp, ids)]
    logs = [w - w.diagonal(dim1=-2, dim2=-1).unsqueeze(-1) for w in logs]
    relative = max([_largest(w) for w in logs], default=0.0)
    said = f"over one repeated token logits differ by {absolute:.1g}, scores by {relative:.1g}"
    used = absolute > SAME or relative > 10 * SAME
    if not case.given.positions:
        return not used, said, "positions are used after all"
    if not used:
        axis = "a rotation along the wrong axis, or of queries or keys alone"
        return False if logs else None, said, "positions not added, or all the same", axis
    # Where logits do not differ, nothing but the distance from key to query may count.
    steps = [w[..., 1:, 1:] - w[..., :-1, :-1] for w in logs if absolute < SAME]
    bent = max(map(_largest, steps), default=0.0)
    return bent < 0.01, f"{said}, at equal distances by {bent:.1g}", "queries and keys turn apart"


def _largest(w: Tensor) -> float:
    """The largest of the finite numbers."""
    return torch.where(w.isfinite(), w.abs(), 0.0).max().item()


def attention_axis(case: Case) -> tuple:
    """A query's weights sum to 1 over the keys, where they multiply the values too."""
    if not case.attention:
        return None, "no softmax over scores (T, T) was seen"
    sums = [(s.weights if s.used is None else s.used).sum(dim=-1) for s in case.attention]
    worst = max((t - 1)[t != 0].abs().max().item() for t in sums)  # 0: sees nothing
    axes = {s.axis for s in case.attention}
    said = f"the softmax runs over axis {axes}; weights miss a sum of 1 by {worst:.1g}"
    if axes != {-1}:
        return False, said, "softmax over the wrong axis: expected -1"
    return worst < SAME, said, "mask applied after the softmax", "dropout in evaluation"


def attention_scale(case: Case) -> tuple:
    """Scores are divided by √D, or scaled by another number of one's own."""
    seen = [(s, s.width) for s in case.attention if s.width]
    bare = sorted({width for s, width in seen if s.scale is None})
    said = "scores are multiplied by " + ", ".join({f"{s.scale or 1:.3g}" for s, _ in seen})
    if bare:
        wide = f"scores not divided by √D, with heads {bare} wide: the softmax saturates"
        return False, said, wide
    wrong = "scores divided by √d_model, not by a head's √D"
    heads = [(s, s.weights.shape[-3] * width) for s, width in seen if s.weights.dim() > 3]
    of_all = [s for s, C in heads if s.width != C and abs((s.scale or 1) * C**0.5 - 1) < 0.01]
    return not of_all if seen else None, said, wrong


def attention_span(case: Case) -> tuple:
    """A query may attend to its own token, and to as many in all as a window says."""
    if not case.attention:
        return None, "no softmax over scores (T, T) was seen"
    flat = [s.weights.flatten(0, -3) for s in case.attention]
    own = min(w.diagonal(dim1=1, dim2=2)[:, 1:].max().item() for w in flat)
    spans, window = {int((w[:, -1] > 0).sum(dim=-1).max()) for w in flat}, case.given.window
    said = f"layers see {sorted(spans)} of {case.T} tokens"
    if own == 0:
        return False, said, "mask off by one: tril(-1) closes the token itself"
    if window is None or window >= case.T:
        return True, said
    said, forgotten = f"{said}, window={window} counts the token itself", "window not applied"
    ok = window in spans and spans <= {window, case.T}
    return ok, said, *(["window off by one"] if spans != {case.T} else []), forgotten


def padding(case: Case) -> tuple:
    """Padding on the left, where attention could see it, changes no real token's logits."""
    if case.given.padding is None:
        return None, "the model shows no way to be told of it: padding=…"
    n, ids, found, pad = case.T // 3, case.ids[:2], [], case.given.pad_id
    real = torch.ones_like(ids, dtype=torch.bool)
    real[0, :n] = False
    for token in (0, 1) if pad is None else (max(pad, 0),):
        with torch.no_grad():
            output = case.given.padding(case.sharp, ids.masked_fill(~real, token), real)
        found.append(logits_of(output)[0, n:])
    attended, alone = gap(found[0], found[-1]), gap(found[0], case.logits(ids[:1, n:])[0])
    said = f"other padding changes logits by {attended:.1g}, padding at all by {alone:.1g}"
    suspects = ["padding is attended to: no mask, or one turned round"]
    if attended < SAME:
        suspects.insert(0, "positions count the padding (harmless if it never stands on the left)")
    return max(attended, alone) < SAME, said, *suspects


def cache(case: Case) -> tuple:
    """Read in parts, with a cache, a text has the logits of the whole."""
    if case.given.cache is None:
        return None, "the model shows none: cache=…"

    errors = []

    def off(ids: Tensor, *sizes: int) -> list[float]:
        """How much the logits of each part differ from those of the whole."""
        whole = case.logits(ids).split(sizes, dim=1)
        try:
            with torch.no_grad():
                read = case.given.cache(case.sharp)
                parts = [logits_of(read(part)) for part in ids.split(sizes, dim=1)]
            return [gap(a, b) for a, b in zip(parts, whole, strict=True)]
        except Exception as error:
            errors.append(f"; raised {type(error).__name__}: {error}")
            return [math.inf]

    T = case.T
    single, again = off(case.ids, *[1] * T), off(case.random_ids(3, T), *[1] * T)
    several = off(case.ids, 2, T - 3, 1)
    a, b, c = worst = max(single), max(again), max(several)
    said = f"logits differ by {a:.1g} token by token, by {b:.1g} in a second text, and by {c:.1g} "
    said += f"for several tokens at once{''.join(errors[:1])}"
    if a > SAME:
        suspects = ["positions forgotten: each part begins at 0", "keys or values of other tokens"]
        if max(single[:2]) < SAME:
            suspects = ["a window that keeps a token too few or too many", *suspects]
        return False, said, *suspects
    if b > SAME:
        return False, said, "not reset: a second text finds the first one's keys"
    mask = "the mask of several new tokens: missing, or its corner at the first key"
    return max(worst) < SAME, said, mask
