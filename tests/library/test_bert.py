"""BERT: sees both sides, ignores padding, equal to Hugging Face's with the same weights."""

import math

import pytest
import torch
from torch import nn

from scratchformer.attention import padding_mask
from scratchformer.data.masking import mask_tokens
from scratchformer.models import BERT, BERTConfig
from scratchformer.training import TrainingConfig, fit, token_loss

SMALL = {"vocab_size": 11, "context_length": 8, "d_model": 16, "n_heads": 4, "n_layers": 2}
PAD = 0


def small_bert(seed=0, **changes):
    torch.manual_seed(seed)
    return BERT(BERTConfig(**SMALL | changes))


def sharpened(model):
    """Large random weights: at initialisation a model is too flat for a difference to show."""
    with torch.no_grad():
        for p in model.parameters():
            p.normal_(std=0.3)
    return model


def padded_batch(lengths, T, V):
    """Ids without PAD in the first `length` places of each row, and segments that change midway."""
    torch.manual_seed(1)
    ids, places = torch.randint(1, V, (len(lengths), T)), torch.arange(T)
    real = places < torch.tensor(lengths)[:, None]  # (B, T)
    return ids.where(real, PAD), (places >= T // 2).long().expand_as(ids).where(real, 0), real


def test_a_changed_token_changes_the_logits_on_both_sides():
    model, ids = sharpened(small_bert()).double().eval(), torch.randint(11, (1, 8))
    for t in range(8):
        changed = ids.clone()
        changed[0, t] = (ids[0, t] + 1) % 11
        assert ((model(ids) - model(changed)).abs().amax(dim=-1) > 1e-4).all()


def test_padding_changes_nothing_at_any_real_place():
    model = sharpened(small_bert()).eval()
    lengths = (8, 3, 5, 1)
    ids, segments, _ = padded_batch(lengths, 8, 11)
    together = model(ids, segments, padding_mask(ids, PAD))
    for i, n in enumerate(lengths):
        alone = model(ids[i : i + 1, :n], segments[i : i + 1, :n])
        torch.testing.assert_close(together[i, :n], alone[0], rtol=1e-4, atol=1e-5)
    assert together.isfinite().all()
    assert not together[1, :3].allclose(model(ids, segments)[1, :3], atol=1e-3)  # mask needed


def test_segments_and_positions_matter_and_segment_0_is_the_default():
    model, ids = sharpened(small_bert()).eval(), torch.full((1, 8), 3)
    logits = model(ids)
    assert not logits[0, 0].allclose(logits[0, 7], atol=1e-3)
    assert not logits.allclose(model(ids, torch.ones_like(ids)), atol=1e-3)
    assert logits.equal(model(ids, torch.zeros_like(ids)))


def test_the_feed_forward_networks_width_can_be_chosen():
    assert [small_bert(d_ff=d).h[1].mlp.c_fc.out_features for d in (None, 24)] == [64, 24]
    with pytest.raises(ValueError, match="d_ff=0, expected at least 1"):
        BERTConfig(**SMALL, d_ff=0)


def test_logits_are_the_head_on_what_encode_returns():
    model, ids = small_bert().eval(), torch.randint(11, (2, 5))
    vectors = model.encode(ids)
    assert vectors.shape == (2, 5, 16)
    torch.testing.assert_close(model.lm_head(model.transform(vectors)), model(ids))


@pytest.mark.parametrize("V", [65, 2000])
def test_loss_at_the_start_is_near_ln_vocab_size(V):
    model = small_bert(vocab_size=V, d_model=64)
    inputs, targets = mask_tokens(torch.randint(1, V, (64, 8)), 0, V)
    total, n = token_loss(model(inputs), targets)
    assert (total / n).item() == pytest.approx(math.log(V), abs=0.15)


def test_one_batch_can_be_learned_by_heart():
    model = small_bert()
    torch.manual_seed(1)
    ids = torch.randint(1, 11, (4, 8))
    inputs, targets = mask_tokens(ids, 0, 11, rate=0.4)
    inputs[:, 0], targets[:, 0] = torch.arange(1, 5), -100  # rows differ in more than the blanks
    loss = lambda model, x, y: token_loss(model(x), y)  # noqa: E731
    config = TrainingConfig(steps=200, lr=1e-2, seed=0, warmup=20)
    history = fit(model, lambda _: (inputs, targets), loss, config)
    total, n = loss(model, inputs, targets)
    assert total / n < 0.05 < history.train_loss[0]


def test_dropout_falls_on_the_normalised_embeddings_and_is_off_in_evaluation():
    model, seen = small_bert(dropout=0.25, d_model=64), []
    model.h[0].register_forward_pre_hook(lambda block, inputs: seen.append(inputs[0]))
    ids = torch.randint(11, (16, 8))
    model(ids)
    assert (seen[0] == 0).float().mean().item() == pytest.approx(0.25, abs=0.03)
    model.eval()
    assert torch.equal(model(ids), model(ids))


def test_initialisation_is_berts():
    model = small_bert(vocab_size=300, context_length=64, d_model=64, n_segments=40)
    for name, p in model.named_parameters():
        if p.dim() >= 2:
            assert p.std().item() == pytest.approx(0.02, rel=0.1), name
        else:
            assert (p == (0.0 if name.endswith("bias") else 1.0)).all(), name
    assert model.lm_head.weight is model.wte.weight
    norms = [m for m in model.modules() if isinstance(m, nn.LayerNorm)]
    assert len(norms) == 2 * 2 + 2 and all(m.eps == 1e-12 for m in norms)


def test_too_long_an_input_is_refused():
    with pytest.raises(ValueError, match="got 9 tokens, expected at most context_length=8"):
        small_bert()(torch.zeros(1, 9, dtype=torch.long))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"d_model": 30}, "d_model=30 is not divisible by n_heads=4"),
        ({"n_layers": 0}, "n_layers=0, expected at least 1"),
        ({"dropout": 1.0}, "dropout=1.0, expected 0 <= dropout < 1"),
    ],
)
def test_impossible_configurations_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        BERTConfig(**SMALL | changes)


HUGGING_FACE = {
    "wte": "bert.embeddings.word_embeddings",
    "wpe": "bert.embeddings.position_embeddings",
    "wse": "bert.embeddings.token_type_embeddings",
    "ln_e": "bert.embeddings.LayerNorm",
    "attn.c_proj": "attention.output.dense",
    "ln_1": "attention.output.LayerNorm",
    "mlp.c_fc": "intermediate.dense",
    "mlp.c_proj": "output.dense",
    "ln_2": "output.LayerNorm",
    "transform.0": "cls.predictions.transform.dense",
    "transform.2": "cls.predictions.transform.LayerNorm",
    "lm_head": "cls.predictions.decoder",
}


@pytest.mark.parametrize("sizes", [(1, 1, 4, 1, 1), (5, 33, 64, 4, 4)])
@pytest.mark.parametrize("std", [0.02, 0.3])
def test_equals_hugging_face_bert_with_the_same_random_weights(sizes, std):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    B, T, C, H, L = sizes
    sizes = {"vocab_size": 50, "context_length": T, "d_model": C, "n_heads": H, "n_layers": L}
    ours = small_bert(**sizes).eval()
    with torch.no_grad():
        for name, p in ours.named_parameters():  # norms near 1, as in any model that was trained
            near_one = "ln_" in name or name.startswith("transform.2")
            p.normal_(mean=float(near_one and name.endswith("weight")), std=std)
    config = transformers.BertConfig(
        vocab_size=50,
        max_position_embeddings=T,
        hidden_size=C,
        num_attention_heads=H,
        num_hidden_layers=L,
        intermediate_size=4 * C,
    )
    theirs = transformers.BertForMaskedLM(config).eval()
    weights = {}
    for name, w in ours.state_dict().items():
        name = name.replace("h.", "bert.encoder.layer.", 1) if name.startswith("h.") else name
        if "c_attn" in name:  # theirs keeps the three projections apart
            for part, rows in zip(("query", "key", "value"), w.chunk(3), strict=True):
                weights[name.replace("attn.c_attn", f"attention.self.{part}")] = rows
        else:
            weights[name] = w
    for our_name, their_name in HUGGING_FACE.items():
        weights = {name.replace(our_name, their_name): w for name, w in weights.items()}
    weights["cls.predictions.bias"] = weights["cls.predictions.decoder.bias"]
    theirs.load_state_dict(weights)
    ids, segments, real = padded_batch([max(1, T - 3 * i) for i in range(B)], T, 50)
    with torch.no_grad():
        expected = theirs(ids, attention_mask=real.long(), token_type_ids=segments).logits
        logits = ours(ids, segments, padding_mask(ids, PAD))
    atol = 1e-5 * max(1.0, expected.abs().max().item())  # 1e-5 of what float32 can tell apart
    torch.testing.assert_close(logits[real], expected[real], rtol=0, atol=atol)
