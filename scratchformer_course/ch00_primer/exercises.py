"""The exercises of chapter 0, the optional primer."""

import torch

from scratchformer_course.kit.checks.cases import drawn, normal
from scratchformer_course.kit.checks.engine import exercise
from scratchformer_course.kit.checks.mistakes import edits, mistake
from scratchformer_course.kit.checks.question import number

A = torch.tensor([[1.0, -1.5, 0.0], [0.25, 1.0, 3.0]])
B = torch.tensor([[1.0, 0.0, 2.0, 5.0], [3.0, 0.25, 0.0, 1.0], [0.0, 2.0, -1.5, 2.0]])
X = torch.tensor([[1.0, 3.0, 5.0], [2.0, 2.0, 8.0], [-4.0, 0.0, 7.0], [0.5, 0.0, 1.0]])


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
    "0.1",
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


def right_standardise(x):
    mean = x.mean(dim=1, keepdim=True)  # (T, 1)
    variance = x.var(dim=1, keepdim=True, unbiased=False)  # (T, 1)
    return (x - mean) / variance.sqrt()  # (T, C)


def _rows(draw):
    return (3 * normal(draw, draw.size(1, 5, 40), draw.size(2, 9, 40)) - 1,)


standardise = exercise(
    "0.2",
    "standardise(x: (T, C)) -> (T, C), each row with mean 0 and variance 1",
    cases=(X, torch.tensor([[0.002, 0.003, 0.004], [1000.0, 1000.5, 1001.0]])),
    more=drawn(12, _rows, ties=False),
    right=[right_standardise],
    hints=[
        "Which shape must the means have, so that each row meets its own?",
        "`mean = x.mean(dim=1, keepdim=True)`, the variance in the same way with "
        "`unbiased=False`, and then `(x - mean) / ...`.",
    ],
    question=number(
        "`x` has the rows [2, 2, 2, 6] and [3, 3, 9, 9]. What is the last number of row 0 of "
        "`standardise(x)`? Give two digits after the point.",
        lambda f: f(torch.tensor([[2.0, 2, 2, 6], [3, 3, 9, 9]]))[0, 3],
    ),
    mistakes={
        "dim=1 -> dim=0": "Mean and variance are taken down the columns: each row has its own, "
        "so `dim=1`",
        "variance.sqrt() -> variance": "The rows are divided by their variance: divide by its "
        "square root",
        ", unbiased=False -> ": "The variance is a little too large: PyTorch divides by n − 1 "
        "unless `unbiased=False`",
        ", keepdim=True -> ": "`x.mean(dim=1)` has the shape (T,): `keepdim=True` keeps it "
        "upright, (T, 1)",
    },
)
