"""The exercises of chapter 3, positions."""

import math

import torch

from scratchformer_course.kit.checks.cases import drawn, normal
from scratchformer_course.kit.checks.engine import exercise
from scratchformer_course.kit.checks.mistakes import edits, mistake, refused
from scratchformer_course.kit.checks.question import number, which
from scratchformer_course.kit.checks.verdict import expect


def right_spread(table, k):
    products = (table[:-k] * table[k:]).sum(dim=1)  # (T-k,)
    return (products.max() - products.min()).item()


def _rows_and_distance(draw):
    T = draw.size(2, 9, 60)
    return normal(draw, T, draw.size(1, 5, 20)), draw.size(1, T - 1, 15)


spread = exercise(
    "3.1",
    "spread(table: (T, C), k) -> float, how far the dot products of rows k apart differ",
    cases=(
        (torch.tensor([[3.0, -1.0], [-1.0, 2.0], [4.0, -1.0]]), 1),  # all products below 0
        (torch.tensor([[1.0, 2.0], [3.0, 1.0], [2.0, 5.0]]), 1),  # all above
    ),
    more=drawn(12, _rows_and_distance),
    right=[right_spread],
    hints=[
        "Which row is the partner of row 0, and which rows have no partner `k` places later?",
        "`(table[:-k] * table[k:]).sum(dim=1)` holds the dot products, and then the largest ...",
    ],
    question=number(
        "The rows of `table` are [4, 0], [0, −2], [2, 1] and [4, −1]. What is `spread(table, 1)`?",
        lambda f: f(torch.tensor([[4.0, 0.0], [0.0, -2.0], [2.0, 1.0], [4.0, -1.0]]), 1),
        digits=0,
    ),
    mistakes={
        " - products.min() -> ": "This is the largest dot product: subtract the smallest one",
        "dim=1 -> dim=0": "The sum runs over the places: a dot product is a sum over the channels",
        "(table[:-k] * table[k:]).sum(dim=1) -> table @ table.T": "These are the products of "
        "all pairs of rows: only rows k apart belong together",
        "table[:-k] * table[k:] -> table * table.roll(-k, 0)": "Row 0 does not follow the last "
        "row (`roll` goes round): leave the last k rows out",
    },
)


def right_sinusoidal(T, d_model):
    i = torch.arange(d_model // 2)
    speeds = 1 / 10_000 ** (2 * i / d_model)  # (C/2,)
    angles = torch.arange(T).unsqueeze(1) * speeds  # (T, C/2)
    pairs = torch.stack((angles.sin(), angles.cos()), dim=2)
    return pairs.flatten(1)  # (T, C)


def a_speed_a_column(T, d_model):
    c = torch.arange(d_model)
    angles = torch.arange(T).unsqueeze(1) / 10_000 ** (c / d_model)
    return torch.where(c % 2 == 0, angles.sin(), angles.cos())


sinusoidal = exercise(
    "3.2",
    "sinusoidal(T, d_model) -> (T, C), sine and cosine of a hand side by side",
    cases=((2, 4), (3, 6), (1, 2), (600, 4), (1200, 2)),
    more=drawn(8, lambda draw: (draw.randint(1, 60), 2 * draw.size(1, 16, 100))),
    right=[right_sinusoidal],
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
        *edits(
            right_sinusoidal,
            {
                "angles.sin(), angles.cos() -> angles.cos(), angles.sin()": "Sine and cosine are "
                "swapped: the sine comes first",
                "stack -> cat\ndim=2 -> dim=1": "Sines and cosines lie in two halves: they "
                "alternate",
                "2 * i -> i": "The exponent is half as large as it should be",
            },
        ),
        mistake(
            "gives each column a speed of its own",
            "Sine and cosine of a pair differ in speed: both take the speed of their hand",
            a_speed_a_column,
        ),
    ],
)


def right_speeds(n):
    return 3 * torch.rand(n, generator=torch.Generator().manual_seed(0))


def with_a_smaller_base(n):
    return 100 ** (-torch.arange(n) / n)


def twice_as_fast(n):
    return 2 * 10_000 ** (-torch.arange(n) / n)


def eighths_of_a_turn(n):
    return torch.arange(1, n + 1) * 2 * math.pi / 8


def nearest_places(speeds, T=1000):
    """How near the nearest two of T places come: the distance depends on k alone."""
    k = torch.arange(1, T).unsqueeze(1)
    return float((2 - 2 * (k * speeds.double()).cos()).sum(dim=1).min().sqrt())


def judge_speeds(call):
    gaps = []
    for n in (16, 24):
        mine, the_papers = call(n).like(torch.ones(n)), 10_000 ** (-torch.arange(n) / n)
        shape = f"`{call}` has shape {tuple(mine.shape)}, but {(n,)} is expected: a speed a hand."
        expect(mine.shape == (n,), shape)
        expect(mine.isfinite().all(), f"`{call}` holds {float(mine.sum())}: numbers are expected.")
        gap, wanted = nearest_places(mine), nearest_places(the_papers)
        alike = f"With `{call}` two of 1,000 places have the same vector"
        expect(gap > 0.02, f"{alike}: the hands come back together.")
        nearer = f"The nearest two places are {gap:.2f} apart with {n} hands"
        expect(gap > wanted + 0.005, f"{nearer}, with the paper's {wanted:.2f}.")
        gaps.append(gap)
    return f"The nearest two of 1,000 places are {gaps[0]:.2f} apart; the paper's, 1.17."


speeds = exercise(
    "3.3",
    "speeds(n) -> (n,), speeds of n hands that keep 1,000 places farther apart than the paper's",
    judge=judge_speeds,
    right=[right_speeds, with_a_smaller_base, twice_as_fast],
    hints=[
        "The nearest two places are neighbours. Which of the hands hardly move in one step?",
        "Let the slow hands turn faster, by a smaller base than 10,000 for instance, or draw all "
        "speeds from `torch.rand`. Whole fractions of a turn come back ...",
    ],
    question=which(
        "takes eighths of a turn",
        others=["100 -> 1_000_000", "100 -> 10_000"],
    ),
    mistakes=[
        *edits(
            with_a_smaller_base,
            {
                "100 -> 10_000": "apart with 16 hands, with the paper's",
                "100 -> 1_000_000": "The nearest two places are 1.06 apart",
            },
            quoted=True,
        ),
        refused("takes eighths of a turn", "have the same vector", eighths_of_a_turn),
    ],
)
