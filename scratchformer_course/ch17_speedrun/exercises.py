"""The exercises of chapter 17, speedrun."""

import torch
from torch.nn import functional as F

from scratchformer_course.kit.checks import exercise, number
from scratchformer_course.kit.checks.cases import drawn, integers, normal


def right_newton_schulz(G, steps):
    X = G / (G.norm() + 1e-7)
    for _ in range(steps):
        S = X @ X.T  # (N, N)
        X = 3.4445 * X + (-4.7750 * S + 2.0315 * S @ S) @ X
    return X


def _gradient(draw):
    scale = draw.choice([1e-3, 1.0, 1e4])
    return normal(draw, draw.size(1, 5, 20), draw.size(1, 5, 30), scale=scale), draw.randint(0, 4)


newton_schulz = exercise(
    "17.1",
    "newton_schulz(G: (N, M), steps) -> (N, M), singular values drawn towards 1",
    cases=(
        (torch.tensor([[3.0, 1.0, -2.0], [0.5, -4.0, 2.5]]), 7),
        (torch.zeros(2, 3), 5),
        (torch.tensor([[2e-7, -1e-7]]), 0),  # of the size of what the norm gets added
    ),
    more=drawn(10, _gradient),
    right=[right_newton_schulz],
    hints=[
        "What happens before the first step, and what is repeated?",
        "`X = G / (G.norm() + 1e-7)`. In a step `S = X @ X.T`, and X is `a * X + b * S @ X + ...`.",
    ],
    question=number(
        "`G` is [[3, 0], [0, 4]]. What is the 3 after one step? (In it a number s of such a "
        "diagonal becomes 3.4445 s − 4.775 s³ + 2.0315 s⁵.) Give two decimal places.",
        lambda f: f(torch.tensor([[3.0, 0.0], [0.0, 4.0]]), 1)[0, 0],
    ),
    mistakes={
        " / (G.norm() + 1e-7) -> ": "G is not divided by its norm: above 1 the steps explode",
        "-4.7750 * S + 2.0315 -> 2.0315 * S - 4.7750": "The last two coefficients are swapped",
        "2.0315 * S @ S -> 2.0315 * S": "The last term lacks a factor: (X Xᵀ)² X",
        "S = X -> X = X / (X.norm() + 1e-7); S = X": "Divide by the norm once, before the "
        "first step",
    },
)


def right_smear(x, matrices):
    mixed = x.clone()
    for k, W in enumerate(matrices, 1):
        mixed[:, k:] += x[:, :-k] @ W
    return mixed


def _smeared(draw):
    T, C = draw.size(2, 6, 20), draw.randint(1, 4)
    return normal(draw, draw.randint(1, 3), T, C), normal(draw, draw.size(1, T - 1, 12), C, C)


smear = exercise(
    "17.2",
    "smear(x: (B, T, C), matrices: (n, C, C)) -> (B, T, C), with mixed earlier vectors added",
    cases=((torch.tensor([[[1.0], [2.0], [5.0]]]), torch.tensor([[[10.0]], [[100.0]]])),),
    slopes=["x", "matrices"],
    more=drawn(8, _smeared),
    right=[right_smear],
    hints=[
        "Which vectors have one k places before them, and what do the first k positions get?",
        "Clone x. For each k from 1 on, `out[:, ...]` gains `x[:, :-k] @ matrices[k - 1]`.",
    ],
    question=number(
        "A text is [1], [2], [5], the matrices are [[10]] and [[100]]. What becomes of the [2]?",
        lambda f: f(*smear.cases[0])[0, 1, 0],
        digits=0,
    ),
    mistakes={
        "mixed[:, k:] += x[:, :-k] -> mixed += x.roll(k, 1)": "The row is bent into a ring: "
        "the first position sees the last",
        "mixed[:, k:] += x[:, :-k] -> mixed[:, :-k] += x[:, k:]": "Shifted the wrong way: each "
        "position sees the one after it",
        "x.clone() -> torch.zeros_like(x)": "The position's own vector is lost: add to it",
        "x[:, :-k] -> mixed[:, :-k]": "What is added was smeared already: shift the vectors "
        "that were given",
    },
)


def right_pair_numbers(ids, vocab_size):
    previous = F.pad(ids[:, :-1], (1, 0))  # (B, T)
    return previous * vocab_size + ids


def _text(draw):
    V = draw.choice([2, 10, 400, 50_257, 128_256])
    text = integers(draw, V, draw.randint(1, 3), draw.size(1, 6, 40))
    return text.masked_fill(integers(draw, 3, *text.shape) == 0, V - 1), V  # the last id is common


pair_numbers = exercise(
    "17.3",
    "pair_numbers(ids: (B, T), vocab_size) -> (B, T), previous * vocab_size + current. The first "
    "token of a text has nothing before it: its previous token counts as 0.",
    cases=((torch.tensor([[4, 7, 2], [5, 8, 1]]), 10),),
    more=drawn(8, _text),
    right=[right_pair_numbers],
    hints=[
        "What is the previous token of each position, and what is it for the first one?",
        "`F.pad(ids[:, :-1], (1, 0))` moves each row by one place. Multiply it by ..., add `ids`.",
    ],
    question=number(
        "`ids` are [[4, 7, 2], [5, 8, 1]], of 10 tokens. What is the second row's first number?",
        lambda f: f(*pair_numbers.cases[0])[1, 0],
        digits=0,
    ),
    mistakes={
        "previous * vocab_size + ids -> ids * vocab_size + previous": "The two are swapped: "
        "the previous token is the one that is multiplied",
        "ids[:, :-1], (1, 0) -> ids[:, 1:], (0, 1)": "The pair holds the next token: that is "
        "the answer, and must not be seen",
        "F.pad(ids[:, :-1], (1, 0)) -> ids.roll(1, 1)": "The first token is paired with the "
        "last of its text: nothing comes before it, so 0",
        "F.pad(ids[:, :-1], (1, 0)) -> torch.cat((ids[:, :1], ids[:, :-1]), dim=1)": "The "
        "first token is paired with itself: its previous token counts as 0",
    },
)
