"""Feed-forward and block: equal to PyTorch's layer, causal under a causal mask."""

import pytest
import torch
from torch import nn

from scratchformer.attention import causal_mask
from scratchformer.blocks import FeedForward, TransformerBlock


def test_feed_forward_acts_on_each_position_alone():
    torch.manual_seed(0)
    mlp, x = FeedForward(8), torch.randn(2, 5, 8)
    torch.testing.assert_close(mlp(x)[:, 3], mlp(x[:, 3]))
    assert mlp.c_fc.out_features == 32 and FeedForward(8, d_ff=12).c_fc.out_features == 12


def test_gelu_is_the_tanh_form_of_gpt2():
    mlp = FeedForward(1, d_ff=1)
    with torch.no_grad():
        for p in mlp.parameters():
            p.fill_(0.0 if p.dim() == 1 else 1.0)
    x = torch.linspace(-4, 4, 33)[:, None]
    expected = 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)))
    torch.testing.assert_close(mlp(x), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("sizes", [(1, 1, 4, 1), (2, 7, 12, 3), (3, 16, 32, 8)])
def test_block_equals_torch_pre_norm_encoder_layer(sizes, dtype):
    B, T, C, H = sizes
    torch.manual_seed(0)
    ours = TransformerBlock(C, H).to(dtype)
    for norm in (ours.ln_1, ours.ln_2):  # else the two norms are alike and could be swapped
        nn.init.normal_(norm.weight)
        nn.init.normal_(norm.bias)
    gelu = nn.GELU(approximate="tanh")
    theirs = nn.TransformerEncoderLayer(
        C, H, 4 * C, 0.0, gelu, batch_first=True, norm_first=True, dtype=dtype
    )
    names = {"attn.c_attn.": "self_attn.in_proj_", "attn.c_proj": "self_attn.out_proj"}
    names |= {"mlp.c_fc": "linear1", "mlp.c_proj": "linear2", "ln_1": "norm1", "ln_2": "norm2"}
    weights = ours.state_dict()
    for our_name, their_name in names.items():
        weights = {name.replace(our_name, their_name): w for name, w in weights.items()}
    theirs.load_state_dict(weights)
    x = torch.randn(B, T, C, dtype=dtype)
    for mask in (None, causal_mask(T)):
        expected = theirs(x, src_mask=None if mask is None else ~mask)
        torch.testing.assert_close(ours(x, mask), expected)


def test_dropout_reaches_both_halves_and_is_off_in_evaluation():
    torch.manual_seed(0)
    block, x = TransformerBlock(16, 4, dropout=0.5), torch.randn(2, 6, 16)
    for half in (block.attn, block.mlp):
        assert not torch.equal(half(x), half(x))
    block.eval()
    assert torch.equal(block(x), block(x))


def test_without_bias_no_vector_but_the_norms_weights():
    block = TransformerBlock(8, 2, bias=False)
    vectors = [name for name, p in block.named_parameters() if p.dim() == 1]
    assert vectors == ["ln_1.weight", "ln_2.weight"]
