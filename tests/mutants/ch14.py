"""Right and plausibly wrong answers to the exercises of chapter 14."""

import torch
import torch.nn.functional as F
from mutation import mutant, solution

RMS, SCHULZ, SMEAR, PEEK, SHARE = (
    f"speedrun.{name}" for name in ("rms_norm", "newton_schulz", "smear", "peek", "share_heads")
)


# 14.1 rms_norm


@solution(RMS)
def _(x, eps):
    return x / (x.square().mean(dim=-1, keepdim=True) + eps).sqrt()


@solution(RMS)
def _(x, eps):
    return F.rms_norm(x, x.shape[-1:], eps=eps)


@solution(RMS)
def _(x, eps):
    squares = torch.einsum("btc,btc->bt", x, x) / x.shape[-1]
    return x * torch.rsqrt(squares + eps)[..., None]


@mutant(RMS, "layer normalisation", "that is layer normalisation")
def _(x, eps):
    return F.layer_norm(x, x.shape[-1:], eps=eps)


@mutant(RMS, "standard deviation", "square x itself, not x − mean")
def _(x, eps):
    return x / (x.var(dim=-1, keepdim=True, correction=0) + eps).sqrt()


@mutant(RMS, "length", "take the mean of the squares")
def _(x, eps):
    return x / (x.square().sum(dim=-1, keepdim=True) + eps).sqrt()


@mutant(RMS, "no root", "The root is missing")
def _(x, eps):
    return x / (x.square().mean(dim=-1, keepdim=True) + eps)


@mutant(RMS, "multiplies", "Multiplied: divide")
def _(x, eps):
    return x * (x.square().mean(dim=-1, keepdim=True) + eps).sqrt()


@mutant(RMS, "over time", "The mean runs over time")
def _(x, eps):
    return x / (x.square().mean(dim=1, keepdim=True) + eps).sqrt()


@mutant(RMS, "over the batch", "The mean runs over the batch")
def _(x, eps):
    return x / (x.square().mean(dim=0, keepdim=True) + eps).sqrt()


@mutant(RMS, "one mean for all", "each position has its own")
def _(x, eps):
    return x / (x.square().mean() + eps).sqrt()


@mutant(RMS, "ε outside the root", "ε belongs under the root")
def _(x, eps):
    return x / (x.square().mean(dim=-1, keepdim=True).sqrt() + eps)


@mutant(RMS, "no ε", "A vector of zeros makes 0 / 0")
def _(x, eps):
    rms = x.square().mean(dim=-1, keepdim=True).sqrt()
    return x / rms


@mutant(RMS, "loses the axis", "`keepdim=True`")
def _(x, eps):
    return x / (x.square().mean(dim=-1) + eps).sqrt()


# 14.2 newton_schulz


def steps_of(X, steps, a=3.4445, b=-4.7750, c=2.0315):
    for _ in range(steps):
        S = X @ X.T
        X = a * X + (b * S + c * S @ S) @ X
    return X


@solution(SCHULZ)
def schulz(G, steps):
    return steps_of(G / (G.norm() + 1e-7), steps)


@solution(SCHULZ)
def _(G, steps):  # the same polynomial of the singular values
    U, s, V = torch.linalg.svd(G, full_matrices=False)
    s = s / (s.square().sum().sqrt() + 1e-7)
    for _ in range(steps):
        s = 3.4445 * s - 4.7750 * s**3 + 2.0315 * s**5
    return U @ s.diag() @ V


@solution(SCHULZ)
def _(G, steps):  # the products of the smaller side
    X = G.T if len(G) > G.shape[1] else G
    X = schulz(X, steps)
    return X.T if len(G) > G.shape[1] else X


@mutant(SCHULZ, "does not normalise", "not divided by its norm")
def _(G, steps):
    return steps_of(G, steps)


@mutant(SCHULZ, "last coefficients swapped", "coefficients are swapped")
def _(G, steps):
    return steps_of(G / G.norm(), steps, b=2.0315, c=-4.7750)


@mutant(SCHULZ, "no first term", "3.4445 X, is missing")
def _(G, steps):
    return steps_of(G / G.norm(), steps, a=0.0)


@mutant(SCHULZ, "no square in the last term", "lacks a factor")
def _(G, steps):
    return steps_of(G / G.norm(), steps, b=2.0315 - 4.7750, c=0.0)


@mutant(SCHULZ, "the textbook's cubic", "three coefficients")
def _(G, steps):
    return steps_of(G / G.norm(), steps, 1.5, -0.5, 0.0)


@mutant(SCHULZ, "normalises at every step", "once, before the first step")
def _(G, steps):
    for _ in range(steps):
        G = steps_of(G / G.norm(), 1)
    return G


@mutant(SCHULZ, "one step too few", "One step too few")
def _(G, steps):
    return steps_of(G / G.norm(), steps - 1)


@mutant(SCHULZ, "one step", "This is one step")
def _(G, steps):
    return steps_of(G / G.norm(), 1)


@mutant(SCHULZ, "returns the normalised matrix", "Nothing happened after the division")
def _(G, steps):
    return G / G.norm()


@mutant(SCHULZ, "takes the SVD", "do without the SVD")
def _(G, steps):
    U, _, V = torch.linalg.svd(G, full_matrices=False)
    return U @ V


@mutant(SCHULZ, "keeps the size", "the size of G is to be forgotten")
def _(G, steps):
    return schulz(G, steps) * G.norm()


@mutant(SCHULZ, "divides by the largest singular value", "The norm is the Frobenius")
def _(G, steps):
    return steps_of(G / torch.linalg.matrix_norm(G, 2), steps)


@mutant(SCHULZ, "product the other way", "stands on the left of X")
def _(G, steps):
    X = G / G.norm()
    for _ in range(steps):
        S = X.T @ X
        X = 3.4445 * X - 4.7750 * S @ X + 2.0315 * S @ S @ X
    return X


@mutant(SCHULZ, "transposed result", "it has the shape of G")
def _(G, steps):
    return schulz(G, steps).T


@mutant(SCHULZ, "0 / 0", "A gradient of 0 makes 0 / 0")
def _(G, steps):
    return steps_of(G / G.norm(), steps)


# 14.3 smear


def shifted(x, k):
    return F.pad(x, (0, 0, k, 0))[:, : x.shape[1]]


@solution(SMEAR)
def _(x, weights):
    return x + sum(w * shifted(x, k) for k, w in enumerate(weights, 1))


@solution(SMEAR)
def _(x, weights):
    out = x.clone()
    for k in range(1, len(weights) + 1):
        out[:, k:] += weights[k - 1] * x[:, :-k]
    return out


@solution(SMEAR)
def _(x, weights):  # a causal convolution, one filter a channel
    filters = torch.cat([weights.flip(0), torch.ones_like(weights[:1])]).T[:, None]
    return F.conv1d(F.pad(x.mT, (len(weights), 0)), filters, groups=x.shape[-1]).mT


@mutant(SMEAR, "wraps around", "the first position sees the last")
def _(x, weights):
    return x + sum(w * x.roll(k, 1) for k, w in enumerate(weights, 1))


@mutant(SMEAR, "sees the future", "each position sees the one after it")
def _(x, weights):
    return x + sum(w * F.pad(x, (0, 0, 0, k))[:, k:] for k, w in enumerate(weights, 1))


@mutant(SMEAR, "sees the future and wraps", "each position sees the one after it")
def _(x, weights):
    return x + sum(w * x.roll(-k, 1) for k, w in enumerate(weights, 1))


@mutant(SMEAR, "rolls the batch", "time is the second axis")
def _(x, weights):
    return x + sum(w * torch.roll(x, k, dims=0) for k, w in enumerate(weights, 1))


@mutant(SMEAR, "replaces", "own vector is lost")
def _(x, weights):
    return sum(w * shifted(x, k) for k, w in enumerate(weights, 1))


@mutant(SMEAR, "one place too near", "One place too near")
def _(x, weights):
    return x + sum(w * shifted(x, k) for k, w in enumerate(weights))


@mutant(SMEAR, "one place too far", "One place too far")
def _(x, weights):
    return x + sum(w * shifted(x, k) for k, w in enumerate(weights, 2))


@mutant(SMEAR, "copies the first position", "nothing is before them")
def _(x, weights):
    T = torch.arange(x.shape[1])
    return x + sum(w * x[:, (T - k).clamp(min=0)] for k, w in enumerate(weights, 1))


@mutant(SMEAR, "drops the first positions", "keep all T")
def _(x, weights):
    n, T = len(weights), x.shape[1]
    return x[:, n:] + sum(w * x[:, n - k : T - k] for k, w in enumerate(weights, 1))


@mutant(SMEAR, "adds what was smeared", "smeared already")
def _(x, weights):
    for k, w in enumerate(weights, 1):
        x = x + w * shifted(x, k)
    return x


@mutant(SMEAR, "in a loop over the result", "smeared already")
def _(x, weights):
    out = x.clone()
    for t in range(x.shape[1]):
        for k, w in enumerate(weights[:t], 1):
            out[:, t] += w * out[:, t - k]
    return out


@mutant(SMEAR, "weights in reverse", "row 0 is for the position just before")
def _(x, weights):
    return x + sum(w * shifted(x, k) for k, w in enumerate(weights.flip(0), 1))


@mutant(SMEAR, "one weight a position", "Each channel has a weight of its own")
def _(x, weights):
    return x + sum(w.mean() * shifted(x, k) for k, w in enumerate(weights, 1))


@mutant(SMEAR, "the last one only", "there are two")
def _(x, weights):
    return x + weights[0] * shifted(x, 1)


# 14.4 peek


@solution(PEEK)
def _(x):
    return x + F.pad(x, (0, 0, 0, 1))[:, 1:]


@solution(PEEK)
def _(x):
    out = x.clone()
    out[:, :-1] += x[:, 1:]
    return out


@mutant(PEEK, "looks back", "no rule is broken")
def _(x):
    return x + shifted(x, 1)


@mutant(PEEK, "wraps around", "the last position sees the first")
def _(x):
    return x + x.roll(-1, 1)


@mutant(PEEK, "looks back and wraps", "add the next position's vector")
def _(x):
    return x + x.roll(1, 1)


@mutant(PEEK, "replaces", "own vector is lost")
def _(x):
    return F.pad(x, (0, 0, 0, 1))[:, 1:]


@mutant(PEEK, "drops the last position", "The last position is lost")
def _(x):
    return x[:, :-1] + x[:, 1:]


@mutant(PEEK, "rolls the batch", "time is the second axis")
def _(x):
    return x + x.roll(-1, 0)


@mutant(PEEK, "all later positions", "the next one is enough")
def _(x):
    return x.sum(1, keepdim=True) - x.cumsum(1) + x


@mutant(PEEK, "doubles the last", "nothing comes after it")
def _(x):
    T = x.shape[1]
    return x + x[:, (torch.arange(T) + 1).clamp(max=T - 1)]


@mutant(PEEK, "adds nothing", "Nothing was added")
def _(x):
    return x


# 14.5 share_heads


@solution(SHARE)
def share(k, n_heads):
    return k.repeat_interleave(n_heads // k.shape[1], dim=1)


@solution(SHARE)
def _(k, n_heads):
    B, G, T, D = k.shape
    return k[:, :, None].expand(B, G, n_heads // G, T, D).reshape(B, n_heads, T, D)


@solution(SHARE)
def _(k, n_heads):
    return k[:, [h * k.shape[1] // n_heads for h in range(n_heads)]]


@mutant(SHARE, "tiles", "not 0 1 0 1 0 1")
def _(k, n_heads):
    return k.repeat(1, n_heads // k.shape[1], 1, 1)


@mutant(SHARE, "one group for all", "the first group's keys")
def _(k, n_heads):
    return k[:, :1].repeat(1, n_heads, 1, 1)


@mutant(SHARE, "averages", "copy them")
def _(k, n_heads):
    return k.mean(1, keepdim=True).repeat(1, n_heads, 1, 1)


@mutant(SHARE, "pads with zeros", "got zeros")
def _(k, n_heads):
    return F.pad(k, (0, 0, 0, 0, 0, n_heads - k.shape[1]))


@mutant(SHARE, "repeats the batch", "The batch is repeated")
def _(k, n_heads):
    return k.repeat_interleave(n_heads // k.shape[1], dim=0)


@mutant(SHARE, "repeats time", "Time is repeated")
def _(k, n_heads):
    return k.repeat_interleave(n_heads // k.shape[1], dim=2)


@mutant(SHARE, "leaves five axes", "The groups need one axis")
def _(k, n_heads):
    B, G, T, D = k.shape
    return k[:, :, None].expand(B, G, n_heads // G, T, D)


@mutant(SHARE, "too many", "not n_heads")
def _(k, n_heads):
    return k.repeat_interleave(n_heads, dim=1)


@mutant(SHARE, "does nothing", "fewer keys than heads")
def _(k, n_heads):
    return k


@mutant(SHARE, "divides", "as they are")
def _(k, n_heads):
    return share(k, n_heads) / (n_heads // k.shape[1])
