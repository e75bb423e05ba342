"""Seq2Seq: equal to PyTorch's nn.Transformer, blind to padding and to the target's future."""

import math
import re

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from scratchformer.attention import causal_mask
from scratchformer.models import Seq2Seq, Seq2SeqConfig
from scratchformer.positions import sinusoidal
from scratchformer.training import IGNORED, TrainingConfig, fit, token_loss

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
@pytest.mark.parametrize(
    ("B", "S", "T", "changes"),
    [(1, 1, 1, {}), (4, 5, 9, {"d_model": 24, "n_heads": 3, "n_layers": 3, "d_ff": 40})],
)
def test_equals_torch_transformer_with_the_same_weights(B, S, T, changes):
    ours = sharpened(small(**changes))
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
    told = target != PAD  # elsewhere nobody looks
    torch.testing.assert_close(got[told], expected[told], rtol=1e-5, atol=1e-5)


def test_a_changed_target_token_changes_no_earlier_logit_and_all_later_ones():
    model = sharpened(small())
    source, target = pairs(1, 7, 9)
    before = model(source, target)
    for t in range(1, 9):
        changed = target.clone()
        changed[0, t] = 3 + (target[0, t] - 2) % 10
        difference = (model(source, changed) - before).abs().amax(dim=(0, 2))
        assert (difference[:t] < 1e-6).all() and (difference[t:] > 1e-4).all()


def test_every_logit_sees_every_source_token():
    model = sharpened(small())
    source, target = pairs(1, 7, 6)
    before = model(source, target)
    for s in range(7):
        changed = source.clone()
        changed[0, s] = 3 + (source[0, s] - 2) % 10
        assert ((model(changed, target) - before).abs().amax(dim=2) > 1e-4).all()


def test_padding_changes_no_logit():
    model = sharpened(small())
    source, target = pairs(1, 5, 4)
    before = model(source, target)
    longer = F.pad(source, (0, 4), value=PAD), F.pad(target, (0, 3), value=PAD)
    torch.testing.assert_close(model(longer[0], target), before, rtol=0, atol=1e-5)
    torch.testing.assert_close(model(*longer)[:, :4], before, rtol=0, atol=1e-5)
    torch.testing.assert_close(model.encode(longer[0])[:, :5], model.encode(source))


def test_another_pad_id_is_respected():
    model = sharpened(small(pad_id=12, begin_id=0))
    source = torch.tensor([[5, 6, 7]])
    padded, target = F.pad(source, (0, 2), value=12), torch.tensor([[0, 4]])
    torch.testing.assert_close(model(padded, target), model(source, target))
    zeros = F.pad(source, (0, 2), value=0)
    assert not torch.allclose(model(zeros, target), model(source, target), atol=1e-3)


def test_order_matters_in_source_and_target():
    model = sharpened(small())
    source, target = torch.tensor([[3, 4, 5]]), torch.tensor([[1, 6, 7, 8]])
    before = model(source, target)[:, -1]
    assert not torch.allclose(model(source.flip(1), target)[:, -1], before, atol=1e-3)
    assert not torch.allclose(model(source, target[:, [0, 2, 1, 3]])[:, -1], before, atol=1e-3)


@pytest.mark.parametrize("changes", [{"vocab_size": 65}, {"vocab_size": 500, "d_model": 64}])
def test_loss_at_the_start_is_near_ln_vocab_size(changes):
    model = small(**changes)
    V = model.config.vocab_size
    source, target = pairs(32, 8, 9, V)
    total, count = token_loss(model(source, target[:, :-1]), target[:, 1:])
    assert total.item() / count.item() == pytest.approx(math.log(V), abs=0.15)


def test_one_batch_can_be_learned_by_heart():
    model = small(d_model=32)
    source, target = pairs(4, 7, 6)

    def loss(model, source, target):
        wanted = target[:, 1:]
        return token_loss(model(source, target[:, :-1]), wanted.masked_fill(wanted == PAD, IGNORED))

    config = TrainingConfig(steps=150, lr=3e-3, seed=0, evaluate_every=10)
    history = fit(model, lambda _: (source, target), loss, config)
    assert history.train_loss[-1] < 0.05


def test_embeddings_are_shared_scaled_and_tied():
    model = small()
    assert model.lm_head.weight is model.embedding.weight
    ids = torch.tensor([[4, 7]])
    expected = 4 * model.embedding.weight[ids] + sinusoidal(2, 16)
    torch.testing.assert_close(model._embed(ids), expected)
    assert model.state_dict().keys() == dict(model.named_parameters(remove_duplicate=False)).keys()


def test_the_papers_base_model_has_44_million_parameters_beside_the_embeddings():
    with torch.device("meta"):
        block = {"n_heads": 8, "n_layers": 6, "d_ff": 2048}
        model = Seq2Seq(Seq2SeqConfig(37_000, 8, d_model=512, **block))
    C, F = 512, 2048
    attention, feed_forward, norm = 4 * C * C + 4 * C, 2 * C * F + F + C, 2 * C
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    n = sum(p.numel() for p in model.parameters())
    assert n == 37_000 * C + 6 * (encoder + decoder)
    assert round((n - 37_000 * C) / 1e6, 1) == 44.1 and round(n / 1e6) == 63


def test_dropout_falls_on_embeddings_too_and_is_off_in_evaluation():
    model, (source, target) = small(dropout=0.5), pairs()
    assert (model._embed(source) == 0).float().mean().item() == pytest.approx(0.5, abs=0.1)
    assert not torch.equal(model(source, target), model(source, target))
    model.eval()
    assert torch.equal(model(source, target), model(source, target))


def test_too_long_a_source_or_target_is_refused():
    model, long = small(), torch.full((1, 10), 3)
    message = "got 10 tokens, expected at most context_length=9"
    with pytest.raises(ValueError, match=message):
        model(long, long[:, :2])
    with pytest.raises(ValueError, match=message):
        model(long[:, :2], long)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"d_model": 30}, "d_model=30 is not divisible by n_heads=4"),
        ({"d_model": 15, "n_heads": 3}, "d_model=15, expected an even number"),
        ({"d_ff": 0}, "d_ff=0, expected at least 1"),
        ({"dropout": 1.0}, "dropout=1.0, expected 0 <= dropout < 1"),
        ({"end_id": 13}, "pad, begin and end are 0, 1 and 13, expected three ids below 13"),
    ],
)
def test_impossible_configurations_are_refused(changes, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Seq2SeqConfig(**SMALL | changes)
