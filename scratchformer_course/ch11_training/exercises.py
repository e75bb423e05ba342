"""The exercises of chapter 11, training well."""

import torch

from scratchformer_course.kit.checks import exercise, number
from scratchformer_course.kit.checks.cases import drawn, normal


def right_adamw_step(w, grad, m, v, t, lr, decay):
    m = 0.9 * m + 0.1 * grad
    v = 0.95 * v + 0.05 * grad**2
    usual = (v / (1 - 0.95**t)).sqrt() + 1e-8
    step = m / (1 - 0.9**t) / usual
    return w - lr * decay * w - lr * step, m, v


def _first_update(adamw_step):
    w, grad = torch.tensor([6.0]), torch.tensor([-2.0])
    return adamw_step(w, grad, torch.zeros(1), torch.zeros(1), 1, 0.5, 0.5)[0]


def _updated(draw):
    C = draw.size(1, 4, 50)
    w, grad, m, v = (normal(draw, C) for _ in range(4))
    rates = draw.choice([1e-3, 0.1, 0.5]), draw.choice([0.0, 0.1, 0.9])
    return w, grad, m, v.square(), draw.choice([1, 2, 7, 300]), *rates


adamw_step = exercise(
    "11.1",
    "adamw_step(w, grad, m, v, t, lr, decay) -> (w, m, v) after update number t = 1, 2, …",
    cases=(
        (torch.ones(3), torch.tensor([1e-8, 0.0, -2.0]), *torch.zeros(2, 3), 1, 0.1, 0.0),
        (*torch.tensor([[1.0, -2.0], [0.5, -0.1], [0.2, 0.1], [0.04, 0.5]]), 3, 0.1, 0.5),
    ),
    more=drawn(12, _updated),
    right=[right_adamw_step],
    hints=[
        "What are m and v after this slope, and by what must each be divided after t updates?",
        "`m = 0.9 * m + 0.1 * grad`, and v likewise, with 0.95 and `grad**2`. The new w is "
        "`w - lr * decay * w`, less the step.",
    ],
    question=number(
        "The first update (t = 1, m = v = 0) of w = 6, with the slope −2, the rate 0.5 and a decay "
        "of 0.5: what is the new w? Two digits after the point.",
        _first_update,
    ),
    mistakes={
        "v / (1 - 0.95**t) -> v\nm / (1 - 0.9**t) -> m": "No bias correction: divide m by "
        "1 − β₁^t and v by 1 − β₂^t",
        "m = 0.9 -> grad = grad + decay * w; m = 0.9\n - lr * decay * w -> ": "The decay went "
        "into the gradient, where √v rescales it: shrink w itself, apart",
        "lr * decay -> decay": "The decay lacks the rate: lr · decay · w",
        ").sqrt() + 1e-8 -> + 1e-8).sqrt()": "ε is inside the root: add it to the root, √v + ε",
    },
)


def right_births(steps, seen):
    found = []
    for head, weights in enumerate(seen.T, start=1):
        born = (weights > 0.5).nonzero()
        if len(born) > 0:
            found.append((steps[int(born[0])], head))
    return sorted(found)


def _watched(draw):
    S, H = draw.size(1, 6, 40), draw.randint(1, 5)
    steps = sorted(draw.sample(range(5001), S))
    rows = [[draw.randrange(21) / 20 for _ in range(H)] for _ in range(S)]
    quiet = draw.choice([1.0, 1.0, 0.5])  # at half of it no head is ever born
    return steps, quiet * torch.tensor(rows)


births = exercise(
    "11.2",
    "births(steps, seen: (S, H)) -> a list of (step, head), the earliest first: where each head's "
    "weight is above 0.5 for the first time. Heads are counted from 1.",
    cases=(
        (
            [0, 10, 20, 40],
            torch.tensor([[0.1, 0.0, 0.2], [0.5, 0.9, 0.1], [0.75, 1.0, 0.5], [0.625, 0.25, 0.5]]),
        ),
        ([3, 7], torch.tensor([[0.25, 0.75], [0.5, 0.875]])),
        ([100], torch.tensor([[0.5, 0.25]])),
    ),
    more=drawn(14, _watched),
    right=[right_births],
    hints=[
        "A column of `seen` is one head's life. Which of its rows is the first above one half?",
        "`for head, weights in enumerate(seen.T, start=1)`, and `(weights > 0.5).nonzero()` lists "
        "the rows. Its first one is a place in `steps`. Sort the pairs at the end.",
    ],
    question=number(
        "One head is looked at after 0, 10, 20, 40 and 80 steps, and its weights are 0.1, 0.5, "
        "0.6, 0.8 and 0.7. Which step does `births` give?",
        lambda f: f([0, 10, 20, 40, 80], torch.tensor([[0.1], [0.5], [0.6], [0.8], [0.7]]))[0][0],
        digits=0,
    ),
    mistakes={
        "> 0.5) -> >= 0.5)": "A weight of exactly one half counts: it has to be above",
        "born[0] -> born[-1]": "This is the last snapshot in which the head looks back: find the "
        "first",
        "steps[int(born[0])] -> int(born[0])": "This is a place in the list: give the step there",
        "(weights > 0.5) -> (weights == weights.max())": "A head is born when it first passes one "
        "half, not when its weight is largest",
        "sorted(found) -> found": "The pairs are in the order of the heads: put the earliest first",
    },
)
