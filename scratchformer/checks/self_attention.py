"""Checks for the exercises of chapter 5, self-attention."""

import math

import torch
from torch import Tensor

from scratchformer.checks.first_edition import Call, Wrong, exercise, expect

HARD = "Each query takes the value of its best key alone: a hard look-up. Softmax makes it soft"


def _random(seed: int, *shapes: tuple[int, ...]) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(*shape, generator=generator) for shape in shapes]


def _scale_fault(factor: float, width: int, keys: int) -> str:
    """What was done to the scores instead of dividing q·k by √d_k: `factor` times too large."""
    root = math.sqrt(width)
    known = [
        (root, "the scores were not divided by √d_k"),
        (width, "the scores were multiplied by √d_k, not divided"),
        (1 / root, "the scores were divided by d_k, not by its square root"),
        (root / math.sqrt(keys), "the scores were divided by the root of the number of keys"),
        (root / keys, "the scores were divided by the number of keys"),
    ]
    for wrong, why in known:
        if math.isclose(factor, wrong, rel_tol=1e-2):
            return why
    if factor < 0:
        return "the scores have the wrong sign: the least similar key weighs most"
    return f"the scores are {factor:.2g} times as large as q·k / √d_k"


@exercise("5.1", "query, keys, values")
def soft_lookup(call: Call) -> None:
    """soft_lookup(query: (D,), keys: (T, D), values: (T, E)) -> (E,), softmax of dot products"""
    query, keys, values = _random(1, (2,), (4, 2), (4, 3))
    scores = keys @ query
    weights = scores.softmax(0)
    call(query, keys, values).gives(
        weights @ values,
        (values[scores.argmax()], HARD),
        (values.mean(0), "All values weigh the same: the query is not used"),
        (scores @ values, "The scores themselves are the weights: softmax is missing"),
        (scores / scores.sum() @ values, "Scores can be negative: softmax, not score / sum"),
        (weights, "These are the weights: mix the values with them"),
        (weights @ keys, "The keys are mixed: they only decide the weights of the values"),
        ((-scores).softmax(0) @ values, "The sign is wrong: the least similar key weighs most"),
        ((scores / math.sqrt(2)).softmax(0) @ values, "No division by √D yet: plain dot products"),
        (weights.view(-1, 1) * values, "The weighted values are still apart: add them up"),
        ((weights @ values) / 4, "The weights sum to 1 already: do not divide by their number"),
    )
    query, keys, values = _random(2, (3,), (1, 3), (1, 2))
    call(query, keys, values).gives(values[0])  # one key: its value, whatever the score


@exercise("5.2", "q, k")
def scaled_scores(call: Call) -> str:
    """scaled_scores(q: (T, D), k: (S, D)) -> (T, S), q·k / √D"""
    for T, S, D in ((30, 50, 16), (3, 4, 2)):
        q, k = _random(6, (T, D), (S, D))
        right = q @ k.T / math.sqrt(D)
        got = call(q, k).like(right)
        swapped = "Row i belongs to query i, column j to key j: yours is the transpose."
        expect(got.shape != right.T.shape, swapped)
        if got.shape == right.shape:
            sums = got.double().sum(1)
            weights = bool((got >= 0).all()) and sums.allclose(torch.ones_like(sums), atol=1e-4)
            expect(not weights, "Each row sums to 1: return the scores, before the softmax.")
            factor = float((got * right).sum() / right.square().sum())
            if abs(factor - 1) > 1e-3 and got.allclose(factor * right, atol=1e-3):
                why = _scale_fault(factor, D, S)
                variance = f"their variance is {got.var():.3g}, about 1 is expected"
                expect(False, f"The shape is right, but {why}: {variance}.")
        call.gives(right)
        if D == 16:
            praise = f"`scaled_scores` is right: at width 16 the variance is {got.var():.2g}."
    return praise


@exercise("5.3", "scores")
def softmax_rows(call: Call) -> None:
    """softmax_rows(scores: (..., T, S)) -> (..., T, S), each row positive with sum 1"""
    (scores,) = _random(3, (3, 4))
    e = scores.exp()
    call(scores).gives(
        scores.softmax(1),
        (scores.softmax(0), "Each column sums to 1, but each row must: one row is one query"),
        (e / e.sum(), "The whole matrix sums to 1, but each row must"),
        (scores / scores.sum(1, keepdim=True), "The exponential is missing"),
        (e, "The rows do not sum to 1 yet: divide each by its sum"),
        (scores.log_softmax(1), "These are logarithms of weights: no logarithm here"),
        (scores.sigmoid(), "Sigmoid looks at each score alone: the rows do not sum to 1"),
        (
            torch.nn.functional.one_hot(scores.argmax(1), 4).float(),
            "The largest score of each row takes all: a hard maximum, with no gradient",
        ),
        (RuntimeError, "`sum(dim=-1)` drops the axis: `keepdim=True` keeps it for the division"),
    )
    (scores,) = _random(4, (2, 3, 4))
    last = "`dim={}` is the last axis of a matrix only: `dim=-1` is the last of any tensor"
    call(scores).gives(scores.softmax(-1), *((scores.softmax(d), last.format(d)) for d in (0, 1)))
    overflow = "`exp(1000)` is more than a float can hold: subtract each row's maximum first"
    nans = torch.tensor([[math.nan, 0.0], [math.nan, math.nan]])
    call(torch.tensor([[1000.0, 0.0], [999.0, 999.0]])).gives(
        torch.tensor([[1.0, 0.0], [0.5, 0.5]]),
        *((wrong, overflow) for wrong in (nans, torch.full((2, 2), math.nan))),
    )
    call(torch.tensor([[1000.0, 1000.0], [-1000.0, -1000.0]])).gives(
        torch.full((2, 2), 0.5),
        (torch.full((2, 2), math.nan), overflow),
        (
            torch.tensor([[0.5, 0.5], [math.nan, math.nan]]),
            "The maximum of the whole matrix is subtracted: each row needs its own",
        ),
    )


@exercise("5.4", "q, k, v")
def attention(call: Call) -> str:
    """attention(q: (..., T, D), k: (..., S, D), v: (..., S, E)) -> (values, weights)"""
    cases = [_random(5, (7, 16), (9, 16), (9, 5)), _random(8, (2, 3, 4), (2, 5, 4), (2, 5, 2))]
    # Scores of exactly 0, and keys as many as queries: nothing may be hidden here either.
    corners = torch.tensor([[1, 1, 0, 0], [0, 1, 1, 0], [0, 1, 0, 1], [1, 0, 0, 1.0]])
    cases.append([corners, torch.eye(4), _random(9, (4, 3))[0]])
    for q, k, v in cases:
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        weights = scores.softmax(-1)
        right = (weights @ v, weights)
        if isinstance(call(q, k, v).error, RuntimeError) and q.dim() == 3:
            raise Wrong(f"On a batch, `k.mT` swaps the last two axes alone.\n{call.failure()}")
        values, got = call.like(right)
        swapped = values.shape == weights.shape != right[0].shape
        expect(not swapped, "The two are swapped: the mixed values first, then the weights.")
        if got.shape == weights.shape and got.isfinite().all():
            _examine_weights(got.double(), scores.double(), q.shape[-1])
        mean = v.mean(-2, keepdim=True).expand_as(right[0])
        call.gives(
            right,
            ((mean, weights), "The weights are right, but the values are a plain mean of `v`"),
            ((weights @ k, weights), "The weights are right, but they mix the keys: mix `v`"),
            ((scores @ v, weights), "The values are mixed with the scores, not the weights"),
        )
    return "Scores, scale, softmax and mixture are right, also on a batch."


def _examine_weights(got: Tensor, scores: Tensor, width: int) -> None:
    """Say what was done to the scores (..., T, S) to get these weights."""
    weights, ones = scores.softmax(-1), torch.ones((), dtype=torch.double)
    if got.allclose(weights, atol=1e-4):
        return
    sums = got.sum(-1)
    if not sums.allclose(ones, atol=1e-3) or (got < 0).any():
        columns = got.sum(-2)
        over = got.dim() > 2 and got.sum(0).allclose(ones, atol=1e-3)
        why = "Each column sums to 1, not each row: softmax runs over the keys, `dim=-1`."
        expect(not (columns.allclose(ones, atol=1e-3) or over), why)
        expect(not got.allclose(scores, atol=1e-3), "These weights are scores: softmax is missing.")
        row = f"The first row of weights sums to {sums.flatten()[0]:.3g}, but 1 is expected."
        expect(False, row)
    flat = got.max() - got.min() < 1e-4
    expect(not flat, "All weights are equal: the queries and keys are not used.")
    hidden = got == 0
    if hidden.any():
        expect(not got.max(-1).values.allclose(ones, atol=1e-3), f"{HARD}.")
        later = torch.ones_like(hidden).triu(1)
        count = f"{int(hidden.sum())} of {hidden.numel()} weights are 0, but nothing is masked here"
        expect(not hidden.equal(later), f"{count}: these are the later positions, a causal mask.")
        expect(False, f"{count}: scores are dropped by their value, so the mask depends on data.")
    # ln of a softmax is its scores, up to a constant in each row.
    came, true = (x - x.mean(-1, keepdim=True) for x in (got.log(), scores))
    factor = float((came * true).sum() / true.square().sum())
    if came.allclose(factor * true, atol=1e-2 * abs(factor)):
        variance = came.square().sum() / (came.numel() - sums.numel())
        expected = true.square().sum() / (came.numel() - sums.numel())
        why = _scale_fault(factor, width, got.shape[-1])
        figures = f"their variance is {variance:.3g}, {expected:.2g} is expected"
        expect(False, f"Each row sums to 1, but {why}: {figures}.")


@exercise("5.5", "scores, limit")
def vanishing_scale(call: Call) -> str:
    """vanishing_scale(scores: (S,), limit) -> the smallest whole factor ≥ 1 that kills the gradient

    Killed: no entry of the Jacobian of softmax at factor × scores exceeds `limit`.
    """

    def slope(factor: int) -> float:
        w = (factor * scores.double()).softmax(0)
        return float((w.diag() - w.outer(w)).abs().max())

    for scores, limit in (
        (torch.tensor([0.5, -1.0, 0.2, 1.5]), 0.01),
        (torch.tensor([1.0, 1.3, -0.4, 0.1, -2.0]), 0.001),
        (torch.tensor([3.0, -3.0]), 0.1),
    ):
        factor = call(scores, limit).like(1)
        expect(factor >= 1, f"The factor is a whole number from 1 on, but `{call}` is {factor}.")
        alive = f"At the factor {factor} a gradient of {slope(factor):.2g} is left, above {limit:g}"
        expect(slope(factor) <= limit, f"{alive}: a larger factor is needed.")
        if factor > 1 and slope(factor - 1) <= limit:
            first = next(f for f in range(1, factor) if slope(f) <= limit)
            expect(False, f"{factor} kills it, but {first} is enough: return the smallest.")
        if limit == 0.01:
            praise = f"At a factor of {factor} this softmax has stopped learning."
    return praise
