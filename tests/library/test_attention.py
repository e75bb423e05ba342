"""Attention: against hand-computed numbers and PyTorch's own. Its invariants are test_blocks'."""

import math
import re

import pytest
import torch
import torch.nn.functional as F
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


@pytest.mark.parametrize("shape", [(5, 4), (2, 3, 7, 8)])
def test_explicit_form_equals_the_fused_kernel(shape):
    torch.manual_seed(0)
    q, k, v = torch.randn(3, *shape)
    for mask in (None, causal_mask(shape[-2]), random_mask(shape[-2], shape[-2])):
        values, _ = scaled_dot_product_attention(q, k, v, mask)
        expected = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        torch.testing.assert_close(values, expected)


@pytest.mark.parametrize("need_weights", [False, True])
def test_the_module_too_gives_no_nan_for_a_fully_masked_row(need_weights):
    torch.manual_seed(0)
    for dtype in (torch.float32, torch.bfloat16):
        attention = MultiHeadAttention(8, 2, bias=False).to(dtype)
        x = torch.randn(2, 4, 8, dtype=dtype, requires_grad=True)
        mask = causal_mask(4)
        mask[1] = False
        out = attention(x, mask=mask, need_weights=need_weights)
        out = out[0] if need_weights else out
        assert (out[:, 1] == 0).all() and out.isfinite().all()
        out.sum().backward()
        assert all(p.grad.isfinite().all() for p in (x, *attention.parameters()))


def test_masks_allow_the_past_and_self_and_no_padding_and_combine():
    assert causal_mask(3).tolist() == [[True, False, False], [True, True, False], [True] * 3]
    ids = torch.tensor([[7, 8, 9], [7, 0, 0]])
    mask = padding_mask(ids, pad_id=0)
    assert mask.dtype == torch.bool and mask.tolist() == [[[True] * 3], [[True, False, False]]]
    both = causal_mask(3) & mask
    assert both[0].equal(causal_mask(3)) and both[1].tolist() == [[True, False, False]] * 3


def test_errors_say_what_was_expected(plain_signatures):
    x = torch.zeros(2, 5, 8)
    attention, cross = MultiHeadAttention(8, 2), CrossAttention(8, 2)
    for call, words in (
        (lambda: scaled_dot_product_attention(x, x[..., :4], x), "q is 8 wide and k 4"),
        (lambda: scaled_dot_product_attention(x, x, x[:, :3]), "5 keys and 3 values"),
        (lambda: scaled_dot_product_attention(x, x, x, torch.ones(5, 5)), "dtype torch.float32"),
        (lambda: scaled_dot_product_attention(x, x, x, causal_mask(4)), "mask has shape"),
        (lambda: MultiHeadAttention(30, 4), "d_model=30 is not divisible by n_heads=4"),
        (lambda: attention(x[..., :6]), "x is 6 wide, expected d_model=8"),
        (lambda: attention(x, causal_mask(6)), "mask has shape (6, 6), expected"),
        (lambda: cross(x[..., :6], x), "x is 6 wide, expected d_model=8"),
        (lambda: cross(x, x[:1]), "memory has shape (1, 5, 8), expected (2, any length, 8)"),
        (lambda: cross(x, x[:, :3], causal_mask(5)), "expected one for (2, 5, 3)"),
    ):
        with pytest.raises(ValueError, match=re.escape(words)):
            call()


def test_errors_of_the_cache_say_what_was_expected_and_leave_it_as_it_was(plain_signatures):
    attention, x = MultiHeadAttention(8, 2), torch.zeros(2, 5, 8)
    cache = KeyValueCache(max_length=7)
    attention(x, cache=cache)
    with pytest.raises(ValueError, match="cache would hold 10 positions, expected <= 7"):
        attention(x, cache=cache)
    with pytest.raises(ValueError, match="cache is for a batch of 2, got 1"):
        attention(x[:1, :1], cache=cache)
    with pytest.raises(ValueError, match=r"mask has shape \(2, 2\), expected one for \(2, 2, 7\)"):
        attention(x[:, :2], mask=causal_mask(2), cache=cache)
    assert len(cache) == 5


def pair_with_torch(kind, d_model, n_heads, bias):
    """Our module and PyTorch's with the same weights."""
    ours = kind(d_model, n_heads, bias=bias)
    theirs = nn.MultiheadAttention(d_model, n_heads, bias=bias, batch_first=True)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(ours.c_attn.weight)
        theirs.out_proj.weight.copy_(ours.c_proj.weight)
        if bias:
            theirs.in_proj_bias.copy_(ours.c_attn.bias)
            theirs.out_proj.bias.copy_(ours.c_proj.bias)
    return ours, theirs


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", [MultiHeadAttention, CrossAttention])
def test_module_equals_torch_multihead_attention(kind, bias):
    B, T, S, C, H = 3, 6, 6 if kind is MultiHeadAttention else 5, 16, 4
    torch.manual_seed(0)
    ours, theirs = pair_with_torch(kind, C, H, bias)
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
@pytest.mark.parametrize("with_mask", [False, True])
@pytest.mark.parametrize("old", [0, 3, 5])
def test_is_causal_is_the_causal_mask(need_weights, with_mask, old):
    torch.manual_seed(0)
    layer, x = MultiHeadAttention(8, 2), torch.randn(2, 6, 8)
    mask = torch.rand(2, 6, 6) < 0.5 if with_mask else torch.ones(2, 6, 6, dtype=torch.bool)
    caches = [KeyValueCache() if old else None for _ in "12"]
    if old:
        for cache in caches:
            layer(x[:, :old], mask=causal_mask(old), cache=cache)
    expected = layer(x[:, old:], mask=(mask & causal_mask(6))[:, old:], cache=caches[0])
    given = mask[:, old:] if with_mask else None
    options = {"cache": caches[1], "is_causal": True, "need_weights": need_weights}
    found = layer(x[:, old:], mask=given, **options)
    torch.testing.assert_close(found[0] if need_weights else found, expected)


def test_dropout_falls_on_weights_and_output_in_training_only():
    torch.manual_seed(0)
    attention, x = MultiHeadAttention(64, 4, dropout=0.25), torch.randn(50, 10, 64)
    out, dropped = attention(x, need_weights=True)
    assert (out == 0).float().mean().item() == pytest.approx(0.25, abs=0.02)
    assert (dropped == 0).float().mean().item() == pytest.approx(0.25, abs=0.02)
    attention.eval()
    out, weights = attention(x, need_weights=True)
    torch.testing.assert_close(out, attention(x))
    kept = dropped != 0
    torch.testing.assert_close(dropped[kept], weights[kept] / 0.75)  # the mean is kept


def test_recorded_attention_is_what_each_layer_used_and_changes_nothing():
    torch.manual_seed(0)
    model = GPT(GPTConfig(11, 8, d_model=16, n_heads=4, n_layers=2)).eval()
    ids = torch.randint(11, (2, 6))
    before = model(ids)
    with recorded_attention(model) as weights:
        during = model(ids)
    torch.testing.assert_close(during, before)
    assert list(weights) == ["h.0.attn", "h.1.attn"]
    x = model.wte(ids) + model.wpe(torch.arange(6))
    _, expected = model.h[0].attn(model.h[0].ln_1(x), mask=causal_mask(6), need_weights=True)
    torch.testing.assert_close(weights["h.0.attn"], expected)
    assert not weights["h.1.attn"].requires_grad
    with pytest.raises(ZeroDivisionError), recorded_attention(model):
        raise ZeroDivisionError
    assert torch.equal(model(ids), before)  # the hooks are gone, and the fused kernel is back
    assert len(weights) == 2


def test_scores_beyond_16_bits_are_weighed_all_the_same():
    q = torch.full((1, 1, 64), 60.0)  # q kᵀ is 230,400, and the largest float16 is 65,504
    k = torch.stack((torch.full((64,), 60.0), torch.full((64,), 59.0))).unsqueeze(0)
    v = torch.tensor([[[1.0], [2.0]]])
    expected = scaled_dot_product_attention(q, k, v)
    half = scaled_dot_product_attention(q.half(), k.half(), v.half())
    for a, b in zip(half, expected, strict=True):
        assert a.dtype == torch.float16 and torch.equal(a.float(), b)
