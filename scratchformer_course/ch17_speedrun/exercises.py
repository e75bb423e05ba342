"""The exercises of chapter 17, speedrun."""

from itertools import pairwise

import torch
from torch.nn import functional as F

from scratchformer_course.kit.checks.cases import drawn, integers, normal
from scratchformer_course.kit.checks.engine import exercise, mistake
from scratchformer_course.kit.checks.question import number


def _steps(X, steps, a=3.4445, b=-4.7750, c=2.0315):
    """`steps` times X -> a X + b (X Xᵀ) X + c (X Xᵀ)² X."""
    for _ in range(steps):
        S = X @ X.T
        X = a * X + (b * S + c * S @ S) @ X
    return X


GRADIENTS = 4 * torch.randn(3, 5, 5, generator=torch.Generator().manual_seed(1))


def right_newton_schulz(G, steps):
    return _steps(G / (G.norm() + 1e-7), steps)


def by_singular_values(G, steps):  # the same polynomial of each of them
    U, s, V = torch.linalg.svd(G, full_matrices=False)
    s = s / (s.square().sum().sqrt() + 1e-7)
    for _ in range(steps):
        s = 3.4445 * s - 4.7750 * s**3 + 2.0315 * s**5
    return U @ s.diag() @ V


def normalises_at_every_step(G, steps):
    for _ in range(steps):
        G = _steps(G / G.norm(), 1)
    return G


def _gradient(draw):
    scale = draw.choice([1e-3, 1.0, 1e4])
    return normal(draw, draw.randint(1, 5), draw.randint(1, 5), scale=scale), draw.randint(0, 4)


newton_schulz = exercise(
    "17.1",
    "newton_schulz(G: (N, M), steps) -> (N, M), singular values drawn towards 1",
    cases=(
        (GRADIENTS[0, :3], 3),
        (GRADIENTS[1, :4, :4], 2),
        (GRADIENTS[2, :, :3], 5),
        (torch.zeros(2, 3), 5),
        (300 * GRADIENTS[1, 1:3].T.double(), 8),
        (torch.tensor([[-0.02]]), 1),
        (GRADIENTS[0, 4:] / 5e6, 0),
    ),
    more=drawn(10, _gradient),
    right=[right_newton_schulz, by_singular_values],
    hints=[
        "What happens before the first step, and what is repeated?",
        "`X = G / (G.norm() + 1e-7)`. In each step `S = X @ X.T`, and the new X is "
        "`a * X + b * S @ X + ...`.",
    ],
    question=number(
        "`G` is [[3, 0], [0, 4]]. After one step, what is the number in row 0, column 0? (In such "
        "a matrix each number on the diagonal changes on its own: s becomes 3.4445 s − 4.775 s³ + "
        "2.0315 s⁵.) Give two decimal places.",
        lambda f: f(torch.tensor([[3.0, 0.0], [0.0, 4.0]]), 1)[0, 0],
    ),
    mistakes=[
        mistake(
            "does not normalise",
            "G is not divided by its norm: above 1 the steps explode",
            lambda G, steps: _steps(G, steps),
        ),
        mistake(
            "swaps the last coefficients",
            "The last two coefficients are swapped",
            lambda G, steps: _steps(G / G.norm(), steps, b=2.0315, c=-4.7750),
        ),
        mistake(
            "forgets the square in the last term",
            "The last term lacks a factor: (X Xᵀ)² X",
            lambda G, steps: _steps(G / G.norm(), steps, b=2.0315 - 4.7750, c=0.0),
        ),
        mistake(
            "normalises at every step",
            "Divide by the norm once, before the first step",
            normalises_at_every_step,
        ),
    ],
)


def _shifted(x, k):
    """x moved k places to later positions (to earlier ones if k < 0), zeros where nothing comes."""
    zeros = torch.zeros_like(x[:, : abs(k)])
    return torch.cat((zeros, x[:, :-k]) if k > 0 else (x[:, -k:], zeros), dim=1)


def _mixed(x, matrices, shift=_shifted):
    """What is added to x: shift(x, 1) @ matrices[0] + shift(x, 2) @ matrices[1] + …"""
    return sum(shift(x, k) @ W for k, W in enumerate(matrices, 1))


SMEARED = torch.randn(2, 2, 5, 3, generator=torch.Generator().manual_seed(2))
MATRICES = torch.randn(3, 3, 3, generator=torch.Generator().manual_seed(4))


def right_smear(x, matrices):
    return x + _mixed(x, matrices)


def smear_by_slices(x, matrices):
    out = x.clone()
    for k in range(1, len(matrices) + 1):
        out[:, k:] += x[:, :-k] @ matrices[k - 1]
    return out


def adds_what_was_smeared(x, matrices):
    for k, W in enumerate(matrices, 1):
        x = x + _shifted(x, k) @ W
    return x


def _smeared(draw):
    T, C = draw.randint(2, 6), draw.randint(1, 4)
    return normal(draw, draw.randint(1, 3), T, C), normal(draw, draw.randint(1, T - 1), C, C)


smear = exercise(
    "17.2",
    "smear(x: (B, T, C), matrices: (n, C, C)) -> (B, T, C), with mixed earlier vectors added",
    cases=(
        (SMEARED[0, :, :4], MATRICES[:1]),
        (SMEARED[1], MATRICES[1:]),
        (SMEARED.flatten(0, 1)[:3, :4], 30 * MATRICES),
        (SMEARED[0, :1, :, :2].double(), MATRICES[:2, 1:, :2].double()),
        (SMEARED[1, :, :, :3].mT, GRADIENTS[:2]),  # 3 positions of 5 channels
    ),
    more=drawn(8, _smeared),
    right=[right_smear, smear_by_slices],
    hints=[
        "Which vectors of the text have something k places before them, and what do the first k "
        "positions get?",
        "Start from `out = x.clone()`. For each k from 1 on, add `x[:, :-k] @ matrices[k - 1]` to "
        "`out[:, ...]`.",
    ],
    question=number(
        "One text has three vectors of width 1: [1], [2] and [5]. The two matrices are [[10]] and "
        "[[100]]. What is the value at the middle position?",
        lambda f: f(torch.tensor([[[1.0], [2.0], [5.0]]]), torch.tensor([[[10.0]], [[100.0]]]))[
            0, 1, 0
        ],
        digits=0,
    ),
    mistakes=[
        mistake(
            "wraps around",
            "The row is bent into a ring: the first position sees the last",
            lambda x, matrices: x + _mixed(x, matrices, lambda x, k: x.roll(k, 1)),
        ),
        mistake(
            "sees the future",
            "Shifted the wrong way: each position sees the one after it",
            lambda x, matrices: x + _mixed(x, matrices, lambda x, k: _shifted(x, -k)),
        ),
        mistake(
            "replaces the vectors",
            "The position's own vector is lost: add to it",
            lambda x, matrices: _mixed(x, matrices),
        ),
        mistake(
            "adds what was smeared already",
            "What is added was smeared already: shift the vectors that were given",
            adds_what_was_smeared,
        ),
    ],
)


IDS = torch.tensor([[3, 1, 4, 1], [5, 0, 2, 5]])


def pair_numbers_by_loop(ids, vocab_size):
    rows = [[0, *row] for row in ids.tolist()]
    pairs = [list(pairwise(row)) for row in rows]
    return torch.tensor([[a * vocab_size + b for a, b in row] for row in pairs])


def _text(draw):
    V = draw.choice([2, 10, 400, 50_257, 128_256])
    text = integers(draw, V, draw.randint(1, 3), draw.randint(1, 6))
    return text.masked_fill(integers(draw, 3, *text.shape) == 0, V - 1), V  # the last id is common


pair_numbers = exercise(
    "17.3",
    "pair_numbers(ids: (B, T), vocab_size) -> (B, T), previous * vocab_size + current. The first "
    "token of a text has nothing before it: its previous token counts as 0.",
    cases=(
        (IDS, 6),
        (IDS[:1, :1], 6),
        (torch.tensor([[9, 0, 7]]), 10),
        (IDS.T + 30, 47),
        (torch.tensor([[50_256, 50_255, 0]]), 50_257),
    ),
    more=drawn(8, _text),
    right=[
        lambda ids, vocab_size: F.pad(ids[:, :-1], (1, 0)) * vocab_size + ids,
        pair_numbers_by_loop,
    ],
    hints=[
        "What is the previous token of each position, and what is it for the first one?",
        "`F.pad(ids[:, :-1], (1, 0))` moves each row by one place. Multiply it by ..., and add "
        "`ids`.",
    ],
    question=number(
        "`ids` are [[4, 7, 2], [5, 8, 1]], and the vocabulary has 10 tokens. What is the first "
        "number of the second row?",
        lambda f: f(torch.tensor([[4, 7, 2], [5, 8, 1]]), 10)[1, 0],
        digits=0,
    ),
    mistakes=[
        mistake(
            "swaps the two",
            "The two are swapped: the previous token is the one that is multiplied",
            lambda ids, vocab_size: ids * vocab_size + F.pad(ids[:, :-1], (1, 0)),
        ),
        mistake(
            "pairs with the next",
            "The pair holds the next token: that is the answer, and must not be seen",
            lambda ids, vocab_size: F.pad(ids[:, 1:], (0, 1)) * vocab_size + ids,
        ),
        mistake(
            "wraps around",
            "The first token is paired with the last of its text: nothing comes before it, so 0",
            lambda ids, vocab_size: ids.roll(1, 1) * vocab_size + ids,
        ),
        mistake(
            "pairs the first with itself",
            "The first token is paired with itself: its previous token counts as 0",
            lambda ids, vocab_size: torch.cat((ids[:, :1], ids[:, :-1]), dim=1) * vocab_size + ids,
        ),
    ],
)
