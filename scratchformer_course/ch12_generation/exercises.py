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
        "top_p - 1e-6 -> top_p + 1e-6": "A third token is "
        "kept where two reach top_p exactly: it is not needed",
        " / ranked.sum(dim=-1, keepdim=True) -> ": "The right tokens are kept, but they do not "
        "sum to 1: rescale them",
        "torch.zeros_like(p).scatter(1, order, ranked) -> ranked": "The order is lost: the "
        "answer must stand where the tokens stood in p",
    },
)


def right_no_repeat(logits, ids, n):
    logits = logits.clone()
    last = ids[len(ids) - (n - 1) :]  # a run of n would begin with these
    for i in range(len(ids) - n + 1):
        if ids[i : i + n - 1] == last:
            logits[ids[i + n - 1]] = -math.inf
    return logits


def _texts(draw):
    """Texts of few tokens, in which runs come again, overlap, or are missing."""
    V, n = draw.choice([3, 4, 6, 40]), draw.randint(1, 4)
    ids = [draw.randrange(V) for _ in range(draw.size(1, 16, 120))]
    return normal(draw, V + 1), ids, n


def _chance_of_3(no_repeat):
    logits = no_repeat(torch.zeros(5), [3, 1, 4, 2, 1, 0, 3, 1, 2, 3, 1], 3)
    return logits.softmax(dim=-1)[3]


no_repeat = exercise(
    "12.2",
    "no_repeat(logits: (V,), ids: a list, n) -> (V,): the logits, but -inf for each token with "
    "which the last n tokens would be a run of n that ids has already",
    cases=(
        (torch.tensor([-1.0, 2.0, 0.5, -3.0, 1.0]), [3, 1, 4, 2, 1, 0, 3, 1, 2, 3, 1], 3),
        (torch.tensor([2.0, -1.0, 1.0]), [0, 0, 0], 3),  # the two places overlap
        (torch.tensor([2.0, -1.0, 1.0]), [0, 1], 4),  # the text is shorter than a run
        (torch.tensor([2.0, -1.0, 1.0, 0.0]), [2, 0, 2], 1),  # each token once
        (torch.tensor([2.0, -1.0, 1.0, 0.0]), [1, 0, 3], 2),
        (torch.zeros(56), [3, 4, 5, *range(6, 56), 3, 4], 3),
    ),
    more=drawn(20, _texts),
    praise="`no_repeat` is right: it forbids every token that would repeat a run, and no other.",
    right=[right_no_repeat],
    hints=[
        "The text ends in a, b, and n is 3. Where else does it have a, b, and what follows there?",
        "The last n - 1 tokens are `ids[len(ids) - (n - 1) :]`. Where `ids[i : i + n - 1]` equals "
        "them, the logit of `ids[i + n - 1]` becomes ...",
    ],
    question=number(
        "All five logits are 0, `ids` is 3, 1, 4, 2, 1, 0, 3, 1, 2, 3, 1, and n is 3. What is the "
        "probability of token 3 now?",
        _chance_of_3,
    ),
    mistakes={
        "-math.inf -> 0.0": "A logit of 0 is no ban, it may even be the largest: a forbidden token "
        "needs a probability of 0",
        "ids[i : i + n - 1] == last -> n == 1 or ids[i + n - 2] == ids[-1]": "Only the last token "
        "is compared: a run of n begins with the last n - 1 of them",
        "= -math.inf -> = -math.inf; break": "The search stops at the first place: these "
        "tokens may have been followed by others later",
        "range(len(ids) - n + 1) -> range(len(ids) - n)": "The search ends too early: the last "
        "run of n ends with the last token",
    },
)
