"""The exercises of chapter 16, the scaling law. Imports no torch."""

import math

import numpy as np

from scratchformer_course.kit.checks import exercise, number
from scratchformer_course.kit.checks.cases import drawn


def right_fit_power(x, y):
    slope, start = np.polyfit(np.log(x), np.log(y), 1)
    return math.exp(start), float(-slope)


def _points(draw):
    """Points in no order, with an x that comes twice, and y that may rise."""
    x = draw.sample([0.25, 0.5, 1.0, 3.0, 4.0, 10.0, 600.0, 2e6], draw.size(2, 5, 8))
    x.insert(draw.randrange(len(x)), draw.choice(x))
    return x, [draw.choice([0.01, 1, 20]) * draw.uniform(1, 9) for _ in x]


fit_power = exercise(
    "16.1",
    "fit_power(x, y) -> A and alpha of y = A / x ** alpha, by a line through the logarithms",
    cases=(
        ([2.0, 4.0, 8.0, 16.0], [9.0, 6.0, 3.5, 2.5]),  # the points do not lie on a line
        ([5, 20], [300, 7]),
    ),
    more=drawn(12, _points),
    praise="`fit_power` is right: a power is a straight line between logarithms.",
    right=[right_fit_power],
    hints=[
        "What is log y, if y = A / x ** alpha? Which part of it is the slope of a line in log x?",
        "`slope, start = np.polyfit(np.log(x), np.log(y), 1)`. A is `exp(start)`, and alpha ...",
    ],
    question=number(
        "At x = 1, 2 and 4, y is 32, 2 and 8. What is A? (With logarithms to the base 2 the points "
        "are (0, 5), (1, 1) and (2, 3). The least-squares line goes through their middle, with the "
        "slope that joins the outer two.) Give one decimal.",
        lambda f: f([1.0, 2.0, 4.0], [32.0, 2.0, 8.0])[0],
        digits=1,
    ),
    mistakes={
        "float(-slope) -> float(slope)": "The sign: the line falls, so its slope is −alpha",
        "math.exp(start) -> start": "The line's start is the logarithm of A: take exp of it",
        "math.exp(start), float(-slope) -> float(-slope), math.exp(start)": "The two are "
        "swapped: A first, then alpha",
        "np.log(x), np.log(y) -> x, y\nmath.exp(start) -> start": "A straight line without "
        "logarithms: take them of both",
    },
)


def right_find_floor(x, y, floors):
    def misses(E):
        A, alpha = right_fit_power(x, [loss - E for loss in y])
        law = E + A / np.array(x) ** alpha
        return np.square(np.log(y) - np.log(law)).sum()

    return min(floors, key=misses)


def _curve(draw):
    """Losses with valleys, and floors of both signs, above each of which the law is a number."""
    while True:
        x, y = _points(draw)
        floors = [draw.uniform(-3, 0.99) * min(y) for _ in range(draw.randint(1, 6))]
        powers = [right_fit_power(x, np.subtract(y, floor)) for floor in floors]
        laws = [E + A / np.array(x) ** alpha for E, (A, alpha) in zip(floors, powers, strict=True)]
        if np.min(laws) > 1e-3:
            return x, y, floors


find_floor = exercise(
    "16.2",
    "find_floor(x, y, floors) -> the one of `floors` above which a power fits best. The misses are "
    "those of log y, and their squares are added.",
    cases=(
        ([1.0, 2.0, 4.0, 8.0, 16.0], [2.31, 1.68, 1.33, 1.08, 0.98], [0.0, 0.25, 0.5, 0.75]),
        # other measures of the misses have their smallest values at other floors
        ([2.0, 4.0, 8.0, 1.0], [2.08, 1.6, 2.17, 3.76], [0.02, 0.51, 1.31, 1.56]),
        # all but miss nothing, and one misses less
        ([1.0, 2.0, 4.0, 8.0], [2.5, 1.914, 1.5, 1.207], [0.48, 0.52, 0.5, 0.49]),
        ([1.0, 2.0, 4.0, 8.0], [8.0, 4.0, 2.0, 1.0], [0.0, 0.02]),  # the best floor counts as False
    ),
    more=drawn(25, _curve),
    praise="`find_floor` is right: try all, keep the one with the smallest misses.",
    right=[right_find_floor],
    hints=[
        "What do you subtract before the fit, and what must you add again before you compare?",
        "For each floor, `A, alpha = fit_power(x, [v - floor for v in y])`. Add the squares of "
        "`np.log(y) - np.log(floor + ...)`, and keep the floor with the smallest sum.",
    ],
    question=number(
        "At x = 1, 2, 4 the losses are 5, 3, 2. Which of the floors 1.9, 0.8, 0.4, 1 fits best? "
        "(In a power law, equal factors of x make equal factors of y.) Give one decimal.",
        lambda f: f([1.0, 2.0, 4.0], [5.0, 3.0, 2.0], [1.9, 0.8, 0.4, 1.0]),
        digits=1,
    ),
    mistakes={
        "min(floors, key=misses) -> floors.index(min(floors, key=misses))": "That "
        "is the place of the floor in the list: return the floor itself",
        "loss - E -> loss": "That is the smallest floor: subtract it before the fit, add it "
        "before you compare",
        "np.square(np.log(y) - np.log(law)) -> np.log(y / law)": "Misses of both signs cancel: "
        "add their squares",
        "np.log(y) - np.log(law) -> y - law": "These are misses of y: take those of log y",
    },
)


def right_best_size(law, operations, sizes):
    N = min(sizes, key=lambda N: law(N, operations / (6 * N)))
    return N, operations / (6 * N)


def _flat(N, D):
    return 1.69 + 406.4 / N**0.34 + 410.7 / D**0.28


def _bumps(draw):
    """A law with many valleys, sizes in no order, and few tokens for each."""
    a, b, c = (draw.uniform(1, 9) for _ in range(3))
    least = draw.choice([0, 1])  # a logarithm of densities may be below 0

    def law(N, D):
        return least + math.sin(a * N + c) + math.sin(b * D)

    return law, draw.randint(50, 3000), draw.sample(range(1, 40), draw.randint(1, 8))


best_size = exercise(
    "16.3",
    "best_size(law, operations, sizes) -> N, D: the size with the lowest loss, for 6 N D. "
    "law(N, D) is a loss.",
    cases=((_flat, 5.76e23, [1e9, 1e10, 3e10, 1e11, 1e12, 1e14]),),
    more=drawn(12, _bumps),
    praise="`best_size` is right: try each size with all the text that the operations pay for.",
    right=[right_best_size],
    hints=[
        "How many characters D can a model of size N read for all the operations?",
        "`N = min(sizes, key=lambda N: law(N, operations / ...))`, and then D for that N.",
    ],
    question=number(
        "The law is 1 + 8 / N + 50 / D, there are 600 operations, and the sizes are 1, 2, 4 and 8. "
        "Which D does `best_size` return? Give one decimal.",
        lambda f: f(lambda N, D: 1 + 8 / N + 50 / D, 600, [1, 2, 4, 8])[1],
        digits=1,
    ),
    mistakes={
        "min(sizes -> max(sizes": "This size has the highest loss: take the one with the lowest",
        "6 * N -> N": "6 N D operations are paid for, not N D",
        "6 * N -> 2 * N": "2 N D is the forward pass: training costs 6 N D",
        "(6 * N))) -> (6 * sizes[0])))": "The largest size wins if all read the same text: a "
        "larger one can pay for less",
        "return N, operations / (6 * N) -> return operations / (6 * N), N": "The two are "
        "swapped: first N, then D",
    },
)
