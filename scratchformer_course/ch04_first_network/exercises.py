"""The exercises of chapter 4, a first network."""

import math

import torch

from scratchformer_course.kit.checks.cases import drawn, integers, normal
from scratchformer_course.kit.checks.engine import exercise
from scratchformer_course.kit.checks.mistakes import edits, mistake
from scratchformer_course.kit.checks.question import number

LOGITS = torch.tensor([[2.0, 1.0, -1.0], [0.5, -0.5, 0.0], [1.0, 3.0, 2.0], [-2.0, 0.0, 1.0]])


def right_cross_entropy(logits, targets):
    logits = logits - logits.max(dim=1, keepdim=True).values
    log_p = logits - logits.exp().sum(dim=1, keepdim=True).log()
    return -log_p[torch.arange(len(targets)), targets].mean()


def _classified(draw):
    B, V = draw.size(1, 6, 40), draw.size(2, 9, 80)
    return normal(draw, B, V, scale=draw.choice([0.1, 3.0, 200.0])), integers(draw, V, B)


cross_entropy = exercise(
    "4.1",
    "cross_entropy(logits: (B, V), targets: (B,)) -> the mean of −ln p[target], one number",
    cases=(
        (LOGITS, torch.tensor([0, 2, 1, 0])),
        (torch.tensor([[1000.0, 998.0], [-1000.0, -999.0]]), torch.tensor([1, 0])),
    ),
    slopes=["logits"],
    more=drawn(16, _classified),
    right=[right_cross_entropy],
    hints=[
        "ln of a softmax is a difference: which number is subtracted from the logit?",
        "`log_p = logits - logits.exp().sum(dim=1, keepdim=True).log()`, after the largest is "
        "taken away. Then pick `log_p[torch.arange(len(targets)), ...]`.",
    ],
    question=number(
        "`logits` is [[0, ln 3], [0, 0]], and `targets` is [0, 1]. What is the cross-entropy? Take "
        "ln 2 = 0.69 and ln 4 = 1.39, and give two digits after the point.",
        lambda f: f(torch.tensor([[0, math.log(3)], [0, 0]]), torch.tensor([0, 1])),
    ),
    mistakes={
        "logits - logits.max(dim=1, keepdim=True).values -> logits": "`exp` of a large logit "
        "is infinite, that of a low one 0: take the largest of each row away first",
        "logits - logits.max(dim=1, keepdim=True).values -> logits.softmax(dim=1)": "Softmax "
        "is taken twice: `F.cross_entropy` expects logits",
        "-log_p -> log_p": "The sign is wrong: ln p is negative, a loss is not",
        ".mean() -> .sum()": "This is the sum over the batch: take the mean",
        "torch.arange(len(targets)) -> :": "`log_p[:, targets]` takes all targets in every "
        "row: each row has one of its own",
    },
)


def right_product_back(grad, a, b):
    return grad @ b.T, a.T @ grad


def _backwards(draw):
    B, N, M = (draw.size(1, 4, 20) for _ in range(3))
    return normal(draw, B, M), normal(draw, B, N), normal(draw, N, M)


product_back = exercise(
    "4.2",
    "product_back(grad: (B, M), a: (B, N), b: (N, M)) -> slope at a (B, N), slope at b (N, M)",
    cases=((torch.ones(2, 3), torch.tensor([[1.0], [3.0]]), torch.tensor([[2.0, 0.0, 1.0]])),),
    more=drawn(12, _backwards),
    right=[right_product_back],
    hints=[
        "Of which shape must each slope be, and which product of `grad` with `a` or `b` has it?",
        "`a[i, k]` reaches every number of row `i` of the product, through row `k` of `b`: that "
        "is `grad @ b.T`. The slope at `b` is `... @ grad`.",
    ],
    question=number(
        "`grad` is [[1, −1]], `a` is [[2, 3]] and `b` is [[1, 4], [5, 2]]. What is the slope at "
        "`a[0, 0]`?",
        lambda f: f(*map(torch.tensor, ([[1.0, -1]], [[2.0, 3]], [[1.0, 4], [5, 2]])))[0][0, 0],
        digits=0,
    ),
    mistakes=[
        *edits(
            right_product_back,
            {
                "grad @ b.T, a.T @ grad -> a.T @ grad, grad @ b.T": "The two are swapped: first "
                "the slope at `a`, then the one at `b`",
                ".T -> ": "A slope has the shape of its matrix: look at which of the three must be "
                "transposed",
                "grad @ b.T, a -> -grad @ b.T, -a": "The signs are turned: a slope says how the "
                "loss grows, and the step turns it",
            },
        ),
        mistake(
            "forgets what comes after",
            "`grad` plays no part here: a slope is the factor of this operation times `grad`",
            lambda grad, a, b: right_product_back(torch.ones_like(grad), a, b),
        ),
    ],
)


def right_nats_back(grad, logits, targets):
    p = logits.softmax(dim=1)  # (B, V)
    p[torch.arange(len(p)), targets] -= 1
    return grad * p / len(p)


def _losses(draw):
    B, V = draw.size(1, 6, 40), draw.size(2, 9, 80)
    logits = normal(draw, B, V, scale=draw.choice([0.1, 3.0, 200.0]))
    return draw.choice([-2.0, 0.5, 3.0]), logits, integers(draw, V, B)


nats_back = exercise(
    "4.3",
    "nats_back(grad: float, logits: (B, V), targets: (B,)) -> the slope at the logits (B, V)",
    cases=((2.0, LOGITS, torch.tensor([0, 2, 1, 0])), (1.0, LOGITS[:1], torch.tensor([2]))),
    more=drawn(12, _losses),
    right=[right_nats_back],
    hints=[
        "Subtract the three slopes of the example from its three probabilities. What is left?",
        "`p = logits.softmax(dim=1)`, then `p[torch.arange(len(p)), targets] -= ...`. Do not "
        "forget `grad`, and that the loss is a mean.",
    ],
    question=number(
        "`grad` is 1, `logits` is [[0, ln 3], [0, 0]], and `targets` is [0, 1]. What is the slope "
        "at `logits[0, 0]`? Give three digits after the point.",
        lambda f: f(1.0, torch.tensor([[0, math.log(3)], [0, 0]]), torch.tensor([0, 1]))[0, 0],
        digits=3,
    ),
    mistakes={
        " / len(p) -> ": "The loss is a mean: divide by the number of rows",
        "/ len(p) -> / p.numel()": "The mean is over the windows: B of them, not B · V",
        "p[torch.arange(len(p)), targets] -= 1 -> pass": "The slope is p at every logit: what is "
        "different at the target?",
        "grad * p -> -grad * p": "The sign is wrong: a larger logit of the target lowers the loss",
        "grad * p -> p": "`grad` plays no part here: a slope is the factor of this operation times "
        "`grad`",
        "softmax(dim=1) -> softmax(dim=0)": "Softmax runs down the columns: each row is one window",
    },
)
