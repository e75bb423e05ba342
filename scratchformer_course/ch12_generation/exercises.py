"""The exercises of chapter 12, generation."""

import math

import torch

from scratchformer_course.kit.checks import exercise, expect, number
from scratchformer_course.kit.checks.cases import drawn, normal
from scratchformer_course.kit.checks.compare import same


def right_nucleus(p, top_p):
    ranked, order = p.sort(dim=-1, descending=True)  # each (B, V)
    before = ranked.cumsum(dim=-1) - ranked  # 0 for the first: it stays
    # 1e-6: a sum that should be top_p may be rounded below it
    ranked = ranked.where(before < top_p - 1e-6, 0)  # (B, V)
    ranked = ranked / ranked.sum(dim=-1, keepdim=True)
    return torch.zeros_like(p).scatter(1, order, ranked)


def judge_nucleus(call):
    nucleus.compare(call)
    equal = torch.full((1, 4), 0.25)  # any two may stay, so this is no case
    kept = call(equal, 0.5).like(equal)
    why = "Of four equal tokens two reach 0.5, any two: each of them should have 0.5, the others 0"
    halves = torch.tensor([[0, 0, 0.5, 0.5]])
    expect(same(kept.sort().values, halves), f"{why}.\n`{call}` is {kept}.")
    return nucleus.praise


def _chances(draw):
    p = (2 * normal(draw, draw.randint(1, 4), draw.size(1, 9, 60))).softmax(dim=-1)
    return p, draw.choice([0.05, 0.4, 0.8, 1.0])


nucleus = exercise(
    "12.1",
    "nucleus(p: (B, V), top_p) -> (B, V), the fewest likeliest that reach top_p, rescaled",
    cases=(
        (torch.tensor([[0.05, 0.4, 0.1, 0.3, 0.15], [0.94, 0.01, 0.02, 0.01, 0.02]]), 0.6),
        (torch.tensor([[0.1, 0.05, 0.25, 0.4, 0.2]]), 0.7),
        (torch.tensor([[0.125, 0.5, 0.125, 0.25]]), 0.75),
        (torch.tensor([[0.0, 1.0], [0.6, 0.4]]), 0.01),
        (torch.linspace(-2, 2, 1560).cos().view(24, 65).softmax(dim=-1), 1.0),  # sums below 1
    ),
    praise="`nucleus` is right: 2 tokens of a flat row, 1 of a sharp one, and all at top_p = 1.",
    judge=judge_nucleus,
    more=drawn(12, _chances, ties=False),
    right=[right_nucleus],
    hints=[
        "In a sorted row, how much probability stands before each token?",
        "`ranked.cumsum(dim=-1) - ranked` stands before it, and a token stays if that is below "
        "`top_p`. `scatter` puts the sorted numbers back.",
    ],
    question=number(
        "`p` is [[0.2, 0.1, 0.4, 0.25, 0.05]]. What is `nucleus(p, 0.75)[0, 2]`? Two digits.",
        lambda f: f(torch.tensor([[0.2, 0.1, 0.4, 0.25, 0.05]]), 0.75)[0, 2],
    ),
    mistakes={
        "before = ranked.cumsum(dim=-1) - ranked -> before = ranked.cumsum(dim=-1)": "The "
        "token that crosses top_p is dropped: it must stay, or the rest falls short of it",
        "top_p - 1e-6 -> top_p + 1e-6": "Two tokens reach 0.75 exactly: no third is needed",
        " / ranked.sum(dim=-1, keepdim=True) -> ": "The right tokens are kept, but they do not "
        "sum to 1: rescale them",
        "torch.zeros_like(p).scatter(1, order, ranked) -> ranked": "The order is lost: the "
        "answer must stand where the tokens stood in p",
    },
)


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
    "12.2",
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
    "12.3",
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
        "One digit. (Heads and groups are counted from 0.)",
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
