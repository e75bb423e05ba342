"""The exercises of chapter 22, answers."""

import torch
from torch.nn import functional as F

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


def right_dpo_loss(chosen, rejected, chosen_start, rejected_start, beta):
    gain = (chosen - chosen_start) - (rejected - rejected_start)
    return -F.logsigmoid(beta * gain).mean()


def _compared(draw):
    N, scale = draw.size(1, 5, 40), draw.choice([0.1, 5.0, 300.0])
    return *(normal(draw, N, scale=scale) for _ in range(4)), draw.choice([0.05, 0.3, 1.0, 4.0])


dpo_loss = exercise(
    "22.2",
    "dpo_loss(chosen, rejected, chosen_start, rejected_start: (N,), beta) -> a number",
    cases=(
        (*torch.tensor([[-3.0], [-3.0], [-4.0], [-2.0]]), 0.5),
        (*torch.tensor([[-900.0, -2.0], [-2.0, -900.0], [0.0, 0.0], [0.0, 0.0]]), 1.0),
    ),
    more=drawn(12, _compared),
    praise="`dpo_loss` is right, for pairs that lie 900 nats apart too.",
    slopes=("chosen", "rejected"),
    right=[right_dpo_loss],
    hints=[
        "What is the loss of a model that has not changed since the start, for every pair?",
        "How much likelier has the chosen answer become, less the same for the rejected one? Put "
        "beta times this difference into `F.logsigmoid`, and ...",
    ],
    question=number(
        "One pair: ln p of the chosen answer rose from −4 to −3, that of the rejected one fell "
        "from −2 to −3, and beta is 0.5. What is the loss?",
        lambda f: f(*dpo_loss.cases[0]),
        digits=3,
    ),
    mistakes={
        "beta * gain -> -beta * gain": "The loss falls when the rejected answer becomes "
        "likelier: chosen and rejected have changed places",
        "(chosen - chosen_start) - (rejected - rejected_start) -> chosen - rejected": "The "
        "start is missing: a pair counts by how much it has changed",
        "-F.logsigmoid(beta * gain) -> -beta * F.logsigmoid(gain)": "beta is outside the "
        "sigmoid: it belongs to the difference inside",
    },
)


def right_advantages(r, log_p, log_start, beta, group):
    r = r - beta * (log_p - log_start)
    mean = r.view(-1, group).mean(dim=1)  # (N / group,)
    return r - mean.repeat_interleave(group)


def _groups(draw):
    group, n = draw.size(1, 4, 12), draw.size(1, 4, 6)
    r, log_p, log_start = (normal(draw, group * n, scale=3.0) - i for i in (0, 3, 5))
    return r, log_p, log_start, draw.choice([0.0, 0.02, 0.5, 3.0]), group


advantages = exercise(
    "22.3",
    "advantages(r, log_p, log_start: (N,), beta, group) -> (N,), penalised and without the mean",
    cases=((*torch.tensor([[1.0, 0.0], [-2.0, -3.0], [-4.0, -3.0]]), 0.25, 2),),
    more=drawn(12, _groups),
    praise="`advantages` is right: what all answers of a group have in common is gone.",
    right=[right_advantages],
    hints=[
        "If every answer of a group got 10 more, what should change?",
        "Subtract beta times (log_p − log_start) from r. Then subtract from each `group` its ...",
    ],
    question=number(
        "A group of two answers has the rewards 1 and 0. Their ln p is now −2 and −3, it was −4 "
        "and −3 at the start, and beta is 0.25. What is the first advantage?",
        lambda f: f(*advantages.cases[0])[0],
        digits=3,
    ),
    mistakes={
        " - mean.repeat_interleave(group) -> ": "These are the rewards themselves: the group's "
        "mean is missing",
        "mean.repeat_interleave(group) -> r.mean()": "All groups share one mean: each question "
        "has its own, over its own answers",
        "r - beta -> r + beta": "The penalty has the wrong sign: an answer that has become "
        "likelier than at the start gets less",
        "r = r - beta -> penalty = beta\nreturn r - -> return r - penalty -": "The penalty "
        "comes after the mean here, and has none subtracted: subtract it first",
    },
)
