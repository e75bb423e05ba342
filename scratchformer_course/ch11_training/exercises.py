"""The exercises of chapter 11, training well."""

import itertools
import math

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_

from scratchformer.training import token_loss
from scratchformer_course.kit.checks import Wrong, exercise, expect, number
from scratchformer_course.kit.checks.cases import drawn, normal
from scratchformer_course.kit.checks.compare import difference, same

# The first optimiser of a process imports half of torch, for seconds: not in a check's own time.
torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)


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
        "of 0.5: what is the new w? Two digits.",
        _first_update,
    ),
    mistakes={
        "v / (1 - 0.95**t) -> v\nm / (1 - 0.9**t) -> m": "No bias correction: divide m by "
        "1 − β₁^t and v by 1 − β₂^t",
        "m = 0.9 -> grad = grad + decay * w; m = 0.9\n - lr * decay * w -> ": "The decay went "
        "into the gradient, where √v rescales it: shrink w itself, apart",
        "lr * decay -> decay": "The decay lacks the rate: lr · decay · w",
        ").sqrt() + 1e-8 -> + 1e-8).sqrt()": "ε, which is 1e-8, stands outside the root: √v + ε",
    },
)


def right_warmup_cosine(step, lr, steps, warmup):
    if step < warmup:
        return lr * (step + 1) / (warmup + 1)
    progress = (step - warmup) / (steps - warmup)  # from 0 to below 1
    return lr * (1 + math.cos(math.pi * progress)) / 2


def _scheduled(draw):
    steps = draw.size(2, 40, 1000)
    step = draw.choice([draw.randrange(steps), steps - 1])
    return step, draw.choice([3e-5, 1e-3, 2.0]), steps, draw.choice([0, draw.randrange(steps)])


warmup_cosine = exercise(
    "11.2",
    "warmup_cosine(step, lr, steps, warmup) -> the rate of the update after `step` updates",
    cases=[(step, 0.3, 20, 4) for step in (0, 1, 3, 4, 9, 15, 19)],
    praise="The rate rises to its peak at step 4, falls along a cosine, and is never 0.",
    more=drawn(30, _scheduled),
    right=[right_warmup_cosine],
    hints=[
        "At which step do the two formulas meet, and what does each of them give there?",
        "Below `warmup` it is `lr * (step + 1) / (warmup + 1)`. Else `progress` is the share of "
        "the fall that is done, and the rate is `lr * (1 + math.cos(math.pi * progress)) / 2`.",
    ],
    question=number(
        "lr = 4, 15 steps, of which 3 are warm-up: what is the rate at step 7? One digit. (The "
        "cosine of π/3, which is 60°, is 0.5.)",
        lambda f: f(7, 4.0, 15, 3),
        digits=1,
    ),
    mistakes={
        "(step + 1) / (warmup + 1) -> step / warmup": "The first update has rate 0: count from "
        "step + 1",
        "/ (warmup + 1) -> / warmup": "The peak comes one step early, and twice: divide by "
        "warmup + 1",
        "(step - warmup) / (steps - warmup) -> step / steps": "The cosine begins at step 0: it "
        "begins at `warmup`, at the peak",
        "/ (steps - warmup) -> / (steps - warmup - 1)": "The last update has rate 0: the "
        "cosine reaches 0 at `steps`, after it",
        " / 2 -> ": "1 + cos runs from 2 to 0: halve it",
    },
)


IDS = torch.tensor([[1, 0, 4, 2], [3, 2, 2, 1], [0, 2, 1, 3]])
NEXT = torch.tensor([[0, 4, 2, 1], [2, -100, -100, -100], [2, 1, -100, -100]])
PIECES = [(IDS[:1], NEXT[:1]), (IDS[1:], NEXT[1:])]  # 4 targets and 3
WEIGHTED = [(IDS[i : i + 1], NEXT[i : i + 1], torch.tensor(i + 0.5)) for i in range(3)]


class _Table(nn.Module):
    """Logits of the next token from a table: a model with two parameters, the same each time."""

    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.arange(25.0).view(5, 5).sin())
        self.bias = nn.Parameter(torch.zeros(5))

    def forward(self, ids):
        return 4 * (self.table[ids] + self.bias)

    def __repr__(self):
        return "<model>"  # the engine shows the parameter's name instead


class _SGD(torch.optim.SGD):
    """Descent, where every factor of a gradient shows; with momentum its step is its own."""

    def __repr__(self):
        return "<optimizer>"


def _loss(model, x, y, weight=1.0):
    nats, targets = token_loss(model(x), y)
    return weight * nats, targets


def _outcome(step, clip, old=None, has_unused=False):
    """Nats, targets and weights after each of three steps: of two pieces, of one and of nine.

    The model may come with `old` slopes, and with a parameter that takes no part.
    """
    model, results = _Table(), []
    for p in model.parameters() if old is not None else ():
        p.grad = torch.full_like(p, old)
    if has_unused:
        model.unused = nn.Parameter(torch.ones(2))
    optimizer = _SGD(model.parameters(), lr=0.5, momentum=0.5)
    for batches in (PIECES, PIECES[::-1][:1], 3 * WEIGHTED):
        for total in step(model, optimizer, batches, _loss, clip):
            # a float in few digits stays one: see compare.Rough
            is_float = isinstance(total, float)
            results.append(total if is_float else float(torch.as_tensor(total).detach()))
        results.append(torch.cat([p.detach().flatten() for p in model.parameters()]))
    return results


def right_update(model, optimizer, batches, loss, clip):
    nats = targets = 0
    optimizer.zero_grad()
    for batch in batches:
        batch_nats, n = loss(model, *batch)
        batch_nats.backward()  # adds to the slopes of those before
        nats, targets = nats + batch_nats.detach(), targets + n
    for p in model.parameters():
        if p.grad is not None:
            p.grad /= targets
    clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return nats, targets


def judge_update(call):
    def learners(*args):
        return call(*args).like((0.0, 0.0))

    names = [*itertools.product((1, 2, 3), ("the nats of", "the targets of", "the weights after"))]
    for clip in (100.0, 0.1):
        got, expected = _outcome(learners, clip), _outcome(right_update, clip)
        if same(got, expected):
            continue
        for usual in update.mistakes:
            expect(not same(got, _outcome(usual.function, clip)), f"{usual.diagnosis}.")
        for (step, name), a, b in zip(names, got, expected, strict=True):
            if not same(a, b):
                away = difference(a, b)
                raise Wrong(f"Look at {name} step {step}, clip={clip:g}: {away}.")
    old = "The model came with slopes of an older step, and they were used: zero them first."
    expect(same(_outcome(learners, 100.0, old=1.0), _outcome(right_update, 100.0, old=1.0)), old)
    why = "This model has a parameter that takes no part, and its `grad` is None: leave it out."
    try:
        got = _outcome(learners, 0.1, has_unused=True)
    except Wrong as wrong:
        raise Wrong(f"{why}\n{wrong}") from None
    expect(same(got, _outcome(right_update, 0.1, has_unused=True)), why)
    return update.praise


def _weight_after_two(update):
    """One weight, after two updates on the same two pieces; the slope of each target is its x."""
    model = nn.Linear(1, 1, bias=False)
    model.weight.data.fill_(10)
    optimizer = _SGD(model.parameters(), lr=1)
    batches = [(torch.tensor([[1.0], [2.0], [3.0]]),), (torch.tensor([[6.0]]),)]
    for _ in range(2):
        update(model, optimizer, batches, lambda model, x: (model(x).sum(), len(x)), 1e6)
    return model.weight.item()


update = exercise(
    "11.3",
    "update(model, optimizer, batches, loss, clip) -> (nats, targets), after one step. "
    "loss(model, *batch) returns a sum of nats and the number of targets in it.",
    praise="`update` makes one step of all micro-batches, as if they were one batch.",
    judge=judge_update,
    right=[right_update],
    hints=[
        "`backward()` adds to the slopes that are there. When must they be 0, and when not?",
        "In the loop: `nats, n = loss(model, *batch)`, `nats.backward()`, and add up both. Behind"
        " it divide each `p.grad` that is not None by all targets. Clip and step follow.",
    ],
    question=number(
        "A model has one weight, 10. The first micro-batch has three targets, whose slopes "
        "are 1, 2 and 3 whatever the weight is, and the second has one, with the slope 6. "
        "Plain descent at the rate 1, and nothing is clipped. What is the weight after two calls "
        "of `update` on the two? Two digits.",
        _weight_after_two,
    ),
    mistakes={
        "optimizer.zero_grad() -> ": "The gradient of the step before is still there: zero it "
        "before the first micro-batch",
        "batch_nats.backward() -> (batch_nats / n / len(batches)).backward()\n"
        "p.grad /= targets -> pass": "This is a mean of the micro-batches' means: divide once, "
        "by all targets",
        "p.grad /= targets -> pass": "This is the gradient of the sum: divide it by the number "
        "of targets",
        "(model.parameters(), clip) -> (model.parameters(), clip / targets)": "The sum is "
        "clipped, and divided after that: divide first",
        "batch_nats, n = loss -> optimizer.zero_grad(); batch_nats, n = loss": "Each micro-batch "
        "loses the slopes of those before it: zero them once, before the loop",
    },
)
