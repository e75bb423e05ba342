"""The exercises of chapter 21: a table for a cache, the delta rule, and the key of a swap."""

import torch

from scratchformer_course.kit.checks.cases import drawn, normal
from scratchformer_course.kit.checks.engine import exercise
from scratchformer_course.kit.checks.mistakes import edits
from scratchformer_course.kit.checks.question import number
from scratchformer_course.kit.checks.verdict import expect


def right_linear_attention(q, k, v):
    table = torch.zeros(k.shape[1], v.shape[1])  # the same size for any T
    rows = []
    for t in range(len(q)):
        table = table + torch.outer(k[t], v[t])
        rows.append(q[t] @ table)
    return torch.stack(rows), table


def _positions(draw):
    T, D, E = draw.size(1, 6, 40), draw.randint(1, 5), draw.randint(1, 5)
    return normal(draw, T, D), normal(draw, T, D), normal(draw, T, E)


linear_attention = exercise(
    "21.1",
    "linear_attention(q: (T, D), k: (T, D), v: (T, E)) -> what is read (T, E), the table (D, E)",
    cases=((torch.eye(3), torch.ones(3, 3).tril(), torch.tensor([[1.0], [10.0], [100.0]])),),
    more=drawn(12, _positions),
    right=[right_linear_attention],
    hints=[
        "What does position 0 read, if its own pair is in the table?",
        "In each step: `table = table + torch.outer(k[t], v[t])`, and then read `q[t] @ table`.",
    ],
    question=number(
        "Keys [1, 2] and [3, 1] are written with the values [5] and [2], one after the other. What "
        "does the query [1, −1] read at the second position? Give two digits after the point.",
        lambda f: f(
            torch.tensor([[0.0, 1], [1, -1]]),
            torch.tensor([[1.0, 2], [3, 1]]),
            torch.tensor([[5.0], [2]]),
        )[0][1, 0],
    ),
    mistakes={
        "table = table + torch.outer -> table = torch.outer": "Each write replaces the table: add "
        "to what is there",
        "q[t] @ table -> q[t] @ (table - torch.outer(k[t], v[t]))": "A position reads before it "
        "writes: its own pair belongs to what it reads",
        "rows.append(q[t] @ table) -> rows.append(k[t] @ table)": "The key reads: ask with the "
        "query",
        "torch.outer(k[t], v[t]) -> torch.outer(k[t], q[t])": "The table holds queries: write "
        "the values",
    },
)


def right_delta_write(table, k, v, beta):
    old = k @ table  # what the key reads now
    return table + beta * torch.outer(k, v - old)


def _write(draw):
    D, E = draw.size(1, 5, 30), draw.randint(1, 5)
    k = normal(draw, D)
    k = k / k.norm() if k.norm() > 0 else torch.eye(D)[0]
    return normal(draw, D, E), k, normal(draw, E), draw.choice([0.0, 0.5, 1.0, 2.0])


delta_write = exercise(
    "21.2",
    "delta_write(table: (D, E), k: (D,) of length 1, v: (E,), beta) -> the new table (D, E)",
    cases=((torch.ones(2, 2), torch.tensor([0.6, 0.8]), torch.tensor([3.0, 0.0]), 1.0),),
    more=drawn(12, _write),
    right=[right_delta_write],
    hints=[
        "Which value does the key read before the write, and by how much is it wrong?",
        "`old = k @ table`, and then add the outer product of `k` and the correction.",
    ],
    question=number(
        "The table has the rows [1, 2] and [3, 4]. You write v = [5, 0] under k = [1, 0] with "
        "β = 0.25. Which number is then in row 0, column 0? Give two digits after the point.",
        lambda f: f(
            torch.tensor([[1.0, 2], [3, 4]]), torch.tensor([1.0, 0]), torch.tensor([5.0, 0]), 0.25
        )[0, 0],
    ),
    mistakes={
        "v - old -> v": "This is the sum: nothing of the old value is taken out",
        "beta * torch.outer(k, v - old) -> torch.outer(k, v) - beta * torch.outer(k, old)": "beta "
        "scales what is taken out alone: it scales the whole correction",
        "beta * torch -> torch": "beta is not used: it scales the correction",
        "table + -> table -": "The correction is subtracted: it moves away from v",
        "v - old -> old - v": "The correction has the wrong sign: it moves away from v",
    },
)


def right_swap_key(i, j, n):
    k = torch.zeros(n)
    k[i], k[j] = 1, -1
    return k / 2**0.5


def judge_swap_key(call):
    for i, j, n in ((1, 3, 5), (0, 1, 2), (4, 0, 5), (2, 6, 9)):
        k = call(i, j, n).like(torch.ones(n))
        expect(k.shape == (n,), f"The key has shape {tuple(k.shape)}, but {(n,)} is expected.")
        length = float(k.double().norm())
        expect(abs(length - 1) < 1e-4, f"The key has length {length:.3g}: 1 is expected.")
        before = torch.arange(n * 2.0).view(n, 2)
        after = before - 2 * torch.outer(k, k @ before)
        wanted = before.clone()
        wanted[[i, j]] = before[[j, i]]
        rest = [row for row in range(n) if row not in (i, j)]
        still = torch.allclose(after[rest], before[rest], atol=1e-3)
        expect(still, f"With i = {i} and j = {j}, a row other than these two changes.")
        negative = torch.allclose(after, -wanted, atol=1e-3) or bool((after[[i, j]] < -1e-3).any())
        expect(not negative, "A row comes out negative: the two entries need opposite signs.")
        swapped = torch.allclose(after, wanted, atol=1e-3)
        expect(swapped, f"With i = {i} and j = {j}, β = 2 does not exchange rows {i} and {j}.")
    return "β = 2 exchanges the two rows, and no other row changes."


swap_key = exercise(
    "21.3",
    "swap_key(i, j, n) -> a key (n,) of length 1 that exchanges rows i and j with v = 0, beta = 2",
    judge=judge_swap_key,
    right=[right_swap_key],
    hints=[
        "Which vector does a swap of i and j turn into its opposite?",
        "It is not zero at i and j alone, with opposite signs, and its length is 1.",
    ],
    question=number(
        "What does `swap_key(1, 3, 5)` read of the table whose rows are 0, 10, 20, 30 and 40? Give "
        "the size of this number, without its sign, and two digits after the point.",
        lambda f: (f(1, 3, 5) @ torch.tensor([0.0, 10, 20, 30, 40])).abs(),
    ),
    mistakes=edits(
        right_swap_key,
        {
            "1, -1 -> 1, 1": "A row comes out negative",
            " / 2**0.5 -> ": "The key has length 1.41",
            "2**0.5 -> 2": "The key has length 0.707",
            "k[j] = 1, -1 -> k[j - 1] = 1, -1": "a row other than these two changes",
        },
        quoted=True,
    ),
)
