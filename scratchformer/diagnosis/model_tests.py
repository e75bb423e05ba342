"""`diagnose`: what must hold for any causal language model, each test a function of a case.

A test returns whether it holds (None: left out), what it measured, and the mistakes that leave such
a trace. Most run on a copy with large random weights, `case.sharp`, where faults show that small
weights hide. They look from outside; those called `attention_…` watch the softmaxes inside.

No such test sees what is another architecture rather than a broken one: queries and keys
exchanged, shared heads repeated in another order, a forgotten activation, residual or last norm,
another base of a rotation, a norm written out inside a block. For these, copy the weights into a
second implementation and compare. Nor does a test see that training goes badly.
"""

import math
from collections.abc import Callable, Iterable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from scratchformer.diagnosis.case import Case, seeded, sizes_of
from scratchformer.diagnosis.norm_formulas import norm_faults
from scratchformer.diagnosis.probes import (
    attention_of,
    cache_of,
    copy_of,
    gap,
    logits_of,
    mean_loss,
    padding_of,
)
from scratchformer.diagnosis.report import Report, run_tests
from scratchformer.diagnosis.target_tests import batches_differ, padded_targets, targets

SAME = 1e-4  # what rounding may change where the order of operations differs
FELT = 1e-5  # a change beyond rounding where it does not


def diagnose(
    model: nn.Module,
    vocab_size: int | None = None,
    context_length: int | None = None,
    *,
    cache: Callable | None = None,
    padding: Callable | None = None,
    pad_id: int | None = None,
    window: int | None = None,
    positions: bool = True,
    loss: Callable | None = None,
    batches: Iterable[tuple[Tensor, Tensor]] = (),
    tokens: Tensor | None = None,
) -> Report:
    """Test a causal model, ids (B, T) -> logits (B, T, V); what is not given is found or left out.

    `cache(model)` begins a text and returns a function from its next ids to their logits;
    `padding(model, ids, real)` calls the model, told by `real` (B, T) which tokens are real. Both
    are found for models of this package and of transformers. `pad_id` is the id that stands for
    padding, in targets too. `window` says how many tokens a layer sees, and `positions=False` that
    order is not meant to count.

    `loss(logits, y)` or `loss(model, x, y)` is a mean, or a sum and a count; `batches` are pairs
    (x, y) as in training, of which two are taken; `tokens` is the text that they are cut from.

    The model stays as it is, and so does torch's random state: all runs on copies. Raises TypeError
    for what is no module, and ValueError for sizes that do not fit or a model that has no copy.
    """
    V, length = sizes_of(model, vocab_size, context_length)
    config = getattr(model, "config", None)
    window = window or getattr(config, "window", None) or getattr(config, "sliding_window", None)
    with seeded(model):
        pairs = [pair for pair, _ in zip(batches, range(2), strict=False)]
        for shapes in [[tuple(t.shape) for t in pair] for pair in pairs]:
            if len(shapes) != 2 or shapes[0] != shapes[1] or len(shapes[0]) != 2:
                raise ValueError(f"a batch has shapes {shapes}, expected x and y, (B, T) each")
        given = {"cache": cache or cache_of(model), "padding": padding or padding_of(model)}
        given |= {"pad_id": pad_id, "window": window, "positions": positions}
        case = Case(model, V, length, loss=loss, batches=pairs, tokens=tokens, **given)
        return run_tests(TESTS, case, AFTER)


def logits(case: Case) -> tuple:
    """They are finite numbers, and no probabilities."""
    z = case.logits(case.ids)
    if not z.isfinite().all():
        return False, "some are nan or infinite", "a mask that closes a whole row: softmax of -inf"
    ones = bool((z >= 0).all() and (z.sum(dim=-1) - 1).abs().max() < 1e-3)
    said = f"finite numbers{', which sum to 1' * ones}"
    return not ones, said, "softmax in the model, and again in the loss"


def causality(case: Case) -> tuple:
    """No logit changes with a later token."""
    leaks = case.felt.triu(1)
    places, later = (leaks > FELT).nonzero(as_tuple=True)
    if not len(places):
        return True, f"a later token changes earlier logits by {leaks.max():.0e}"
    ahead = int((later - places).max())
    said = f"a later token changes logits up to {ahead} places earlier, by {leaks.max():.1g}"
    if places.max() == 0:
        return False, said, "mask off by one: a token does not see itself, the first sees nothing"
    if ahead <= case.T // 2:
        return False, said, "mask off by one: each layer sees one token ahead"
    axis, late = "softmax over the wrong axis", "mask applied after the softmax"
    if any(s.axis != -1 for s in case.attention):
        return False, said, axis
    if case.attention and not any(s.weights.triu(1).any() for s in case.attention):
        reshape = "heads joined by a bare reshape, without the transpose"
        return False, said, "a norm or mean over time, not over features", reshape
    closed = any(s.used is not None and not s.used.triu(1).any() for s in case.attention)
    missing = "mask missing, turned round, not passed on, or not strong enough"
    return False, said, *((late,) if closed else (missing, axis))


def context(case: Case) -> tuple:
    """Each place feels the tokens before it, as far back everywhere."""
    felt = case.felt.tril() > FELT / 10  # (T, T)
    back = [t + 1 - int(row.int().argmax()) for t, row in enumerate(felt)]  # itself included
    said = f"the last place looks back {back[-1]} of {case.T} tokens"
    if back[-1] == 1 != case.given.window:
        return False, said, "what attention finds is not added to the stream"
    uniform = [min(t + 1, back[-1]) for t in range(case.T)]
    holes = "heads split by a bare reshape, without the transpose: time and heads mix"
    return felt.sum(dim=1).tolist() == uniform == back, said, holes


def prefix(case: Case) -> tuple:
    """A text's beginning has the same logits alone, whatever its length."""
    T = min(case.context_length, 48)
    ids, worst = case.random_ids(1, T), []
    parts = [(n, case.logits(ids[:, :n])) for n in (T // 2, 1, 2, T - 1)]
    whole = case.logits(ids)  # after them: a model may keep what its first call needed
    worst = max(gap(z, whole[:, :n]) for n, z in parts)
    reshape = "heads split or joined by a bare reshape, without the transpose"
    over_time = "something computed over the whole length, as a norm over time"
    return worst < SAME, f"beginnings alone differ by {worst:.1g}", reshape, over_time


def rows(case: Case) -> tuple:
    """A row of a batch does not depend on the others."""
    together = case.logits(case.ids)
    worst = max(
        gap(case.logits(row[None])[0], z) for row, z in zip(case.ids, together, strict=True)
    )
    norm, mixed = "statistics over the batch", "a view, a softmax or a mask that mixes rows"
    return worst < SAME, f"rows alone differ by {worst:.1g}", norm, mixed


def evaluation(case: Case) -> tuple:
    """The same ids give the same logits again, whatever was read in between."""
    first = case.logits(case.ids)
    case.logits(case.ids[:1, : case.T // 2])
    off = gap(case.logits(case.ids), first)
    dropout = "dropout active in evaluation: F.dropout without training=self.training"
    return off < FELT, f"the second time differs by {off:.1g}", dropout, "a call leaves a state"


def positions(case: Case) -> tuple:
    """In a text of one repeated token, only positions can tell places, or distances, apart."""
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
    """A query's weights sum to 1 over the keys, and so they multiply the values."""
    if not case.attention:
        return None, "no softmax over scores (T, T) was seen"
    sums = [s.weights.sum(dim=-1) for s in case.attention]
    worst = max(torch.where(t == 0, 0.0, t - 1).abs().max().item() for t in sums)  # 0: sees nothing
    changed = max([gap(s.used, s.weights) for s in case.attention if s.used is not None], default=0)
    axis = {s.axis for s in case.attention}
    said = f"weights miss a sum of 1 by {worst:.1g}, and change by {changed:.1g} before the values"
    if max(worst, changed) < SAME and axis == {-1}:
        return True, said
    late, dropout = "mask applied after the softmax", "dropout on weights, in evaluation too"
    wrong = f"softmax over the wrong axis: {axis}, expected -1"
    return False, said, *((late, dropout) if axis == {-1} else (wrong,))


def attention_scale(case: Case) -> tuple:
    """Scores are divided by √D, or scaled by another number."""
    seen = [s for s in case.attention if s.width]
    bare = sorted({s.width for s in seen if s.width and not s.scaled})
    said = f"a number scales the scores of {sum(s.scaled for s in seen)} softmaxes of {len(seen)}"
    wide = f"scores not divided by √D, with heads {bare} wide: the softmax saturates"
    return not bare if seen else None, said, wide


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


def norms(case: Case) -> tuple:
    """A norm divides by the statistics of one token's features, by the usual formula."""
    checked, wrong = norm_faults(case.sharp, case.ids)
    said = ", ".join([f"{checked} kinds", *(f"{name} is wrong" for name, _ in wrong)])
    return not wrong if checked else None, said, *(fault for _, fault in wrong)


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

    def off(ids: Tensor, *sizes: int) -> list[float]:
        """How much the logits of each part differ from those of the whole."""
        read, whole = case.given.cache(case.sharp), case.logits(ids).split(sizes, dim=1)
        with torch.no_grad():
            parts = [logits_of(read(part)) for part in ids.split(sizes, dim=1)]
        return [gap(a, b) for a, b in zip(parts, whole, strict=True)]

    T, half = case.T, case.T // 2
    single, again = off(case.ids, *[1] * T), off(case.random_ids(3, T), *[1] * T)
    several = off(case.ids, 2, half - 1, 1, T - half - 2)
    worst = [max(single), max(again), max(several)]
    said = "token by token {:.1g}, a second text {:.1g}, several tokens at once {:.1g}".format(
        *worst
    )
    begin = "positions forgotten: each part begins at 0"
    window = "a window that keeps a token too few or too many"
    reset = "not reset: a second text finds the first one's keys"
    mask = "the mask of several new tokens: missing, or its corner at the first key"
    suspects = (begin, window) if worst[0] > SAME else (reset,) if worst[1] > SAME else (mask,)
    return max(worst) < SAME, f"logits differ by: {said}", *suspects


def initial_loss(case: Case) -> tuple:
    """An untrained model, and any on its own text, is no worse than guessing."""
    scales = [p for p in case.model.parameters() if p.dim() == 1 and p.mean() > 0.5]  # of norms
    fresh = scales and all((p == 1).all() for p in scales)
    if not case.given.batches and not fresh:
        return None, "it seems trained: give batches=… of its text"
    with torch.no_grad():
        nats = float(mean_loss(case.given.loss, case.model, *case.batch()))
    guess = math.log(case.vocab_size)
    large = "weights too large at the start, as an embedding's 1.0 in a tied head"
    other = "batches or ids of another tokenizer"
    said = f"{nats:.2f} nats a token; guessing costs ln V = {guess:.2f}"
    return nats < guess + 0.7, said, large, other


def overfitting(case: Case) -> tuple:
    """A short text can be learned by heart."""
    n = min(16, case.vocab_size - 1, case.context_length)
    order, first, best = torch.randperm(case.vocab_size).to(case.ids), 0.0, math.inf
    for lr in (5e-3, 5e-2):  # the second for tables that are all there is
        model = copy_of(case.model)
        optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=lr)
        for step in range(80):
            loss = F.cross_entropy(logits_of(model(order[None, :n]))[0], order[1 : n + 1])
            best, first = min(best, loss.item()), first if step else loss.item()
            if best < 0.2 * math.log(case.vocab_size):
                return True, f"{n} tokens: from {first:.2f} to {best:.2f} nats in {step} steps"
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    again = "softmax in the model, and again in the loss"
    return False, f"{n} tokens: no better than {best:.2f} nats", again, "gradients are cut off"


def gradients(case: Case) -> tuple:
    """The loss reaches every weight, and the model lists every weight that it reaches."""
    own = {n: p for n, p in case.sharp.named_parameters() if p.requires_grad}
    loss = mean_loss(None, case.sharp, *case.batch())
    leaves, seen, nodes = [], set(), [loss.grad_fn]
    while nodes:
        node = nodes.pop()
        if node is not None and node not in seen:
            seen.add(node)
            leaves += [node.variable] if hasattr(node, "variable") else []
            nodes += [next_node for next_node, _ in node.next_functions]
    strangers = {id(leaf) for leaf in leaves} - {id(p) for p in own.values()}
    if strangers:
        said = f"{len(strangers)} tensors that learn are missing in parameters()"
        return False, said, "layers in a plain list: nn.ModuleList registers them"
    grads = torch.autograd.grad(loss, list(own.values()), allow_unused=True)
    dead = [n for n, g in zip(own, grads, strict=True) if g is None or not g.any()]
    said = ", ".join([f"{len(own) - len(dead)} of {len(own)} tensors get one", *dead[:4]])
    return not dead, said, "not used in forward", "cut off by detach(), .data or no_grad"


def shared_weights(case: Case) -> tuple:
    """Table and head are one weight or two, never two copies; and blocks are not one block."""
    names: dict[Tensor, list[str]] = {}
    for name, p in case.model.named_parameters(remove_duplicate=False):
        names.setdefault(p, []).append(name)
    tables = [p for p in names if p.dim() == 2 and case.vocab_size in p.shape]
    blocks = [n for p, n in names.items() if len(n) > 1 and case.vocab_size not in p.shape]
    if blocks:
        return False, f"{blocks[0][0]} is {blocks[0][1]}", "[Block()] * n: one block, n times"
    pairs = [(p, q) for i, p in enumerate(tables) for q in tables[:i] if p.shape == q.shape]
    for p, q in pairs:
        if torch.equal(p, q) and p.std() > 0:
            said = f"{names[q][0]} and {names[p][0]} are equal, but two weights"
            return False, said, "tied by a copy: they part at the first step"
    config = getattr(case.model, "config", None)
    tied = getattr(config, "tied", getattr(config, "tie_word_embeddings", False))
    lost = bool(tied) and all(len(names[p]) == 1 for p in tables)
    said = f"{sum(len(n) > 1 for n in names.values())} shared{', expected one' * lost}"
    return not lost, said, "the tie was lost in a copy, or forgotten"


def saved(case: Case) -> tuple:
    """Another model that loads its weights computes the same."""
    try:
        other = type(case.sharp)(case.sharp.config)
    except Exception:
        return None, "no other can be built from its config alone"
    other.to(case.ids.device).eval().load_state_dict(case.sharp.state_dict())
    with torch.no_grad():
        off = gap(logits_of(other(case.ids)), case.logits(case.ids))
    lost = "a tensor that is no parameter and no buffer"
    return off < SAME, f"saved and loaded, logits differ by {off:.1g}", lost


TESTS = (logits, evaluation, rows, causality, context, prefix, positions, padding, cache)
TESTS += (attention_axis, attention_scale, attention_span, norms, initial_loss, overfitting)
TESTS += (gradients, shared_weights, saved, targets, padded_targets, batches_differ)
# A test means something if another holds: a dropout in evaluation, say, would fail them all.
AFTER = dict.fromkeys((test.__name__.replace("_", " ") for test in TESTS[1:]), "logits")
AFTER |= {"rows": "evaluation", "causality": "rows", "context": "causality", "prefix": "context"}
AFTER |= dict.fromkeys(("positions", "padding", "cache", "saved"), "prefix")
