"""The exercises of chapter 3, positions."""

import math

import torch

from scratchformer_course.kit.checks.cases import drawn, normal
from scratchformer_course.kit.checks.engine import exercise, mistake, refused
from scratchformer_course.kit.checks.question import number, which
from scratchformer_course.kit.checks.verdict import expect


def _waves(T, C, exponent=2, base=10_000, start=0):
    """Sines and cosines, each (T, C/2), of position / base ** (exponent * i / C) for pair i."""
    positions = torch.arange(start, start + T).unsqueeze(1)
    angles = positions * base ** (-exponent * torch.arange(C // 2) / C)
    return angles.sin(), angles.cos()


def _pairs(a, b):
    """Two (T, C/2) tables as one (T, C), column by column in turn."""
    return torch.stack((a, b), dim=-1).flatten(-2)


def entry_by_entry(T, d_model):
    table = torch.zeros(T, d_model, dtype=torch.float64)
    for t in range(T):
        for c in range(d_model):
            angle = t / 10_000 ** (2 * (c // 2) / d_model)
            table[t, c] = math.cos(angle) if c % 2 else math.sin(angle)
    return table


def a_frequency_a_column(T, d_model):
    sin, cos = _waves(T, 2 * d_model)  # a frequency for each column
    return _pairs(sin[:, 0::2], cos[:, 1::2])


sinusoidal = exercise(
    "3.2",
    "sinusoidal(T, d_model) -> (T, C), sine and cosine of a hand side by side",
    cases=((2, 4), (3, 6), (5, 8), (1, 2), (40, 10), (70, 64), (600, 4), (3, 2)),
    more=drawn(8, lambda draw: (draw.randint(1, 60), 2 * draw.randint(1, 16))),
    right=[lambda T, d_model: _pairs(*_waves(T, d_model)), entry_by_entry],
    hints=[
        "Which two channels belong to hand `i`, and how fast does it turn?",
        "`angles = torch.arange(T).unsqueeze(1) * speeds` has one column for each hand. "
        "`torch.stack((angles.sin(), ...), dim=2)` puts each sine beside its cosine.",
    ],
    question=number(
        "`d_model` is 4. Which number is in row 100, channel 2? The sines of 0.01, 1, 10 and "
        "100 are 0.01, 0.84, −0.54 and −0.51, their cosines 1.00, 0.54, −0.84 and 0.86.",
        lambda f: f(101, 4)[100, 2],
    ),
    mistakes=[
        mistake(
            "swaps sine and cosine",
            "Sine and cosine are swapped: the sine comes first",
            lambda T, d_model: _pairs(*_waves(T, d_model)[::-1]),
        ),
        mistake(
            "puts all sines before all cosines",
            "Sines and cosines lie in two halves: they alternate",
            lambda T, d_model: torch.cat(_waves(T, d_model), dim=1),
        ),
        mistake(
            "counts positions from 1",
            "Positions start at 0",
            lambda T, d_model: _pairs(*_waves(T, d_model, start=1)),
        ),
        mistake(
            "gives each column its own frequency",
            "Sine and cosine of a pair differ in speed: both take the speed of their hand",
            a_frequency_a_column,
        ),
        mistake(
            "forgets the 2 of 2i",
            "The exponent is half as large as it should be",
            lambda T, d_model: _pairs(*_waves(T, d_model, exponent=1)),
        ),
        mistake(
            "multiplies by the power",
            "The power belongs below: divide by it",
            lambda T, d_model: _pairs(*_waves(T, d_model, exponent=-2)),
        ),
    ],
)


def _random_table(T, C):
    return torch.randn(T, C, generator=torch.Generator().manual_seed(T), dtype=torch.float64)


def _products(table, k):
    """The dot products of the rows k apart, (T - k,)."""
    return (table[: len(table) - k] * table[k:]).sum(dim=1)


def _range(values):
    return (values.max() - values.min()).item()


def by_a_loop(table, k):
    products = [float(table[t] @ table[t + k]) for t in range(len(table) - k)]
    return max(products) - min(products)


def _rows_and_distance(draw):
    T = draw.randint(2, 9)
    return normal(draw, T, draw.randint(1, 5)), draw.randint(1, T - 1)


spread = exercise(
    "3.1",
    "spread(table: (T, C), k) -> float, how far the dot products of rows k apart differ",
    cases=(
        *((_random_table(T, C), k) for T, C, k in ((6, 4, 2), (9, 3, 1), (4, 2, 3))),
        (_random_table(12, 5).abs(), 4),  # all products above 0
        (torch.tensor([[3.0, -1.0], [-1.0, 2.0], [4.0, -1.0], [-5.0, 0.5]]), 1),  # all below
        (_random_table(5, 40).float().T, 3),
        (_random_table(6, 4) + 1, 2),
        (_random_table(7, 1), 1),
    ),
    more=drawn(12, _rows_and_distance),
    right=[lambda table, k: _range(_products(table, k)), by_a_loop],
    hints=[
        "Which row is the partner of row 0, and which rows have no partner `k` places later?",
        "`(table[:-k] * table[k:]).sum(dim=1)` holds the dot products, and then the largest ...",
    ],
    question=number(
        "The rows of `table` are [4, 0], [0, −2], [2, 1] and [4, −1]. What is `spread(table, 1)`?",
        lambda f: f(torch.tensor([[4.0, 0.0], [0.0, -2.0], [2.0, 1.0], [4.0, -1.0]]), 1),
        digits=0,
    ),
    mistakes=[
        mistake(
            "returns the largest product",
            "This is the largest dot product: subtract the smallest one",
            lambda table, k: _products(table, k).max().item(),
        ),
        mistake(
            "takes all pairs of places",
            "These are the products of all pairs of rows: only rows k apart belong together",
            lambda table, k: _range(table @ table.T),
        ),
        mistake(
            "goes round at the end",
            "Row 0 does not follow the last row (`roll` goes round): leave the last k rows out",
            lambda table, k: _range((table * table.roll(-k, 0)).sum(dim=1)),
        ),
        mistake(
            "takes rows k + 1 apart",
            "These rows are k + 1 apart",
            lambda table, k: _range(_products(table, k + 1)) if len(table) > k + 1 else 0.0,
        ),
        mistake(
            "sums over the places",
            "The sum runs over the places: a dot product is a sum over the channels",
            lambda table, k: _range((table[: len(table) - k] * table[k:]).sum(dim=0)),
        ),
    ],
)


def paper_speeds(n):
    return 10_000 ** (-torch.arange(n) / n)


def nearest_places(speeds, T=1000):
    """How near the nearest two of T places come: the distance depends on k alone."""
    k = torch.arange(1, T).unsqueeze(1)
    return float((2 - 2 * (k * speeds.double()).cos()).sum(dim=1).min().sqrt())


def judge_speeds(call):
    for n in (16, 24):
        own = call(n).like(torch.ones(n))
        shape = f"`{call}` has shape {tuple(own.shape)}, but {(n,)} is expected: a speed a hand."
        expect(own.shape == (n,), shape)
        expect(own.isfinite().all(), f"`{call}` holds {float(own.sum())}: numbers are expected.")
        gap, theirs = nearest_places(own), nearest_places(paper_speeds(n))
        same = (
            f"With `{call}` two of 1,000 places have the same vector: the hands come back together."
        )
        expect(gap > 0.02, same)
        expect(
            gap > theirs + 0.005,
            f"The nearest two places are {gap:.2f} apart, the paper's {theirs:.2f}.",
        )
        if n == 16:
            praise = f"The nearest two of 1,000 places are {gap:.2f} apart; the paper's, 1.17."
    return praise


def with_a_smaller_base(n):
    return 100 ** (-torch.arange(n) / n)


def twice_as_fast(n):
    return 2 * 10_000 ** (-torch.arange(n) / n)


def eighths_of_a_turn(n):
    return torch.arange(1, n + 1) * 2 * math.pi / 8


speeds = exercise(
    "3.3",
    "speeds(n) -> (n,), speeds of n hands that keep 1,000 places farther apart than the paper's",
    judge=judge_speeds,
    right=[with_a_smaller_base, twice_as_fast],
    hints=[
        "The nearest two places are neighbours. Which of the hands hardly move in one step?",
        "Let the slow hands turn faster, by a smaller base than 10,000 for instance, or draw all "
        "speeds from `torch.rand`. Whole fractions of a turn come back ...",
    ],
    question=which(
        "takes eighths of a turn",
        beside=[with_a_smaller_base, twice_as_fast],
        others=["takes a larger base", "returns the paper's"],
    ),
    mistakes=[
        refused("returns the paper's", "apart, the paper's", paper_speeds),
        refused(
            "takes a larger base",
            "The nearest two places are 1.06 apart",
            lambda n: 1_000_000 ** (-torch.arange(n) / n),
        ),
        refused(
            "makes all hands slower",
            "The nearest two places are 0.60 apart",
            lambda n: 0.5 * 10_000 ** (-torch.arange(n) / n),
        ),
        refused(
            "takes eighths of a turn",
            "two of 1,000 places have the same vector",
            eighths_of_a_turn,
        ),
    ],
)
