"""The exercises of chapter 22, answers."""

import math

import torch

from scratchformer_course.kit.checks import exercise, number
from scratchformer_course.kit.checks.cases import drawn, integers, normal


def right_answer_targets(ids, prompt):
    targets = ids[:, 1:].clone()
    targets[:, : prompt - 1] = -100
    return targets


def _asked(draw):
    T = draw.size(2, 9, 40)
    return integers(draw, 3, draw.randint(1, 3), T), draw.size(1, T, 30)


answer_targets = exercise(
    "22.1",
    "answer_targets(ids: (B, T), prompt: 1 or more) -> (B, T - 1), the next token, or -100",
    cases=((torch.arange(1, 10)[None], 4),),
    more=drawn(10, _asked),
    praise="`answer_targets` is right: the loss begins with the first character of the answer.",
    right=[right_answer_targets],
    hints=[
        'In "85?47+38", which place predicts the 4, and what is the target of the place before it?',
        "The targets are `ids[:, 1:]`. The question has `prompt` characters, of which the first is "
        "nobody's target, so ... are masked.",
    ],
    question=number(
        "Of the ids 1 to 9 the first 4 are the question. What do all targets but -100 sum to?",
        lambda f: f(*answer_targets.cases[0]).clamp(min=0).sum(),
        digits=0,
    ),
    mistakes={
        "targets[:, : prompt - 1] = -100 -> pass": "The loss is computed on the question, too: "
        "its targets must be -100",
        "prompt - 1 -> prompt": "The first character of the answer is masked: the targets "
        "begin at the second token, so the question has one target fewer than characters",
        "ids[:, 1:] -> ids[:, :-1]\nprompt - 1 -> prompt": "Each place has itself as its "
        "target: take the token after it",
        "-100 -> 0": "0 is the id of a character: what `cross_entropy` leaves out is -100",
    },
)


def right_advantages(r, label):
    same = label[:, None] == label  # (N, N)
    return r - (same * r).sum(dim=1) / same.sum(dim=1)


def _labelled(draw):
    N, labels = draw.size(1, 12, 40), draw.choice([1, 2, 5])
    return normal(draw, N, scale=3.0), integers(draw, labels, N)


advantages = exercise(
    "22.2",
    "advantages(r: (N,), label: (N,) integers) -> (N,), each reward less the mean of its label's",
    cases=((torch.tensor([1.0, 1.0, 0.0, 0.5]), torch.tensor([7, 3, 7, 3])),),
    more=drawn(12, _labelled),
    praise="`advantages` is right: what all answers with one label have in common is gone.",
    right=[right_advantages],
    hints=[
        "If every answer to one question got 10 more, what should change?",
        "`label[:, None] == label` says for each answer which ones it is compared with. The mean "
        "is the sum of their rewards, divided by ...",
    ],
    question=number(
        "Four answers have the rewards 1, 1, 0 and 0.5, and the labels 7, 3, 7 and 3. What is the "
        "second advantage?",
        lambda f: f(*advantages.cases[0])[1],
        digits=2,
    ),
    mistakes={
        " - (same * r).sum(dim=1) / same.sum(dim=1) -> ": "These are the rewards themselves: the "
        "mean of the label is missing",
        "(same * r).sum(dim=1) / same.sum(dim=1) -> r.mean()": "All answers share one mean: each "
        "label has its own, over its own answers",
        " / same.sum(dim=1) -> ": "This subtracts the sum of a label's rewards: divide by how "
        "many answers have the label",
    },
)


def right_pass_at(right, k):
    n = right.shape[1]
    counts = right.sum(dim=1).tolist()
    missed = [math.comb(n - c, k) / math.comb(n, k) for c in counts]
    return 1 - sum(missed) / len(missed)


def _tried(draw):
    Q, n = draw.size(1, 5, 30), draw.size(3, 9, 60)
    return integers(draw, 2, Q, n) * integers(draw, 2, Q, n) > 0, draw.randint(1, n)


pass_at = exercise(
    "22.3",
    "pass_at(right: (Q, n) bool, k: 1 to n) -> the chance that one of k tries is right, mean",
    cases=((torch.tensor([[1, 0, 0, 0], [1, 1, 1, 0]]) > 0, 2),),
    more=drawn(12, _tried),
    praise="`pass_at` is right: k of the n tries, drawn without putting any back.",
    right=[right_pass_at],
    hints=[
        "Of four tries one is right. How many pairs of them are there, and how many miss?",
        "With c right among n, `math.comb(n - c, k)` of the `math.comb(n, k)` choices hold no "
        "right one. Take the share for each row, and only then ...",
    ],
    question=number(
        "Two questions, four tries each: one try is right for the first, three for the second. "
        "What is pass@2?",
        lambda f: f(*pass_at.cases[0]),
        digits=2,
    ),
    mistakes={
        "math.comb(n - c, k) / math.comb(n, k) -> (1 - c / n) ** k": "Each try is put back before "
        "the next is drawn: count the choices of k different tries",
        "return 1 - -> return": "This is the chance that all k tries miss: subtract it from 1",
        "right.sum(dim=1).tolist() -> [int(right.sum()) // len(right)]": "The questions are "
        "averaged first: compute each row's chance, then their mean",
    },
)
