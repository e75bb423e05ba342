"""Attention: against hand-computed numbers, against PyTorch's own, and by its invariants."""

import math

import jaxtyping
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from scratchformer.attention import MultiHeadAttention, causal_mask, scaled_dot_product_attention


@pytest.fixture
def plain_signatures():
    """Let a wrong shape reach our own checks: the tests' import hook would stop it before."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def random_mask(*shape, seed=0):
    """A random mask whose rows all allow something."""
    mask = torch.rand(shape, generator=torch.Generator().manual_seed(seed)) < 0.5
    mask[..., 0] = True
    return mask


def test_two_queries_by_hand():
    # Scores q·k/√1: query ln 3 gives (ln 3, 0), so weights (3/4, 1/4); query 0 gives halves.
    q = torch.tensor([[math.log(3.0)], [0.0]])
    k = torch.tensor([[1.0], [0.0]])
    v = torch.tensor([[4.0, 0.0], [0.0, 8.0]])
    values, weights = scaled_dot_product_attention(q, k, v)
    torch.testing.assert_close(weights, torch.tensor([[0.75, 0.25], [0.5, 0.5]]))
    torch.testing.assert_close(values, torch.tensor([[3.0, 2.0], [2.0, 4.0]]))


def test_scores_are_divided_by_the_root_of_the_width():
    q = k = torch.eye(4)[:1]  # one query, one key like it and one unlike, width 4
    k = torch.cat([k, torch.zeros(1, 4)])
    _, weights = scaled_dot_product_attention(q, k, k)
    torch.testing.assert_close(weights[0], torch.tensor([0.5, 0.0]).softmax(0))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(5, 4), (2, 5, 4), (2, 3, 7, 8)])
def test_explicit_form_equals_the_fused_kernel(shape, dtype):
    torch.manual_seed(0)
    q, k, v = torch.randn(3, *shape, dtype=dtype)
    for mask in (None, causal_mask(shape[-2]), random_mask(shape[-2], shape[-2])):
        values, _ = scaled_dot_product_attention(q, k, v, mask)
        expected = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        torch.testing.assert_close(values, expected)


def test_queries_and_keys_may_differ_in_number():
    torch.manual_seed(0)
    q, k, v = torch.randn(2, 3, 4), torch.randn(2, 6, 4), torch.randn(2, 6, 5)
    values, weights = scaled_dot_product_attention(q, k, v)
    assert values.shape == (2, 3, 5) and weights.shape == (2, 3, 6)
    torch.testing.assert_close(values, F.scaled_dot_product_attention(q, k, v))


def test_rows_of_weights_sum_to_one_and_masked_weights_are_exactly_zero():
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 2, 4, 9, 8) * 10
    mask = random_mask(2, 1, 9, 9)
    _, weights = scaled_dot_product_attention(q, k, v, mask)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 4, 9))
    assert (weights[~mask.expand_as(weights)] == 0).all()


def test_a_query_that_may_attend_to_nothing_gets_zeros_and_clean_gradients():
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 2, 4, 8).requires_grad_()
    mask = causal_mask(4)
    mask[1] = False
    values, weights = scaled_dot_product_attention(q, k, v, mask)
    assert (values[:, 1] == 0).all() and (weights[:, 1] == 0).all()
    (gradient,) = torch.autograd.grad(values.sum(), q)
    assert gradient.isfinite().all()


def test_the_module_too_gives_no_nan_for_a_fully_masked_row():
    torch.manual_seed(0)
    attention = MultiHeadAttention(8, 2, bias=False)
    mask = causal_mask(4)
    mask[1] = False
    out = attention(torch.randn(2, 4, 8), mask)
    assert (out[:, 1] == 0).all() and out.isfinite().all()


def test_causal_mask_allows_self_and_past():
    assert causal_mask(3).tolist() == [[True, False, False], [True, True, False], [True] * 3]
    assert causal_mask(3).dtype == torch.bool


def test_errors_say_what_was_expected(plain_signatures):
    x = torch.zeros(2, 5, 8)
    with pytest.raises(ValueError, match="q is 8 wide and k 4, expected equal widths"):
        scaled_dot_product_attention(x, x[..., :4], x)
    with pytest.raises(ValueError, match="5 keys and 3 values"):
        scaled_dot_product_attention(x, x, x[:, :3])
    with pytest.raises(ValueError, match=r"mask has dtype torch\.float32, expected torch\.bool"):
        scaled_dot_product_attention(x, x, x, torch.ones(5, 5))
    for shape in [(4, 4), (5,) * 4, (3, 5, 5)]:
        with pytest.raises(ValueError, match="mask has shape"):
            scaled_dot_product_attention(x, x, x, torch.ones(shape, dtype=torch.bool))
    with pytest.raises(ValueError, match="d_model=30 is not divisible by n_heads=4"):
        MultiHeadAttention(30, 4)
    attention = MultiHeadAttention(8, 2)
    with pytest.raises(ValueError, match="x is 6 wide, expected d_model=8"):
        attention(x[..., :6])
    with pytest.raises(ValueError, match=r"expected torch\.bool"):
        attention(x, torch.ones(5, 5))
    with pytest.raises(ValueError, match=r"mask has shape \(6, 6\), expected one for \(2, 5, 5\)"):
        attention(x, causal_mask(6))


def pair_with_torch(d_model, n_heads, bias, dtype):
    """Our module and PyTorch's with the same weights."""
    ours = MultiHeadAttention(d_model, n_heads, bias=bias).to(dtype)
    theirs = nn.MultiheadAttention(d_model, n_heads, bias=bias, batch_first=True, dtype=dtype)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(ours.c_attn.weight)
        theirs.out_proj.weight.copy_(ours.c_proj.weight)
        if bias:
            theirs.in_proj_bias.copy_(ours.c_attn.bias)
            theirs.out_proj.bias.copy_(ours.c_proj.bias)
    return ours, theirs


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("sizes", [(1, 1, 4, 1), (2, 7, 12, 3), (3, 16, 32, 8)])
def test_module_equals_torch_multihead_attention(sizes, bias, dtype):
    B, T, C, H = sizes
    torch.manual_seed(0)
    ours, theirs = pair_with_torch(C, H, bias, dtype)
    x = torch.randn(B, T, C, dtype=dtype)
    per_sequence = random_mask(B, T, T)
    for mask, their_mask in [
        (None, None),
        (causal_mask(T), ~causal_mask(T)),  # PyTorch's module says True for "may not attend"
        (per_sequence, ~per_sequence.repeat_interleave(H, dim=0)),
    ]:
        expected, _ = theirs(x, x, x, attn_mask=their_mask, need_weights=False)
        torch.testing.assert_close(ours(x, mask), expected)


def test_module_equals_the_explicit_form_head_by_head():
    torch.manual_seed(0)
    attention = MultiHeadAttention(12, 3)
    x, mask = torch.randn(2, 5, 12), causal_mask(5)
    q, k, v = attention.c_attn(x).split(12, dim=-1)
    heads = [
        scaled_dot_product_attention(q[..., s], k[..., s], v[..., s], mask)[0]
        for s in (slice(0, 4), slice(4, 8), slice(8, 12))
    ]
    torch.testing.assert_close(attention(x, mask), attention.c_proj(torch.cat(heads, dim=-1)))


def test_without_a_mask_permuting_the_input_permutes_the_output():
    torch.manual_seed(0)
    attention = MultiHeadAttention(16, 4)
    x, order = torch.randn(2, 6, 16), torch.randperm(6)
    torch.testing.assert_close(attention(x[:, order]), attention(x)[:, order])


def test_dropout_acts_in_training_only():
    torch.manual_seed(0)
    attention, x = MultiHeadAttention(16, 4, dropout=0.5), torch.randn(2, 6, 16)
    assert not torch.equal(attention(x), attention(x))
    attention.eval()
    assert torch.equal(attention(x), attention(x))
