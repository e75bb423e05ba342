"""The exercises of chapter 9, the block."""

from functools import reduce

import torch
from torch.nn import functional as F

from scratchformer.blocks import TransformerBlock
from scratchformer.checks.engine import exercise
from scratchformer.checks.verdict import expect


def _random(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def _chain(jacobians):
    """The product of all, the first layer's on the right."""
    return reduce(lambda product, J: J @ product, jacobians)


def _layers(jacobians, residual):
    """The Jacobian of each layer, J or J + 1."""
    return [J + residual * torch.eye(len(J)) for J in jacobians]


@exercise("9.1")
class stack_jacobian:
    """stack_jacobian(jacobians: k × (C, C), residual: bool) -> (C, C), the stack's Jacobian"""

    _one, _three, _six = (list(0.4 * _random(k, k, C, C)) for k, C in ((1, 2), (3, 4), (6, 3)))
    cases = tuple((each, residual) for each in (_one, _three, _six) for residual in (False, True))
    praise = (
        f"`stack_jacobian` is right: after 6 layers its norm is {_chain(_six).norm():.2g} without "
        f"residuals, {_chain(_layers(_six, True)).norm():.2g} with them."
    )

    def right(jacobians, residual):
        total = torch.eye(len(jacobians[0]))
        for J in jacobians:
            total = J @ total + residual * total
        return total

    def also(jacobians, residual):
        def stack(x):
            for J in jacobians:
                x = J @ x + x if residual else J @ x
            return x

        return torch.autograd.functional.jacobian(stack, torch.zeros(len(jacobians[0])))

    def has_the_first_layer_leftmost(jacobians, residual):
        """The first layer acts on x first: its Jacobian is the rightmost factor"""
        return _chain(_layers(jacobians, residual)[::-1])

    def never_adds_the_identity(jacobians, residual):
        """The `x` of x + f(x) is missing: it adds the identity to each Jacobian"""
        return _chain(jacobians)

    def always_adds_the_identity(jacobians, residual):
        """The identity belongs to residual layers alone"""
        return _chain(_layers(jacobians, True))

    def has_one_identity_for_the_whole_stack(jacobians, residual):
        """Each layer adds its own x: one identity for a layer, not for the stack"""
        return _chain(jacobians) + residual * torch.eye(len(jacobians[0]))

    def adds_1_to_every_entry(jacobians, residual):
        """`J + 1` adds 1 everywhere: the derivative of x is the identity, `torch.eye`"""
        return _chain([J + int(residual) for J in jacobians])

    def adds_the_layers_up(jacobians, residual):
        """The layers are applied one after another: multiply, do not add"""
        return sum(jacobians) + residual * torch.eye(len(jacobians[0]))

    def stops_at_the_first_order(jacobians, residual):
        """This is the first order only: paths through several layers count as well"""
        first_order = torch.eye(len(jacobians[0])) + sum(jacobians)
        return first_order if residual else _chain(jacobians)

    def multiplies_entry_by_entry(jacobians, residual):
        """`*` multiplies entry by entry: `@` chains the layers"""
        return reduce(torch.mul, _layers(jacobians, residual))

    def returns_the_transpose(jacobians, residual):
        """This is the transpose: row i is output i, column j input j"""
        return stack_jacobian.right(jacobians, residual).T


def _normed(x, eps, dims=(-1,), correction=0):
    mean = x.mean(dim=dims, keepdim=True)
    return (x - mean) / (x.var(dim=dims, correction=correction, keepdim=True) + eps).sqrt()


@exercise("9.2")
class layer_norm:
    """layer_norm(x: (..., C), weight: (C,), bias: (C,), eps) -> like x, equal to nn.LayerNorm's"""

    _shapes = (((2, 3, 4), 1e-5), ((3, 5, 6), 0.5), ((7, 4), 0.1), ((5,), 1e-3))
    cases = tuple(
        (2 * _random(seed, *shape) + 1, *_random(seed + 10, 2, shape[-1]), eps)
        for seed, (shape, eps) in enumerate(_shapes)
    )

    def right(x, weight, bias, eps):
        return _normed(x, eps) * weight + bias

    def also(x, weight, bias, eps):
        return F.layer_norm(x, weight.shape, weight, bias, eps)

    def normalises_over_the_time_axis(x, weight, bias, eps):
        """This normalises over the time axis: each position must use its own channels alone"""
        return _normed(x, eps, dims=(-2,)) * weight + bias

    def normalises_over_dim_1_the_time_axis_of_a_batch(x, weight, bias, eps):
        return _normed(x, eps, dims=(1,)) * weight + bias

    def normalises_over_the_batch_as_batch_norm_does(x, weight, bias, eps):
        """This normalises over the batch: each position must use its own channels alone"""
        return _normed(x, eps, dims=(0,)) * weight + bias

    def takes_one_mean_for_a_whole_sequence(x, weight, bias, eps):
        """All positions share one mean and variance: each needs its own"""
        return _normed(x, eps, dims=(-2, -1)) * weight + bias

    def takes_one_mean_for_everything(x, weight, bias, eps):
        return _normed(x, eps, dims=tuple(range(x.dim()))) * weight + bias

    def divides_by_C_minus_1(x, weight, bias, eps):
        """The variance divides by C, not by C − 1: `correction=0`"""
        return _normed(x, eps, correction=1) * weight + bias

    def adds_eps_outside_the_root(x, weight, bias, eps):
        """`eps` is added to the variance, not the root"""
        std = x.std(dim=-1, correction=0, keepdim=True)
        return (x - x.mean(dim=-1, keepdim=True)) / (std + eps) * weight + bias

    def leaves_eps_out(x, weight, bias, eps):
        """`eps` is not used: add the one that is given, it is not always 1e-5"""
        return layer_norm.right(x, weight, bias, 0)

    def takes_1e_5_for_eps(x, weight, bias, eps):
        return layer_norm.right(x, weight, bias, 1e-5)

    def divides_by_the_variance(x, weight, bias, eps):
        """Divide by the root of the variance"""
        variance = x.var(dim=-1, correction=0, keepdim=True)
        return (x - x.mean(dim=-1, keepdim=True)) / (variance + eps) * weight + bias

    def does_not_divide(x, weight, bias, eps):
        """The mean is gone, but the variance is not 1 yet"""
        return (x - x.mean(dim=-1, keepdim=True)) * weight + bias

    def keeps_the_mean(x, weight, bias, eps):
        """The mean is not subtracted"""
        return x / (x.var(dim=-1, correction=0, keepdim=True) + eps).sqrt() * weight + bias

    def is_RMSNorm(x, weight, bias, eps):
        """This divides by the root mean square (RMSNorm): subtract the mean first"""
        return x / (x.square().mean(dim=-1, keepdim=True) + eps).sqrt() * weight + bias

    def leaves_weight_and_bias_out(x, weight, bias, eps):
        """`weight` and `bias` are not used: they come last, × `weight` + `bias`"""
        return _normed(x, eps)

    def leaves_bias_out(x, weight, bias, eps):
        """`bias` is not added"""
        return _normed(x, eps) * weight

    def leaves_weight_out(x, weight, bias, eps):
        """`weight` is not used"""
        return _normed(x, eps) + bias

    def adds_bias_before_weight(x, weight, bias, eps):
        """First times `weight`, then plus `bias`"""
        return (_normed(x, eps) + bias) * weight

    def forgets_keepdim(x, weight, bias, eps):
        """A sum over the channels drops their axis: `keepdim=True` keeps it"""
        return (x - x.mean(-1)) / (x.var(-1, correction=0) + eps).sqrt() * weight + bias


@exercise("9.3")
class leaky_norm:
    """leaky_norm(x: (B, T, C)) -> like x; mean 0, variance 1 at each position, yet the past moves

    It must not mix the sequences of a batch, and give the same answer twice.
    """

    def judge(call):
        x = 2 * _random(3, 2, 5, 16) + 1

        def output(x):
            return call(x).like(x).double()

        before = output(x)
        shapes = f"got {tuple(before.shape)}, expected {tuple(x.shape)}"
        expect(before.shape == x.shape, f"Return as many numbers as came: {shapes}.")
        expect(before.isfinite().all(), "The result holds NaN or infinity.")
        mean = float(before.mean(dim=-1).abs().max())
        expect(
            mean < 0.02, f"The mean of a position is up to {mean:.2g} away from 0: it is noticed."
        )
        off = float((before.var(dim=-1, correction=0) - 1).abs().max())
        far = f"The variance of a position is up to {off:.2g} away from 1: it is noticed."
        expect(off < 0.02, far)
        expect(output(x).equal(before), "The same input gives another result the second time.")
        leak = 0.0
        for t in range(1, 5):
            changed = x.clone()
            changed[0, t] = _random(4, 16)
            moved = (output(changed) - before).abs()
            why = (
                "Sequence 2 moves when sequence 1 changes: that is another fault, keep them apart."
            )
            expect(moved[1].max() < 1e-4, why)
            leak = max(leak, float(moved[0, :t].max()))
        expect(leak > 1e-3, "No output moves when a later token changes: this does not leak.")
        moves = f"an output moves by {leak:.2g} when a later token changes"
        return f"It leaks: {moves}, and looks normal."

    def right(x):
        return _normed(_normed(x, 1e-5, dims=(1,)), 1e-5)

    def also(x):
        return F.layer_norm(x + 0.1 * x[:, -1:], x.shape[-1:])

    def is_an_honest_layer_norm(x):
        """… this does not leak"""
        return _normed(x, 1e-5)

    def leaks_the_past_only(x):
        """… this does not leak"""
        return _normed(x.cumsum(dim=1), 1e-5)

    def leaks_by_a_number_that_the_norm_removes(x):
        """… this does not leak"""
        return _normed(x + x[:, -1:].mean(dim=-1, keepdim=True), 1e-5)

    def normalises_over_the_time_axis_alone(x):
        """… away from 0: it is noticed"""
        return _normed(x, 1e-5, dims=(1,))

    def normalises_over_time_after_the_channels(x):
        """… it is noticed"""
        return _normed(_normed(x, 1e-5), 1e-5, dims=(1,))

    def has_mean_0_but_leaves_the_variance(x):
        """… away from 1: it is noticed"""
        x = x - x.mean(dim=1, keepdim=True)
        return x - x.mean(dim=2, keepdim=True)

    def mixes_the_batch(x):
        """… keep them apart"""
        return _normed(_normed(x, 1e-5, dims=(0, 1)), 1e-5)

    def is_random(x):
        """… another result the second time"""
        return _normed(torch.randn_like(x), 1e-5)

    def returns_one_sequence_only(x):
        """… Return as many numbers as came"""
        return leaky_norm.right(x[:1])[0]


@exercise("9.4")
class block:
    """block(x, attend, digest, norm_1, norm_2, pre) -> like x, pre-norm if `pre`, else post-norm

    All four in the middle are functions of x, (B, T, C) -> (B, T, C).
    """

    _functions = (
        lambda x: x.cumsum(dim=1) / torch.arange(1, x.shape[1] + 1).unsqueeze(1),  # attend
        lambda x: F.gelu(x @ _random(6, 6, 6)),  # digest
        lambda x: F.layer_norm(x, (6,), _random(7, 6)),  # norm_1
        lambda x: F.layer_norm(x, (6,), _random(8, 6)),  # norm_2
    )
    cases = ((_random(5, 2, 4, 6), *_functions, True), (_random(5, 2, 4, 6), *_functions, False))
    praise = "Pre-norm and post-norm are right: two halves, each added to the stream."

    def right(x, attend, digest, norm_1, norm_2, pre):
        for f, norm in ((attend, norm_1), (digest, norm_2)):
            x = x + f(norm(x)) if pre else norm(x + f(x))
        return x

    def also(x, attend, digest, norm_1, norm_2, pre):
        if pre:
            x = attend(norm_1(x)) + x
            return digest(norm_2(x)) + x
        x = norm_1(attend(x) + x)
        return norm_2(digest(x) + x)

    def is_always_pre_norm(x, attend, digest, norm_1, norm_2, pre):
        """This is pre-norm, but `pre=False` asks for post-norm"""
        return block.right(x, attend, digest, norm_1, norm_2, True)

    def is_always_post_norm(x, attend, digest, norm_1, norm_2, pre):
        """This is post-norm, but `pre=True` asks for pre-norm"""
        return block.right(x, attend, digest, norm_1, norm_2, False)

    def swaps_pre_and_post(x, attend, digest, norm_1, norm_2, pre):
        return block.right(x, attend, digest, norm_1, norm_2, not pre)

    def has_no_residual(x, attend, digest, norm_1, norm_2, pre):
        """No residual: each half must be added to what it read, x + …"""
        if pre:
            return digest(norm_2(attend(norm_1(x))))
        return norm_2(digest(norm_1(attend(x))))

    def lets_the_normalised_x_go_on(x, attend, digest, norm_1, norm_2, pre):
        """The norm sits on the stream itself: x + f(norm(x)), with the bare x"""
        for f, norm in ((attend, norm_1), (digest, norm_2)):
            x = norm(x) + f(norm(x)) if pre else norm(x + f(x))
        return x

    def puts_post_norm_on_the_branch_only(x, attend, digest, norm_1, norm_2, pre):
        """The norm is on the branch, after f: it must see the sum, norm(x + f(x))"""
        for f, norm in ((attend, norm_1), (digest, norm_2)):
            x = x + f(norm(x)) if pre else x + norm(f(x))
        return x

    def puts_any_norm_on_the_branch_only(x, attend, digest, norm_1, norm_2, pre):
        """The norm is on the branch, after f: pre-norm is x + f(norm(x)), post-norm
        norm(x + f(x))"""
        x = x + norm_1(attend(x))
        return x + norm_2(digest(x))

    def uses_one_norm_for_both_halves(x, attend, digest, norm_1, norm_2, pre):
        """`norm_1` is used twice: the second half has its own"""
        return block.right(x, attend, digest, norm_1, norm_1, pre)

    def swaps_the_norms(x, attend, digest, norm_1, norm_2, pre):
        """The two norms are swapped"""
        return block.right(x, attend, digest, norm_2, norm_1, pre)

    def uses_no_norm(x, attend, digest, norm_1, norm_2, pre):
        """No norm is used"""
        return block.right(x, attend, digest, torch.nn.Identity(), torch.nn.Identity(), pre)

    def has_attention_only(x, attend, digest, norm_1, norm_2, pre):
        """Only the attention half is there: `digest` is missing"""
        return x + attend(norm_1(x)) if pre else norm_1(x + attend(x))

    def adds_the_second_half_to_the_old_x(x, attend, digest, norm_1, norm_2, pre):
        """The second half adds to the old x, not to the first half's result"""
        if pre:
            return x + digest(norm_2(x + attend(norm_1(x))))
        return norm_2(x + digest(norm_1(x + attend(x))))

    def runs_both_halves_side_by_side(x, attend, digest, norm_1, norm_2, pre):
        """Both halves read the same x: `digest` comes after `attend`"""
        if pre:
            return x + attend(norm_1(x)) + digest(norm_2(x))
        return norm_2(x + attend(x) + digest(x))


@exercise("9.5")
class block_parameters:
    """block_parameters(d_model, d_ff, bias) -> int, as TransformerBlock has"""

    cases = ((10, 40, True), (6, 10, False), (768, 3072, True))

    def right(d_model, d_ff, bias):
        matrices = 4 * d_model**2 + 2 * d_model * d_ff
        linear_biases = 5 * d_model + d_ff
        return matrices + bias * linear_biases + 2 * d_model * (1 + bias)

    praise = "A block of GPT-2 small has 7,087,872 parameters, however many heads it has."

    def also(d_model, d_ff, bias):
        model = TransformerBlock(d_model, 1, d_ff=d_ff, bias=bias)
        return sum(p.numel() for p in model.parameters())

    def counts_the_matrices_only(d_model, d_ff, bias):
        """Only the matrices are counted: norms have vectors too"""
        return 4 * d_model**2 + 2 * d_model * d_ff

    def leaves_the_norms_out(d_model, d_ff, bias):
        """The two norms are missing: a weight and a bias each"""
        return block_parameters.right(d_model, d_ff, bias) - 2 * d_model * (1 + bias)

    def leaves_the_biases_of_linear_layers_out(d_model, d_ff, bias):
        """The linear layers have biases too, one number an output"""
        return block_parameters.right(d_model, d_ff, bias) - bias * (5 * d_model + d_ff)

    def counts_one_norm(d_model, d_ff, bias):
        """There are two norms, one for each half"""
        return block_parameters.right(d_model, d_ff, bias) - d_model * (1 + bias)

    def leaves_the_output_projection_out(d_model, d_ff, bias):
        """`c_proj` of the attention is missing: it mixes the heads"""
        return block_parameters.right(d_model, d_ff, bias) - d_model * (d_model + bias)

    def counts_three_matrices_in_attention(d_model, d_ff, bias):
        """A C × C matrix is missing: query, key, value, and the one that mixes"""
        return block_parameters.right(d_model, d_ff, bias) - d_model**2

    def takes_4_d_model_for_d_ff(d_model, d_ff, bias):
        """d_ff need not be 4 d_model: use the one given"""
        return block_parameters.right(d_model, 4 * d_model, bias)

    def takes_the_formula_for_GPT_2(d_model, d_ff, bias):
        """12 C² + 13 C holds with biases and d_ff = 4 C only: use the `d_ff` and `bias` given"""
        return 12 * d_model**2 + 13 * d_model

    def keeps_the_bias_of_the_norms(d_model, d_ff, bias):
        """Without biases a norm keeps its weight alone"""
        return block_parameters.right(d_model, d_ff, bias) + 2 * d_model * (not bias)

    def ignores_bias_False(d_model, d_ff, bias):
        """`bias=False` takes all biases away"""
        return block_parameters.right(d_model, d_ff, True)

    def goes_up_but_not_down(d_model, d_ff, bias):
        """The feed-forward network goes up to d_ff, and down again"""
        return block_parameters.right(d_model, d_ff, bias) - d_model * d_ff

    def returns_a_float(d_model, d_ff, bias):
        """… is a float, but an int"""
        return float(block_parameters.right(d_model, d_ff, bias))
