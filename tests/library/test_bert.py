"""BERT: sees both sides, ignores padding, equal to Hugging Face's with the same weights."""

import pytest
import torch
from torch import nn

from scratchformer.attention import padding_mask
from scratchformer.models import BERT, BERTConfig

SMALL = {"vocab_size": 11, "context_length": 8, "d_model": 16, "n_heads": 4, "n_layers": 2}
PAD = 0


def small_bert(seed=0, **changes):
    torch.manual_seed(seed)
    return BERT(BERTConfig(**SMALL | changes))


def padded_batch(lengths, T, V):
    """Ids without PAD in the first `length` places of each row, and segments that change midway."""
    torch.manual_seed(1)
    ids, places = torch.randint(1, V, (len(lengths), T)), torch.arange(T)
    real = places < torch.tensor(lengths)[:, None]  # (B, T)
    return ids.where(real, PAD), (places >= T // 2).long().expand_as(ids).where(real, 0), real


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


def test_equals_hugging_face_bert_with_the_same_random_weights():
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    B, T, C, H, L = 5, 12, 16, 4, 2
    sizes = {"vocab_size": 50, "context_length": T, "d_model": C, "n_heads": H, "n_layers": L}
    ours = small_bert(**sizes, d_ff=24).eval()
    with torch.no_grad():
        for name, p in ours.named_parameters():  # norms near 1, as in any model that was trained
            near_one = "ln_" in name or name.startswith("transform.2")
            p.normal_(mean=float(near_one and name.endswith("weight")), std=0.3)
    config = transformers.BertConfig(
        vocab_size=50,
        max_position_embeddings=T,
        hidden_size=C,
        num_attention_heads=H,
        num_hidden_layers=L,
        intermediate_size=24,
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
    assert ours(ids).equal(ours(ids, torch.zeros_like(ids)))  # segment 0 is the default
