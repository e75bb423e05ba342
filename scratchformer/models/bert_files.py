"""A BERT of Hugging Face's in our terms: names, and three matrices that become one."""

from typing import Any

import torch
from torch import Tensor

from scratchformer.models.pretrained import without_prefix

# What our BERT computes; a config that says otherwise is another model's.
BERT = {"model_type": "bert", "hidden_act": "gelu", "layer_norm_eps": 1e-12}
BERT |= {"position_embedding_type": "absolute", "is_decoder": False, "add_cross_attention": False}
SIZES = {"vocab_size": "vocab_size", "context_length": "max_position_embeddings"}
SIZES |= {"d_model": "hidden_size", "n_heads": "num_attention_heads"}
SIZES |= {"n_layers": "num_hidden_layers", "d_ff": "intermediate_size"}
SIZES |= {"n_segments": "type_vocab_size"}
# Hugging Face's parts of a name -> ours, in an order in which none spoils a later one
NAMES = {
    "embeddings.word_embeddings": "wte",
    "embeddings.position_embeddings": "wpe",
    "embeddings.token_type_embeddings": "wse",
    "embeddings.LayerNorm": "ln_e",
    "encoder.layer.": "h.",
    "attention.self.query": "attn.c_attn",
    "attention.output.dense": "attn.c_proj",
    "attention.output.LayerNorm": "ln_1",
    "intermediate.dense": "mlp.c_fc",
    "output.dense": "mlp.c_proj",
    "output.LayerNorm": "ln_2",
}
LEFT_OUT = ("pooler.", "embeddings.position_ids")  # nothing that `encode` needs


def bert_from_hugging_face(
    config: dict[str, Any], theirs: dict[str, Tensor]
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The config and weights of a `BertModel`, which has no head that fills gaps, in our terms.

    In our class that head is 0: `encode` is theirs, and all logits are equal. Raises ValueError
    for another architecture.
    """
    for key, value in BERT.items():
        if config.get(key, value) != value:
            raise ValueError(f"{key}={config[key]!r}, expected {value!r}: BERT's architecture")
    sizes = {ours: config[name] for ours, name in SIZES.items()}
    theirs, weights = without_prefix(theirs, "bert."), {}
    for name, tensor in theirs.items():
        if name.startswith(LEFT_OUT) or ".self.key." in name or ".self.value." in name:
            continue  # keys and values are joined to their query
        if ".self.query." in name:
            parts = [theirs[name.replace("query", part)] for part in ("query", "key", "value")]
            tensor = torch.cat(parts)
        for old, new in NAMES.items():
            name = name.replace(old, new)
        weights[name] = tensor
    C, V = sizes["d_model"], sizes["vocab_size"]
    for name in ("transform.0.bias", "transform.2.weight", "transform.2.bias"):
        weights[name] = torch.zeros(C)
    return sizes, weights | {
        "transform.0.weight": torch.zeros(C, C),
        "lm_head.bias": torch.zeros(V),
    }
