"""Right and plausibly wrong answers to the exercises of chapter 4."""

import math

import torch
from mutation import mutant, solution
from torch.nn import functional as F

MEAN, WEIGHTS, SOFTMAX, LEAK = (
    f"averaging.{name}"
    for name in ("running_mean", "averaging_weights", "masked_softmax", "hidden_leak")
)


# 4.1 running_mean


@solution(MEAN)
def _(x):
    return x.cumsum(dim=0) / torch.arange(1, len(x) + 1).unsqueeze(1)


@solution(MEAN)
def _(x):
    return torch.stack([x[: t + 1].mean(dim=0) for t in range(len(x))])


@mutant(MEAN, "leaves the position itself out, NaN in the first row", "leaves itself out")
def _(x):
    return torch.stack([x[:t].mean(dim=0) for t in range(len(x))])


@mutant(MEAN, "leaves the position itself out, zeros in the first row", "leaves itself out")
def _(x):
    return torch.stack([x[:t].sum(dim=0) / max(t, 1) for t in range(len(x))])


@mutant(MEAN, "returns sums", "divide row t by t + 1")
def _(x):
    return x.cumsum(dim=0)


@mutant(MEAN, "divides every row by T", "Every row is divided by T")
def _(x):
    return x.cumsum(dim=0) / len(x)


@mutant(MEAN, "divides by t instead of t + 1", "Row t is divided by t")
def _(x):
    return x.cumsum(dim=0) / torch.arange(len(x)).unsqueeze(1)


@mutant(MEAN, "averages everything in every row", "it may use 0 … t, no more")
def _(x):
    return x.mean(dim=0).expand(len(x), -1)


@mutant(MEAN, "averages the future", "The mean runs backwards")
def _(x):
    return torch.stack([x[t:].mean(dim=0) for t in range(len(x))])


@mutant(MEAN, "averages along the channels", "axis 0 is time")
def _(x):
    return x.cumsum(dim=1) / torch.arange(1, x.shape[1] + 1)


@mutant(MEAN, "returns the last mean only", "one mean for each position")
def _(x):
    return x.mean(dim=0)


@mutant(MEAN, "averages a position with the one before it", "go back to row 0")
def _(x):
    return torch.stack([x[max(t - 1, 0) : t + 1].mean(dim=0) for t in range(len(x))])


# 4.2 averaging_weights


@solution(WEIGHTS)
def _(T):
    ones = torch.ones(T, T).tril()
    return ones / ones.sum(dim=1, keepdim=True)


@solution(WEIGHTS)
def _(T):
    hidden = torch.ones(T, T).triu(1).bool()
    return torch.zeros(T, T).masked_fill(hidden, -math.inf).softmax(dim=1)


@mutant(WEIGHTS, "upper triangle", "The matrix is transposed")
def _(T):
    ones = torch.ones(T, T).tril()
    return (ones / ones.sum(dim=1, keepdim=True)).T


@mutant(WEIGHTS, "triu, rows divided by their sum", "takes in positions after it")
def _(T):
    ones = torch.ones(T, T).triu()
    return ones / ones.sum(dim=1, keepdim=True)


@mutant(WEIGHTS, "weighs all positions alike", "Every row weighs all positions")
def _(T):
    return torch.full((T, T), 1 / T)


@mutant(WEIGHTS, "rows not divided", "sums, not means")
def _(T):
    return torch.ones(T, T).tril()


@mutant(WEIGHTS, "all rows divided by T", "row t has t + 1 ones")
def _(T):
    return torch.ones(T, T).tril() / T


@mutant(WEIGHTS, "columns sum to 1", "Each column sums to 1")
def _(T):
    ones = torch.ones(T, T).tril()
    return ones / ones.sum(dim=0, keepdim=True)


@mutant(WEIGHTS, "forgets keepdim", "`keepdim=True` keeps them upright")
def _(T):
    ones = torch.ones(T, T).tril()
    return ones / ones.sum(dim=1)


@mutant(WEIGHTS, "leaves the diagonal out", "The diagonal is empty")
def _(T):
    ones = torch.ones(T, T).tril(-1)
    return ones / ones.sum(dim=1, keepdim=True)


@mutant(WEIGHTS, "softmax over zeros instead of -inf", "exp(0) is 1")
def _(T):
    return torch.ones(T, T).tril().softmax(dim=1)


# 4.3 masked_softmax


@solution(SOFTMAX)
def _(scores, mask):
    return scores.masked_fill(~mask, -math.inf).softmax(dim=1)


@solution(SOFTMAX)
def _(scores, mask):
    e = (scores - scores.amax(dim=1, keepdim=True)).exp() * mask
    return e / e.sum(dim=1, keepdim=True)


@solution(SOFTMAX)
def _(scores, mask):
    return torch.softmax(torch.where(mask, scores, -1e9), dim=-1)


@mutant(SOFTMAX, "ignores the mask", "The mask has no effect")
def _(scores, mask):
    return scores.softmax(dim=1)


@mutant(SOFTMAX, "hides where the mask is True", "True means may attend")
def _(scores, mask):
    return scores.masked_fill(mask, -math.inf).softmax(dim=1).nan_to_num()


@mutant(SOFTMAX, "hides with 0", "exp(0) is 1")
def _(scores, mask):
    return (scores * mask).softmax(dim=1)


@mutant(SOFTMAX, "masks after the softmax", "the rows no longer sum to 1")
def _(scores, mask):
    return scores.softmax(dim=1) * mask


@mutant(SOFTMAX, "hides by the data: wherever the masked scores are 0", "never the data")
def _(scores, mask):
    masked = scores * mask
    return masked.masked_fill(masked == 0, -math.inf).softmax(dim=1)


@mutant(SOFTMAX, "hard argmax", "a hard maximum")
def _(scores, mask):
    best = scores.masked_fill(~mask, -math.inf).argmax(dim=1)
    return F.one_hot(best, len(scores)).float()


@mutant(SOFTMAX, "ignores the scores", "the scores are not used")
def _(scores, mask):
    return mask / mask.sum(dim=1, keepdim=True)


@mutant(SOFTMAX, "softmax down the columns", "Softmax runs down the columns")
def _(scores, mask):
    return scores.masked_fill(~mask, -math.inf).softmax(dim=0)


@mutant(SOFTMAX, "hides with -10", "below any other, so -inf")
def _(scores, mask):
    return scores.masked_fill(~mask, -10.0).softmax(dim=1)


@mutant(SOFTMAX, "hides with -100, which some scores are below", "below any other, so -inf")
def _(scores, mask):
    return scores.masked_fill(~mask, -100.0).softmax(dim=1)


@mutant(SOFTMAX, "adds mask times -inf", "NaN where the mask is 0")
def _(scores, mask):
    return (scores + (~mask).float() * -math.inf).softmax(dim=1)


# 4.4 hidden_leak


@solution(LEAK)
def _(T):
    mask = torch.ones(T, T, dtype=torch.bool).tril()
    mask[0, 1] = True
    return mask


@solution(LEAK)
def _(T):
    i, j = torch.arange(T).unsqueeze(1), torch.arange(T)
    return (j <= i) | ((i == 0) & (j == T - 2))


@mutant(LEAK, "the causal mask itself", "This is the causal mask")
def _(T):
    return torch.ones(T, T).tril().bool()


@mutant(LEAK, "no mask", "one is enough")
def _(T):
    return torch.ones(T, T, dtype=torch.bool)


@mutant(LEAK, "one step of future everywhere", "one is enough")
def _(T):
    return torch.ones(T, T).tril(1).bool()


@mutant(LEAK, "leaks in the last column", "the test changes that one and catches it")
def _(T):
    mask = torch.ones(T, T).tril().bool()
    mask[0, -1] = True
    return mask


@mutant(LEAK, "takes a place away", "allowed places are False")
def _(T):
    mask = torch.ones(T, T).tril().bool()
    mask[T - 1, 0] = False
    return mask


@mutant(LEAK, "upper triangle", "allowed places are False")
def _(T):
    return torch.ones(T, T).triu().bool()


@mutant(LEAK, "floats", "makes booleans")
def _(T):
    mask = torch.ones(T, T).tril()
    mask[0, 1] = 1.0
    return mask


@mutant(LEAK, "integers", "torch.bool is expected")
def _(T):
    mask = torch.ones(T, T).tril().long()
    mask[0, 1] = 1
    return mask


@mutant(LEAK, "always the same size", "is expected")
def _(T):
    mask = torch.ones(6, 6).tril().bool()
    mask[0, 1] = True
    return mask
