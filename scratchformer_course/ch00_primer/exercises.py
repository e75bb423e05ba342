"""The exercises of chapter 0, the optional primer."""

import math

import torch

from scratchformer_course.kit.checks.cases import drawn, normal
from scratchformer_course.kit.checks.engine import exercise
from scratchformer_course.kit.checks.mistakes import edits, mistake
from scratchformer_course.kit.checks.question import number

A = torch.tensor([[1.0, -1.5, 0.0], [0.25, 1.0, 3.0]])
B = torch.tensor([[1.0, 0.0, 2.0, 5.0], [3.0, 0.25, 0.0, 1.0], [0.0, 2.0, -1.5, 2.0]])


def right_shape_of(a, b):
    axes = max(len(a), len(b))
    a = (1,) * (axes - len(a)) + a
    b = (1,) * (axes - len(b)) + b
    return tuple(max(x, y) for x, y in zip(a, b, strict=True))


def _shapes(draw):
    """Two shapes that fit: both made of one, by leaving axes out and setting lengths to 1."""
    whole = [draw.size(2, 5, 40) for _ in range(draw.randint(1, 4))]

    def side():
        first = draw.randint(0, len(whole))
        return tuple(draw.choice((1, n)) for n in whole[first:])

    return side(), side()


shape_of = exercise(
    "0.1",
    "shape_of(a, b) -> the shape of the difference of two tensors of the shapes a and b",
    cases=(
        ((3, 1), (3,)),
        ((2, 3), (3,)),
        ((2, 3), (2, 1)),
        ((4, 4), (4, 4)),
        ((5, 1, 3), (2, 1)),
        ((), (6,)),
        ((1,), (7, 1)),
    ),
    more=drawn(12, _shapes, ties=False),
    right=[right_shape_of],
    hints=[
        "How do you make the shorter shape as long as the other, if both are aligned on the right?",
        "Put `(1,) * (axes - len(a))` before `a`, the same before `b`, and take the larger length "
        "of each pair: `tuple(... for x, y in zip(a, b))`.",
    ],
    question=number(
        "How many numbers are in `a - b`, if `a` has the shape (4, 1, 3) and `b` the shape (2, 3)?",
        lambda f: math.prod(f((4, 1, 3), (2, 3))),
        digits=0,
    ),
    mistakes={
        "(1,) * (axes - len(a)) + a -> a + (1,) * (axes - len(a))\n"
        "(1,) * (axes - len(b)) + b -> b + (1,) * (axes - len(b))": "The shorter shape is filled "
        "up on the right: align both on the right, so that a missing axis is on the left",
        "max(x, y) -> min(x, y)": "Of two lengths that fit, the copies reach the larger one",
        "tuple(max(x, y) for x, y in zip(a, b, strict=True)) -> a": "This is the shape of `a` "
        "alone: `b` may be longer on some axis",
    },
)


def right_matrix_product(a, b):
    product = torch.zeros(len(a), b.shape[1])
    for i in range(len(a)):
        for j in range(b.shape[1]):
            product[i, j] = (a[i] * b[:, j]).sum()
    return product


def _factors(draw):
    n, k, m = (draw.size(1, 5, 20) for _ in range(3))
    return normal(draw, n, k), normal(draw, k, m)


matrix_product = exercise(
    "0.2",
    "matrix_product(a: (n, k), b: (k, m)) -> (n, m), by rows and columns",
    cases=((A, B),),
    more=drawn(12, _factors),
    right=[right_matrix_product],
    hints=[
        "Which row of `a` and which column of `b` meet in the entry at row `i`, column `j`?",
        "Two loops, and in the inner one `product[i, j] = (a[i] * ...).sum()`.",
    ],
    question=number(
        "`a` is [[−1, 2], [3, 1]], and `b` is [[5, 2], [1, 4]]. Which number is in row 0, "
        "column 1 of `matrix_product(a, b)`? (Rows and columns count from 0.)",
        lambda f: f(torch.tensor([[-1.0, 2], [3, 1]]), torch.tensor([[5.0, 2], [1, 4]]))[0, 1],
        digits=0,
    ),
    mistakes=[
        *edits(
            right_matrix_product,
            {
                "b[:, j] -> b[j]": "The rows of `a` meet the rows of `b`, but they must meet its "
                "columns",
                "return product -> return product.T": "The result is transposed: entry [i, j] "
                "belongs to row i of `a` and column j of `b`",
            },
        ),
        mistake(
            "a * b",
            "`*` multiplies entry by entry: the product of tables adds up along a row and a column",
            lambda a, b: a * b,
        ),
    ],
)
