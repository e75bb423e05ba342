"""The exercises of chapter 0, the optional primer."""

import torch

from scratchformer_course.kit.checks.cases import drawn, normal
from scratchformer_course.kit.checks.engine import exercise, mistake
from scratchformer_course.kit.checks.question import number

A = torch.tensor([[1.0, -1.5, 0.0], [0.25, 1.0, 3.0]])
B = torch.tensor([[1.0, 0.0, 2.0, 5.0], [3.0, 0.25, 0.0, 1.0], [0.0, 2.0, -1.5, 2.0]])
X = torch.tensor([[1.0, 3.0, 5.0], [2.0, 2.0, 8.0], [-4.0, 0.0, 7.0], [0.5, 0.0, 1.0]])


def _random(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def _table(*rows):
    return torch.tensor(rows, dtype=torch.float)


def by_two_loops(a, b):
    out = torch.zeros(len(a), b.shape[1])
    for i in range(len(a)):
        for j in range(b.shape[1]):
            out[i, j] = sum(a[i, k] * b[k, j] for k in range(len(b)))
    return out


def _factors(draw):
    n, k, m = (draw.randint(1, 5) for _ in range(3))
    return normal(draw, n, k), normal(draw, k, m)


matrix_product = exercise(
    "0.1",
    "matrix_product(a: (n, k), b: (k, m)) -> (n, m), by rows and columns",
    cases=(
        (A, B),
        (B.T, A.T),
        (A[:1], B[:, :1]),
        (20 * _random(5, 4), _random(4, 2)),
        (_random(3, 3), _random(3, 4)[:, :3]),
        (_random(2, 1), _random(1, 6)),
        (A.flip(0), 2 * B),
    ),
    more=drawn(6, _factors),
    right=[
        lambda a, b: torch.stack([torch.stack([row @ column for column in b.T]) for row in a]),
        by_two_loops,
    ],
    hints=[
        "Which row of `a` and which column of `b` meet in the entry at row `i`, column `j`?",
        "Two loops, and in the inner one `product[i, j] = (a[i] * ...).sum()`.",
    ],
    question=number(
        "`a` is [[−1, 2], [3, 1]], and `b` is [[5, 2], [1, 4]]. Which number is in row 0, "
        "column 1 of `matrix_product(a, b)`? (Rows and columns count from 0.)",
        lambda f: f(_table([-1, 2], [3, 1]), _table([5, 2], [1, 4]))[0, 1],
        digits=0,
    ),
    mistakes=[
        mistake(
            "takes the rows of both",
            "The rows of `a` meet the rows of `b`, but they must meet its columns",
            lambda a, b: torch.stack([torch.stack([row @ other for other in b]) for row in a]),
        ),
        mistake(
            "multiplies entry by entry",
            "`*` multiplies entry by entry: the product of tables adds up along a row and a column",
            lambda a, b: a * b,
        ),
        mistake(
            "returns the transpose",
            "The result is transposed: entry [i, j] belongs to row i of `a` and column j of `b`",
            lambda a, b: (a @ b).T,
        ),
        mistake(
            "forgets the last term",
            "The last term of each sum is missing: there are k of them",
            lambda a, b: a[:, :-1] @ b[:-1],
        ),
    ],
)


def right_standardise(x):
    mean = x.mean(dim=1, keepdim=True)
    variance = x.var(dim=1, keepdim=True, unbiased=False)
    return (x - mean) / variance.sqrt()


def row_by_row(x):
    rows = [(row - row.mean()) / row.std(unbiased=False) for row in x]
    return torch.stack(rows)


standardise = exercise(
    "0.2",
    "standardise(x: (T, C)) -> (T, C), each row with mean 0 and variance 1",
    cases=(
        X,
        X[:1] * 10 + 3,
        20 * _random(5, 4) - 50,
        10 * _random(3, 7).T,
        _random(2, 12) + 5,
        torch.tensor([[0.002, 0.003, 0.004]]),
        torch.tensor([[1000.0, 1000.5, 1001.0]]),
        X.flip(0),
    ),
    more=drawn(6, lambda draw: (3 * normal(draw, draw.randint(1, 5), draw.randint(2, 9)) - 1,)),
    right=[right_standardise, row_by_row],
    hints=[
        "Which shape must the means have, so that each row meets its own?",
        "`mean = x.mean(dim=1, keepdim=True)`, the variance in the same way with "
        "`unbiased=False`, and then `(x - mean) / ...`.",
    ],
    question=number(
        "`x` has the rows [2, 2, 2, 6] and [3, 3, 9, 9]. What is the last number of row 0 of "
        "`standardise(x)`? Give two digits after the point.",
        lambda f: f(_table([2, 2, 2, 6], [3, 3, 9, 9]))[0, 3],
    ),
    mistakes=[
        mistake(
            "works down the columns",
            "Mean and variance are taken down the columns: each row has its own, so `dim=1`",
            lambda x: (x - x.mean(dim=0)) / x.std(dim=0, unbiased=False),
        ),
        mistake(
            "takes one mean for the table",
            "One mean and one variance serve all rows: each row has its own, so `dim=1`",
            lambda x: (x - x.mean()) / x.std(unbiased=False),
        ),
        mistake(
            "divides by the variance",
            "The rows are divided by their variance: divide by its square root",
            lambda x: (x - x.mean(dim=1, keepdim=True)) / x.var(dim=1, keepdim=True, correction=0),
        ),
        mistake(
            "only subtracts the mean",
            "The mean is 0, but the variance is not 1: divide by its square root",
            lambda x: x - x.mean(dim=1, keepdim=True),
        ),
        mistake(
            "divides by n − 1",
            "The variance is a little too large: PyTorch divides by n − 1 unless `unbiased=False`",
            lambda x: (x - x.mean(dim=1, keepdim=True)) / x.std(dim=1, keepdim=True),
        ),
        mistake(
            "forgets keepdim",
            "`x.mean(dim=1)` has the shape (T,): `keepdim=True` keeps it upright, (T, 1)",
            lambda x: (x - x.mean(dim=1)) / x.std(dim=1, unbiased=False),
        ),
    ],
)
