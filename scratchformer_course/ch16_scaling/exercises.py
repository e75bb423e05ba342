"""The exercises of chapter 16, the scaling law. Imports no torch."""

import math

import numpy as np

from scratchformer_course.kit.checks.cases import drawn
from scratchformer_course.kit.checks.engine import exercise, mistake
from scratchformer_course.kit.checks.question import number


def _line(x, y):
    """Start and slope of the least-squares line through the points."""
    slope, start = np.polyfit(x, y, 1)
    return float(start), float(slope)


def _power(x, y):
    start, slope = _line(np.log(x), np.log(y))
    return round(math.exp(start), 9), round(-slope, 9)  # digits that no processor changes


def fit_by_lstsq(x, y):
    columns = np.stack([np.ones(len(x)), np.log2(x)], axis=1)
    start, slope = np.linalg.lstsq(columns, np.log2(y), rcond=None)[0]
    return 2**start, -slope


def _points(draw):
    """Points in no order, with an x that comes twice, and y that may rise."""
    x = draw.sample([0.25, 0.5, 1.0, 3.0, 4.0, 10.0, 600.0, 2e6], draw.randint(2, 5))
    x.insert(draw.randrange(len(x)), draw.choice(x))
    return x, [draw.choice([0.01, 1, 20]) * draw.uniform(1, 9) for _ in x]


fit_power = exercise(
    "16.1",
    "fit_power(x, y) -> A and alpha of y = A / x ** alpha, by a line through the logarithms",
    cases=(
        ([2.0, 4.0, 8.0, 16.0], [9.0, 6.0, 3.5, 2.5]),  # the points do not lie on a line
        ([10.0, 100.0, 1000.0], [8.0, 4.0, 2.0]),
        ([1.0, 3.0, 9.0, 27.0, 81.0], [3.0, 1.9, 1.5, 1.3, 1.25]),
        ([4e7, 1e6, 9e8, 3e6], [2.4, 4.1, 1.9, 3.2]),  # in no order
        ([5, 20], [300, 7]),
        ([1.0, 2.0, 4.0], [2.0, 4.0, 8.0]),  # y rises
        ([2.0, 2.0, 8.0, 32.0], [5.0, 3.0, 1.0, 0.9]),  # an x comes twice
    ),
    more=drawn(12, _points),
    praise="`fit_power` is right: a power is a straight line between logarithms.",
    right=[_power, fit_by_lstsq],
    hints=[
        "What is log y, if y = A / x ** alpha? Which part of it is the slope of a line in log x?",
        "`slope, start = np.polyfit(np.log(x), np.log(y), 1)`. A is `exp` of the start, and alpha "
        "is ...",
    ],
    question=number(
        "At x = 1, 2 and 4, y is 32, 2 and 8. What is A? (Draw the points with logarithms "
        "to the base 2: (0, 5), (1, 1) and (2, 3). The least-squares line goes through their "
        "middle, with the slope that joins the outer two.) Give one decimal.",
        lambda f: f([1.0, 2.0, 4.0], [32.0, 2.0, 8.0])[0],
        digits=1,
    ),
    mistakes=[
        mistake(
            "returns the slope",
            "The sign: the line falls, so its slope is −alpha",
            lambda x, y: (_power(x, y)[0], -_power(x, y)[1]),
        ),
        mistake(
            "leaves A in logarithms",
            "The line's start is the logarithm of A: take exp of it",
            lambda x, y: (math.log(_power(x, y)[0]), _power(x, y)[1]),
        ),
        mistake(
            "swaps the two",
            "The two are swapped: A first, then alpha",
            lambda x, y: _power(x, y)[::-1],
        ),
        mistake(
            "takes no logarithms",
            "A straight line without logarithms: take them of both",
            lambda x, y: (_line(x, y)[0], -_line(x, y)[1]),
        ),
    ],
)


def _law(x, y, floor):
    """What the law says at x, when the power is fitted above the floor."""
    A, alpha = _power(x, np.subtract(y, floor))
    return floor + A / np.array(x) ** alpha


def _misses(x, y, floor):
    """Squares of the misses of log y."""
    return float(np.square(np.log(y) - np.log(_law(x, y, floor))).sum())


def right_find_floor(x, y, floors):
    return min(floors, key=lambda floor: _misses(x, y, floor))


_X = [1.0, 2.0, 4.0, 8.0, 16.0]


def floor_by_sorting(x, y, floors):
    def misses(floor):
        A, alpha = fit_by_lstsq(x, [v - floor for v in y])
        return sum(math.log(v / (floor + A / u**alpha)) ** 2 for u, v in zip(x, y, strict=True))

    return sorted(floors, key=misses)[0]


def _curve(draw):
    """Losses with valleys, and floors of both signs, above each of which the law is a number."""
    while True:
        x, y = _points(draw)
        floors = [draw.uniform(-3, 0.99) * min(y) for _ in range(draw.randint(1, 6))]
        if all((_law(x, y, floor) > 1e-3).all() for floor in floors):
            return x, y, floors


find_floor = exercise(
    "16.2",
    "find_floor(x, y, floors) -> the one of `floors` above which a power fits best. The misses are "
    "those of log y, and their squares are added.",
    cases=(
        (_X, [0.5 + 2 / v**0.7 for v in _X], [0.0, 0.2, 0.4, 0.5, 0.6]),
        (_X, [2.31, 1.68, 1.33, 1.08, 0.98], [0.0, 0.25, 0.5, 0.75]),
        (_X, [3.0 / v**0.3 for v in _X], [0.0, 0.3, 0.6]),
        ([1.0, 2.0, 4.0], [0.6925, 0.5059, 0.4147], [0.2, 0.3, 0.35, 0.25]),
        # other measures of the misses have their smallest values at other floors
        (
            [2.0, 8.0, 1.0, 4.0, 16.0, 32.0],
            [1.08, 0.63, 3.06, 0.6, 0.2, 0.22],
            [0.18, 0.13, 0.04, 0.06],
        ),
        ([2.0, 4.0, 8.0, 1.0], [2.08, 1.6, 2.17, 3.76], [0.02, 0.51, 1.31, 1.56]),
        ([4.0, 1.0, 4.0, 2.0], [0.4, 3.0, 0.5, 1.2], [0.3, -0.2, 0.0, -0.1]),  # below 0, too
    ),
    more=drawn(25, _curve),
    praise="`find_floor` is right: try all, keep the one with the smallest misses.",
    right=[right_find_floor, floor_by_sorting],
    hints=[
        "What do you subtract before the fit, and what must you add again before you compare?",
        "For each floor, `A, alpha = fit_power(x, [v - floor for v in y])`. Its misses are "
        "`np.log(y) - np.log(floor + ...)`: add their squares, and keep the floor with the "
        "smallest sum.",
    ],
    question=number(
        "At x = 1, 2, 4 the losses are 5, 3, 2. Which of the floors 1.9, 0.8, 0.4, 1 does "
        "`find_floor` return? (In a power law, equal factors of x make equal factors of "
        "y.) Give one decimal.",
        lambda f: f([1.0, 2.0, 4.0], [5.0, 3.0, 2.0], [1.9, 0.8, 0.4, 1.0]),
        digits=1,
    ),
    mistakes=[
        mistake(
            "returns the place",
            "That is the place of the floor in the list: return the floor itself",
            lambda x, y, floors: floors.index(right_find_floor(x, y, floors)),
        ),
        mistake(
            "forgets to subtract",
            "That is the smallest floor: subtract it before the fit, add it before you compare",
            lambda x, y, floors: min(
                floors, key=lambda floor: np.square(np.log(y) - np.log(floor + _law(x, y, 0))).sum()
            ),
        ),
        mistake(
            "adds the misses without squares",
            "Misses of both signs cancel: add their squares",
            lambda x, y, floors: min(floors, key=lambda floor: np.log(y / _law(x, y, floor)).sum()),
        ),
        mistake(
            "compares the losses themselves",
            "These are misses of y: take those of log y",
            lambda x, y, floors: min(
                floors, key=lambda floor: np.square(y - _law(x, y, floor)).sum()
            ),
        ),
        mistake(
            "compares above the floor",
            "These are misses of log(y − floor), where the line is fitted: take those of log y",
            lambda x, y, floors: min(
                floors, key=lambda floor: _misses(x, np.subtract(y, floor), 0)
            ),
        ),
    ],
)


def _steep(N, D):
    return 0.2 + 2000.0 / N**0.75 + 3e5 / D


def _flat(N, D):
    return 1.69 + 406.4 / N**0.34 + 410.7 / D**0.28


def _two_valleys(N, D):
    return 1e6 + 1000 * abs((N - 5) * (N - 20)) / N + D


def _best(law, operations, sizes, per_token=6):
    N = min(sizes, key=lambda N: law(N, operations / (per_token * N)))
    return N, operations / (per_token * N)


def best_size_by_sorting(law, operations, sizes):
    table = [(law(N, operations / 6 / N), N) for N in sizes]
    _, N = sorted(table)[0]
    return N, operations / N / 6


def _bumps(draw):
    """A law with many valleys, sizes in no order, and few tokens for each."""
    a, b, c = (draw.uniform(1, 9) for _ in range(3))

    def law(N, D):
        return 3 + math.sin(a * N + c) + math.sin(b * D)

    return law, draw.randint(50, 3000), draw.sample(range(1, 40), draw.randint(1, 8))


best_size = exercise(
    "16.3",
    "best_size(law, operations, sizes) -> N, D: the size with the lowest loss, for 6 N D. "
    "law(N, D) is a loss.",
    cases=(
        (_flat, 5.76e23, [1e9, 1e10, 3e10, 1e11, 1e12, 1e14]),
        (_steep, 6e11, [10_000, 20_000, 50_000, 100_000, 200_000, 500_000]),
        (_flat, 1e19, [3e9, 1e9, 1e8, 3e8, 2e8]),
        (_two_valleys, 1000, [3, 5, 9, 14, 20, 30]),  # D is no whole number
        (lambda N, D: _two_valleys(N, N), 1000, [3, 5, 9, 14, 20, 30]),  # the other valley
    ),
    more=drawn(12, _bumps),
    praise="`best_size` is right: try each size with all the text that the operations pay for.",
    right=[lambda law, operations, sizes: _best(law, operations, sizes), best_size_by_sorting],
    hints=[
        "How many characters D can a model of size N read for all the operations?",
        "`N = min(sizes, key=lambda N: law(N, operations / ...))`, and then D for that N.",
    ],
    question=number(
        "The law is 1 + 8 / N + 50 / D, and you have 600 operations. The sizes are 1, 2, 4 and "
        "8. How many characters D does `best_size` return? Give one decimal.",
        lambda f: f(lambda N, D: 1 + 8 / N + 50 / D, 600, [1, 2, 4, 8])[1],
        digits=1,
    ),
    mistakes=[
        mistake(
            "counts one operation a token",
            "6 N D operations are paid for, not N D",
            lambda law, operations, sizes: _best(law, operations, sizes, 1),
        ),
        mistake(
            "counts the forward pass only",
            "2 N D is the forward pass: training costs 6 N D",
            lambda law, operations, sizes: _best(law, operations, sizes, 2),
        ),
        mistake(
            "gives every size the same text",
            "The largest size wins if all read the same text: a larger one can pay for less",
            lambda law, operations, sizes: _best(
                lambda N, D: law(N, operations / (6 * sizes[0])), operations, sizes
            ),
        ),
        mistake(
            "swaps the two",
            "The two are swapped: first N, then D",
            lambda law, operations, sizes: _best(law, operations, sizes)[::-1],
        ),
    ],
)
