"""The exercises of chapter 20, inference."""

import math

import torch

from scratchformer_course.kit.checks import exercise, number
from scratchformer_course.kit.checks.cases import drawn, normal

# --- 20.1: one step with a cache -----------------------------------------------------------------


def right_cached_step(q, k, v, keys, values):
    keys = torch.cat([keys, k])  # (S + 1, D)
    values = torch.cat([values, v])  # (S + 1, D)
    scores = q @ keys.T / math.sqrt(q.shape[-1])  # (1, S + 1)
    return scores.softmax(dim=-1) @ values, keys, values


def _random(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def _output_after_two(cached_step):
    first, cached = torch.ones(1, 1), torch.tensor([[2.0], [4.0]])
    return cached_step(first, first, 12 * first, torch.ones(2, 1), cached)[0]


cached_step = exercise(
    "20.1",
    "cached_step(q, k, v: each (1, D), keys, values: (S, D)) -> (output (1, D), keys, values)",
    cases=[  # exp overflows in the last
        (*size * _random(3, 1, D), *size * _random(2, S, D))
        for S, D, size in ((3, 9, 1), (0, 4, 1), (60, 5, 1), (7, 9, 12))
    ],
    right=[right_cached_step],
    hints=[
        "Which keys may the new token see: is its own among them?",
        "`keys = torch.cat([keys, k])`, and the values likewise. One row of scores is left, "
        "`q @ keys.T / D**0.5`.",
    ],
    question=number(
        "A head with D = 1. The query is 1, and so are all keys: two in the cache and the new one. "
        "The cache holds the values 2 and 4, and the new value is 12. What is the output?",
        _output_after_two,
        digits=0,
    ),
    mistakes={
        "return scores.softmax(dim=-1) @ values -> old = q @ keys[:-1].T / "
        "math.sqrt(q.shape[-1]); return old.softmax(dim=-1) @ values[:-1]": "The new token "
        "does not see itself: append its key before attending",
        " / math.sqrt(q.shape[-1]) -> ": "The scores are not divided by √D",
        "@ values, -> @ keys,": "The keys are mixed: mix the values",
        "scores.softmax(dim=-1) -> scores": "The softmax is missing",
    },
)

# --- 20.2: heads that share keys -----------------------------------------------------------------


def right_grouped_step(q, keys, values):
    share = len(q) // len(keys)
    keys = keys.repeat_interleave(share, dim=0)  # (H, S, D)
    values = values.repeat_interleave(share, dim=0)  # (H, S, D)
    scores = q @ keys.mT / math.sqrt(q.shape[-1])  # (H, 1, S)
    return scores.softmax(dim=-1) @ values


def _output_of_head_1(grouped_step):
    values = torch.tensor([[1.0, 3.0], [4.0, 8.0], [12.0, 20.0]])[..., None]  # (G, S, D)
    return grouped_step(torch.ones(6, 1, 1), torch.full((3, 2, 1), 3.0), values).view(6)[1]


grouped_step = exercise(
    "20.2",
    "grouped_step(q: (H, 1, D), keys: (G, S, D), values: (G, S, D)) -> (H, 1, D). H query heads "
    "share G heads of keys and values; neighbouring heads read the same ones.",
    cases=[  # exp overflows, but in the last
        (size * _random(H, 1, D), *size * _random(2, G, S, D))
        for H, G, S, D, size in (
            *((H, G, 3, 4, 9) for H, G in ((4, 2), (6, 3), (4, 1), (3, 3))),
            (24, 6, 50, 9, 1),
        )
    ],
    praise="`grouped_step` is right: with 2 and 3 groups, with one for all, and one for each.",
    right=[right_grouped_step],
    hints=[
        "How many query heads read each group, and which of them read group 0?",
        "`keys.repeat_interleave(len(q) // len(keys), dim=0)` gives each head its keys. Do the "
        "same with the values, and attend.",
    ],
    question=number(
        "Six query heads, three groups, D = 1. All queries are 1 and all keys 3. The groups hold "
        "two values each: 1 and 3, then 4 and 8, then 12 and 20. What is the output of head 1? "
        "One digit after the point. (Heads and groups are counted from 0.)",
        _output_of_head_1,
        digits=1,
    ),
    mistakes={
        "repeat_interleave(share, dim=0) -> repeat(share, 1, 1)": "The groups are dealt out in "
        "turn: heads 0 and 1 of four should read group 0, 2 and 3 group 1",
        "repeat_interleave(share, dim=0) -> mean(dim=0, keepdim=True)": "The groups are "
        "averaged: each head reads one of them",
        " / math.sqrt(q.shape[-1]) -> ": "The scores are not divided by √D",
        "softmax(dim=-1) -> softmax(dim=0)": "The softmax runs over the heads: it belongs to "
        "the last axis, the tokens",
    },
)

# --- 20.3: keep or replace -----------------------------------------------------------------------


def right_accepted(p, q, draft, u):
    for i, token in enumerate(draft):
        if u[i] * q[i, token] >= p[i, token]:  # rejected
            rest = (p[i] - q[i]).clamp(min=0)
            return i, rest / rest.sum()
    return len(draft), p[-1]


def _drafts(draw):
    k, V = draw.size(0, 4, 16), draw.choice([2, 3, 5, 200])
    p, q = (normal(draw, n, V, scale=1.5).softmax(dim=-1) for n in (k + 1, k))
    q = p[:k].clone() if draw.is_large else q  # all are kept
    drafted = [draw.choices(range(V), row.tolist())[0] for row in q]
    return p, q, drafted, [draw.random() for _ in range(k)]


accepted = exercise(
    "20.3",
    "accepted(p: (k + 1, V), q: (k, V), draft, u) -> n, rest: (V,); of k drafted tokens the first "
    "n are kept, and the next one is drawn from rest",
    cases=(
        (
            torch.tensor([[0.4, 0.4, 0.2], [0.2, 0.3, 0.5]]),
            torch.tensor([[0.8, 0.1, 0.1]]),
            [0],
            [0.9],
        ),
        (torch.tensor([[0.0, 1.0], [0.5, 0.5]]), torch.tensor([[0.5, 0.5]]), [0], [0.1]),
        (torch.tensor([[0.0, 1.0], [0.5, 0.5]]), torch.tensor([[0.5, 0.5]]), [0], [0.0]),
    ),
    more=drawn(30, _drafts),
    praise="`accepted` is right: it keeps, rejects, and adds one token when all are kept.",
    right=[right_accepted],
    hints=[
        "The draft gives a token 0.5, the model 0.2. How often may it stay, not to come too often?",
        "Keep token i while u[i] < p[i, token] / q[i, token]. At the first rejection return i and "
        "the positive part of p[i] - q[i], made to sum to 1. If none is rejected, return k and ...",
    ],
    question=number(
        "Token 0 is drafted, q is 0.8, 0.1, 0.1, p is 0.4, 0.4, 0.2, and u is 0.9. What is the "
        "chance of token 1 now?",
        lambda f: f(*accepted.cases[0])[1][1],
    ),
    mistakes={
        "rest / rest.sum() -> p[i]": "After a rejection this draws from p, but likely tokens "
        "were kept already and would come too often: take the positive part of p - q",
        " / rest.sum() -> ": "The rest does not sum to 1: divide by its sum",
        ".clamp(min=0) -> \nrest.sum() -> rest.abs().sum()": "The rest has negative numbers: "
        "where q is larger than p, the rest is 0",
        "p[-1] -> p[-2]": "All are kept, and the model has read them all: its last row gives "
        "one more token, from p[k] as it is",
    },
)
