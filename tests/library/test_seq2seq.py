"""Seq2Seq: equal to PyTorch's nn.Transformer, blind to padding and to the target's future."""

import math

import pytest
import torch
import torch.nn.functional as F
from random_weights import randomised
from test_blocks import ENCODER, torch_names
from torch import nn

from scratchformer.attention import causal_mask
from scratchformer.models import Seq2Seq, Seq2SeqConfig
from scratchformer.positions import sinusoidal

DECODER = {
    "cross_attn.c_attn.": "multihead_attn.in_proj_",
    "cross_attn.c_proj": "multihead_attn.out_proj",
    "ln_cross": "norm2",
    **ENCODER,
    "ln_2": "norm3",
}


def torch_transformer(ours):
    """nn.Transformer with our weights. PyTorch ends each stack with a norm more than the paper."""
    c = ours.config
    sizes = {"dim_feedforward": c.d_ff, "dropout": 0.0, "batch_first": True}
    theirs = nn.Transformer(c.d_model, c.n_heads, c.n_layers, c.n_layers, **sizes).eval()
    theirs.encoder.norm = theirs.decoder.norm = None
    for stack, names in (("encoder", ENCODER), ("decoder", DECODER)):
        for block, layer in zip(getattr(ours, stack), getattr(theirs, stack).layers, strict=True):
            layer.load_state_dict(torch_names(block.state_dict(), names))
    return theirs


@pytest.mark.filterwarnings("ignore:.*nested.tensor")  # a fast path of theirs
@pytest.mark.parametrize("pad_id", [0, 12])
def test_equals_torch_transformer_with_the_same_weights(pad_id):
    torch.manual_seed(0)
    special = {"pad_id": pad_id, "begin_id": 1, "end_id": 2}
    ours = randomised(Seq2Seq(Seq2SeqConfig(13, 9, 24, 3, n_layers=2, d_ff=40, **special)))
    theirs, ids = torch_transformer(ours), torch.randint(3, 12, (2, 4, 9))
    lengths = torch.tensor([[9, 3, 1, 5], [9, 1, 4, 8]])  # of sources and of targets
    source, target = ids.where(torch.arange(9) < lengths[..., None], pad_id)
    embedded = [
        F.embedding(ids, ours.embedding.weight) * math.sqrt(24) + sinusoidal(9, 24)
        for ids in (source, target)
    ]
    out = theirs(
        *embedded,
        tgt_mask=~causal_mask(9),
        src_key_padding_mask=source == pad_id,
        memory_key_padding_mask=source == pad_id,
        tgt_key_padding_mask=target == pad_id,
    )
    real = target != pad_id  # elsewhere nobody looks
    expected = (out @ ours.embedding.weight.T)[real]
    torch.testing.assert_close(ours(source, target)[real], expected, rtol=1e-5, atol=1e-5)
