"""Feed-forward and block: equal to PyTorch's layers, blind to the future, the same with a cache."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from scratchformer.attention import KeyValueCache, causal_mask, padding_mask
from scratchformer.blocks import TransformerBlock
from scratchformer.models.seq2seq import DecoderBlock

B, T, C, H = 2, 7, 12, 3
TORCH = {"gelu_tanh": nn.GELU(approximate="tanh"), "gelu": F.gelu, "relu": F.relu}
ENCODER = {
    "attn.c_attn.": "self_attn.in_proj_",
    "attn.c_proj": "self_attn.out_proj",
    "mlp.c_fc": "linear1",
    "mlp.c_proj": "linear2",
    "ln_1": "norm1",
    "ln_2": "norm2",
}


def torch_names(weights, names):
    """The weights of a block under the names of PyTorch's layer."""
    renamed = {}
    for name, weight in weights.items():
        ours = next(ours for ours in names if name.startswith(ours))
        renamed[name.replace(ours, names[ours])] = weight
    return renamed


def randomised(block_class=TransformerBlock, **options):
    """A block 8 wide with 2 heads, each of its vectors random: no bias or norm stays neutral."""
    torch.manual_seed(0)
    block = block_class(8, 2, **options)
    for p in block.parameters():
        if p.dim() == 1:
            nn.init.normal_(p)
    return block


@pytest.mark.parametrize("activation", TORCH)
@pytest.mark.parametrize("norm_first", [True, False])
def test_block_equals_torch_encoder_layer(norm_first, activation):
    torch.manual_seed(0)
    options = {"bias": activation != "relu", "norm_first": norm_first}  # without biases too
    ours = TransformerBlock(C, H, d_ff=3 * C, activation=activation, **options)
    options |= {"batch_first": True}
    theirs = nn.TransformerEncoderLayer(C, H, 3 * C, 0.0, TORCH[activation], **options)
    for norm in (ours.ln_1, ours.ln_2):  # else they are alike and could be swapped
        for p in norm.parameters():
            nn.init.normal_(p)
    theirs.load_state_dict(torch_names(ours.state_dict(), ENCODER))
    x = torch.randn(B, T, C)
    padding = padding_mask(torch.arange(B * T).view(B, T) % 5, pad_id=3)
    torch.testing.assert_close(ours(x), theirs(x))
    torch.testing.assert_close(
        ours(x, causal_mask(T) & padding),
        theirs(x, src_mask=~causal_mask(T), src_key_padding_mask=~padding[:, 0]),
    )


BLOCKS = {  # name -> (a block, what follows the mask in a call)
    "pre-norm": (randomised(), ()),
    "post-norm": (randomised(norm_first=False), ()),
    "decoder": (randomised(DecoderBlock), (torch.randn(2, 4, 8),)),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_a_changed_token_changes_no_earlier_output_and_padding_none(name):
    (block, context), x = BLOCKS[name], torch.randn(2, 6, 8)
    before = block(x, causal_mask(6), *context)
    changed = x.clone()
    changed[:, 3] += torch.randn(8)  # a constant would vanish in the norm
    difference = (block(changed, causal_mask(6), *context) - before).abs().amax(dim=(0, 2))
    assert (difference[:3] == 0).all() and (difference[3:] > 1e-3).all()
    real = torch.tensor([[True, True, True, False, True, True]]).unsqueeze(1)  # hides position 3
    others = [0, 1, 2, 4, 5]
    torch.testing.assert_close(
        block(changed, real, *context)[:, others], block(x, real, *context)[:, others]
    )


@pytest.mark.parametrize("name", BLOCKS)
def test_without_a_mask_order_does_not_matter(name):
    (block, context), x = BLOCKS[name], torch.randn(2, 6, 8)
    order = [4, 2, 0, 5, 1, 3]
    expected = block(x, None, *context)[:, order]
    torch.testing.assert_close(block(x[:, order], None, *context), expected)


@pytest.mark.parametrize("norm_first", [True, False])
def test_a_cache_changes_no_output(norm_first):
    block, x = randomised(norm_first=norm_first), torch.randn(2, 7, 8)
    expected = block(x, causal_mask(7))
    torch.testing.assert_close(block(x, is_causal=True), expected)
    for by_flag in (True, False):
        cache, parts = KeyValueCache(), []
        for new in x.split([3, 1, 2, 1], dim=1):
            start, end = len(cache), len(cache) + new.shape[1]
            mask = None if by_flag else causal_mask(end)[start:]
            parts.append(block(new, mask, cache, is_causal=by_flag))
        assert len(cache) == 7
        torch.testing.assert_close(torch.cat(parts, dim=1), expected)


def test_an_unknown_activation_is_refused():
    with pytest.raises(ValueError, match="activation='tanh', expected one of gelu_tanh, gelu"):
        TransformerBlock(8, 2, activation="tanh")


def test_dropout_reaches_every_part_and_is_off_in_evaluation():
    torch.manual_seed(0)
    encoder, decoder = TransformerBlock(16, 4, dropout=0.5), DecoderBlock(16, 4, dropout=0.5)
    x = torch.randn(2, 6, 16)
    parts = [encoder.attn, encoder.mlp, decoder.attn, decoder.mlp]
    for part in (*parts, lambda x: decoder.cross_attn(x, x)):
        assert not torch.equal(part(x), part(x))
    encoder.eval(), decoder.eval()
    assert torch.equal(encoder(x), encoder(x))
    assert torch.equal(decoder(x, None, x), decoder(x, None, x))
