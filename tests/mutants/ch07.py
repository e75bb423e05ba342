"""Right and plausibly wrong answers to the exercises of chapter 7."""

from functools import reduce

import torch
from mutation import mutant, solution
from torch import nn
from torch.nn import functional as F

from scratchformer.blocks import TransformerBlock

CHAIN, NORM, LEAKY, BLOCK, COUNT = (
    f"block.{name}"
    for name in ("stack_jacobian", "layer_norm", "leaky_norm", "block", "block_parameters")
)


# 7.1 stack_jacobian


@solution(CHAIN)
def _(jacobians, residual):
    total = torch.eye(len(jacobians[0]))
    for J in jacobians:
        total = J @ total + residual * total
    return total


@solution(CHAIN)
def _(jacobians, residual):
    def stack(x):
        for J in jacobians:
            x = J @ x + x if residual else J @ x
        return x

    return torch.autograd.functional.jacobian(stack, torch.zeros(len(jacobians[0])))


@mutant(CHAIN, "the first layer leftmost", "the rightmost factor")
def _(jacobians, residual):
    one = residual * torch.eye(len(jacobians[0]))
    return reduce(torch.matmul, [J + one for J in jacobians])


@mutant(CHAIN, "never adds the identity", "it adds the identity to each Jacobian")
def _(jacobians, residual):
    return reduce(torch.matmul, jacobians[::-1])


@mutant(CHAIN, "always adds the identity", "belongs to residual layers alone")
def _(jacobians, residual):
    return reduce(torch.matmul, [J + torch.eye(len(J)) for J in jacobians[::-1]])


@mutant(CHAIN, "one identity for the whole stack", "one identity for a layer")
def _(jacobians, residual):
    product = reduce(torch.matmul, jacobians[::-1])
    return product + residual * torch.eye(len(product))


@mutant(CHAIN, "adds 1 to every entry", "the derivative of x is the identity")
def _(jacobians, residual):
    return reduce(torch.matmul, [J + int(residual) for J in jacobians[::-1]])


@mutant(CHAIN, "adds the layers up", "multiply, do not add")
def _(jacobians, residual):
    return sum(jacobians) + residual * torch.eye(len(jacobians[0]))


@mutant(CHAIN, "first order only", "paths through several layers count as well")
def _(jacobians, residual):
    if residual:
        return torch.eye(len(jacobians[0])) + sum(jacobians)
    return reduce(torch.matmul, jacobians[::-1])


@mutant(CHAIN, "multiplies entry by entry", "`@` chains the layers")
def _(jacobians, residual):
    one = residual * torch.eye(len(jacobians[0]))
    return reduce(torch.mul, [J + one for J in jacobians])


@mutant(CHAIN, "the transpose", "This is the transpose")
def _(jacobians, residual):
    one = residual * torch.eye(len(jacobians[0]))
    return reduce(torch.matmul, [J.T + one for J in jacobians])


# 7.2 layer_norm


def normed(x, dims=(-1,), ddof=0, eps=1e-5):
    mean = x.mean(dim=dims, keepdim=True)
    return (x - mean) / (x.var(dim=dims, correction=ddof, keepdim=True) + eps).sqrt()


@solution(NORM)
def _(x, weight, bias, eps):
    return normed(x, eps=eps) * weight + bias


@solution(NORM)
def _(x, weight, bias, eps):
    norm = nn.LayerNorm(len(weight), eps=eps)
    norm.load_state_dict({"weight": weight, "bias": bias})
    return norm(x)


@mutant(NORM, "over the time axis", "normalises over the time axis")
def _(x, weight, bias, eps):
    return normed(x, (-2,), eps=eps) * weight + bias


@mutant(NORM, "over dim=1, the time axis of a batch", "normalises over the time axis")
def _(x, weight, bias, eps):
    return normed(x, (1,), eps=eps) * weight + bias


@mutant(NORM, "over the batch, as batch norm does", "normalises over the batch")
def _(x, weight, bias, eps):
    return normed(x, (0,), eps=eps) * weight + bias


@mutant(NORM, "one mean for a whole sequence", "All positions share one mean and variance")
def _(x, weight, bias, eps):
    return normed(x, (-2, -1), eps=eps) * weight + bias


@mutant(NORM, "one mean for everything", "All positions share one mean and variance")
def _(x, weight, bias, eps):
    return normed(x, tuple(range(x.dim())), eps=eps) * weight + bias


@mutant(NORM, "divides by C - 1", "by C, not by C − 1")
def _(x, weight, bias, eps):
    return normed(x, ddof=1, eps=eps) * weight + bias


@mutant(NORM, "eps outside the root", "added to the variance, not the root")
def _(x, weight, bias, eps):
    mean, std = x.mean(-1, keepdim=True), x.std(-1, correction=0, keepdim=True)
    return (x - mean) / (std + eps) * weight + bias


@mutant(NORM, "a fixed eps", "at [")
def _(x, weight, bias, eps):
    return normed(x) * weight + bias


@mutant(NORM, "no eps", "`eps` is not used")
def _(x, weight, bias, eps):
    return normed(x, eps=0) * weight + bias


@mutant(NORM, "divides by the variance", "the root of the variance")
def _(x, weight, bias, eps):
    mean, variance = x.mean(-1, keepdim=True), x.var(-1, correction=0, keepdim=True)
    return (x - mean) / (variance + eps) * weight + bias


@mutant(NORM, "does not divide", "the variance is not 1 yet")
def _(x, weight, bias, eps):
    return (x - x.mean(-1, keepdim=True)) * weight + bias


@mutant(NORM, "keeps the mean", "The mean is not subtracted")
def _(x, weight, bias, eps):
    return x / (x.var(-1, correction=0, keepdim=True) + eps).sqrt() * weight + bias


@mutant(NORM, "RMSNorm", "(RMSNorm): subtract the mean first")
def _(x, weight, bias, eps):
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt() * weight + bias


@mutant(NORM, "no weight, no bias", "are not used")
def _(x, weight, bias, eps):
    return normed(x, eps=eps)


@mutant(NORM, "no bias", "`bias` is not added")
def _(x, weight, bias, eps):
    return normed(x, eps=eps) * weight


@mutant(NORM, "no weight", "`weight` is not used")
def _(x, weight, bias, eps):
    return normed(x, eps=eps) + bias


@mutant(NORM, "bias before weight", "First times `weight`")
def _(x, weight, bias, eps):
    return (normed(x, eps=eps) + bias) * weight


@mutant(NORM, "forgets keepdim", "`keepdim=True` keeps it")
def _(x, weight, bias, eps):
    return (x - x.mean(-1)) / (x.var(-1, correction=0) + eps).sqrt() * weight + bias


# 7.3 leaky_norm


@solution(LEAKY)
def _(x):
    return normed(normed(x, (1,)))


@solution(LEAKY)
def _(x):
    return F.layer_norm(x + 0.1 * x[:, -1:], x.shape[-1:])


@mutant(LEAKY, "an honest layer norm", "this does not leak")
def _(x):
    return normed(x)


@mutant(LEAKY, "leaks the past only", "this does not leak")
def _(x):
    return normed(x.cumsum(dim=1))


@mutant(LEAKY, "over the time axis alone", "away from 0: it is noticed")
def _(x):
    return normed(x, (1,))


@mutant(LEAKY, "time after channels", "it is noticed")
def _(x):
    return normed(normed(x), (1,))


@mutant(LEAKY, "mean 0, but the variance is left", "away from 1: it is noticed")
def _(x):
    x = x - x.mean(dim=1, keepdim=True)
    return x - x.mean(dim=2, keepdim=True)


@mutant(LEAKY, "leaks by a number that the norm removes", "this does not leak")
def _(x):
    return normed(x + x[:, -1:].mean(dim=-1, keepdim=True))


@mutant(LEAKY, "mixes the batch", "keep them apart")
def _(x):
    return normed(normed(x, (0, 1)))


@mutant(LEAKY, "random", "another result the second time")
def _(x):
    return normed(torch.randn_like(x))


@mutant(LEAKY, "only one sequence comes back", "Return as many numbers as came")
def _(x):
    return normed(normed(x[0], (0,)))


# 7.4 block


@solution(BLOCK)
def _(x, attend, digest, norm_1, norm_2, pre):
    if pre:
        x = x + attend(norm_1(x))
        return x + digest(norm_2(x))
    x = norm_1(x + attend(x))
    return norm_2(x + digest(x))


@solution(BLOCK)
def _(x, attend, digest, norm_1, norm_2, pre):
    for f, norm in ((attend, norm_1), (digest, norm_2)):
        x = f(norm(x)) + x if pre else norm(f(x) + x)
    return x


@mutant(BLOCK, "always pre-norm", "asks for post-norm")
def _(x, attend, digest, norm_1, norm_2, pre):
    x = x + attend(norm_1(x))
    return x + digest(norm_2(x))


@mutant(BLOCK, "the two are swapped", "This is post-norm, but `pre=True`")
def _(x, attend, digest, norm_1, norm_2, pre):
    for f, norm in ((attend, norm_1), (digest, norm_2)):
        x = norm(x + f(x)) if pre else x + f(norm(x))
    return x


@mutant(BLOCK, "no residual", "each half must be added to what it read")
def _(x, attend, digest, norm_1, norm_2, pre):
    for f, norm in ((attend, norm_1), (digest, norm_2)):
        x = f(norm(x)) if pre else norm(f(x))
    return x


@mutant(BLOCK, "the normalised x goes on", "with the bare x")
def _(x, attend, digest, norm_1, norm_2, pre):
    for f, norm in ((attend, norm_1), (digest, norm_2)):
        if pre:
            x = norm(x)
            x = x + f(x)
        else:
            x = norm(x + f(x))
    return x


@mutant(BLOCK, "post-norm on the branch only", "it must see the sum")
def _(x, attend, digest, norm_1, norm_2, pre):
    for f, norm in ((attend, norm_1), (digest, norm_2)):
        x = x + f(norm(x)) if pre else x + norm(f(x))
    return x


@mutant(BLOCK, "one norm for both halves", "`norm_1` is used twice")
def _(x, attend, digest, norm_1, norm_2, pre):
    for f in (attend, digest):
        x = x + f(norm_1(x)) if pre else norm_1(x + f(x))
    return x


@mutant(BLOCK, "the norms are swapped", "The two norms are swapped")
def _(x, attend, digest, norm_1, norm_2, pre):
    for f, norm in ((attend, norm_2), (digest, norm_1)):
        x = x + f(norm(x)) if pre else norm(x + f(x))
    return x


@mutant(BLOCK, "no norm", "No norm is used")
def _(x, attend, digest, norm_1, norm_2, pre):
    x = x + attend(x)
    return x + digest(x)


@mutant(BLOCK, "attention only", "`digest` is missing")
def _(x, attend, digest, norm_1, norm_2, pre):
    return x + attend(norm_1(x)) if pre else norm_1(x + attend(x))


@mutant(BLOCK, "the second half adds to the old x", "adds to the old x")
def _(x, attend, digest, norm_1, norm_2, pre):
    if pre:
        y = x + attend(norm_1(x))
        return x + digest(norm_2(y))
    y = norm_1(x + attend(x))
    return norm_2(x + digest(y))


@mutant(BLOCK, "both halves side by side", "`digest` comes after `attend`")
def _(x, attend, digest, norm_1, norm_2, pre):
    if pre:
        return x + (attend(norm_1(x)) + digest(norm_2(x)))
    return norm_2(x + attend(x) + digest(x))


# 7.5 block_parameters


@solution(COUNT)
def _(d_model, d_ff, bias):
    attention = d_model * 3 * d_model + d_model * d_model
    mlp = 2 * d_model * d_ff
    vectors = (3 * d_model + d_model + d_ff + d_model) * bias
    return attention + mlp + vectors + 2 * d_model * (1 + bias)


@solution(COUNT)
def _(d_model, d_ff, bias):
    model = TransformerBlock(d_model, 1, d_ff=d_ff, bias=bias)
    return sum(p.numel() for p in model.parameters())


def count(C, F, bias):
    return 4 * C * C + 2 * C * F + bias * (5 * C + F) + 2 * C * (1 + bias)


@mutant(COUNT, "matrices only", "Only the matrices are counted")
def _(d_model, d_ff, bias):
    return 4 * d_model**2 + 2 * d_model * d_ff


@mutant(COUNT, "no norms", "The two norms are missing")
def _(d_model, d_ff, bias):
    return 4 * d_model**2 + 2 * d_model * d_ff + bias * (5 * d_model + d_ff)


@mutant(COUNT, "no biases of linear layers", "The linear layers have biases too")
def _(d_model, d_ff, bias):
    return 4 * d_model**2 + 2 * d_model * d_ff + 2 * d_model * (1 + bias)


@mutant(COUNT, "one norm", "There are two norms")
def _(d_model, d_ff, bias):
    return count(d_model, d_ff, bias) - d_model * (1 + bias)


@mutant(COUNT, "no output projection", "`c_proj` of the attention is missing")
def _(d_model, d_ff, bias):
    return count(d_model, d_ff, bias) - d_model**2 - d_model * bias


@mutant(COUNT, "three matrices in attention", "A C × C matrix is missing")
def _(d_model, d_ff, bias):
    return count(d_model, d_ff, bias) - d_model**2


@mutant(COUNT, "12 C² + 13 C whatever d_ff", "d_ff need not be 4 d_model")
def _(d_model, d_ff, bias):
    return count(d_model, 4 * d_model, bias)


@mutant(COUNT, "norms keep their bias", "a norm keeps its weight alone")
def _(d_model, d_ff, bias):
    return count(d_model, d_ff, bias) + 2 * d_model * (not bias)


@mutant(COUNT, "ignores bias=False", "takes all biases away")
def _(d_model, d_ff, bias):
    return count(d_model, d_ff, True)


@mutant(COUNT, "up, but not down", "and down again")
def _(d_model, d_ff, bias):
    return count(d_model, d_ff, bias) - d_model * d_ff


@mutant(COUNT, "a float", "is a float, but an int")
def _(d_model, d_ff, bias):
    return count(d_model, d_ff, bias) / 1
