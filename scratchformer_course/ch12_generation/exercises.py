"""The exercises of chapter 12, generation."""

import math

import torch
from torch.nn import functional as F

from scratchformer_course.kit.checks.cases import drawn, normal
from scratchformer_course.kit.checks.compare import same
from scratchformer_course.kit.checks.engine import exercise, mistake, refused
from scratchformer_course.kit.checks.question import number
from scratchformer_course.kit.checks.verdict import expect


def _rescaled(kept):
    return kept / kept.sum(dim=-1, keepdim=True)


def _likeliest(p, n):
    """The n likeliest tokens of each row, rescaled; n is a number, or (B, 1) of them."""
    ranks = p.argsort(dim=-1, descending=True).argsort(dim=-1)
    return _rescaled(p.where(ranks < n, 0))


def _random(*shape, seed=12):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


_MANY = (3 * _random(4, 9)).softmax(dim=-1)
_TURNED = _random(12, 3).double().softmax(dim=0).T  # another memory layout


def _chances(draw):
    p = (2 * normal(draw, draw.randint(1, 4), draw.randint(1, 9))).softmax(dim=-1)
    return p, draw.randint(1, p.shape[1])


def right_nucleus(p, top_p):
    ranked, order = p.sort(dim=-1, descending=True)
    before = ranked.cumsum(dim=-1) - ranked
    ranked = ranked.where(before < top_p - 1e-6, 0)
    return torch.zeros_like(p).scatter(1, order, _rescaled(ranked))


def nucleus_by_loop(p, top_p):
    kept = torch.zeros_like(p)
    for new, row in zip(kept, p, strict=True):
        held = 0.0
        for i in sorted(range(len(row)), key=lambda i: -row[i]):
            if held < top_p - 1e-6:
                new[i] = row[i]
                held += float(row[i])
    return _rescaled(kept)


def judge_nucleus(call):
    nucleus.compare(call)
    equal = torch.full((1, 4), 0.25)  # any two may stay, so this is no case
    kept = call(equal, 0.5).like(equal)
    why = "Of four equal tokens two reach 0.5, any two: each of them should have 0.5, the others 0"
    expect(
        same(kept.sort().values, torch.tensor([[0, 0, 0.5, 0.5]])), f"{why}.\n`{call}` is {kept}."
    )
    return nucleus.praise


nucleus = exercise(
    "12.1",
    "nucleus(p: (B, V), top_p) -> (B, V), the fewest likeliest that reach top_p, rescaled",
    cases=(
        (torch.tensor([[0.05, 0.4, 0.1, 0.3, 0.15], [0.94, 0.01, 0.02, 0.01, 0.02]]), 0.6),
        (torch.tensor([[0.1, 0.05, 0.25, 0.4, 0.2]]), 0.7),
        (torch.tensor([[0.125, 0.5, 0.125, 0.25]]), 0.75),
        (torch.tensor([[0.03, 0.95, 0.02], [0.5, 0.3, 0.2]]), 0.9),
        (torch.tensor([[0.2, 0.35, 0.1, 0.3, 0.05]]), 1.0),
        (_MANY, 0.85),
        (_TURNED, 0.5),
        (torch.tensor([[0.0, 1.0], [0.6, 0.4]]), 0.01),
        (torch.tensor([[0.0, 1.0, 0.0], [0.25, 0.25, 0.5]]), 1.0),
        (_random(24, 65).softmax(dim=-1), 1.0),  # rounded, some rows sum to less than 1
    ),
    praise="`nucleus` is right: 2 tokens of a flat row, 1 of a sharp one, and all at top_p = 1.",
    judge=judge_nucleus,
    more=drawn(12, lambda draw: (_chances(draw)[0], draw.choice([0.05, 0.4, 0.8, 1.0]))),
    right=[right_nucleus, nucleus_by_loop],
    hints=[
        "In a sorted row, how much probability stands before each token?",
        "`ranked.cumsum(dim=-1) - ranked` stands before it, and a token stays if that is below "
        "`top_p`. `scatter` puts the sorted numbers back.",
    ],
    question=number(
        "`p` is [[0.2, 0.1, 0.4, 0.25, 0.05]]. What is `nucleus(p, 0.75)[0, 2]`? Two digits.",
        lambda f: f(torch.tensor([[0.2, 0.1, 0.4, 0.25, 0.05]]), 0.75)[0, 2],
    ),
    mistakes=[
        mistake(
            "drops the token that crosses",
            "The token that crosses top_p is dropped: it must stay, or the rest falls short of it",
            lambda p, top_p: _likeliest(p, (right_nucleus(p, top_p) > 0).sum(1, keepdim=True) - 1),
        ),
        mistake(
            "one more token where top_p is reached exactly",
            "Two tokens reach 0.75 exactly: no third is needed",
            lambda p, top_p: right_nucleus(p, top_p + 2e-6),
        ),
        mistake(
            "does not rescale",
            "The right tokens are kept, but they do not sum to 1: rescale them",
            lambda p, top_p: p * (right_nucleus(p, top_p) > 0),
        ),
        mistake(
            "stays sorted",
            "The order is lost: the answer must stand where the tokens stood in p",
            lambda p, top_p: right_nucleus(p, top_p).sort(dim=-1, descending=True).values,
        ),
        refused(
            "keeps all ties",
            "Of four equal tokens two reach 0.5",
            lambda p, top_p: _rescaled(
                p.where(p >= p.where(right_nucleus(p, top_p) > 0, 2).amin(dim=-1, keepdim=True), 0)
            ),
        ),
    ],
)


def _step(S, D=4, size=1.0):
    """Random q, k, v of a new token and a cache of S tokens, all D wide."""
    g = torch.Generator().manual_seed(S)
    q, k, v = size * torch.randn(3, 1, D, generator=g)
    return (q, k, v, *(size * torch.randn(2, S, D, generator=g)))


def _attended(q, keys, values, *, dim=-1):
    return (q @ keys.mT / math.sqrt(q.shape[-1])).softmax(dim) @ values


def right_cached_step(q, k, v, keys, values):
    keys, values = torch.cat([keys, k]), torch.cat([values, v])
    return _attended(q, keys, values), keys, values


def cached_step_by_torch(q, k, v, keys, values):
    keys, values = torch.vstack([keys, k]), torch.vstack([values, v])
    return F.scaled_dot_product_attention(q, keys, values), keys, values


def _with_output(output):
    """A step with this output, and the right caches."""
    return lambda *case: (output(*case), *right_cached_step(*case)[1:])


def _output_after_two(cached_step):
    one, cached = torch.ones(1, 1), torch.tensor([[2.0], [4.0]])
    return cached_step(one, one, 12 * one, torch.ones(2, 1), cached)[0]


cached_step = exercise(
    "12.2",
    "cached_step(q, k, v: each (1, D), keys, values: (S, D)) -> (output (1, D), keys, values)",
    cases=(
        *(_step(3), _step(1), _step(0)),
        *(_step(5, D=9), _step(2, D=1), _step(7, D=16, size=12.0)),  # exp overflows in the last
        tuple(t.double() for t in _step(4, D=3)),
    ),
    right=[right_cached_step, cached_step_by_torch],
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
    mistakes=[
        mistake(
            "attends before it appends",
            "The new token does not see itself: append its key before attending",
            _with_output(lambda q, k, v, keys, values: _attended(q, keys, values)),
        ),
        mistake(
            "no scale",
            "The scores are not divided by √D",
            lambda q, *rest: right_cached_step(q * math.sqrt(q.shape[-1]), *rest),
        ),
        mistake(
            "returns the old caches",
            "The caches came back unchanged: return the new ones",
            lambda *case: (right_cached_step(*case)[0], *case[3:]),
        ),
        mistake(
            "mixes the keys",
            "The keys are mixed: mix the values",
            _with_output(lambda q, k, v, keys, values: right_cached_step(q, k, k, keys, keys)[0]),
        ),
        mistake(
            "no softmax",
            "The softmax is missing",
            _with_output(
                lambda q, k, v, keys, values: (
                    q @ torch.cat([keys, k]).T / math.sqrt(q.shape[-1]) @ torch.cat([values, v])
                )
            ),
        ),
    ],
)


def _heads(H, G, S, D=4, size=1.0):
    """Random queries of one new token for H heads, and G heads of keys and values of S tokens."""
    g = torch.Generator().manual_seed(10 * H + G)
    q, both = torch.randn(H, 1, D, generator=g), torch.randn(2, G, S, D, generator=g)
    return size * q, *(size * both)


def _of_each_head(q, *groups):
    return [t.repeat_interleave(len(q) // len(t), dim=0) for t in groups]


def right_grouped_step(q, keys, values):
    return _attended(q, *_of_each_head(q, keys, values))


def grouped_step_by_view(q, keys, values):
    G, _, D = keys.shape
    return _attended(q.view(G, -1, D), keys, values).view(q.shape)


def _output_of_head_1(grouped_step):
    values = torch.tensor([[1.0, 3.0], [4.0, 8.0], [12.0, 20.0]])[..., None]  # (G, S, D)
    return grouped_step(torch.ones(6, 1, 1), torch.full((3, 2, 1), 3.0), values).view(6)[1]


grouped_step = exercise(
    "12.3",
    "grouped_step(q: (H, 1, D), keys: (G, S, D), values: (G, S, D)) -> (H, 1, D). H query heads "
    "share G heads of keys and values; neighbouring heads read the same ones.",
    cases=(
        *(_heads(4, 2, 3), _heads(6, 3, 5), _heads(4, 1, 3), _heads(3, 3, 2)),
        *(_heads(6, 2, 4, D=9), _heads(2, 2, 1, D=1)),
        _heads(8, 2, 6, D=16, size=12.0),  # exp overflows here
        tuple(t.double() for t in _heads(3, 1, 5, D=6)),
    ),
    praise="`grouped_step` is right: with 2 and 3 groups, with one for all, and one for each.",
    right=[right_grouped_step, grouped_step_by_view],
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
    mistakes=[
        mistake(
            "deals the groups out in turn",
            "The groups are dealt out in turn: heads 0 and 1 of four should read group 0, 2 and 3 "
            "group 1",
            lambda q, *both: _attended(q, *(t.repeat(len(q) // len(t), 1, 1) for t in both)),
        ),
        mistake(
            "all read the mean of the groups",
            "The groups are averaged: each head reads one of them",
            lambda q, *both: _attended(q, *(t.mean(0, keepdim=True) for t in both)),
        ),
        mistake(
            "returns one head for each group",
            "One head for each group came back: there are H query heads, so return H",
            lambda q, keys, values: _attended(q[:: len(q) // len(keys)], keys, values),
        ),
        mistake(
            "no scale",
            "The scores are not divided by √D",
            lambda q, *rest: right_grouped_step(q * math.sqrt(q.shape[-1]), *rest),
        ),
        mistake(
            "softmax over the heads",
            "The softmax runs over the heads: it belongs to the last axis, the tokens",
            lambda q, *both: _attended(q, *_of_each_head(q, *both), dim=0),
        ),
    ],
)
