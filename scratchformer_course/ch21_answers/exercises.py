"""The exercises of chapter 21, answers."""

import torch
from torch.nn import functional as F

from scratchformer_course.kit.checks.cases import drawn, integers, normal
from scratchformer_course.kit.checks.engine import exercise, mistake, refused
from scratchformer_course.kit.checks.question import number


def _ids(B, T, seed):
    return torch.randint(14, (B, T), generator=torch.Generator().manual_seed(seed))


def right_targets(ids, prompt):
    targets = ids[:, 1:].clone()
    targets[:, : prompt - 1] = -100
    return targets


def targets_by_where(ids, prompt):
    place = torch.arange(1, ids.shape[1])
    return torch.where(place < prompt, -100, ids[:, 1:])


def _asked(draw):
    T = draw.randint(2, 9)
    return integers(draw, 3, draw.randint(1, 3), T), draw.randint(1, T)


answer_targets = exercise(
    "21.1",
    "answer_targets(ids: (B, T), prompt: 1 or more) -> (B, T - 1), the next token, or -100",
    cases=((_ids(2, 9, 0), 3), (_ids(3, 7, 1), 1), (_ids(1, 12, 2), 7), (_ids(2, 5, 3), 4)),
    more=drawn(10, _asked),
    praise="`answer_targets` is right: the loss begins with the first character of the answer.",
    right=[right_targets, targets_by_where],
    hints=[
        'In "85?47+38", which place predicts the 4, and what is the target of the place before it?',
        "The targets are `ids[:, 1:]`. The question has `prompt` characters, but its first one is "
        "nobody's target, so ... of them are masked.",
    ],
    question=number(
        "A row holds the ids 1 to 9, of which the first 4 are the question. What is the sum of the "
        "targets that are not -100?",
        lambda f: (lambda targets: targets[targets != -100].sum())(f(torch.arange(1, 10)[None], 4)),
        digits=0,
    ),
    mistakes=[
        mistake(
            "keeps the question",
            "The loss is computed on the question, too: its targets must be -100",
            lambda ids, prompt: ids[:, 1:],
        ),
        mistake(
            "masks one too many",
            "The first character of the answer is masked: the targets begin at the second token, "
            "so the question has one target fewer than characters",
            lambda ids, prompt: right_targets(ids, prompt + 1),
        ),
        mistake(
            "does not shift",
            "Each place has itself as its target: take the token after it",
            lambda ids, prompt: torch.where(
                torch.arange(ids.shape[1] - 1) < prompt, -100, ids[:, :-1]
            ),
        ),
        mistake(
            "masks with 0",
            "0 is the id of a character: what `cross_entropy` leaves out is -100",
            lambda ids, prompt: right_targets(ids, prompt).clamp(min=0),
        ),
    ],
)


def _normal(n, seed):
    return torch.randn(n, generator=torch.Generator().manual_seed(seed))


def _pairs():
    cases = [
        (*(_normal(5, 4 * i + j) - 6 for j in range(4)), beta) for i, beta in enumerate((0.5, 0.1))
    ]
    far = torch.tensor([-900.0, -2.0])
    cases.append((far, far.flip(0), torch.zeros(2), torch.zeros(2), 1.0))
    cases.append((*(_normal(1, 40 + j) - 6 for j in range(4)), 2.0))
    return cases


def _compared(draw):
    N, scale = draw.randint(1, 5), draw.choice([0.1, 5.0, 300.0])
    return *(normal(draw, N, scale=scale) for _ in range(4)), draw.choice([0.05, 0.3, 1.0, 4.0])


def right_dpo_loss(chosen, rejected, chosen_start, rejected_start, beta):
    gain = (chosen - chosen_start) - (rejected - rejected_start)
    return -F.logsigmoid(beta * gain).mean()


def dpo_by_softplus(chosen, rejected, chosen_start, rejected_start, beta):
    margin = chosen - rejected - (chosen_start - rejected_start)
    return F.softplus(-beta * margin).mean()


dpo_loss = exercise(
    "21.2",
    "dpo_loss(chosen, rejected, chosen_start, rejected_start: (N,), beta) -> a number",
    cases=_pairs,
    more=drawn(12, _compared),
    praise="`dpo_loss` is right, for pairs that lie 900 nats apart too.",
    slopes=("chosen", "rejected"),
    right=[right_dpo_loss, dpo_by_softplus],
    hints=[
        "What is the loss of a model that has not changed since the start? It is the same for "
        "every pair.",
        "How much likelier has the chosen answer become, less the same for the rejected one? Put "
        "beta times this difference into `F.logsigmoid`, and ...",
    ],
    question=number(
        "One pair: ln p of the chosen answer rose from −4 to −3, that of the rejected one fell "
        "from −2 to −3, and beta is 0.5. What is the loss?",
        lambda f: f(*(torch.tensor([x]) for x in (-3.0, -3.0, -4.0, -2.0)), 0.5),
        digits=3,
    ),
    mistakes=[
        mistake(
            "has the wrong sign inside",
            "The loss falls when the rejected answer becomes likelier: chosen and rejected have "
            "changed places",
            lambda c, r, cs, rs, beta: right_dpo_loss(r, c, rs, cs, beta),
        ),
        mistake(
            "forgets the start",
            "The start is missing: a pair counts by how much it has changed",
            lambda c, r, cs, rs, beta: right_dpo_loss(c, r, 0, 0, beta),
        ),
        mistake(
            "puts beta outside",
            "beta is outside the sigmoid: it belongs to the difference inside",
            lambda c, r, cs, rs, beta: beta * right_dpo_loss(c, r, cs, rs, 1.0),
        ),
        refused(
            "takes log of sigmoid",
            "inf",
            lambda c, r, cs, rs, beta: -(beta * ((c - cs) - (r - rs))).sigmoid().log().mean(),
        ),
    ],
)


def _rewards():
    some = torch.tensor([1.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    return (
        (some, _normal(6, 0) - 5, _normal(6, 1) - 5, 0.5, 2),
        (some, _normal(6, 2) - 5, _normal(6, 3) - 5, 0.1, 3),
        (_normal(8, 4), _normal(8, 5) - 3, _normal(8, 6) - 3, 0.0, 4),
        (_normal(12, 7) + 10, _normal(12, 8) - 3, _normal(12, 9) - 3, 1.0, 3),
    )


def _groups(draw):
    group, n = draw.randint(1, 4), draw.randint(1, 4)
    r, log_p, log_start = (normal(draw, group * n, scale=3.0) - i for i in (0, 3, 5))
    return r, log_p, log_start, draw.choice([0.0, 0.02, 0.5, 3.0]), group


def advantages_by_loop(r, log_p, log_start, beta, group):
    found = []
    for i in range(0, len(r), group):
        own = slice(i, i + group)
        each = r[own] - beta * (log_p[own] - log_start[own])
        found.append(each - each.mean())
    return torch.cat(found)


def centred(r, group):
    rows = r.view(-1, group)
    return (rows - rows.mean(dim=1, keepdim=True)).flatten()


advantages = exercise(
    "21.3",
    "advantages(r, log_p, log_start: (N,), beta, group) -> (N,), penalised and without the mean",
    cases=_rewards,
    more=drawn(12, _groups),
    praise="`advantages` is right: what all answers of a group have in common is gone.",
    right=[
        lambda r, log_p, log_start, beta, group: centred(r - beta * (log_p - log_start), group),
        advantages_by_loop,
    ],
    hints=[
        "If every answer of a group got 10 more, what should change?",
        "First subtract beta times (log_p − log_start) from r. Then look at the result as rows of "
        "`group`, and subtract from each row its ...",
    ],
    question=number(
        "A group of two answers has the rewards 1 and 0. Their ln p is now −2 and −3, it was −4 "
        "and −3 at the start, and beta is 0.25. What is the first advantage?",
        lambda f: f(
            torch.tensor([1.0, 0.0]),
            torch.tensor([-2.0, -3.0]),
            torch.tensor([-4.0, -3.0]),
            0.25,
            2,
        )[0],
        digits=3,
    ),
    mistakes=[
        mistake(
            "has no baseline",
            "These are the rewards themselves: the group's mean is missing",
            lambda r, log_p, log_start, beta, group: r - beta * (log_p - log_start),
        ),
        mistake(
            "takes one mean for all",
            "All groups share one mean: each question has its own, over its own answers",
            lambda r, log_p, log_start, beta, group: centred(
                r - beta * (log_p - log_start), len(r)
            ),
        ),
        mistake(
            "pays for the distance",
            "The penalty has the wrong sign: an answer that has become likelier than at the start "
            "gets less",
            lambda r, log_p, log_start, beta, group: centred(r + beta * (log_p - log_start), group),
        ),
        mistake(
            "penalises after the mean",
            "The penalty comes after the mean here, and has none subtracted: subtract it first",
            lambda r, log_p, log_start, beta, group: centred(r, group) - beta * (log_p - log_start),
        ),
    ],
)
