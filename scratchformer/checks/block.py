"""Checks for the exercises of chapter 7, the block."""

from functools import reduce

import torch
from torch import Tensor
from torch.nn import functional as F

from scratchformer.checks.first_edition import Call, exercise, expect


def _random(seed: int, *shapes: tuple[int, ...]) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(*shape, generator=generator) for shape in shapes]


def _chain(jacobians: list[Tensor]) -> Tensor:
    return reduce(lambda product, J: J @ product, jacobians)


@exercise("7.1", "jacobians, residual")
def stack_jacobian(call: Call) -> str:
    """stack_jacobian(jacobians: k × (C, C), residual: bool) -> (C, C), the stack's Jacobian"""
    for k, C in ((1, 2), (3, 4), (6, 3)):
        jacobians = [0.4 * J for J in _random(k, *[(C, C)] * k)]
        one = torch.eye(C)
        plain, summed = _chain(jacobians), _chain([J + one for J in jacobians])
        ones = _chain([J + 1 for J in jacobians])
        later = "The first layer acts on x first: its Jacobian is the rightmost factor"
        call(jacobians, False).gives(
            plain,
            (_chain(jacobians[::-1]), later),
            (summed, "The identity belongs to residual layers alone"),
            (sum(jacobians), "The layers are applied one after another: multiply, do not add"),
            (reduce(torch.mul, jacobians), "`*` multiplies entry by entry: `@` chains the layers"),
            (plain.T, "This is the transpose: row i is output i, column j input j"),
        )
        call(jacobians, True).gives(
            summed,
            (plain, "The `x` of x + f(x) is missing: it adds the identity to each Jacobian"),
            (_chain([J + one for J in jacobians][::-1]), later),
            (plain + one, "Each layer adds its own x: one identity for a layer, not for the stack"),
            (ones, "`J + 1` adds 1 everywhere: the derivative of x is the identity, `torch.eye`"),
            (
                one + sum(jacobians),
                "This is the first order only: paths through several layers count as well",
            ),
            (summed.T, "This is the transpose: row i is output i, column j input j"),
        )
    sizes = f"{plain.norm():.2g} without residuals, {summed.norm():.2g} with them"
    return f"`stack_jacobian` is right: after 6 layers its norm is {sizes}."


@exercise("7.2", "x, weight, bias, eps")
def layer_norm(call: Call) -> None:
    """layer_norm(x: (..., C), weight: (C,), bias: (C,), eps) -> like x, equal to nn.LayerNorm's"""
    cases = [((2, 3, 4), 1e-5), ((3, 5, 6), 0.5), ((7, 4), 0.1), ((5,), 1e-3)]
    for seed, (shape, eps) in enumerate(cases):
        x, weight, bias = _random(seed, shape, shape[-1:], shape[-1:])
        x = 2 * x + 1

        def normed(x: Tensor, dims: tuple, eps: float = eps, ddof: int = 0) -> Tensor:
            variance = x.var(dim=dims, correction=ddof, keepdim=True)
            return (x - x.mean(dim=dims, keepdim=True)) / (variance + eps).sqrt()

        right, std = normed(x, (-1,)), x.std(dim=-1, correction=0, keepdim=True)
        centred = x - x.mean(dim=-1, keepdim=True)
        mistakes = [
            (right, "`weight` and `bias` are not used: they come last, × `weight` + `bias`"),
            (right * weight, "`bias` is not added"),
            (right + bias, "`weight` is not used"),
            ((right + bias) * weight, "First times `weight`, then plus `bias`"),
            (normed(x, (-1,), 0.0) * weight + bias, "`eps` is not used"),
            (centred / (std + eps) * weight + bias, "`eps` is added to the variance, not the root"),
            (centred / (std**2 + eps) * weight + bias, "Divide by the root of the variance"),
            (centred * weight + bias, "The mean is gone, but the variance is not 1 yet"),
            (x / (std**2 + eps).sqrt() * weight + bias, "The mean is not subtracted"),
            (
                normed(x, (-1,), ddof=1) * weight + bias,
                "The variance divides by C, not by C − 1: `correction=0`",
            ),
            (
                x / (x.square().mean(-1, True) + eps).sqrt() * weight + bias,
                "This divides by the root mean square (RMSNorm): subtract the mean first",
            ),
            (RuntimeError, "A sum over the channels drops their axis: `keepdim=True` keeps it"),
        ]
        for dim in range(x.dim() - 1):
            what = "the time axis" if dim == x.dim() - 2 else "the batch"
            why = f"This normalises over {what}: each position must use its own channels alone"
            mistakes.append((normed(x, (dim,)) * weight + bias, why))
        for dims in {(-2, -1), tuple(range(x.dim()))}:
            if x.dim() > 1:
                why = "All positions share one mean and variance: each needs its own"
                mistakes.append((normed(x, dims) * weight + bias, why))
        call(x, weight, bias, eps).gives(right * weight + bias, *mistakes)


@exercise("7.3", "x")
def leaky_norm(call: Call) -> str:
    """leaky_norm(x: (B, T, C)) -> like x; mean 0, variance 1 at each position, yet the past moves

    It must not mix the sequences of a batch, and give the same answer twice.
    """
    x, new = _random(3, (2, 5, 16), (16,))
    x = 2 * x + 1
    before = call(x).like(x)
    came = f"got {tuple(before.shape)}, expected {tuple(x.shape)}"
    expect(before.shape == x.shape, f"Return as many numbers as came: {came}.")
    expect(before.isfinite().all(), "The result holds NaN or infinity.")
    mean, variance = before.mean(-1).abs().max(), before.var(-1, correction=0)
    expect(mean < 0.02, f"The mean of a position is up to {mean:.2g} away from 0: it is noticed.")
    off = float((variance - 1).abs().max())
    expect(off < 0.02, f"The variance of a position is up to {off:.2g} away from 1: it is noticed.")
    expect(call(x).like(x).equal(before), "The same input gives another result the second time.")
    leaks = 0.0
    for t in range(1, 5):
        changed = x.clone()
        changed[0, t] = new
        moved = (call(changed).like(x) - before).abs()
        why = "Sequence 2 moves when sequence 1 changes: that is another fault, keep them apart."
        expect(moved[1].max() < 1e-4, why)
        leaks = max(leaks, float(moved[0, :t].max()))
    honest = "No output moves when a later token changes: this does not leak."
    expect(leaks > 1e-3, honest)
    return f"It leaks: an output moves by {leaks:.2g} when a later token changes, and looks normal."


@exercise("7.4", "x, attend, digest, norm_1, norm_2, pre")
def block(call: Call) -> str:
    """block(x, attend, digest, norm_1, norm_2, pre) -> like x, pre-norm if `pre`, else post-norm

    All four in the middle are functions of x, (B, T, C) -> (B, T, C).
    """
    x, w, a, b = _random(5, (2, 4, 6), (6, 6), (6,), (6,))

    def attend(x: Tensor) -> Tensor:
        return x.cumsum(1) / torch.arange(1, x.shape[1] + 1).view(-1, 1)

    def digest(x: Tensor) -> Tensor:
        return F.gelu(x @ w)

    def norm_1(x: Tensor) -> Tensor:
        return F.layer_norm(x, (6,), a)

    def norm_2(x: Tensor) -> Tensor:
        return F.layer_norm(x, (6,), b)

    def run(x: Tensor, pre: bool, m: tuple = (norm_1, norm_2)) -> Tensor:
        for f, norm in zip((attend, digest), m, strict=True):
            x = x + f(norm(x)) if pre else norm(x + f(x))
        return x

    def onto(x: Tensor) -> Tensor:  # the residual starts behind the norm
        for f, norm in ((attend, norm_1), (digest, norm_2)):
            x = norm(x) + f(norm(x))
        return x

    def bare(x: Tensor, pre: bool) -> Tensor:
        for f, norm in ((attend, norm_1), (digest, norm_2)):
            x = f(norm(x)) if pre else norm(f(x))
        return x

    def behind(x: Tensor) -> Tensor:  # the norm on the branch only, and after it
        for f, norm in ((attend, norm_1), (digest, norm_2)):
            x = x + norm(f(x))
        return x

    def parallel(x: Tensor, pre: bool) -> Tensor:
        if pre:
            return x + attend(norm_1(x)) + digest(norm_2(x))
        return norm_2(x + attend(x) + digest(x))

    for pre, name, other in ((True, "pre", "post"), (False, "post", "pre")):
        half = x + attend(norm_1(x)) if pre else norm_1(x + attend(x))
        mixed = x + digest(norm_2(half)) if pre else norm_2(x + digest(half))
        call(x, attend, digest, norm_1, norm_2, pre).gives(
            run(x, pre),
            (run(x, not pre), f"This is {other}-norm, but `pre={pre}` asks for {name}-norm"),
            (bare(x, pre), "No residual: each half must be added to what it read, x + …"),
            (onto(x), "The norm sits on the stream itself: x + f(norm(x)), with the bare x"),
            (behind(x), "The norm is on the branch, after f: it must see the sum, norm(x + f(x))"),
            (run(x, pre, (norm_1, norm_1)), "`norm_1` is used twice: the second half has its own"),
            (run(x, pre, (norm_2, norm_1)), "The two norms are swapped"),
            (half, "Only the attention half is there: `digest` is missing"),
            (mixed, "The second half adds to the old x, not to the first half's result"),
            (parallel(x, pre), "Both halves read the same x: `digest` comes after `attend`"),
            (run(x, pre, (lambda x: x, lambda x: x)), "No norm is used"),
        )
    return "Pre-norm and post-norm are right: two halves, each added to the stream."


@exercise("7.5", "d_model, d_ff, bias")
def block_parameters(call: Call) -> str:
    """block_parameters(d_model, d_ff, bias) -> int, as TransformerBlock has"""
    for C, F_, bias in ((10, 40, True), (6, 10, False), (768, 3072, True)):
        attention, mlp = 4 * C * C, 2 * C * F_
        vectors = 4 * C + F_ + C if bias else 0  # of the four linear layers
        norms = 4 * C if bias else 2 * C
        right = attention + mlp + vectors + norms
        call(C, F_, bias).gives(
            right,
            (attention + mlp, "Only the matrices are counted: norms have vectors too"),
            (attention + mlp + vectors, "The two norms are missing: a weight and a bias each"),
            (attention + mlp + norms, "The linear layers have biases too, one number an output"),
            (right - norms // 2, "There are two norms, one for each half"),
            (right - C * C, "A C × C matrix is missing: query, key, value, and the one that mixes"),
            (right - C * C - C * bias, "`c_proj` of the attention is missing: it mixes the heads"),
            (right + 2 * C * (4 * C - F_), "d_ff need not be 4 d_model: use the one given"),
            (
                right + (2 * C + bias) * (4 * C - F_),
                "d_ff need not be 4 d_model: use the one given",
            ),
            (attention + mlp + 4 * C, "Without biases a norm keeps its weight alone"),
            (attention + mlp + 9 * C + F_, "`bias=False` takes all biases away"),
            (right - C * F_, "The feed-forward network goes up to d_ff, and down again"),
        )
    return f"A block of GPT-2 small has {right:,} parameters, however many heads it has."
