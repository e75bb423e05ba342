"""The exercises of chapter 11, training well."""

import math

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_

from scratchformer.training import token_loss
from scratchformer_course.kit.checks.cases import drawn, normal
from scratchformer_course.kit.checks.compare import difference, same
from scratchformer_course.kit.checks.engine import exercise, mistake, refused
from scratchformer_course.kit.checks.question import number
from scratchformer_course.kit.checks.verdict import Wrong, expect

# The first optimiser of a process imports half of torch, for seconds: not in a check's own time.
torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)

BETA1, BETA2, EPS = 0.9, 0.95, 1e-8
W, GRAD = torch.tensor([1.0, -2.0, 0.5]), torch.tensor([0.5, -0.1, 2.0])
M, V = torch.tensor([0.2, 0.1, -0.3]), torch.tensor([0.04, 0.5, 1.0])
ZERO, TINY = torch.zeros(2), torch.tensor([EPS, 0.0])
WIDE = torch.randn(4, 2, 3, generator=torch.Generator().manual_seed(11), dtype=torch.float64)


def _adamw(divisor=lambda v: v.sqrt() + EPS, steps_with_new=True):
    """AdamW that divides by this, given the corrected v, and steps with the new or old means."""

    def answer(w, grad, m, v, t, lr, decay):
        new_m = BETA1 * m + (1 - BETA1) * grad
        new_v = BETA2 * v + (1 - BETA2) * grad**2
        if steps_with_new:
            m, v = new_m, new_v
        step = m / (1 - BETA1**t) / divisor(v / (1 - BETA2**t))
        return w - lr * decay * w - lr * step, new_m, new_v

    return answer


right_adamw_step = _adamw()


def adamw_by_torch(w, grad, m, v, t, lr, decay):
    p = torch.nn.Parameter(w.clone())
    optimizer = torch.optim.AdamW([p], lr=lr, betas=(BETA1, BETA2), weight_decay=decay)
    state = {"step": torch.tensor(t - 1.0), "exp_avg": m.clone(), "exp_avg_sq": v.clone()}
    optimizer.state[p] = state
    p.grad = grad.clone()
    optimizer.step()
    return p.detach(), state["exp_avg"], state["exp_avg_sq"]


def _first_update(adamw_step):
    w, grad = torch.tensor([6.0]), torch.tensor([-2.0])
    return adamw_step(w, grad, torch.zeros(1), torch.zeros(1), 1, 0.5, 0.5)[0]


def _updated(draw):
    C = draw.randint(1, 4)
    w, grad, m, v = (normal(draw, C) for _ in range(4))
    rates = draw.choice([1e-3, 0.1, 0.5]), draw.choice([0.0, 0.1, 0.9])
    return w, grad, m, v.square(), draw.choice([1, 2, 7, 300]), *rates


adamw_step = exercise(
    "11.1",
    "adamw_step(w, grad, m, v, t, lr, decay) -> (w, m, v) after update number t = 1, 2, …",
    cases=(
        (W, GRAD, M, V, 3, 0.1, 0.5),
        (torch.ones(2), TINY, ZERO, ZERO, 1, 0.1, 0.0),
        (WIDE[0], 30 * WIDE[1], WIDE[2], WIDE[3].square(), 12, 0.6, 0.2),
        (10 * W[:1], GRAD[:1], 0 * M[:1], 0 * V[:1], 1, 0.4, 0.1),
        (torch.ones(1), torch.tensor([1e-5]), ZERO[:1], ZERO[:1], 1, 0.1, 0.0),
    ),
    more=drawn(12, _updated),
    right=[right_adamw_step, adamw_by_torch],
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
    mistakes=[
        mistake(
            "no bias correction",
            "No bias correction: divide m by 1 − β₁^t and v by 1 − β₂^t",
            lambda w, grad, m, v, t, *rest: right_adamw_step(w, grad, m, v, math.inf, *rest),
        ),
        mistake(
            "adds the decay to the gradient",
            "The decay went into the gradient, where √v rescales it: shrink w itself, apart",
            lambda w, grad, m, v, t, lr, decay: right_adamw_step(
                w, grad + decay * w, m, v, t, lr, 0.0
            ),
        ),
        mistake(
            "decay without the rate",
            "The decay lacks the rate: lr · decay · w",
            lambda w, grad, m, v, t, lr, decay: right_adamw_step(w, grad, m, v, t, lr, decay / lr),
        ),
        mistake(
            "old m and v in the step",
            "The step uses the old m and v: update them first",
            _adamw(steps_with_new=False),
        ),
        mistake(
            "epsilon inside the root",
            "ε stands outside the root: √v + ε",
            _adamw(lambda v: (v + EPS).sqrt()),
        ),
    ],
)


def _cosine(progress):
    """Half a cosine wave that falls from 1 to 0 while progress goes from 0 to 1."""
    return (1 + math.cos(math.pi * progress)) / 2


def _warmup_cosine(
    rise=lambda step, warmup: (step + 1) / (warmup + 1),
    fall=lambda step, steps, warmup: _cosine((step - warmup) / (steps - warmup)),
):
    """The schedule whose shares of `lr` are `rise` before the end of the warm-up, then `fall`."""
    return lambda step, lr, steps, warmup: (
        lr * (rise(step, warmup) if step < warmup else fall(step, steps, warmup))
    )


def warmup_by_squared_cosine(step, lr, steps, warmup):
    rise = min((step + 1) / (warmup + 1), 1)
    quarter = math.pi / 2 * max(step - warmup, 0) / (steps - warmup)
    return lr * rise * math.cos(quarter) ** 2


def _scheduled(draw):
    steps = draw.randint(2, 40)
    return draw.randrange(steps), draw.choice([3e-5, 1e-3, 2.0]), steps, draw.randrange(steps)


warmup_cosine = exercise(
    "11.2",
    "warmup_cosine(step, lr, steps, warmup) -> the rate of the update after `step` updates",
    cases=(
        *((step, 0.3, 20, 4) for step in (0, 1, 3, 4, 9, 15, 19)),
        *((step, 1.0, 10, 0) for step in (0, 5)),
        *((step, 3.0, 37, 11) for step in (0, 10, 11, 12, 36)),
        *((step, 2.0, 4, 3) for step in range(4)),  # one step of fall
        *((step, 0.7, 5, 1) for step in range(5)),
    ),
    praise="The rate rises to its peak at step 4, falls along a cosine, and is never 0.",
    more=drawn(30, _scheduled),
    right=[_warmup_cosine(), warmup_by_squared_cosine],
    hints=[
        "At which step do the two formulas meet, and what does each of them give there?",
        "Below `warmup` it is `lr * (step + 1) / (warmup + 1)`. Else `progress` is the share of "
        "the fall that is done, and the rate is half of `lr * (1 + math.cos(math.pi * "
        "progress))`.",
    ],
    question=number(
        "lr = 4, 15 steps, of which 3 are warm-up: what is the rate at step 7? One digit. (The "
        "cosine of π/3, which is 60°, is 0.5.)",
        lambda f: f(7, 4.0, 15, 3),
        digits=1,
    ),
    mistakes=[
        mistake(
            "rate 0 at step 0",
            "The first update has rate 0: count from step + 1",
            _warmup_cosine(rise=lambda step, warmup: step / warmup),
        ),
        mistake(
            "peak one step early",
            "The peak comes one step early, and twice: divide by warmup + 1",
            _warmup_cosine(rise=lambda step, warmup: (step + 1) / warmup),
        ),
        mistake(
            "cosine over the whole run",
            "The cosine begins at step 0: it begins at `warmup`, at the peak",
            _warmup_cosine(fall=lambda step, steps, _: _cosine(step / steps)),
        ),
        mistake(
            "rate 0 at the last update",
            "The last update has rate 0: the cosine reaches 0 at `steps`, after it",
            _warmup_cosine(
                fall=lambda step, steps, warmup: _cosine((step - warmup) / (steps - warmup - 1))
            ),
        ),
        mistake(
            "cosine not halved",
            "1 + cos runs from 2 to 0: halve it",
            _warmup_cosine(
                fall=lambda step, steps, warmup: 2 * _cosine((step - warmup) / (steps - warmup))
            ),
        ),
    ],
)


IDS = torch.tensor([[1, 0, 4, 2], [3, 2, 2, 1], [0, 2, 1, 3]])
NEXT = torch.tensor([[0, 4, 2, 1], [2, -100, -100, -100], [2, 1, -100, -100]])
PIECES = [(IDS[:1], NEXT[:1]), (IDS[1:], NEXT[1:])]  # 4 targets and 3
WEIGHTED = [(IDS[i : i + 1], NEXT[i : i + 1], torch.tensor(i + 0.5)) for i in range(3)]


class _Table(nn.Module):
    """Logits of the next token from a table: a model with two parameters, the same each time."""

    def __init__(self):
        super().__init__()
        self.table, self.bias = nn.Embedding(5, 5), nn.Parameter(torch.zeros(5))
        with torch.no_grad():
            self.table.weight.copy_(torch.arange(25.0).view(5, 5).sin())

    def forward(self, ids):
        return 4 * (self.table(ids) + self.bias)

    def __repr__(self):
        return "<model>"  # the engine shows the parameter's name instead


class _SGD(torch.optim.SGD):
    """Plain descent, where every factor of a gradient shows."""

    def __repr__(self):
        return "<optimizer>"


def _summed(model, x, y):
    return token_loss(model(x), y)


def _weighted(model, x, y, weight):
    nats, targets = token_loss(model(x), y)
    return weight * nats, targets


def _outcome(step, clip, old=None, has_unused=False):
    """Nats, targets and weights after each of three steps: of two pieces, of one and of three.

    The model may come with `old` slopes, and with a parameter that takes no part.
    """
    model = _Table()
    for p in model.parameters() if old is not None else ():
        p.grad = torch.full_like(p, old)
    if has_unused:
        model.unused = nn.Parameter(torch.ones(2))
    optimizer = _SGD(model.parameters(), lr=0.5)
    found = []
    for batches, loss in ((PIECES, _summed), (PIECES[::-1][:1], _summed), (WEIGHTED, _weighted)):
        nats, targets = step(model, optimizer, batches, loss, clip)
        weights = torch.cat([p.detach().flatten() for p in model.parameters()])
        totals = [  # a float in few digits stays one: see compare.Rough
            number if isinstance(number, float) else float(torch.as_tensor(number).detach())
            for number in (nats, targets)
        ]
        found.append((*totals, weights.clone()))
    return found


def judge_update(call):
    def learners(*args):
        return call(*args).like((0.0, 0.0))

    for clip in (100.0, 0.1):
        expected = _outcome(right_update, clip)
        got = _outcome(learners, clip)
        if same(got, expected):
            continue
        for usual in update.mistakes:
            if not usual.is_quoted and same(got, _outcome(usual.function, clip)):
                raise Wrong(f"{usual.diagnosis}.")
        names = ("the nats of", "the targets of", "the weights after")
        for step, (mine, right) in enumerate(zip(got, expected, strict=True), 1):
            for name, a, b in zip(names, mine, right, strict=True):
                if not same(a, b):
                    away = difference(a, b)
                    raise Wrong(f"Look at {name} step {step}, clip={clip:g}: {away}.")
    old = "The model came with slopes of an older step, and they were used: zero them first."
    expect(same(_outcome(learners, 100.0, old=1.0), _outcome(right_update, 100.0, old=1.0)), old)
    _judge_unused(call, learners)
    return update.praise


def _judge_unused(call, learners):
    why = "This model has a parameter that takes no part, and its `grad` is None: leave it out"
    try:
        got = _outcome(learners, 0.1, has_unused=True)
    except Wrong as wrong:
        raise Wrong(f"{why}.\n{wrong}") from None
    expect(same(got, _outcome(right_update, 0.1, has_unused=True)), f"{why}.")


def _divide_all(model, targets, clip):
    for p in model.parameters():
        p.grad /= targets


def _divide(model, targets, clip):
    for p in model.parameters():
        if p.grad is not None:
            p.grad /= targets


def _clip(model, targets, clip):
    clip_grad_norm_(model.parameters(), clip)


def _update(*before_the_step, zeroes=True, takes_means=False):
    """An update that adds the gradients up, and changes them so before its step."""

    def answer(model, optimizer, batches, loss, clip):
        nats, targets = torch.tensor(0.0), torch.tensor(0)
        if zeroes:
            optimizer.zero_grad()
        for batch in batches:
            piece, n = loss(model, *batch)
            (piece / n / len(batches) if takes_means else piece).backward()
            nats, targets = nats + piece.detach(), targets + n
        for change in before_the_step:
            change(model, targets, clip)
        optimizer.step()
        return nats, targets

    return answer


right_update = _update(_divide, _clip)
never_zeroes = _update(_divide, _clip, zeroes=False)


def update_by_one_backward(model, optimizer, batches, loss, clip):
    sums = [loss(model, *batch) for batch in batches]
    nats, targets = sum(nats for nats, _ in sums), sum(n for _, n in sums)
    optimizer.zero_grad()
    (nats / targets).backward()
    clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return nats.detach(), targets


def zeroes_after_the_step_only(model, optimizer, batches, loss, clip):
    found = never_zeroes(model, optimizer, batches, loss, clip)
    optimizer.zero_grad()
    return found


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
    right=[right_update, update_by_one_backward],
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
    mistakes=[
        mistake(
            "never zeroes",
            "The gradient of the step before is still there: zero it before the first micro-batch",
            never_zeroes,
        ),
        refused(
            "zeroes after the step only", "came with slopes of an older", zeroes_after_the_step_only
        ),
        refused(
            "divides every slope", "a parameter that takes no part", _update(_divide_all, _clip)
        ),
        mistake(
            "takes a mean of means",
            "This is a mean of the micro-batches' means: divide once, by all targets",
            _update(_clip, takes_means=True),
        ),
        mistake(
            "keeps the sum",
            "This is the gradient of the sum: divide it by the number of targets",
            _update(_clip),
        ),
        mistake(
            "clips before it divides",
            "The sum is clipped, and divided after that: divide first",
            _update(_clip, _divide),
        ),
    ],
)
