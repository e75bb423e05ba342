"""Seq2Seq: equal to PyTorch's nn.Transformer, blind to padding and to the target's future."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from scratchformer.attention import causal_mask
from scratchformer.models import Seq2Seq, Seq2SeqConfig
from scratchformer.positions import sinusoidal

SMALL = {"vocab_size": 13, "context_length": 9, "d_model": 16, "n_heads": 4, "n_layers": 2}
PAD, BEGIN, END = 0, 1, 2


def small(seed=0, **changes):
    torch.manual_seed(seed)
    return Seq2Seq(Seq2SeqConfig(**SMALL | changes))


def sharpened(model):
    """Large random weights, so that differences show."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.normal_(1.0 if "ln_" in name and name.endswith("weight") else 0.0, 0.3)
    return model.eval()


def pairs(B=3, S=7, T=6, vocab_size=13, seed=1):
    """Sources of different lengths and targets that begin with BEGIN, both padded."""
    generator = torch.Generator().manual_seed(seed)
    source = torch.randint(3, vocab_size, (B, S), generator=generator)
    target = torch.randint(3, vocab_size, (B, T), generator=generator)
    target[:, 0] = BEGIN
    for row in range(1, B):
        source[row, max(1, S - row) :] = PAD
        target[row, max(1, T - row) :] = PAD
    return source, target


def torch_transformer(ours):
    """nn.Transformer with our weights. PyTorch ends each stack with a norm more than the paper."""
    c = ours.config
    sizes = {"dim_feedforward": c.d_ff or 4 * c.d_model, "dropout": 0.0, "batch_first": True}
    theirs = nn.Transformer(c.d_model, c.n_heads, c.n_layers, c.n_layers, **sizes).eval()
    theirs.encoder.norm = theirs.decoder.norm = None
    weights = dict(theirs.state_dict())
    for stack in ("encoder", "decoder"):
        names = {"attn.c_attn.": "self_attn.in_proj_", "attn.c_proj": "self_attn.out_proj"}
        names |= {"mlp.c_fc": "linear1", "mlp.c_proj": "linear2", "ln_1": "norm1", "ln_2": "norm2"}
        cross = {"cross_attn.c_attn.": "multihead_attn.in_proj_"}
        cross |= {"cross_attn.c_proj": "multihead_attn.out_proj", "ln_cross": "norm2"}
        if stack == "decoder":
            names = cross | names | {"ln_2": "norm3"}
        for name, w in getattr(ours, stack).state_dict().items():
            layer, rest = name.split(".", 1)
            old = next(old for old in names if rest.startswith(old))
            weights[f"{stack}.layers.{layer}.{rest.replace(old, names[old])}"] = w
    theirs.load_state_dict(weights)
    return theirs


@pytest.mark.filterwarnings("ignore:.*nested.tensor")  # a fast path of theirs
def test_equals_torch_transformer_with_the_same_weights():
    B, S, T = 4, 5, 9
    ours = sharpened(small(d_model=24, n_heads=3, d_ff=40))
    theirs = torch_transformer(ours)
    source, target = pairs(B, S, T, ours.config.vocab_size)
    embedded = []
    for ids in (source, target):
        x = F.embedding(ids, ours.embedding.weight) * math.sqrt(ours.config.d_model)
        embedded.append(x + sinusoidal(ids.shape[1], ours.config.d_model))
    with torch.no_grad():
        out = theirs(
            *embedded,
            tgt_mask=~causal_mask(T),
            src_key_padding_mask=source == PAD,
            memory_key_padding_mask=source == PAD,
            tgt_key_padding_mask=target == PAD,
        )
        expected, got = out @ ours.embedding.weight.T, ours(source, target)
    real = target != PAD  # elsewhere nobody looks
    torch.testing.assert_close(got[real], expected[real], rtol=1e-5, atol=1e-5)


def test_another_pad_id_is_respected():
    model = sharpened(small(pad_id=12, begin_id=0))
    source = torch.tensor([[5, 6, 7]])
    padded, target = F.pad(source, (0, 2), value=12), torch.tensor([[0, 4]])
    torch.testing.assert_close(model(padded, target), model(source, target))
    zeros = F.pad(source, (0, 2), value=0)
    assert not torch.allclose(model(zeros, target), model(source, target), atol=1e-3)


def test_the_embeddings_are_one_weight_and_the_positions_none():
    model = small()
    assert model.lm_head.weight is model.embedding.weight
    assert model.state_dict().keys() == dict(model.named_parameters(remove_duplicate=False)).keys()
