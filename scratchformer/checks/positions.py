"""Checks for the exercises of chapter 3, positions."""

import math

import torch
from torch import Tensor

from scratchformer.checks.first_edition import Call, Wrong, exercise, expect


@exercise("3.1", "f, x, order")
def order_blind(call: Call) -> None:
    """order_blind(f, x: (T, C), order: (T,) a permutation) -> bool"""

    def total(x: Tensor) -> Tensor:  # added row by row, so that rounding depends on the order
        rows = x[0]
        for row in x[1:]:
            rows = rows + row
        return rows.expand_as(x)

    functions = {
        "a scaling of the columns": (lambda x: x * torch.arange(1, x.shape[1] + 1), True),
        "the total of all rows, given to each": (total, True),
        "attention": (lambda x: (x @ x.T).softmax(1) @ x, True),
        "a running total": (lambda x: x.cumsum(0), False),
        "a shift by one row": (lambda x: x.roll(1, 0), False),
    }
    x = torch.linspace(0.1, 2.0, 20, dtype=torch.float64).view(4, 5).sin()
    answers = []
    for order in ([0, 2, 3, 1], [2, 0, 3, 1]):
        order = torch.tensor(order)
        answers += [bool(call(f, x, order).like(True)) for f, _ in functions.values()]
    right = [blind for _, blind in functions.values()] * 2
    moved = (
        "The outputs move with the inputs: compare `f(x[order])` with `f(x)[order]` (to undo an "
        "order takes its inverse, `order.argsort()`)"
    )
    rounds = "Sums in another order round differently: use `torch.allclose`, not `equal`"
    mistakes = {
        (1, 1, 1, 1, 1) * 2: "It says True whatever `f` is",
        (0, 0, 0, 0, 0) * 2: "It says False whatever `f` is",
        (0, 1, 0, 0, 0) * 2: moved,
        (0, 1, 0, 1, 1) * 2: "The columns are permuted: `x[order]` permutes the rows",
        (0, 0, 0, 1, 1) * 2: "True and False are swapped",
        (1, 0, 1, 0, 0) * 2: rounds,
        (1, 0, 0, 0, 0) * 2: rounds,
        (1, 1, 1, 0, 1) * 2: "A shift only moves the rows too, but not along: compare row by row",
        (1, 1, 1, 1, 0, 1, 1, 1, 0, 0): "Compare all rows, not the first alone",
        (1, 1, 1, 1, 0, 1, 1, 1, 0, 1): "Compare all rows, not the first alone",
    }
    if answers != right:
        why = mistakes.get(tuple(map(int, answers)), "")
        wrong = next(i for i in range(10) if answers[i] != right[i])
        name = list(functions)[wrong % 5]
        raise Wrong(f"{why + '.' if why else ''}\nFor {name} it says {answers[wrong]}.".strip())


def _waves(T: int, C: int, frequency, start: int = 0) -> tuple[Tensor, Tensor]:
    """Sines and cosines, each (T, C/2), of position times frequency(i) for column pair i."""
    angles = torch.tensor(
        [[t * frequency(i) for i in range(C // 2)] for t in range(start, start + T)],
        dtype=torch.float64,
    ).view(T, C // 2)
    return angles.sin(), angles.cos()


def _pairs(a: Tensor, b: Tensor) -> Tensor:
    return torch.stack((a, b), dim=-1).flatten(-2)


FREQUENCIES = {
    "doubled": (lambda C: lambda i: 10_000 ** (-4 * i / C), "The exponent is twice too large"),
    "halved": (lambda C: lambda i: 10_000 ** (-i / C), "The exponent is half as large as it is"),
    "thousand": (lambda C: lambda i: 1_000 ** (-2 * i / C), "The base is 1,000, not 10,000"),
    "times": (lambda C: lambda i: 10_000 ** (2 * i / C), "The power belongs below: divide by it"),
    "one": (lambda C: lambda i: 1.0, "All pairs have the same frequency"),
}


@exercise("3.2", "T, d_model")
def sinusoidal(call: Call) -> None:
    """sinusoidal(T, d_model) -> (T, C), sine and cosine of a pair side by side"""
    T, C = 5, 8
    sin, cos = _waves(T, C, lambda i: 10_000 ** (-2 * i / C))
    right = _pairs(sin, cos)
    columns = torch.arange(C)
    own = torch.arange(T)[:, None] / 10_000.0 ** (columns / C)  # each column its own frequency
    doubled = torch.arange(T)[:, None] / 10_000.0 ** (2 * columns / C)
    why_own = "Sine and cosine of a pair differ in frequency: both take the exponent of the sine"
    call(T, C).gives(
        right,
        (_pairs(cos, sin), "Sine and cosine are swapped: the sine comes first"),
        (torch.cat((sin, cos), 1), "Sines and cosines lie in two halves: they alternate"),
        (_pairs(*_waves(T, C, lambda i: 10_000 ** (-2 * i / C), 1)), "Positions start at 0"),
        (torch.where(columns % 2 == 0, own.sin(), own.cos()), why_own),
        (torch.where(columns % 2 == 0, doubled.sin(), doubled.cos()), why_own),
        (right.T, "The table is transposed: a row is a position"),
        (_pairs(sin, sin), "There is no cosine"),
        *((_pairs(*_waves(T, C, f(C))), why) for f, why in FREQUENCIES.values()),
    )
    call(3, 6).gives(_pairs(*_waves(3, 6, lambda i: 10_000 ** (-2 * i / 6))))


@exercise("3.3", "encoding")
def confused(call: Call) -> str:
    """confused(encoding: (T, C)) -> (i, j), two positions with the same row (to rounding)"""
    t = torch.arange(20, dtype=torch.float64)
    turn = 2 * math.pi
    clocks = {
        "one clock hand": torch.stack(((t * turn / 12).sin(), (t * turn / 12).cos()), 1),
        "a sine alone": (t[:10] * turn / 16).sin()[:, None],
        "two clock hands": torch.stack(
            [f(t * turn / n) for n in (4, 6) for f in (torch.sin, torch.cos)], 1
        ),
    }
    for name, encoding in clocks.items():
        T = len(encoding)
        pair = call(encoding).like((0, 1), "Return the two positions, as whole numbers.")
        expect(len(pair) == 2, f"Two positions make a pair, but `{pair!r:.60}` has {len(pair)}.")
        i, j = pair
        expect(0 <= min(pair) <= max(pair) < T, f"`{pair}`: positions run from 0 to {T - 1} here.")
        expect(i != j, f"`{pair}` is one position twice: leave the diagonal out.")
        gap = (encoding[i] - encoding[j]).norm().item()
        expect(
            gap < 1e-3, f"Rows {i} and {j} of {name} are {gap:.2f} apart: the model can tell them."
        )
    return f"With {name}, positions {i} and {j} are one and the same to the model."


@exercise("3.4", "pair, angle")
def rotate(call: Call) -> None:
    """rotate(pair: (2,), angle: float, in radians) -> (2,), turned counter-clockwise"""
    for pair, angle in ((torch.tensor([2.0, 1.0]), 0.5), (torch.tensor([-1.0, 3.0]), 2.0)):
        a, b = pair
        c, s = math.cos(angle), math.sin(angle)
        degrees = math.radians(angle)
        dc, ds = math.cos(degrees), math.sin(degrees)
        used = a * c - b * s
        call(pair, angle).gives(
            torch.stack((a * c - b * s, a * s + b * c)),
            (
                torch.stack((a * c + b * s, b * c - a * s)),
                "This turns clockwise: the minus belongs in the first line",
            ),
            (
                torch.stack((a * dc - b * ds, a * ds + b * dc)),
                "The angle is in radians, not degrees",
            ),
            (
                torch.stack((used, used * s + b * c)),
                "The second line uses the new first number: it needs the old one",
            ),
            (
                torch.stack((a * s + b * c, a * c - b * s)),
                "The two numbers are swapped",
            ),
            (
                torch.stack((a * c + b * s, a * s + b * c)),
                "Both signs are plus: that is no rotation, the length changes",
            ),
            (torch.stack((a * c, b * s)), "Each new number is made of both old ones"),
            (pair, "The pair has not moved"),
        )


@exercise("3.5", "x")
def rotary(call: Call) -> None:
    """rotary(x: (T, D)) -> (T, D), neighbouring channels turned by position times frequency"""
    for T, D in ((5, 8), (3, 4)):
        x = torch.linspace(-1, 2, T * D, dtype=torch.float64).view(T, D).exp()
        a, b = x[:, 0::2], x[:, 1::2]

        def turned(frequency, start=0, a=a, b=b, T=T, D=D):
            sin, cos = _waves(T, D, frequency, start)
            return a * cos - b * sin, a * sin + b * cos

        def right(i, D=D):
            return 10_000 ** (-2 * i / D)

        sin, cos = _waves(T, D, right)
        halves = x[:, : D // 2], x[:, D // 2 :]
        other = turned(right, a=halves[0], b=halves[1])
        call(x).gives(
            _pairs(*turned(right)),
            (
                torch.cat(other, 1),
                "Channel i is paired with i + D/2. Some libraries do so; here neighbours turn",
            ),
            (torch.cat(turned(right), 1), "The pairs are not put side by side again"),
            (_pairs(*turned(lambda i: -right(i))), "It turns clockwise: a cos − b sin comes first"),
            (_pairs(*turned(right, 1)), "Positions start at 0: the first row does not turn"),
            (x + _pairs(sin, cos), "The waves are added: here the pairs are turned by them"),
            (x * _pairs(sin, cos), "Multiplying by the waves does not turn a pair"),
            (x, "Nothing has moved"),
            *((_pairs(*turned(f(D))), why) for f, why in FREQUENCIES.values()),
        )
