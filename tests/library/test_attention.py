"""Attention: against hand-computed numbers and PyTorch's own. Its invariants are test_blocks'."""

import math

import pytest
import torch
from refusals import refused
from torch import nn

from scratchformer.attention import (
    CrossAttention,
    KeyValueCache,
    MultiHeadAttention,
    causal_mask,
    padding_mask,
    recorded_attention,
    scaled_dot_product_attention,
)
from scratchformer.models import GPT, GPTConfig


def test_two_queries_by_hand():
    # Scores q·k/√1: query ln 3 gives (ln 3, 0), so weights (3/4, 1/4); query 0 gives halves.
    q = torch.tensor([[math.log(3.0)], [0.0]])
    k = torch.tensor([[1.0], [0.0]])
    v = torch.tensor([[4.0, 0.0], [0.0, 8.0]])
    values, weights = scaled_dot_product_attention(q, k, v)
    torch.testing.assert_close(weights, torch.tensor([[0.75, 0.25], [0.5, 0.5]]))
    torch.testing.assert_close(values, torch.tensor([[3.0, 2.0], [2.0, 4.0]]))


def random_mask(*shape):
    """A random mask whose rows all allow something."""
    mask = torch.rand(shape) < 0.5
    mask[..., 0] = True
    return mask


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", [MultiHeadAttention, CrossAttention])
def test_module_equals_torch_multihead_attention(kind, bias):
    B, T, S, C, H = 3, 6, 6 if kind is MultiHeadAttention else 5, 16, 4
    torch.manual_seed(0)
    ours = kind(C, H, bias=bias)
    theirs = nn.MultiheadAttention(C, H, bias=bias, batch_first=True)
    for name, p in ours.named_parameters():
        name = name.replace("c_attn.", "in_proj_").replace("c_proj", "out_proj")
        theirs.get_parameter(name).data.copy_(p)
    x = torch.randn(B, T, C)
    memory = () if kind is MultiHeadAttention else (torch.randn(B, S, C),)
    keys = values = memory[0] if memory else x
    for mask in (None, random_mask(T, S), random_mask(B, T, S)):
        options = {"average_attn_weights": False}
        if mask is not None:  # PyTorch's module says True for "may not attend"
            options["attn_mask"] = ~(mask if mask.dim() == 2 else mask.repeat_interleave(H, dim=0))
        expected, their_weights = theirs(x, keys, values, **options)
        torch.testing.assert_close(ours(x, *memory, mask=mask), expected)
        explicit, weights = ours(x, *memory, mask=mask, need_weights=True)
        torch.testing.assert_close(explicit, expected)
        torch.testing.assert_close(weights, their_weights)


@pytest.mark.parametrize("need_weights", [False, True])
def test_a_fully_masked_row_gives_zeros_and_finite_gradients(need_weights):
    attention = MultiHeadAttention(8, 2, bias=False).bfloat16()
    x = torch.randn(2, 4, 8, dtype=torch.bfloat16, requires_grad=True)
    mask = causal_mask(4)
    mask[1] = False
    out = attention(x, mask=mask, need_weights=need_weights)
    out = out[0] if need_weights else out
    assert (out[:, 1] == 0).all() and out.isfinite().all()
    out.sum().backward()
    assert all(p.grad.isfinite().all() for p in (x, *attention.parameters()))


def test_masks_allow_the_past_and_self_and_no_padding():
    assert causal_mask(3).tolist() == [[True, False, False], [True, True, False], [True] * 3]
    mask = padding_mask(torch.tensor([[7, 8, 9], [7, 0, 0]]), pad_id=0)
    assert mask.dtype == torch.bool and mask.tolist() == [[[True] * 3], [[True, False, False]]]


def test_dropout_falls_on_weights_and_output_in_training_only():
    torch.manual_seed(0)
    attention, x = MultiHeadAttention(64, 4, dropout=0.25), torch.randn(50, 10, 64)
    out, dropped = attention(x, need_weights=True)
    for tensor in (out, dropped):
        assert (tensor == 0).float().mean().item() == pytest.approx(0.25, abs=0.02)
    out, weights = attention.eval()(x, need_weights=True)
    torch.testing.assert_close(out, attention(x))
    kept = dropped != 0
    torch.testing.assert_close(dropped[kept], weights[kept] / 0.75)  # the mean is kept


def test_recorded_attention_is_what_each_layer_used_and_changes_nothing():
    torch.manual_seed(0)
    model = GPT(GPTConfig(11, 8, d_model=16, n_heads=4, n_layers=2)).eval()
    ids = torch.randint(11, (2, 6))
    before = model(ids)
    with pytest.raises(ZeroDivisionError), recorded_attention(model) as weights:
        torch.testing.assert_close(model(ids), before)
        raise ZeroDivisionError
    assert torch.equal(model(ids), before)  # the hooks are gone, and the fused kernel is back
    assert list(weights) == ["h.0.attn", "h.1.attn"]
    x = model.wte(ids) + model.wpe(torch.arange(6))
    _, expected = model.h[0].attn(model.h[0].ln_1(x), mask=causal_mask(6), need_weights=True)
    torch.testing.assert_close(weights["h.0.attn"], expected)
    assert not weights["h.1.attn"].requires_grad


def test_scores_beyond_16_bits_are_weighed_all_the_same():
    q = torch.full((1, 64), 60.0)  # q kᵀ is 230,400, and the largest float16 is 65,504
    k, v = torch.cat((q, q - 1)), torch.tensor([[1.0], [2.0]])
    expected = scaled_dot_product_attention(q, k, v)
    half = scaled_dot_product_attention(q.half(), k.half(), v.half())
    for a, b in zip(half, expected, strict=True):
        assert a.dtype == torch.float16 and torch.equal(a.float(), b)


X, ATTENTION, CROSS = torch.zeros(2, 5, 8), MultiHeadAttention(8, 2), CrossAttention(8, 2)
CACHE = KeyValueCache(max_length=7)
ATTENTION(X, cache=CACHE)
test_what_does_not_fit_is_refused = refused(
    {
        "q is 8 wide and k 4": lambda: scaled_dot_product_attention(X, X[..., :4], X),
        "5 keys and 3 values": lambda: scaled_dot_product_attention(X, X, X[:, :3]),
        "dtype torch.float32": lambda: scaled_dot_product_attention(X, X, X, torch.ones(5, 5)),
        "d_model=30 is not divisible by n_heads=4": lambda: MultiHeadAttention(30, 4),
        "x is 6 wide, expected d_model=8": lambda: ATTENTION(X[..., :6]),
        "x is 7 wide, expected d_model=8": lambda: CROSS(X[..., :7], X),
        r"memory has shape \(1, 5, 8\), expected \(2, any": lambda: CROSS(X, X[:1]),
        r"expected one for \(2, 5, 3\)": lambda: CROSS(X, X[:, :3], causal_mask(5)),
        "would hold 10 positions, expected <= 7": lambda: ATTENTION(X, cache=CACHE),
        "for a batch of 2, got 1": lambda: ATTENTION(X[:1, :1], cache=CACHE),
        r"expected one for \(2, 2, 7\)": lambda: ATTENTION(X[:, :2], causal_mask(2), cache=CACHE),
    }
)
