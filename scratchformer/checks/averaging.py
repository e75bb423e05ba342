"""Checks for the exercises of chapter 4, averaging the past."""

import math

import torch

from scratchformer.checks.engine import Call, exercise, expect

FUTURE = "Position t takes in positions after it: it may use 0 … t, no more"


@exercise("4.1", "x")
def running_mean(call: Call) -> None:
    """running_mean(x: (T, C)) -> (T, C), row t the mean of rows 0 … t"""
    x = torch.tensor([[1.0, 6.0], [3.0, 2.0], [8.0, 1.0], [0.0, 5.0]])
    T = len(x)
    count = torch.arange(1, T + 1).view(-1, 1)
    right = x.cumsum(0) / count
    past_only = torch.cat((torch.zeros(1, 2), right[:-1]))
    no_past = torch.cat((torch.full((1, 2), math.nan), right[:-1]))
    itself = "Position t leaves itself out: rows 0 to t, and t belongs to them (`x[: t + 1]`)"
    call(x).gives(
        right,
        (past_only, itself),
        (no_past, itself),
        (x.cumsum(0), "These are sums: divide row t by t + 1"),
        (x.cumsum(0) / T, "Every row is divided by T: row t has t + 1 rows behind it"),
        (x.cumsum(0) / (count - 1), "Row t is divided by t, but rows 0 … t are t + 1"),
        (x.mean(0).expand(T, 2), f"All rows are the mean of everything. {FUTURE}"),
        (right.flip(0), "The rows are in reverse order"),
        (x.flip(0).cumsum(0).flip(0) / count.flip(0), f"The mean runs backwards. {FUTURE}"),
        (
            x.cumsum(1) / torch.tensor([1, 2]),
            "The mean runs along the channels: axis 0 is time",
        ),
        (right[-1], "Only the last row came back: one mean for each position"),
        ((x + torch.cat((x[:1], x[:-1]))) / 2, "Only one step back is averaged: go back to row 0"),
    )
    call(x[:1]).gives(x[:1])


@exercise("4.2", "T")
def averaging_weights(call: Call) -> None:
    """averaging_weights(T: int) -> (T, T), so that weights @ x is the running mean of x"""
    for T in (4, 1, 7):
        ones = torch.ones(T, T)
        right = ones.tril() / ones.tril().sum(1, keepdim=True)
        strict = ones.tril(-1)
        itself = "The diagonal is empty: each position belongs to its own past"
        call(T).gives(
            right,
            (right.T, f"The matrix is transposed: row t holds the weights of output t. {FUTURE}"),
            (right.flip(0).flip(1), FUTURE),
            (ones / T, f"Every row weighs all positions. {FUTURE}"),
            (ones.tril(), "The rows are not divided by their sum: these are sums, not means"),
            (ones.tril() / T, "Every row is divided by T: row t has t + 1 ones"),
            (
                ones.tril() / ones.tril().sum(0, keepdim=True),
                "Each column sums to 1, but each row must: sum over `dim=1`, with `keepdim=True`",
            ),
            (
                ones.tril() / ones.tril().sum(1),
                "The row sums divide the columns: `keepdim=True` keeps them upright",
            ),
            (strict / strict.sum(1, keepdim=True), itself),
            (strict / strict.sum(1, keepdim=True).clamp(min=1), itself),
            (
                ones.tril().softmax(1),
                "Softmax sees 0 above the diagonal, and exp(0) is 1: use -inf",
            ),
            (torch.eye(T), "Each position sees itself alone: its past is missing"),
        )


@exercise("4.3", "scores, mask")
def masked_softmax(call: Call) -> None:
    """masked_softmax(scores: (T, T), mask: (T, T) bool, True = may attend) -> (T, T)"""
    low = torch.randn(4, 4, generator=torch.Generator().manual_seed(1))
    zero = low.clone()
    zero[2, 0] = zero[3, 1] = 0.0  # allowed, and as large as what tril leaves
    mask = torch.ones(4, 4, dtype=torch.bool).tril()
    other = torch.tensor([[1, 0, 1, 0], [0, 1, 0, 0], [0, 1, 1, 1], [1, 0, 0, 1]]).bool()
    for scores, allowed in ((low, mask), (zero, mask), (low, other), (low - 1000, mask)):
        right = scores.masked_fill(~allowed, -math.inf).softmax(1)
        plain = scores.softmax(1) * allowed
        dropped = scores.masked_fill(~allowed | (scores == 0), -math.inf).softmax(1)
        best = torch.nn.functional.one_hot(right.argmax(1), 4).float()
        got = call(scores, allowed).like(right)
        if got.shape == right.shape and not got.isnan().all():
            known = (
                (scores.softmax(1), "The mask has no effect: all weights are above 0"),
                (
                    scores.masked_fill(allowed, -math.inf).softmax(1),
                    "The mask is the wrong way round: True means may attend",
                ),
                (
                    scores.masked_fill(~allowed, 0).softmax(1),
                    "Hidden scores are set to 0, and exp(0) is 1: set them to -inf",
                ),
                (plain, "Softmax comes before the mask: the rows no longer sum to 1"),
                (
                    dropped,
                    "Scores that happen to be 0 are hidden as well: the mask alone decides, "
                    "never the data",
                ),
                (best, "The largest score of each row takes all: a hard maximum, not softmax"),
                (
                    allowed / allowed.sum(1, keepdim=True),
                    "All allowed positions weigh the same: the scores are not used",
                ),
                (
                    scores.masked_fill(~allowed, -math.inf).softmax(0),
                    "Softmax runs down the columns: each row is one position",
                ),
            )
            got = got.double().nan_to_num()
            for wrong, why in known if scores.max() > -500 else ():
                wrong = wrong.double().nan_to_num()
                wrong_here = not wrong.allclose(right.double(), atol=1e-4)
                expect(not (wrong_here and got.allclose(wrong, atol=1e-4)), f"{why}.")
            leak = float(got[~allowed].abs().max())
            low_fill = "a hidden score must be below any other, so -inf"
            expect(leak < 1e-6, f"Hidden positions get weights up to {leak:.2g}: {low_fill}.")
        nans = "Multiplying by -inf gives NaN where the mask is 0: use `masked_fill`"
        call.gives(right, (torch.full((4, 4), math.nan), nans))


@exercise("4.4", "T")
def hidden_leak(call: Call) -> str:
    """hidden_leak(T: int) -> (T, T) bool, causal but for one True that the usual test misses"""
    for T in (6, 9):
        causal = torch.ones(T, T, dtype=torch.bool).tril()
        mask = call(T).like(causal, "A comparison such as `weights > 0` makes booleans.")
        expect(mask.dtype == torch.bool, f"The mask is {mask.dtype}, but torch.bool is expected.")
        shape = f"The mask has shape {tuple(mask.shape)}, but {(T, T)} is expected."
        expect(mask.shape == causal.shape, shape)
        lost = (causal & ~mask).nonzero().tolist()
        expect(not lost, f"{len(lost)} allowed places are False, {lost[:1]} the first: add only.")
        leaks = (mask & ~causal).nonzero().tolist()
        expect(leaks, "This is the causal mask: no position sees its future.")
        places = f"{len(leaks)} places leak, {leaks[0]} and {leaks[-1]} among them: one is enough."
        expect(len(leaks) == 1, places)
        i, j = leaks[0]
        seen = (
            f"Position {i} sees the last position, {j}: the test changes that one and catches it."
        )
        expect(j != T - 1, seen)
        if T == 6:
            praise = f"Position {i} reads position {j}, and changing the last one shows nothing."
    return praise
