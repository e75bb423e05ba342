"""The exercises of chapter 4, a first network."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from scratchformer_course.kit.checks.cases import drawn, integers, normal
from scratchformer_course.kit.checks.compare import difference, error_in_words, same
from scratchformer_course.kit.checks.engine import exercise, mistake
from scratchformer_course.kit.checks.question import number
from scratchformer_course.kit.checks.verdict import Wrong, expect

LONG = torch.arange(40).square() % 29


def _random(*shape, seed):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


LOGITS = torch.tensor([[2.0, 1.0, -1.0], [0.5, -0.5, 0.0], [1.0, 3.0, 2.0], [-2.0, 0.0, 1.0]])
TARGETS = torch.tensor([0, 2, 1, 0])


def judge_cross_entropy(call):
    praise = cross_entropy.compare(call)
    for logits in (LOGITS, 1000 * LOGITS):
        judge_slopes(call, logits.clone().requires_grad_())
    return praise


def judge_slopes(call, logits):
    slopes = "must stay a tensor made by torch's own operations, or `backward()` finds no slopes"
    value = call(logits, TARGETS).value
    expect(getattr(value, "requires_grad", False), f"The loss {slopes}.")
    try:
        (found,) = torch.autograd.grad(value, logits, allow_unused=True)
    except Exception as error:
        raise Wrong(f"`backward()` from this loss fails: {error_in_words(error)}.") from None
    cut = "cut off from the logits, by `.item()`, `.data` or `.detach()`"
    expect(found is not None, f"The loss is {cut}: `backward()` finds no slopes.")
    found = found.to(value.dtype)  # half precision holds 3 or 4 digits
    right = (logits.detach().softmax(1) - F.one_hot(TARGETS, logits.shape[1])) / len(logits)
    if not same(found, right):
        slopes = f"At `logits`, `backward()` {difference(found, right)}."
        why = f"is a part {cut}?" if found.isfinite().all() else "`exp` of a large logit overflows."
        raise Wrong(f"The loss is right, its slopes are not: {why}\n{slopes}")


def right_cross_entropy(logits, targets):
    logits = logits - logits.max(dim=1, keepdim=True).values
    log_p = logits - logits.exp().sum(dim=1, keepdim=True).log()
    return -log_p[torch.arange(len(targets)), targets].mean()


def _classified(draw):
    B, V = draw.randint(1, 6), draw.randint(2, 9)
    return normal(draw, B, V, scale=draw.choice([0.1, 3.0, 200.0])), integers(draw, V, B)


cross_entropy = exercise(
    "4.1",
    "cross_entropy(logits: (B, V), targets: (B,)) -> the mean of −ln p[target], one number",
    cases=(
        (LOGITS, TARGETS),
        (torch.zeros(2, 65), torch.tensor([0, 64])),
        (torch.tensor([[1000.0, 998.0], [-1000.0, -999.0]]), torch.tensor([1, 0])),
        (torch.tensor([[1000.0, 0.0, -1000.0], [-1000.0, 0.0, 1000.0]]), torch.tensor([0, 2])),
        (torch.tensor([[80.0, 0.0]]), torch.tensor([1])),
        (-LOGITS, TARGETS),
        (3 * _random(7, 11, seed=4), torch.tensor([0, 10, 3, 3, 7, 9, 1])),
        (torch.tensor([[0.0, 150.0]]), torch.tensor([0])),
    ),
    judge=judge_cross_entropy,
    more=drawn(10, _classified),
    right=[right_cross_entropy, lambda logits, targets: F.cross_entropy(logits, targets)],
    hints=[
        "ln of a softmax is a difference: which number is subtracted from the logit?",
        "`log_p = logits - logits.exp().sum(dim=1, keepdim=True).log()`, after the largest is "
        "taken away. Then pick `log_p[torch.arange(len(targets)), ...]`.",
    ],
    question=number(
        "`logits` is [[0, ln 3], [0, 0]], and `targets` is [0, 1]. What is the cross-entropy? Take "
        "ln 2 = 0.69 and ln 4 = 1.39, and give two digits after the point.",
        lambda f: torch.as_tensor(
            f(torch.tensor([[0, math.log(3)], [0, 0]]), torch.tensor([0, 1]))
        ).detach(),
    ),
    mistakes=[
        mistake(
            "lets exp overflow",
            "`exp` of a large logit is infinite: take the row's largest logit away first",
            lambda logits, targets: (
                logits.exp().sum(dim=1).log() - logits[torch.arange(len(targets)), targets]
            ).mean(),
        ),
        mistake(
            "takes the softmax over the batch",
            "The softmax runs over the batch: the probabilities of one row sum to 1",
            lambda logits, targets: (
                -logits.log_softmax(0)[torch.arange(len(targets)), targets].mean()
            ),
        ),
        mistake(
            "takes the softmax twice",
            "Softmax is taken twice: `F.cross_entropy` expects logits",
            lambda logits, targets: F.cross_entropy(logits.softmax(dim=1), targets),
        ),
        mistake(
            "forgets the minus",
            "The sign is wrong: ln p is negative, a loss is not",
            lambda logits, targets: -right_cross_entropy(logits, targets),
        ),
        mistake(
            "adds up",
            "This is the sum over the batch: take the mean",
            lambda logits, targets: right_cross_entropy(logits, targets) * len(targets),
        ),
        mistake(
            "takes every target in every row",
            "`log_p[:, targets]` takes all targets in every row: each row has one of its own",
            lambda logits, targets: -logits.log_softmax(1)[:, targets].mean(),
        ),
    ],
)


GRAD, A, B = _random(2, 4, seed=1), _random(2, 3, seed=2), _random(3, 4, seed=3)


def right_product_back(grad, a, b):
    return grad @ b.T, a.T @ grad


def by_autograd(grad, a, b):
    a, b = a.clone().requires_grad_(), b.clone().requires_grad_()
    return torch.autograd.grad(a @ b, (a, b), grad)


def _backwards(draw):
    B, N, M = (draw.randint(1, 4) for _ in range(3))
    return normal(draw, B, M), normal(draw, B, N), normal(draw, N, M)


product_back = exercise(
    "4.2",
    "product_back(grad: (B, M), a: (B, N), b: (N, M)) -> slope at a (B, N), slope at b (N, M)",
    cases=(
        (GRAD, A, B),
        (_random(3, 3, seed=4), _random(3, 3, seed=5), _random(3, 3, seed=6)),
        (torch.ones(1, 1), torch.tensor([[3.0]]), torch.tensor([[2.0]])),
        (_random(5, 2, seed=7), 100 * _random(5, 7, seed=8), _random(7, 2, seed=9)),
        (_random(1, 6, seed=1), torch.zeros(1, 2), _random(6, 2, seed=2).T),
        (-GRAD, A, 1000 * B),
    ),
    more=drawn(8, _backwards),
    right=[right_product_back, by_autograd],
    hints=[
        "Of which shape must each slope be, and which product of `grad` with `a` or `b` has it?",
        "`a[i, k]` reaches every number of row `i` of the product, through row `k` of `b`: that "
        "is `grad @ b.T`. The slope at `b` is `... @ grad`.",
    ],
    question=number(
        "`grad` is [[1, −1]], `a` is [[2, 3]] and `b` is [[1, 4], [5, 2]]. What is the slope at "
        "`a[0, 0]`?",
        lambda f: f(
            torch.tensor([[1.0, -1.0]]),
            torch.tensor([[2.0, 3.0]]),
            torch.tensor([[1.0, 4.0], [5.0, 2.0]]),
        )[0][0, 0],
        digits=0,
    ),
    mistakes=[
        mistake(
            "swaps the two",
            "The two are swapped: first the slope at `a`, then the one at `b`",
            lambda grad, a, b: (a.T @ grad, grad @ b.T),
        ),
        mistake(
            "transposes nothing",
            "A slope has the shape of its matrix: look at which of the three must be transposed",
            lambda grad, a, b: (grad @ b, a @ grad),
        ),
        mistake(
            "transposes the slopes",
            "Rows and columns are swapped: a slope has the shape of its matrix",
            lambda grad, a, b: (b @ grad.T, grad.T @ a),
        ),
        mistake(
            "forgets what comes after",
            "`grad` plays no part here: a slope is the factor of this operation times `grad`",
            lambda grad, a, b: right_product_back(torch.ones_like(grad), a, b),
        ),
        mistake(
            "turns the sign",
            "The signs are turned: a slope says how the loss grows, and the step turns it",
            lambda grad, a, b: right_product_back(-grad, a, b),
        ),
        mistake(
            "takes the mean over the batch",
            "Every window of the batch adds to the slope at `b`: this is their mean",
            lambda grad, a, b: (grad @ b.T, a.T @ grad / len(a)),
        ),
    ],
)


WINDOWS = torch.tensor([[3, 0, 5, 2], [1, 1, 4, 0], [5, 2, 3, 3]])
SETTINGS = {"vocab_size": 6, "length": 4, "d_model": 3, "d_hidden": 7}


def cases_of_text_network():
    yield SETTINGS, WINDOWS
    yield {"vocab_size": 6, "length": 2, "d_model": 5, "d_hidden": 4}, WINDOWS[:1, :2]
    yield SETTINGS, WINDOWS.flip(0)
    yield {"vocab_size": 5, "length": 1, "d_model": 1, "d_hidden": 3}, torch.tensor([[4], [0]])
    large = {"vocab_size": 29, "length": 5, "d_model": 8, "d_hidden": 40}
    yield large, LONG.view(8, 5)


class RightTextNetwork(nn.Module):
    def __init__(self, vocab_size, length, d_model, d_hidden):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, d_model)
        self.hidden = nn.Linear(length * d_model, d_hidden)
        self.out = nn.Linear(d_hidden, vocab_size)
        for p in self.parameters():
            nn.init.normal_(p)  # large numbers: every other bend than a ReLU shows

    def forward(self, ids):
        joined = self.embed(ids).flatten(1)
        return self.out(self.hidden(joined).relu())


class WithConcatenation(nn.Module):
    def __init__(self, vocab_size, length, d_model, d_hidden):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, d_model)
        self.hidden = nn.Linear(length * d_model, d_hidden)
        self.out = nn.Linear(d_hidden, vocab_size)

    def forward(self, ids):
        joined = torch.cat([self.embed(column) for column in ids.T], dim=1)
        return self.out(F.relu(self.hidden(joined)))


def _with(forward):
    """The right network, but for what it computes."""
    return type("TextNetwork", (RightTextNetwork,), {"forward": forward})


def _logit_of_id_0(cls):
    network = cls(vocab_size=2, length=2, d_model=2, d_hidden=2)
    with torch.no_grad():
        for p in network.parameters():
            p.zero_()  # the biases stay 0
        network.embed.weight += torch.tensor([[1, 2], [3, -1]])
        network.hidden.weight += torch.tensor([[2, 0, 0, -1], [0, 1, -1, 0]])
        network.out.weight += torch.tensor([[-2, 5], [-2, 1]])
    return network(torch.tensor([[0, 1]]))[0, 0].detach()


TextNetwork = exercise(
    "4.3",
    "TextNetwork(vocab_size, length, d_model, d_hidden)(ids: (B, T)) -> logits (B, V)",
    cases=cases_of_text_network,
    right=[RightTextNetwork, WithConcatenation],
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
    mistakes=[
        mistake(
            "forgets the ReLU",
            "There is no ReLU after the hidden layer: two linear layers in a row are only one",
            _with(lambda self, ids: self.out(self.hidden(self.embed(ids).flatten(1)))),
        ),
        mistake(
            "has a ReLU on the logits",
            "A ReLU cuts the logits at 0: it belongs after the hidden layer only",
            _with(lambda self, ids: RightTextNetwork.forward(self, ids).relu()),
        ),
        mistake(
            "returns probabilities",
            "These are probabilities: return the logits, the loss takes the softmax itself",
            _with(lambda self, ids: RightTextNetwork.forward(self, ids).softmax(dim=1)),
        ),
        mistake(
            "joins the wrong way",
            "The vectors are mixed up: join them one after the other, with `flatten(1)`",
            _with(lambda self, ids: self.out(self.hidden(self.embed(ids).mT.flatten(1)).relu())),
        ),
        mistake(
            "adds the vectors",
            "The hidden layer needs all vectors of the window side by side: (B, T * C)",
            _with(lambda self, ids: self.out(self.hidden(self.embed(ids).sum(dim=1)).relu())),
        ),
    ],
)
