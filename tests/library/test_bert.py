"""BERT: equal to Hugging Face's with the same weights, padding and segments included."""

import pytest
import torch
from random_weights import randomised
from torch import nn

from scratchformer.attention import padding_mask
from scratchformer.models import BERT, BERTConfig

SIZE = {"vocab_size": 300, "context_length": 64, "d_model": 64, "n_heads": 4, "n_layers": 2}


HUGGING_FACE = {
    "h.": "bert.encoder.layer.",
    "wte": "bert.embeddings.word_embeddings",
    "wpe": "bert.embeddings.position_embeddings",
    "wse": "bert.embeddings.token_type_embeddings",
    "ln_e": "bert.embeddings.LayerNorm",
    "attn.c_attn": "attention.self.query",
    "attn.c_proj": "attention.output.dense",
    "ln_1": "attention.output.LayerNorm",
    "mlp.c_fc": "intermediate.dense",
    "mlp.c_proj": "output.dense",
    "ln_2": "output.LayerNorm",
    "transform.0": "cls.predictions.transform.dense",
    "transform.2": "cls.predictions.transform.LayerNorm",
    "lm_head": "cls.predictions.decoder",
}


def hugging_face_name(name):
    for ours, theirs in HUGGING_FACE.items():
        name = name.replace(ours, theirs, 1) if name.startswith((ours, "bert")) else name
    return name


def test_equals_hugging_face_bert_with_the_same_random_weights():
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    torch.manual_seed(1)
    ours = randomised(BERT(BERTConfig(**SIZE, d_ff=24)))
    sizes = {"vocab_size": 300, "max_position_embeddings": 64, "hidden_size": 64}
    sizes |= {"num_attention_heads": 4, "num_hidden_layers": 2, "intermediate_size": 24}
    theirs = transformers.BertForMaskedLM(transformers.BertConfig(**sizes)).eval()
    weights = {}
    for name, tensor in ours.state_dict().items():
        name = hugging_face_name(name)
        if "query" in name:  # theirs keeps the three projections apart
            for part, rows in zip(("query", "key", "value"), tensor.chunk(3), strict=True):
                weights[name.replace("query", part)] = rows
        else:
            weights[name] = tensor
    weights["cls.predictions.bias"] = weights["cls.predictions.decoder.bias"]
    theirs.load_state_dict(weights)
    norms = [m for model in (ours, theirs) for m in model.modules() if isinstance(m, nn.LayerNorm)]
    assert {m.eps for m in norms} == {1e-12}
    real = torch.arange(12) < torch.tensor([12, 9, 5, 1])[:, None]  # (B, T)
    ids = torch.randint(1, 300, (4, 12)).where(real, 0)
    segments = (torch.arange(12) >= 6).long().expand_as(ids)
    with torch.no_grad():
        expected = theirs(ids, attention_mask=real.long(), token_type_ids=segments).logits
        logits = ours(ids, segments, padding_mask(ids, 0))
    atol = 1e-5 * expected.abs().max().item()  # 1e-5 of what float32 can tell apart
    torch.testing.assert_close(logits[real], expected[real], rtol=0, atol=atol)
    assert ours(ids).equal(ours(ids, torch.zeros_like(ids)))  # segment 0 is the default
