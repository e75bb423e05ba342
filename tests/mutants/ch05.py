"""Right and plausibly wrong answers to the exercises of chapter 5."""

import math

import torch
from mutation import mutant, solution
from torch.nn import functional as F

LOOKUP, SCORES, SOFTMAX, ATTENTION, SATURATE = (
    f"self_attention.{name}"
    for name in ("soft_lookup", "scaled_scores", "softmax_rows", "attention", "vanishing_scale")
)


# 5.1 soft_lookup


@solution(LOOKUP)
def _(query, keys, values):
    return (keys @ query).softmax(dim=0) @ values


@solution(LOOKUP)
def _(query, keys, values):
    e = [math.exp(float(key @ query)) for key in keys]
    return sum(w / sum(e) * value for w, value in zip(e, values, strict=True))


@mutant(LOOKUP, "hard look-up", "a hard look-up")
def _(query, keys, values):
    return values[(keys @ query).argmax()]


@mutant(LOOKUP, "plain mean", "the query is not used")
def _(query, keys, values):
    return values.mean(dim=0)


@mutant(LOOKUP, "no softmax", "softmax is missing")
def _(query, keys, values):
    return keys @ query @ values


@mutant(LOOKUP, "scores divided by their sum", "Scores can be negative")
def _(query, keys, values):
    scores = keys @ query
    return scores / scores.sum() @ values


@mutant(LOOKUP, "returns the weights", "mix the values with them")
def _(query, keys, values):
    return (keys @ query).softmax(dim=0)


@mutant(LOOKUP, "mixes the keys", "The keys are mixed")
def _(query, keys, values):
    return (keys @ query).softmax(dim=0) @ keys


@mutant(LOOKUP, "wrong sign", "the least similar key weighs most")
def _(query, keys, values):
    return (-keys @ query).softmax(dim=0) @ values


@mutant(LOOKUP, "scales already", "No division by √D yet")
def _(query, keys, values):
    return (keys @ query / math.sqrt(len(query))).softmax(dim=0) @ values


@mutant(LOOKUP, "does not add the weighted values", "still apart")
def _(query, keys, values):
    return (keys @ query).softmax(dim=0).unsqueeze(1) * values


@mutant(LOOKUP, "divides by the number of keys", "sum to 1 already")
def _(query, keys, values):
    return ((keys @ query).softmax(dim=0).unsqueeze(1) * values).mean(dim=0)


# 5.2 scaled_scores


@solution(SCORES)
def _(q, k):
    return q @ k.T / math.sqrt(q.shape[-1])


@solution(SCORES)
def _(q, k):
    return torch.einsum("td,sd->ts", q, k) * k.shape[1] ** -0.5


@mutant(SCORES, "no scale", "not divided by √d_k: their variance is 15.7, about 1 is expected")
def _(q, k):
    return q @ k.T


@mutant(SCORES, "multiplies by the root", "multiplied by √d_k, not divided")
def _(q, k):
    return q @ k.T / q.shape[-1] ** -0.5


@mutant(SCORES, "divides by the width", "divided by d_k, not by its square root")
def _(q, k):
    return q @ k.T / q.shape[-1]


@mutant(SCORES, "divides by the root of the number of keys", "the root of the number of keys")
def _(q, k):
    return q @ k.T / math.sqrt(len(k))


@mutant(SCORES, "a scale that is fixed", "times as large as q·k / √d_k")
def _(q, k):
    return q @ k.T / 5


@mutant(SCORES, "queries and keys swapped", "yours is the transpose")
def _(q, k):
    return k @ q.T / math.sqrt(q.shape[-1])


@mutant(SCORES, "softmax already", "return the scores, before the softmax")
def _(q, k):
    return (q @ k.T / math.sqrt(q.shape[-1])).softmax(dim=-1)


@mutant(SCORES, "wrong sign", "wrong sign")
def _(q, k):
    return -q @ k.T / math.sqrt(q.shape[-1])


@mutant(SCORES, "cosines", "expected")
def _(q, k):
    return F.normalize(q, dim=1) @ F.normalize(k, dim=1).T


# 5.3 softmax_rows


@solution(SOFTMAX)
def _(scores):
    e = (scores - scores.amax(dim=-1, keepdim=True)).exp()
    return e / e.sum(dim=-1, keepdim=True)


@solution(SOFTMAX)
def _(scores):
    return torch.softmax(scores, dim=-1)


@mutant(SOFTMAX, "softmax down the columns", "Each column sums to 1")
def _(scores):
    return scores.softmax(dim=0)


@mutant(SOFTMAX, "softmax over the whole matrix", "The whole matrix sums to 1")
def _(scores):
    return scores.exp() / scores.exp().sum()


@mutant(SOFTMAX, "dim=1 on a batch", "`dim=1` is the last axis of a matrix only")
def _(scores):
    return scores.softmax(dim=1)


@mutant(SOFTMAX, "no exponential", "The exponential is missing")
def _(scores):
    return scores / scores.sum(dim=-1, keepdim=True)


@mutant(SOFTMAX, "no division", "divide each by its sum")
def _(scores):
    return scores.exp()


@mutant(SOFTMAX, "log-softmax", "no logarithm here")
def _(scores):
    return scores.log_softmax(dim=-1)


@mutant(SOFTMAX, "sigmoid", "Sigmoid looks at each score alone")
def _(scores):
    return scores.sigmoid()


@mutant(SOFTMAX, "hard maximum", "a hard maximum, with no gradient")
def _(scores):
    return F.one_hot(scores.argmax(dim=-1), scores.shape[-1]).float()


@mutant(SOFTMAX, "forgets keepdim", "`keepdim=True` keeps it")
def _(scores):
    return scores.exp() / scores.exp().sum(dim=-1)


@mutant(SOFTMAX, "overflows", "subtract each row's maximum first")
def _(scores):
    return scores.exp() / scores.exp().sum(dim=-1, keepdim=True)


@mutant(SOFTMAX, "subtracts the maximum of all", "each row needs its own")
def _(scores):
    e = (scores - scores.max()).exp()
    return e / e.sum(dim=-1, keepdim=True)


# 5.4 attention


def attended(q, k, v, scale=None, change=lambda scores: scores):
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    weights = change(q @ k.mT * scale).softmax(dim=-1)
    return weights @ v, weights


@solution(ATTENTION)
def _(q, k, v):
    return attended(q, k, v)


@solution(ATTENTION)
def _(q, k, v):
    values = F.scaled_dot_product_attention(q, k, v)
    weights = F.scaled_dot_product_attention(q, k, torch.eye(k.shape[-2]).expand(*k.shape[:-1], -1))
    return values, weights


@mutant(ATTENTION, "no scale", "but the scores were not divided by √d_k: their variance is 15.9")
def _(q, k, v):
    return attended(q, k, v, scale=1)


@mutant(ATTENTION, "multiplies by the root", "multiplied by √d_k, not divided")
def _(q, k, v):
    return attended(q, k, v, scale=q.shape[-1] ** 0.5)


@mutant(ATTENTION, "divides by the width", "divided by d_k, not by its square root")
def _(q, k, v):
    return attended(q, k, v, scale=1 / q.shape[-1])


@mutant(ATTENTION, "wrong sign", "the scores have the wrong sign")
def _(q, k, v):
    return attended(q, -k, v)


@mutant(ATTENTION, "hard argmax", "a hard look-up")
def _(q, k, v):
    weights = F.one_hot((q @ k.mT).argmax(dim=-1), k.shape[-2]).float()
    return weights @ v, weights


@mutant(ATTENTION, "hides negative scores", "so the mask depends on data")
def _(q, k, v):
    return attended(q, k, v, change=lambda s: s.masked_fill(s < 0, -math.inf))


@mutant(ATTENTION, "hides scores that are 0", "so the mask depends on data")
def _(q, k, v):
    return attended(q, k, v, change=lambda s: s.masked_fill(s == 0, -math.inf))


@mutant(ATTENTION, "keeps the best three only", "so the mask depends on data")
def _(q, k, v):
    return attended(
        q, k, v, change=lambda s: s.masked_fill(s < s.topk(3).values[..., -1:], -math.inf)
    )


@mutant(ATTENTION, "causal mask", "the later positions, a causal mask")
def _(q, k, v):
    later = torch.ones(q.shape[-2], k.shape[-2]).triu(1).bool()
    return attended(q, k, v, change=lambda s: s.masked_fill(later, -math.inf))


@mutant(ATTENTION, "softmax over the queries", "softmax runs over the keys")
def _(q, k, v):
    weights = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(dim=-2)
    return weights @ v, weights


@mutant(ATTENTION, "dim=1 on a batch", "softmax runs over the keys")
def _(q, k, v):
    weights = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(dim=1)
    return weights @ v, weights


@mutant(ATTENTION, "k.T on a batch", "swaps the last two axes alone")
def _(q, k, v):
    weights = (q @ k.permute(*reversed(range(k.dim()))) / math.sqrt(q.shape[-1])).softmax(dim=-1)
    return weights @ v, weights


@mutant(ATTENTION, "no softmax", "softmax is missing")
def _(q, k, v):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    return scores @ v, scores


@mutant(ATTENTION, "rows sum to something else", "but 1 is expected")
def _(q, k, v):
    weights = (q @ k.mT / math.sqrt(q.shape[-1])).sigmoid()
    return weights @ v, weights


@mutant(ATTENTION, "plain average", "the queries and keys are not used")
def _(q, k, v):
    weights = torch.ones(q.shape[:-1] + k.shape[-2:-1]) / k.shape[-2]
    return weights @ v, weights


@mutant(ATTENTION, "weights first", "The two are swapped")
def _(q, k, v):
    return attended(q, k, v)[::-1]


@mutant(ATTENTION, "mixes the keys", "they mix the keys")
def _(q, k, v):
    _, weights = attended(q, k, v)
    return weights @ k, weights


@mutant(ATTENTION, "mixes with the scores", "with the scores, not the weights")
def _(q, k, v):
    return q @ k.mT / math.sqrt(q.shape[-1]) @ v, attended(q, k, v)[1]


@mutant(ATTENTION, "values are a plain mean", "a plain mean of `v`")
def _(q, k, v):
    return v.mean(-2, keepdim=True).expand(*q.shape[:-1], -1), attended(q, k, v)[1]


@mutant(ATTENTION, "returns the values only", "but a tuple")
def _(q, k, v):
    return attended(q, k, v)[0]


# 5.5 vanishing_scale


def slope(scores, factor):
    w = (factor * scores).softmax(dim=0)
    return (w.diag() - w.outer(w)).abs().max()


@solution(SATURATE)
def _(scores, limit):
    factor = 1
    while slope(scores, factor) > limit:
        factor += 1
    return factor


@solution(SATURATE)
def _(scores, limit):
    def killed(factor):
        jacobian = torch.autograd.functional.jacobian(
            lambda s: s.softmax(dim=0), factor * scores.double()
        )
        return bool((jacobian.abs() <= limit).all())

    return next(factor for factor in range(1, 10_000) if killed(factor))


@mutant(SATURATE, "does not search", "a larger factor is needed")
def _(scores, limit):
    return 1


@mutant(SATURATE, "stops one too early", "a larger factor is needed")
def _(scores, limit):
    factor = 1
    while slope(scores, factor + 1) > limit:
        factor += 1
    return factor


@mutant(SATURATE, "stops one too late", "is enough: return the smallest")
def _(scores, limit):
    factor = 1
    while slope(scores, factor) > limit:
        factor += 1
    return factor + 1


@mutant(SATURATE, "doubles", "is enough: return the smallest")
def _(scores, limit):
    factor = 1
    while slope(scores, factor) > limit:
        factor *= 2
    return factor


@mutant(SATURATE, "very large, to be sure", "is enough: return the smallest")
def _(scores, limit):
    return 1000


@mutant(SATURATE, "looks at the mean instead of the largest", "a larger factor is needed")
def _(scores, limit):
    factor = 1
    while True:
        w = (factor * scores).softmax(dim=0)
        if (w.diag() - w.outer(w)).abs().mean() <= limit:
            return factor
        factor += 1


@mutant(SATURATE, "returns the gradient", "is a float, but an int")
def _(scores, limit):
    return float(slope(scores, 5))


@mutant(SATURATE, "starts at 0", "from 1 on")
def _(scores, limit):
    return 0
