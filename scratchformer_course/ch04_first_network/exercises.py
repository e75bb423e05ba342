"""The exercises of chapter 4, a first network."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from scratchformer_course.kit.checks.compare import difference, error_in_words, same
from scratchformer_course.kit.checks.engine import alike, exercise, mistake, refused
from scratchformer_course.kit.checks.question import number
from scratchformer_course.kit.checks.verdict import Wrong, expect

IDS = torch.tensor([5, 3, 8, 1, 9, 2, 7, 4, 6])
LONG = torch.arange(40).square() % 29


def _windows(ids, length, starts, ahead=1):
    x = torch.stack([ids[s : s + length] for s in starts])
    return x, torch.stack([ids[s + ahead : s + ahead + length] for s in starts])


def judge_windows(call):
    praise = windows.compare(call)
    # The right answer raises an error here, which `cases` cannot say.
    silent = "must raise a ValueError: a window that does not move on is a mistake to be told"
    for stride in (0, -1):
        told = isinstance(call(IDS, 3, stride).error, ValueError)
        expect(told, f"`stride={stride}` {silent}.")
    return praise


def right_windows(ids, length, stride):
    if stride < 1:
        raise ValueError(f"stride={stride} must be at least 1")
    last = len(ids) - length - 1
    return _windows(ids, length, [*range(0, last, stride), last])


def step_by_step(ids, length, stride):
    if stride <= 0:
        raise ValueError("the stride must be positive")
    start, found = 0, []
    while start + length < len(ids):
        found.append(ids[start : start + length + 1])
        start += stride
    if start - stride + length + 1 != len(ids):
        found.append(ids[-length - 1 :])
    return torch.stack(found)[:, :-1], torch.stack(found)[:, 1:]


def by_index(ids, length, stride):
    if stride < 1:
        raise ValueError("no stride below 1")
    last = len(ids) - length - 1
    starts = torch.arange(0, last + stride, stride).clamp(max=last)
    places = starts[:, None] + torch.arange(length)
    return ids[places], ids[places + 1]


def gives_x_as_its_own_target(ids, length, stride):
    x, _ = right_windows(ids, length, stride)
    return x, x


def gives_one_target_a_window(ids, length, stride):
    x, y = right_windows(ids, length, stride)
    return x, y[:, -1]


def repeats_the_last_window(ids, length, stride):
    last = len(ids) - length - 1
    return _windows(ids, length, [*range(0, last + 1, stride), last])


def swaps_x_and_y(ids, length, stride):
    x, y = right_windows(ids, length, stride)
    return y, x


def lets_range_complain(ids, length, stride):
    last = len(ids) - length - 1
    return _windows(ids, length, [*range(0, last, stride), last])


windows = exercise(
    "4.1",
    "windows(ids: (N,), length, stride) -> x (W, length) and y (W, length), y one id later",
    cases=(
        (IDS, 3, 3),
        (IDS, 3, 5),
        (IDS, 2, 1),
        (IDS[:3], 2, 9),
        (LONG, 8, 5),
        (LONG[:21], 1, 4),
        (LONG[:21], 5, 5),  # the steps end with the last id
        (IDS.flip(0), 3, 3),
    ),
    judge=judge_windows,
    right=[right_windows, step_by_step, by_index],
    hints=[
        "At which place does the last window begin, if its `y` ends with the last id?",
        "`last = len(ids) - length - 1`, and windows begin at `[*range(0, last, stride), ...]`.",
    ],
    question=number(
        "The ids are 10 11 12 13 14 15 16 17 18 19, the length is 3 and the stride 4. Which id "
        "stands first in the last row of `x`?",
        lambda f: f(torch.arange(10, 20), 3, 4)[0][-1, 0],
        digits=0,
    ),
    mistakes=[
        mistake(
            "drops the last window",
            "The last window is missing: move it back, to end with the last id",
            lambda ids, length, stride: _windows(ids, length, range(0, len(ids) - length, stride)),
        ),
        mistake(
            "gives x as its own target",
            "`y` is the same as `x`: it must be one id further",
            gives_x_as_its_own_target,
        ),
        mistake(
            "gives one target a window",
            "`y` has as many ids as `x`: a target for each place of the window",
            gives_one_target_a_window,
        ),
        *alike(
            "The stride is ignored: windows begin `stride` ids apart",
            {
                "ignores the stride": lambda ids, length, stride: right_windows(ids, length, 1),
                "takes the length for the stride": lambda ids, length, stride: right_windows(
                    ids, length, length
                ),
            },
        ),
        mistake(
            "stops one id too early",
            "The last window stops one id too early: `y` ends with the last id",
            lambda ids, length, stride: right_windows(ids[:-1], length, stride),
        ),
        mistake(
            "repeats the last window",
            "The last window comes twice where the steps end there anyway",
            repeats_the_last_window,
        ),
        mistake(
            "swaps x and y",
            "`x` and `y` are swapped: `y` is the one that lies later in the text",
            swaps_x_and_y,
        ),
        refused(
            "returns pairs",
            "is a tuple, but an int64 tensor",
            lambda ids, length, stride: list(zip(*right_windows(ids, length, stride), strict=True)),
        ),
        refused(
            "returns windows for stride 0",
            "`stride=0` must raise a ValueError",
            lambda ids, length, stride: right_windows(ids, length, max(stride, 1)),
        ),
        refused(
            "lets range complain about 0 alone",
            "`stride=-1` must raise a ValueError",
            lets_range_complain,
        ),
    ],
)


def _random(*shape, seed):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


LOGITS = torch.tensor([[2.0, 1.0, -1.0], [0.5, -0.5, 0.0], [1.0, 3.0, 2.0], [-2.0, 0.0, 1.0]])
TARGETS = torch.tensor([0, 2, 1, 0])


def judge_cross_entropy(call):
    praise = cross_entropy.compare(call)
    slopes = "must stay a tensor made by torch's own operations, or `backward()` finds no slopes"
    logits = LOGITS.clone().requires_grad_()
    value = call(logits, TARGETS).value
    expect(getattr(value, "requires_grad", False), f"The loss {slopes}.")
    try:
        (found,) = torch.autograd.grad(value, logits, allow_unused=True)
    except Exception as error:
        raise Wrong(f"`backward()` from this loss fails: {error_in_words(error)}.") from None
    cut = "cut off from the logits, by `.item()`, `.data` or `.detach()`"
    expect(found is not None, f"The loss is {cut}: `backward()` finds no slopes.")
    found = found.to(value.dtype)  # half precision holds 3 or 4 digits
    right = (LOGITS.softmax(1) - F.one_hot(TARGETS, LOGITS.shape[1])) / len(LOGITS)
    if not same(found, right):
        told = f"At `logits`, `backward()` {difference(found, right)}."
        raise Wrong(f"The loss is right, its slopes are not: is a part {cut}?\n{told}")
    return praise


def right_cross_entropy(logits, targets):
    logits = logits - logits.max(dim=1, keepdim=True).values
    log_p = logits - logits.exp().sum(dim=1, keepdim=True).log()
    return -log_p[torch.arange(len(targets)), targets].mean()


def row_by_row(logits, targets):
    losses = [-row.log_softmax(0)[t] for row, t in zip(logits, targets, strict=True)]
    return torch.stack(losses).mean()


def by_gather(logits, targets):
    largest = logits.detach().amax(dim=1, keepdim=True)
    log_sum = (logits - largest).exp().sum(dim=1).log() + largest.squeeze(1)
    return (log_sum - logits.gather(1, targets[:, None]).squeeze(1)).mean()


def subtracts_the_mean(logits, targets):
    logits = logits - logits.mean(dim=1, keepdim=True)
    log_p = logits - logits.exp().sum(dim=1, keepdim=True).log()
    return -log_p[torch.arange(len(targets)), targets].mean()


def subtracts_the_largest_of_all(logits, targets):
    log_p = logits - logits.max() - (logits - logits.max()).exp().sum(dim=1, keepdim=True).log()
    return -log_p[torch.arange(len(targets)), targets].mean()


def lets_exp_overflow(logits, targets):
    p = logits.exp() / logits.exp().sum(dim=1, keepdim=True)
    return -p[torch.arange(len(targets)), targets].log().mean()


def takes_ln_p(logits, targets):
    return -logits.softmax(dim=1)[torch.arange(len(targets)), targets].log().mean()


def takes_the_logarithm(logits, targets):
    p = logits.softmax(dim=1)[torch.arange(len(targets)), targets]
    return -p.mean().log()


def detaches_the_log(logits, targets):
    own = logits[torch.arange(len(targets)), targets]
    return (logits.logsumexp(dim=1).detach() - own).mean()


def detaches_the_logit(logits, targets):
    own = logits[torch.arange(len(targets)), targets]
    return (logits.logsumexp(dim=1) - own.detach()).mean()


def leaves_the_graph_used_up(logits, targets):
    loss = F.cross_entropy(logits, targets)
    if loss.requires_grad:
        loss.backward()
    return loss


cross_entropy = exercise(
    "4.2",
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
    right=[
        right_cross_entropy,
        lambda logits, targets: F.cross_entropy(logits, targets),
        row_by_row,
        by_gather,
    ],
    hints=[
        "ln of a softmax is a difference: which number is subtracted from the logit?",
        "`log_p = logits - logits.exp().sum(dim=1, keepdim=True).log()`, after the largest is "
        "taken away. Then pick `log_p[torch.arange(len(targets)), ...]`.",
    ],
    question=number(
        "`logits` is [[0, ln 3], [0, 0]], and `targets` is [0, 1]. What is the cross-entropy? Take "
        "ln 2 = 0.69 and ln 4 = 1.39, and give two digits behind the point.",
        lambda f: torch.as_tensor(
            f(torch.tensor([[0, math.log(3)], [0, 0]]), torch.tensor([0, 1]))
        ).detach(),
    ),
    mistakes=[
        mistake(
            "lets exp overflow",
            "`exp` of a large logit is infinite: take the row's largest logit away first",
            lets_exp_overflow,
        ),
        mistake(
            "subtracts the mean",
            "`exp` of a large logit is still infinite: take the row's largest away, not its mean",
            subtracts_the_mean,
        ),
        mistake(
            "subtracts the largest of the batch",
            "One number is taken from all rows, and `exp` gives only zeros in a row far below it: "
            "each row has a largest logit of its own",
            subtracts_the_largest_of_all,
        ),
        mistake(
            "takes the logarithm of a probability",
            "A very small probability is rounded to 0, and ln 0 is −∞: subtract the logarithm of "
            "the sum from the logits, or take `log_softmax`",
            takes_ln_p,
        ),
        mistake(
            "takes the logarithm of a probability, with the largest of the batch subtracted",
            "One number is taken from all rows, and `exp` gives only zeros in a row far below it: "
            "each row has a largest logit of its own",
            lambda logits, targets: lets_exp_overflow(logits - logits.max(), targets),
        ),
        mistake(
            "adds a small number before the logarithm",
            "A small number is added before the logarithm: the loss of a very wrong guess is wrong",
            lambda logits, targets: (
                -(logits.softmax(1)[torch.arange(len(targets)), targets] + 1e-9).log().mean()
            ),
        ),
        mistake(
            "forgets the softmax",
            "These are logits: softmax makes probabilities of them, and then comes −ln",
            lambda logits, targets: -logits[torch.arange(len(targets)), targets].mean(),
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
            "forgets the logarithm",
            "This is the mean probability: the loss is −ln of each, and then the mean",
            lambda logits, targets: logits.softmax(dim=1)[
                torch.arange(len(targets)), targets
            ].mean(),
        ),
        mistake(
            "takes the logarithm of the mean",
            "This is −ln of the mean probability: take −ln of each first, then the mean",
            takes_the_logarithm,
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
            "takes bits",
            "These are logarithms to base 2: take natural ones",
            lambda logits, targets: right_cross_entropy(logits, targets) / math.log(2),
        ),
        mistake(
            "takes every target in every row",
            "`log_p[:, targets]` takes all targets in every row: each row has one of its own",
            lambda logits, targets: -logits.log_softmax(1)[:, targets].mean(),
        ),
        mistake(
            "ignores the targets",
            "All characters count: only the probability of the target does",
            lambda logits, targets: -(logits.softmax(1) * logits.log_softmax(1)).sum(1).mean(),
        ),
        mistake(
            "returns a loss for each row",
            "There is a loss for each row: return their mean",
            lambda logits, targets: F.cross_entropy(logits, targets, reduction="none"),
        ),
        refused(
            "returns a float",
            "must stay a tensor",
            lambda logits, targets: right_cross_entropy(logits, targets).item(),
        ),
        refused(
            "makes a new tensor of the number",
            "cut off from the logits",
            lambda logits, targets: torch.tensor(
                F.cross_entropy(logits, targets).item(), requires_grad=True
            ),
        ),
        refused(
            "asks for slopes at the end",
            "`backward()` finds no slopes",
            lambda logits, targets: F.cross_entropy(logits.data, targets).requires_grad_(),
        ),
        refused("detaches the log of the sum", "its slopes are not", detaches_the_log),
        refused("detaches the logit of the target", "its slopes are not", detaches_the_logit),
        refused(
            "leaves the graph used up",
            "`backward()` from this loss fails",
            leaves_the_graph_used_up,
        ),
    ],
)


X, W1, W2 = _random(4, seed=1), _random(4, 6, seed=2), _random(6, 5, seed=3)


def _parts(x, W1, W2, target):
    """The hidden layer, the slopes at the logits, and those at the hidden layer."""
    hidden = (x @ W1).relu()
    at_logits = (hidden @ W2).softmax(dim=0)
    at_logits[target] -= 1
    return hidden, at_logits, W2 @ at_logits


def right_slopes(x, W1, W2, target):
    hidden, at_logits, at_hidden = _parts(x, W1, W2, target)
    at_hidden = at_hidden * (hidden > 0)
    return x[:, None] * at_hidden, hidden[:, None] * at_logits


def by_one_hot(x, W1, W2, target):
    hidden = (x @ W1).relu()
    at_logits = (hidden @ W2).softmax(0) - F.one_hot(torch.tensor(target), W2.shape[1])
    at_hidden = torch.where(x @ W1 > 0, at_logits @ W2.T, 0.0)
    return torch.outer(x, at_hidden), torch.outer(hidden, at_logits)


def by_backward(x, W1, W2, target):
    W1, W2 = W1.clone().requires_grad_(), W2.clone().requires_grad_()
    loss = -((x @ W1).relu() @ W2).log_softmax(dim=0)[target]
    return torch.autograd.grad(loss, (W1, W2))


def lets_slopes_through(x, W1, W2, target):
    hidden, at_logits, at_hidden = _parts(x, W1, W2, target)
    return torch.outer(x, at_hidden), torch.outer(hidden, at_logits)


def closes_the_ReLU(x, W1, W2, target):
    hidden, at_logits, at_hidden = _parts(x, W1, W2, target)
    return torch.outer(x, at_hidden.relu()), torch.outer(hidden, at_logits)


def forgets_the_1(x, W1, W2, target):
    hidden = (x @ W1).relu()
    p = (hidden @ W2).softmax(dim=0)
    return torch.outer(x, (W2 @ p) * (hidden > 0)), torch.outer(hidden, p)


def takes_1_away_everywhere(x, W1, W2, target):
    hidden = (x @ W1).relu()
    p = (hidden @ W2).softmax(dim=0) - 1
    return torch.outer(x, (W2 @ p) * (hidden > 0)), torch.outer(hidden, p)


def turns_the_sign(x, W1, W2, target):
    first, second = right_slopes(x, W1, W2, target)
    return -first, -second


def stops_at_the_logits_with_p(x, W1, W2, target):
    hidden = (x @ W1).relu()
    p = (hidden @ W2).softmax(dim=0)
    return torch.outer(x, (W2 @ p) * (hidden > 0)), right_slopes(x, W1, W2, target)[1]


def lets_exp_overflow_in_p(x, W1, W2, target):
    hidden = (x @ W1).relu()
    e = (hidden @ W2).exp()
    at_logits = e / e.sum()
    at_logits[target] -= 1
    return torch.outer(x, (W2 @ at_logits) * (hidden > 0)), torch.outer(hidden, at_logits)


def turns_the_matrices(x, W1, W2, target):
    first, second = right_slopes(x, W1, W2, target)
    return first.T, second.T


def returns_the_new_weights(x, W1, W2, target):
    first, second = right_slopes(x, W1, W2, target)
    return W1 - first, W2 - second


slopes = exercise(
    "4.3",
    "slopes(x: (C,), W1: (C, H), W2: (H, V), target) -> slope of W1 (C, H), slope of W2 (H, V)",
    cases=(
        (X, W1, W2, 2),
        (-X, W1, W2, 0),
        (_random(3, seed=4), _random(3, 5, seed=5), _random(5, 8, seed=6), 7),
        (3 * _random(7, seed=7), _random(7, 4, seed=8), _random(4, 3, seed=9), 1),
        (_random(2, seed=1), _random(3, 2, seed=2).T, _random(6, 3, seed=3).T, 1),
        (torch.tensor([1.0]), torch.tensor([[0.05]]), torch.tensor([[1.0, 0.0]]), 1),
        (torch.tensor([10.0]), torch.tensor([[10.0]]), torch.tensor([[1.0, 0.0]]), 1),
    ),
    right=[right_slopes, by_one_hot, by_backward],
    hints=[
        "What is the slope at the logits? From there, which rule gives the slope of `W2`, and "
        "which the slope at `hidden`?",
        "`at_hidden = (W2 @ at_logits) * (hidden > 0)`. Each answer is `torch.outer` of what goes "
        "into the matrix and ...",
    ],
    question=number(
        "`x` is [1, 3], `W1` is [[−2, −1], [1, 1]], `W2` is [[5, 1], [1, 3]], and the target is 0. "
        "The two logits are equal. What is the slope of `W1[1, 0]`?",
        lambda f: f(
            torch.tensor([1.0, 3.0]),
            torch.tensor([[-2.0, -1.0], [1.0, 1.0]]),
            torch.tensor([[5.0, 1.0], [1.0, 3.0]]),
            0,
        )[0][1, 0],
        digits=0,
    ),
    mistakes=[
        mistake(
            "lets slopes through a closed ReLU",
            "The slope of W1 goes through the ReLU only where the hidden number is above 0",
            lets_slopes_through,
        ),
        mistake(
            "closes the ReLU where the slope is negative",
            "The ReLU is open where the hidden number is above 0, whatever the sign of the slope",
            closes_the_ReLU,
        ),
        mistake(
            "forgets the 1 at the target",
            "The slope at the logits is p less 1 at the target: here the target plays no part",
            forgets_the_1,
        ),
        mistake(
            "takes 1 away everywhere",
            "Take 1 away at the target only, not at every character",
            takes_1_away_everywhere,
        ),
        mistake(
            "turns the sign",
            "The signs are turned: the slope at the target's logit is p − 1, below 0",
            turns_the_sign,
        ),
        mistake(
            "stops at the logits with p alone for W1",
            "The slope at the hidden layer is W2 times the slope at the logits, not W2 times p",
            stops_at_the_logits_with_p,
        ),
        mistake(
            "takes x as it is after the ReLU",
            "W1 is multiplied by x itself, negative numbers too: no ReLU on x",
            lambda x, W1, W2, target: (
                right_slopes(x, W1, W2, target)[0] * (x > 0)[:, None],
                right_slopes(x, W1, W2, target)[1],
            ),
        ),
        mistake(
            "lets exp overflow",
            "`exp` of a large logit is infinite: `softmax` takes the largest logit away first",
            lets_exp_overflow_in_p,
        ),
        mistake(
            "swaps the two",
            "The two are swapped: first W1's, then W2's",
            lambda x, W1, W2, target: right_slopes(x, W1, W2, target)[::-1],
        ),
        mistake(
            "turns the matrices",
            "Rows and columns are swapped: a slope has the shape of its matrix",
            turns_the_matrices,
        ),
        mistake(
            "returns the new weights",
            "These are weights after a step: return the slopes",
            returns_the_new_weights,
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


class WithMatrices(RightTextNetwork):
    def forward(self, ids):
        x = self.embed.weight[ids].reshape(len(ids), -1)
        hidden = (x @ self.hidden.weight.T + self.hidden.bias).clamp(min=0)
        return hidden @ self.out.weight.T + self.out.bias


class ForgetsTheReLU(RightTextNetwork):
    def forward(self, ids):
        return self.out(self.hidden(self.embed(ids).flatten(1)))


class HasAReLUOnTheLogits(RightTextNetwork):
    def forward(self, ids):
        return self.out(self.hidden(self.embed(ids).flatten(1)).relu()).relu()


class HasAReLUOnTheVectors(RightTextNetwork):
    def forward(self, ids):
        return self.out(self.hidden(self.embed(ids).flatten(1).relu()))


class ReturnsProbabilities(RightTextNetwork):
    def forward(self, ids):
        return super().forward(ids).softmax(dim=1)


class ReturnsLogProbabilities(RightTextNetwork):
    def forward(self, ids):
        return super().forward(ids).log_softmax(dim=1)


class JoinsTheWrongWay(RightTextNetwork):
    def forward(self, ids):
        return self.out(self.hidden(self.embed(ids).mT.flatten(1)).relu())


class ReadsBackwards(RightTextNetwork):
    def forward(self, ids):
        return super().forward(ids.flip(1))


class AddsTheVectors(RightTextNetwork):
    def forward(self, ids):
        return self.out(self.hidden(self.embed(ids).sum(dim=1)).relu())


class JoinsTheBatchToo(RightTextNetwork):
    def forward(self, ids):
        return self.out(self.hidden(self.embed(ids).flatten()).relu())


class CutsTheVectorsOff(RightTextNetwork):
    def forward(self, ids):
        return self.out(self.hidden(self.embed(ids).detach().flatten(1)).relu())


class LeavesId0Out(RightTextNetwork):
    def __init__(self, vocab_size, length, d_model, d_hidden):
        super().__init__(vocab_size, length, d_model, d_hidden)
        self.embed = nn.Embedding(vocab_size, d_model, padding_idx=0)


class HasHiddenForOneVector(RightTextNetwork):
    def __init__(self, vocab_size, length, d_model, d_hidden):
        super().__init__(vocab_size, length, d_model, d_hidden)
        self.hidden = nn.Linear(d_model, d_hidden)


class HasNoBiases(RightTextNetwork):
    def __init__(self, vocab_size, length, d_model, d_hidden):
        super().__init__(vocab_size, length, d_model, d_hidden)
        self.hidden = nn.Linear(length * d_model, d_hidden, bias=False)


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
    "4.4",
    "TextNetwork(vocab_size, length, d_model, d_hidden)(ids: (B, T)) -> logits (B, V)",
    cases=cases_of_text_network,
    right=[RightTextNetwork, WithMatrices, WithConcatenation],
    hints=[
        "How many numbers go into the hidden layer, if the rows of all `length` characters are "
        "joined?",
        "`self.embed(ids).flatten(1)` joins the rows. Then come the hidden layer, `.relu()`, and "
        "...",
    ],
    question=number(
        "Two characters, windows of two, rows [1, 2] (id 0) and [3, −1] (id 1). The two hidden "
        "numbers have the weights [2, 0, 0, −1] and [0, 1, −1, 0], and the logit of id 0 has "
        "[−2, 5]. All biases are 0. Which logit does id 0 get for the window [0, 1]? Give one "
        "digit behind the point.",
        _logit_of_id_0,
        digits=1,
    ),
    mistakes=[
        mistake(
            "forgets the ReLU",
            "There is no ReLU after the hidden layer: two linear layers in a row are only one",
            ForgetsTheReLU,
        ),
        mistake(
            "has a ReLU on the logits",
            "A ReLU cuts the logits at 0: it belongs after the hidden layer only",
            HasAReLUOnTheLogits,
        ),
        mistake(
            "has a ReLU on the vectors",
            "A ReLU cuts the vectors of the table: it belongs after the hidden layer",
            HasAReLUOnTheVectors,
        ),
        mistake(
            "returns probabilities",
            "These are probabilities: return the logits, the loss takes the softmax itself",
            ReturnsProbabilities,
        ),
        mistake(
            "returns log probabilities",
            "These are ln p: return the logits themselves",
            ReturnsLogProbabilities,
        ),
        mistake(
            "joins the wrong way",
            "The vectors are mixed up: join them one after the other, with `flatten(1)`",
            JoinsTheWrongWay,
        ),
        mistake(
            "reads backwards",
            "The window is read from its end: place 0 comes first",
            ReadsBackwards,
        ),
        *alike(
            "The hidden layer needs all vectors of the window side by side: (B, T * C)",
            {"adds the vectors": AddsTheVectors, "joins the batch too": JoinsTheBatchToo},
        ),
        refused(
            "cuts the vectors off", "no slopes reach `embed.weight`: `.data`", CutsTheVectorsOff
        ),
        refused("gives id 0 to padding", "no slopes reach row 0 of `embed.weight`", LeavesId0Out),
        refused(
            "has a hidden layer for one vector",
            "`hidden.weight` has shape (7, 3), but (7, 12)",
            HasHiddenForOneVector,
        ),
        refused("has no biases", "the parameter `hidden.bias` is missing", HasNoBiases),
    ],
)


def _descend(w, rate, steps, move):
    """The places of a descent on (w − 3)²; `move(slopes)` makes one number of all slopes so far."""
    places, found = [w], []
    for _ in range(steps):
        found.append(2 * (places[-1] - 3))
        places.append(places[-1] - rate * move(found))
    return places


def with_a_running_sum(w, rate, steps):
    places, slope = [w], 0.0
    for _ in range(steps):
        slope += 2 * (w - 3)
        w = w - rate * slope
        places.append(w)
    return places


forgetful_descent = exercise(
    "4.5",
    "forgetful_descent(w, rate, steps) -> steps + 1 places, each step along all slopes so far",
    cases=(
        (1.0, 0.25, 4),
        (5.0, 0.1, 6),
        (0.0, 0.5, 0),
        (-4.0, 0.05, 12),
        (3.0, 0.2, 3),
        (4.0, 0.5, 5),  # comes by the 3
        (200.0, 0.1, 3),
        (1.0, 0.1, 4),
    ),
    right=[lambda w, rate, steps: _descend(w, rate, steps, sum), with_a_running_sum],
    hints=[
        "In the example, −6 moves the second step. Where does it come from?",
        "`total += 2 * (w - 3)` before each step, and then `w = w - rate * ...`.",
    ],
    question=number(
        "What is the last number of `forgetful_descent(5.0, 0.25, 3)`? Give two digits behind the "
        "point.",
        lambda f: f(5.0, 0.25, 3)[-1],
    ),
    mistakes=[
        mistake(
            "sets the slope to zero",
            "This is the right descent: the fault is that the old slopes stay in the sum",
            lambda w, rate, steps: _descend(w, rate, steps, lambda slopes: slopes[-1]),
        ),
        mistake(
            "takes the mean",
            "This is the mean of the slopes so far: `backward()` adds them up",
            lambda w, rate, steps: _descend(
                w, rate, steps, lambda slopes: sum(slopes) / len(slopes)
            ),
        ),
        mistake(
            "steps uphill",
            "It steps uphill: the step goes against the sum of the slopes",
            lambda w, rate, steps: _descend(w, rate, steps, lambda slopes: -sum(slopes)),
        ),
        mistake(
            "measures the slope once",
            "The slope is measured at the start only: it changes with every step",
            lambda w, rate, steps: _descend(w, rate, steps, lambda slopes: slopes[0] * len(slopes)),
        ),
        mistake(
            "takes half the slope",
            "The slope of (w − 3)² is 2 · (w − 3)",
            lambda w, rate, steps: _descend(w, rate, steps, lambda slopes: sum(slopes) / 2),
        ),
        mistake(
            "measures the slope after the step",
            "Each step misses the newest slope: first add the slope, then step",
            lambda w, rate, steps: _descend(w, rate, steps, lambda slopes: sum(slopes[:-1])),
        ),
        mistake(
            "adds the last two only",
            "Only the last two slopes are added: nothing is ever set to zero, so all of them stay",
            lambda w, rate, steps: _descend(w, rate, steps, lambda slopes: sum(slopes[-2:])),
        ),
        mistake(
            "leaves out the start",
            "The list begins after the first step: the start belongs to it",
            lambda w, rate, steps: _descend(w, rate, steps, sum)[1:],
        ),
        mistake(
            "takes one step too many",
            "That is one step too many: the list has steps + 1 places",
            lambda w, rate, steps: _descend(w, rate, steps + 1, sum),
        ),
        refused(
            "returns the last place",
            "but a list",
            lambda w, rate, steps: _descend(w, rate, steps, sum)[-1],
        ),
    ],
)
