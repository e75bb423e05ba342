"""The exercises of chapter 4, a first network."""

import math

import torch
from torch import nn

from scratchformer_course.kit.checks.cases import drawn, integers, normal
from scratchformer_course.kit.checks.engine import exercise
from scratchformer_course.kit.checks.mistakes import edits, mistake
from scratchformer_course.kit.checks.question import number
from scratchformer_course.kit.checks.verdict import Wrong, expect

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


class RightTextNetwork(nn.Module):
    def __init__(self, vocab_size, length, d_model, d_hidden):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, d_model)
        self.hidden = nn.Linear(length * d_model, d_hidden)
        self.out = nn.Linear(d_hidden, vocab_size)

    def forward(self, ids):
        vectors = self.embed(ids)  # (B, T) -> (B, T, C)
        joined = vectors.flatten(1)  # (B, T, C) -> (B, T*C)
        return self.out(self.hidden(joined).relu())


def judge_text_network(call):
    praise = TextNetwork.compare(call)
    ids = torch.tensor([[3, 0, 5, 2]])
    try:
        logits = call.given(**SIZES).double()(ids)
    except RuntimeError as error:
        raise Wrong(f"The values are right, but after `.double()` it fails: {error}.") from None
    expect(logits.dtype == torch.float64, "The values are right, but `.double()` changes nothing.")
    return praise


def _sizes_and_ids(draw):
    V, T = draw.size(2, 29, 90), draw.size(1, 5, 30)
    sizes = {"vocab_size": V, "length": T, "d_model": draw.randint(1, 8)}
    return sizes | {"d_hidden": draw.randint(3, 40)}, integers(draw, V, draw.size(2, 8, 1), T)


def _logit_of_id_0(cls):
    network = cls(vocab_size=2, length=2, d_model=2, d_hidden=2)
    with torch.no_grad():
        for p in network.parameters():
            p.zero_()  # the biases stay 0
        network.embed.weight += torch.tensor([[1, 2], [3, -1]])
        network.hidden.weight += torch.tensor([[2, 0, 0, -1], [0, 1, -1, 0]])
        network.out.weight += torch.tensor([[-2, 5], [-2, 1]])
    return network(torch.tensor([[0, 1]]))[0, 0].detach()


SIZES = {"vocab_size": 6, "length": 4, "d_model": 3, "d_hidden": 7}

TextNetwork = exercise(
    "4.3",
    "TextNetwork(vocab_size, length, d_model, d_hidden)(ids: (B, T)) -> logits (B, V)",
    cases=((SIZES, torch.tensor([[3, 0, 5, 2], [1, 1, 4, 0], [5, 2, 3, 3]])),),
    more=drawn(4, _sizes_and_ids),
    judge=judge_text_network,
    right=[RightTextNetwork],
    hints=[
        "How many numbers go into the hidden layer, if the rows of all `length` characters are "
        "joined?",
        "`self.embed(ids).flatten(1)` joins the rows. Then come the hidden layer, `.relu()`, and "
        "...",
    ],
    question=number(
        "The two characters of a window have the rows [1, 2] and [3, −1]. The two hidden numbers "
        "have the weights [2, 0, 0, −1] and [0, 1, −1, 0], the first logit has [−2, 5], and all "
        "biases are 0. What is this logit?",
        _logit_of_id_0,
        digits=1,
    ),
    mistakes={
        ".relu() -> ": "There is no ReLU after the hidden layer: two linear layers in a row "
        "are only one",
        ".relu()) -> .relu()).softmax(dim=1)": "These are probabilities: return the logits, "
        "the loss takes the softmax itself",
        "flatten(1) -> mT.flatten(1)": "The vectors are mixed up: join them one after the "
        "other, with `flatten(1)`",
        "flatten(1) -> sum(dim=1)": "The hidden layer needs all vectors of the window side by "
        "side: (B, T * C)",
    },
)
