"""Feed-forward and block: equal to PyTorch's layers, blind to the future, the same with a cache."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from scratchformer.attention import KeyValueCache, causal_mask, padding_mask
from scratchformer.blocks import ACTIVATIONS, FeedForward, TransformerBlock

SIZES = [(1, 1, 4, 1), (2, 7, 12, 3), (3, 16, 32, 8)]  # B, T, C, heads
TORCH = {"gelu_tanh": nn.GELU(approximate="tanh"), "gelu": F.gelu, "relu": F.relu}
ENCODER = {
    "attn.c_attn.": "self_attn.in_proj_",
    "attn.c_proj": "self_attn.out_proj",
    "mlp.c_fc": "linear1",
    "mlp.c_proj": "linear2",
    "ln_1": "norm1",
    "ln_2": "norm2",
}
DECODER = {  # the cross-attention first: "attn.c_attn." is part of its name
    "cross_attn.c_attn.": "multihead_attn.in_proj_",
    "cross_attn.c_proj": "multihead_attn.out_proj",
    **ENCODER,
    "ln_cross": "norm2",
    "ln_2": "norm3",
}


def copy_weights(ours, theirs, names):
    """Give PyTorch's layer the block's weights, after making the norms differ from each other."""
    for name, p in ours.named_parameters():
        if name.startswith("ln"):  # else all norms are alike and could be swapped
            nn.init.normal_(p)
    weights = {}
    for name, weight in ours.state_dict().items():
        for our_name, their_name in names.items():
            if name.startswith(our_name):
                weights[name.replace(our_name, their_name)] = weight
    theirs.load_state_dict(weights)


def randomised(**options):
    """A block 8 wide with 2 heads, each of its vectors random: no bias or norm stays neutral."""
    torch.manual_seed(0)
    block = TransformerBlock(8, 2, **options)
    for p in block.parameters():
        if p.dim() == 1:
            nn.init.normal_(p)
    return block


def test_feed_forward_acts_on_each_position_alone():
    torch.manual_seed(0)
    mlp, x = FeedForward(8), torch.randn(2, 5, 8)
    torch.testing.assert_close(mlp(x)[:, 3], mlp(x[:, 3]))
    assert mlp.c_fc.out_features == 32 and FeedForward(8, d_ff=12).c_fc.out_features == 12


@pytest.mark.parametrize("activation", TORCH)
def test_feed_forward_is_a_convolution_of_width_1(activation):
    torch.manual_seed(0)
    mlp, x = FeedForward(8, d_ff=12, activation=activation), torch.randn(2, 5, 8)
    up, down = nn.Conv1d(8, 12, kernel_size=1), nn.Conv1d(12, 8, kernel_size=1)
    for convolution, linear in ((up, mlp.c_fc), (down, mlp.c_proj)):
        convolution.load_state_dict({"weight": linear.weight.unsqueeze(-1), "bias": linear.bias})
    torch.testing.assert_close(mlp(x), down(TORCH[activation](up(x.mT))).mT)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_activations_are_the_published_formulas(activation):
    mlp = FeedForward(1, d_ff=1, activation=activation)
    with torch.no_grad():
        for p in mlp.parameters():
            p.fill_(0.0 if p.dim() == 1 else 1.0)
    x = torch.linspace(-4, 4, 33)[:, None]
    expected = {
        "gelu_tanh": 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3))),
        "gelu": 0.5 * x * (1 + torch.erf(x / 2**0.5)),
        "relu": x * (x > 0),
        "relu2": x * x * (x > 0),
        "swiglu": x * x / (1 + torch.exp(-x)),  # gate and value are both x here
    }
    torch.testing.assert_close(mlp(x), expected[activation])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("activation", TORCH)
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("sizes", SIZES)
def test_block_equals_torch_encoder_layer(sizes, norm, activation, dtype):
    B, T, C, H = sizes
    torch.manual_seed(0)
    options = {"bias": T != 16}  # without biases too
    ours = TransformerBlock(
        C, H, d_ff=3 * C, norm=norm, activation=activation, norm_eps=1e-3, **options
    ).to(dtype)
    options |= {"norm_first": norm == "pre", "layer_norm_eps": 1e-3, "batch_first": True}
    theirs = nn.TransformerEncoderLayer(C, H, 3 * C, 0.0, TORCH[activation], dtype=dtype, **options)
    copy_weights(ours, theirs, ENCODER)
    x = torch.randn(B, T, C, dtype=dtype)
    padding = padding_mask(torch.arange(B * T).view(B, T) % 5, pad_id=3)
    torch.testing.assert_close(ours(x), theirs(x))
    torch.testing.assert_close(
        ours(x, causal_mask(T) & padding),
        theirs(x, src_mask=~causal_mask(T), src_key_padding_mask=~padding[:, 0]),
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("sizes", SIZES)
def test_block_with_a_context_equals_torch_decoder_layer(sizes, norm, activation, dtype):
    B, T, C, H = sizes
    U = T + 3
    torch.manual_seed(0)
    ours = TransformerBlock(C, H, norm=norm, activation=activation, cross_attention=True).to(dtype)
    theirs = nn.TransformerDecoderLayer(
        C, H, 4 * C, 0.0, TORCH[activation], batch_first=True, norm_first=norm == "pre", dtype=dtype
    )
    copy_weights(ours, theirs, DECODER)
    x, context = torch.randn(B, T, C, dtype=dtype), torch.randn(B, U, C, dtype=dtype)
    torch.testing.assert_close(ours(x, context=context), theirs(x, context))
    source = padding_mask(torch.arange(B * U).view(B, U) % 4, pad_id=2)
    target = padding_mask(torch.arange(B * T).view(B, T) % 5, pad_id=3)
    torch.testing.assert_close(
        ours(x, causal_mask(T) & target, context, source),
        theirs(
            x,
            context,
            tgt_mask=~causal_mask(T),
            tgt_key_padding_mask=~target[:, 0],
            memory_key_padding_mask=~source[:, 0],
        ),
    )


@pytest.mark.parametrize("cross", [False, True])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_changed_token_changes_no_earlier_output_and_padding_none(norm, cross):
    block, x = randomised(norm=norm, cross_attention=cross), torch.randn(2, 6, 8)
    context = torch.randn(2, 4, 8) if cross else None
    before = block(x, causal_mask(6), context)
    changed = x.clone()
    changed[:, 3] += torch.randn(8)  # a constant would vanish in the norm
    difference = (block(changed, causal_mask(6), context) - before).abs().amax(dim=(0, 2))
    assert (difference[:3] == 0).all() and (difference[3:] > 1e-3).all()
    real = torch.tensor([[True, True, True, False, True, True]]).unsqueeze(1)  # hides position 3
    torch.testing.assert_close(
        block(changed, real, context)[:, [0, 1, 2, 4, 5]],
        block(x, real, context)[:, [0, 1, 2, 4, 5]],
    )


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_without_a_mask_order_does_not_matter(norm):
    block, x = randomised(norm=norm), torch.randn(2, 6, 8)
    order = torch.tensor([4, 2, 0, 5, 1, 3])
    torch.testing.assert_close(block(x[:, order]), block(x)[:, order])


def test_a_masked_context_position_is_never_read():
    block, x = randomised(cross_attention=True), torch.randn(1, 3, 8)
    context, real = torch.randn(1, 4, 8), torch.tensor([[[True, True, False, True]]])
    before = block(x, context=context, context_mask=real)
    context[:, 2] += 1
    assert torch.equal(block(x, context=context, context_mask=real), before)
    context[:, 1] += 1
    assert not torch.allclose(block(x, context=context, context_mask=real), before, atol=1e-3)


@pytest.mark.parametrize("cross", [False, True])
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("steps", [[1] * 7, [3, 1, 2, 1]])
def test_a_cache_changes_no_output(steps, norm, cross):
    block, x = randomised(norm=norm, cross_attention=cross), torch.randn(2, 7, 8)
    context = torch.randn(2, 4, 8) if cross else None
    context_mask = torch.rand(2, 7, 4) > 0.3 if cross else None
    expected = block(x, causal_mask(7), context, context_mask)
    cache, found = KeyValueCache(), []
    for new in x.split(steps, dim=1):
        start, end = len(cache), len(cache) + new.shape[1]
        rows = None if context_mask is None else context_mask[:, start:end]
        found.append(block(new, causal_mask(end)[start:], context, rows, cache))
    assert len(cache) == 7
    torch.testing.assert_close(torch.cat(found, dim=1), expected)


def test_pre_norm_passes_the_stream_on_and_post_norm_leaves_it_normalised():
    x = 5 + 3 * torch.randn(2, 6, 8)
    for norm in ("pre", "post"):
        block = TransformerBlock(8, 2, norm=norm)
        for half in (block.attn, block.mlp):
            nn.init.zeros_(half.c_proj.weight)
            nn.init.zeros_(half.c_proj.bias)
        alone = F.layer_norm(F.layer_norm(x, (8,)), (8,))
        torch.testing.assert_close(block(x), x if norm == "pre" else alone)


def test_what_does_not_fit_is_told():
    with pytest.raises(ValueError, match="norm='both', expected 'pre' or 'post'"):
        TransformerBlock(8, 2, norm="both")
    with pytest.raises(ValueError, match="activation='tanh', expected one of gelu_tanh, gelu"):
        TransformerBlock(8, 2, activation="tanh")
    with pytest.raises(ValueError, match="d_model=8 is not divisible by n_heads=3"):
        TransformerBlock(8, 3)
    x = torch.randn(1, 3, 8)
    with pytest.raises(ValueError, match="expected a context"):
        TransformerBlock(8, 2, cross_attention=True)(x)
    with pytest.raises(ValueError, match="expected none: it was built without"):
        TransformerBlock(8, 2)(x, context=x)


def test_dropout_reaches_every_part_and_is_off_in_evaluation():
    torch.manual_seed(0)
    block = TransformerBlock(16, 4, dropout=0.5, cross_attention=True)
    x = torch.randn(2, 6, 16)
    for part in (block.attn, lambda x: block.cross_attn(x, x), block.mlp):
        assert not torch.equal(part(x), part(x))
    block.eval()
    assert torch.equal(block(x, context=x), block(x, context=x))


def test_without_bias_no_vector_but_the_norms_weights():
    block = TransformerBlock(8, 2, bias=False, cross_attention=True)
    vectors = [name for name, p in block.named_parameters() if p.dim() == 1]
    assert vectors == ["ln_1.weight", "ln_cross.weight", "ln_2.weight"]


def test_heads_do_not_change_the_number_of_parameters():
    counts = {H: sum(p.numel() for p in TransformerBlock(12, H).parameters()) for H in (1, 3, 12)}
    assert set(counts.values()) == {12 * 12**2 + 13 * 12}
