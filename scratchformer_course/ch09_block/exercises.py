"""The exercises of chapter 9, the block."""

import torch
from torch import nn
from torch.nn import functional as F

from scratchformer import blocks
from scratchformer.attention import MultiHeadAttention, causal_mask
from scratchformer_course.kit.checks.engine import exercise
from scratchformer_course.kit.checks.verdict import expect


def _random(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@exercise("9.1")
class FeedForward:
    """FeedForward(d_model, d_ff): x (..., C) -> (..., C), up to d_ff, activation, down again

    Its two linear layers are called `c_fc` and `c_proj`.
    """

    cases = (
        ({"d_model": 4, "d_ff": 6}, 3 * _random(0, 2, 3, 4)),
        ({"d_model": 3, "d_ff": 12}, 3 * _random(1, 5, 3)),
    )
    praise = "`FeedForward` is right: up, bend, down, for each position by itself."

    class right(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.c_fc, self.c_proj = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.activation = nn.GELU(approximate="tanh")

        def forward(self, x):
            return self.c_proj(self.activation(self.c_fc(x)))

    right.__name__ = "FeedForward"  # the engine names the class by it

    class also(right):
        def forward(self, x):
            hidden = F.gelu(x @ self.c_fc.weight.T + self.c_fc.bias, approximate="tanh")
            return hidden @ self.c_proj.weight.T + self.c_proj.bias

    class also_the_package(blocks.FeedForward):
        def __init__(self, d_model, d_ff):
            super().__init__(d_model, d_ff)

    class leaves_the_activation_out(right):
        """The activation is missing: without it the two matrices are no more than one"""

        def forward(self, x):
            return self.c_proj(self.c_fc(x))

    class activates_at_the_end(right):
        """The activation comes last: it belongs between the two layers"""

        def forward(self, x):
            return self.activation(self.c_proj(self.c_fc(x)))

    class activates_twice(right):
        """The activation is used twice: nothing follows the second layer"""

        def forward(self, x):
            return self.activation(self.c_proj(self.activation(self.c_fc(x))))

    class activates_the_input(right):
        """The activation comes first: it belongs between the two layers"""

        def forward(self, x):
            return self.c_proj(self.c_fc(self.activation(x)))

    class uses_ReLU(right):
        """This uses ReLU: use the `activation` of the stub"""

        def forward(self, x):
            return self.c_proj(F.relu(self.c_fc(x)))

    class uses_the_exact_GELU(right):
        """This is the exact GELU: the `activation` of the stub is its approximation by tanh"""

        def forward(self, x):
            return self.c_proj(F.gelu(self.c_fc(x)))

    class adds_x(right):
        """x is added: the residual is the business of the block, not of this network"""

        def forward(self, x):
            return x + FeedForward.right.forward(self, x)

    class returns_the_wide_vectors(right):
        """The way down is missing: the result must be as wide as x"""

        def forward(self, x):
            return self.activation(self.c_fc(x))

    class mixes_the_positions(right):
        """Each position must come from its own vector alone: this takes their mean"""

        def forward(self, x):
            x = x.mean(dim=-2, keepdim=True).expand(x.shape)
            return FeedForward.right.forward(self, x)

    class takes_4_d_model_for_d_ff(right):
        """… but (6, 4) is expected"""

        def __init__(self, d_model, d_ff):
            FeedForward.right.__init__(self, d_model, 4 * d_model)

    class swaps_the_widths(right):
        """… but (6, 4) is expected"""

        def __init__(self, d_model, d_ff):
            FeedForward.right.__init__(self, d_ff, d_model)

    class has_no_bias(right):
        """… the parameter `c_fc.bias` is missing"""

        def __init__(self, d_model, d_ff):
            FeedForward.right.__init__(self, d_model, d_ff)
            self.c_fc = nn.Linear(d_model, d_ff, bias=False)


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
class TransformerBlock:
    """TransformerBlock(d_model, n_heads): x (B, T, C), mask (T, T) -> (B, T, C), pre-norm

    Its parts are called `ln_1`, `attn`, `ln_2` and `mlp`.
    """

    cases = (
        ({"d_model": 8, "n_heads": 2}, _random(5, 2, 4, 8), causal_mask(4)),
        ({"d_model": 6, "n_heads": 3}, _random(6, 1, 3, 6)),
    )
    praise = "`TransformerBlock` is right: two sublayers, and each adds to the stream."

    class right(nn.Module):
        def __init__(self, d_model, n_heads):
            super().__init__()
            self.ln_1, self.ln_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
            self.attn = MultiHeadAttention(d_model, n_heads)
            self.mlp = blocks.FeedForward(d_model, 4 * d_model)
            for p in (*self.ln_1.parameters(), *self.ln_2.parameters()):
                nn.init.normal_(p)  # fresh norms are all alike: a swap would not show

        def forward(self, x, mask=None):
            x = x + self.attn(self.ln_1(x), mask=mask)
            return x + self.mlp(self.ln_2(x))

    right.__name__ = "TransformerBlock"

    class also(right):
        def forward(self, x, mask=None):
            attended, _ = self.attn(self.ln_1(x), mask=mask, need_weights=True)
            middle = x + attended
            return self.mlp(self.ln_2(middle)) + middle

    class also_the_package(blocks.TransformerBlock):
        def __init__(self, d_model, n_heads):
            super().__init__(d_model, n_heads)

    class is_post_norm(right):
        """This is post-norm, norm(x + f(x)): write x + f(norm(x))"""

        def forward(self, x, mask=None):
            x = self.ln_1(x + self.attn(x, mask=mask))
            return self.ln_2(x + self.mlp(x))

    class has_no_residual(right):
        """Nothing is added to x: each sublayer must add to what it read"""

        def forward(self, x, mask=None):
            return self.mlp(self.ln_2(self.attn(self.ln_1(x), mask=mask)))

    class lets_the_normalised_x_go_on(right):
        """The normalised x goes on along the stream: add to the bare x"""

        def forward(self, x, mask=None):
            x = self.ln_1(x)
            x = x + self.attn(x, mask=mask)
            x = self.ln_2(x)
            return x + self.mlp(x)

    class normalises_what_a_sublayer_wrote(right):
        """The norm comes after the sublayer: it belongs before it, on what the sublayer reads"""

        def forward(self, x, mask=None):
            x = x + self.ln_1(self.attn(x, mask=mask))
            return x + self.ln_2(self.mlp(x))

    class uses_one_norm_twice(right):
        """`ln_1` is used twice: the second sublayer has a norm of its own"""

        def forward(self, x, mask=None):
            x = x + self.attn(self.ln_1(x), mask=mask)
            return x + self.mlp(self.ln_1(x))

    class swaps_the_norms(right):
        """The two norms are swapped"""

        def forward(self, x, mask=None):
            x = x + self.attn(self.ln_2(x), mask=mask)
            return x + self.mlp(self.ln_1(x))

    class uses_no_norm(right):
        """No norm is used: each sublayer reads a normalised x"""

        def forward(self, x, mask=None):
            x = x + self.attn(x, mask=mask)
            return x + self.mlp(x)

    class forgets_the_mask(right):
        """The mask is not used: give it to the attention"""

        def forward(self, x, mask=None):
            return TransformerBlock.right.forward(self, x)

    class turns_the_mask_round(right):
        """The mask is turned round: True = may attend, as the attention expects it"""

        def forward(self, x, mask=None):
            mask = None if mask is None else ~mask
            return TransformerBlock.right.forward(self, x, mask)

    class stops_after_the_attention(right):
        """Only the attention is there: `mlp` is missing"""

        def forward(self, x, mask=None):
            return x + self.attn(self.ln_1(x), mask=mask)

    class drops_what_attention_found(right):
        """The second sublayer adds to the old x: what the attention added is lost"""

        def forward(self, x, mask=None):
            after = x + self.attn(self.ln_1(x), mask=mask)
            return x + self.mlp(self.ln_2(after))

    class runs_both_side_by_side(right):
        """Both sublayers read the same x: `mlp` must read what the attention has written"""

        def forward(self, x, mask=None):
            return x + self.attn(self.ln_1(x), mask=mask) + self.mlp(self.ln_2(x))

    class digests_first(right):
        """The feed-forward network comes first: attention does"""

        def forward(self, x, mask=None):
            x = x + self.mlp(self.ln_2(x))
            return x + self.attn(self.ln_1(x), mask=mask)

    class has_a_narrow_network(right):
        """… but (32, 8) is expected"""

        def __init__(self, d_model, n_heads):
            TransformerBlock.right.__init__(self, d_model, n_heads)
            self.mlp = blocks.FeedForward(d_model, d_model)

    class has_one_norm(right):
        """… the parameter `ln_2.bias` is missing"""

        def __init__(self, d_model, n_heads):
            TransformerBlock.right.__init__(self, d_model, n_heads)
            del self.ln_2


@exercise("9.4")
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
            changed = x.clone()
            changed[1, t] = _random(4, 16)
            moved = (output(changed) - before).abs()
            why = (
                "Sequence 1 moves when sequence 2 changes: that is another fault, keep them apart."
            )
            expect(moved[0].max() < 1e-4, why)
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

    def adds_the_other_sequence(x):
        """… keep them apart"""
        return F.layer_norm(x + 0.1 * x.flip(0), x.shape[-1:])

    def lets_the_first_sequence_see_the_second(x):
        """… Sequence 1 moves when sequence 2 changes"""
        x = leaky_norm.right(x)
        mixed = x + 0.1 * x[-1:] * torch.tensor([1.0, 0.0])[: len(x), None, None]
        return F.layer_norm(mixed, x.shape[-1:])

    def is_random(x):
        """… another result the second time"""
        return _normed(torch.randn_like(x), 1e-5)

    def returns_one_sequence_only(x):
        """… Return as many numbers as came"""
        return leaky_norm.right(x[:1])[0]
