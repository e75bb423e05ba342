"""Llama's config and weights in Hugging Face's terms, and back.

To Hugging Face a Llama whose queries and keys are normed is a Qwen3, and one with a window a
Mistral.
"""

from collections.abc import Iterable
from typing import Any

from torch import Tensor

from scratchformer.data.gguf import Packed
from scratchformer.models.pretrained import same, without_prefix

# Our names of the settings -> Hugging Face's
SETTINGS = {"vocab_size": "vocab_size", "context_length": "max_position_embeddings"}
SETTINGS |= {"d_model": "hidden_size", "n_heads": "num_attention_heads"}
SETTINGS |= {"n_layers": "num_hidden_layers", "norm_eps": "rms_norm_eps"}
CLASSES = {"llama": "LlamaForCausalLM", "qwen3": "Qwen3ForCausalLM"}
CLASSES |= {"mistral": "MistralForCausalLM"}
# What a key stands for in transformers where it is missing, if we do not ask for it
DEFAULTS: dict[str, dict] = {
    "llama": {},
    "qwen3": {
        "head_dim": 128,
        "num_key_value_heads": 32,
        "sliding_window": 4096,
        "max_window_layers": 28,
    },
    "mistral": {"num_key_value_heads": 8, "sliding_window": 4096},
}


def to_hugging_face(
    config: Any, parameters: Iterable[tuple[str, Tensor]]
) -> tuple[dict, dict[str, Tensor]]:
    """A LlamaConfig and named parameters as Hugging Face's config.json and weights have them."""
    kind = "qwen3" if config.qk_norm else "mistral" if config.window else "llama"
    theirs: dict[str, Any] = {"model_type": kind, "architectures": [CLASSES[kind]]}
    theirs |= {name: getattr(config, ours) for ours, name in SETTINGS.items()}
    theirs |= {"num_key_value_heads": config.kv_heads, "head_dim": config.D}
    theirs |= {"intermediate_size": config.hidden, "hidden_act": "silu"}
    theirs |= {"tie_word_embeddings": config.tied, "rope_theta": config.rope_base}
    theirs |= {"bos_token_id": None, "eos_token_id": None}  # for the tokenizer to say
    if kind == "mistral" or config.window:
        theirs["sliding_window"] = config.window
    if kind == "qwen3" and config.window:
        theirs |= {"use_sliding_window": True, "max_window_layers": 0}  # in all layers
    unprefixed = ("lm_head.weight",)
    return theirs, {n if n in unprefixed else f"model.{n}": p for n, p in parameters}


# Our names of a part's weights -> GGUF's
GGUF_NAMES = {"q_proj": "attn_q", "k_proj": "attn_k", "v_proj": "attn_v", "o_proj": "attn_output"}
GGUF_NAMES |= {"gate_proj": "ffn_gate", "up_proj": "ffn_up", "down_proj": "ffn_down"}
GGUF_NAMES |= {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"}
GGUF_NAMES |= {"embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output"}
# Our names of the settings -> GGUF's
GGUF_SETTINGS = {"context_length": "context_length", "d_model": "embedding_length"}
GGUF_SETTINGS |= {"n_heads": "attention.head_count", "n_layers": "block_count"}
GGUF_SETTINGS |= {"n_kv_heads": "attention.head_count_kv", "d_ff": "feed_forward_length"}
GGUF_SETTINGS |= {"rope_base": "rope.freq_base", "norm_eps": "attention.layer_norm_rms_epsilon"}
# Those that say how wide a head is: for us its keys, its values and what turns are alike
GGUF_WIDTHS = ("attention.key_length", "attention.value_length", "rope.dimension_count")


def gguf_sizes(settings: dict[str, Any], tensors: dict[str, Packed]) -> dict[str, Any]:
    """What a GGUF file says of its model, as a LlamaConfig's arguments.

    Raises ValueError for an architecture that `llama.py` does not compute, or tensors that it
    would not use.
    """
    if (kind := settings.get("general.architecture")) != "llama":
        raise ValueError(f"general.architecture={kind!r}, expected 'llama'")
    known = {"llama." + name for name in (*GGUF_SETTINGS.values(), *GGUF_WIDTHS, "vocab_size")}
    for key in settings:
        if key.startswith("llama.") and key not in known:  # it may change what is computed
            raise ValueError(f"{key}={settings[key]!r}, expected no such setting")
    sizes = {ours: settings["llama." + theirs] for ours, theirs in GGUF_SETTINGS.items()}
    blocks = len({name.split(".")[1] for name in tensors if name.startswith("blk.")})
    if blocks != sizes["n_layers"]:  # before a model of that size is built
        raise ValueError(f"{blocks} blocks are in it, expected {sizes['n_layers']}")
    table = tensors[GGUF_NAMES["embed_tokens"] + ".weight"]
    sizes |= {"vocab_size": table.shape[0], "tied": "output.weight" not in tensors}
    width = sizes["d_model"] // sizes["n_heads"]
    sizes["head_dim"] = settings.get("llama.attention.key_length", width)
    # What a file leaves out is to llama.cpp a share of the width, or all channels of a key
    for name, usual in zip(GGUF_WIDTHS[1:], (width, sizes["head_dim"]), strict=True):
        if (channels := settings.get("llama." + name, usual)) != sizes["head_dim"]:
            raise ValueError(f"{name}={channels}, expected a head's {sizes['head_dim']} channels")
    return sizes


def gguf_name(name: str) -> str:
    """GGUF's name of one of our parameters."""
    *block, part, kind = name.split(".")
    place = f"blk.{block[1]}." if block else ""
    return f"{place}{GGUF_NAMES[part]}.{kind}"


def halves_together(weight: Tensor, heads: int) -> Tensor:
    """The rows of queries or keys in our order: llama.cpp turns neighbours, we turn halves."""
    return weight.view(heads, -1, 2, weight.shape[1]).transpose(1, 2).reshape(weight.shape)


def from_hugging_face(config: dict, weights: dict[str, Tensor]) -> tuple[dict, dict[str, Tensor]]:
    """Hugging Face's config.json and weights as a LlamaConfig's arguments and our names.

    Which key counts, and what one that is missing means, is transformers 5's. Raises ValueError
    for an architecture that `llama.py` does not compute.
    """
    kind = config.get("model_type")
    if kind not in CLASSES:
        raise ValueError(f"model_type={kind!r}, expected one of {', '.join(CLASSES)}")
    if missing := [name for name in SETTINGS.values() if name not in config]:
        raise ValueError(f"config.json has no {missing[0]}, expected a {kind}'s settings")
    config = DEFAULTS[kind] | config
    # Who stretches a model adds rope_scaling to a file that may have rope_parameters already
    rope = config.get("rope_scaling") or config.get("rope_parameters") or {}
    if nested := [key for key, value in rope.items() if isinstance(value, dict)]:
        raise ValueError(f"the rotation has settings of its own for {nested[0]}: not handled")
    partial = rope.get("partial_rotary_factor", config.get("partial_rotary_factor"))
    window, windowed = _window(kind, config)
    for name, value, *expected in (
        ("rope_type", rope.get("rope_type", rope.get("type", "default")), "default"),
        ("partial_rotary_factor", partial, None, 1.0),
        ("hidden_act", config.get("hidden_act", "silu"), "swish", "silu"),
        ("attention_bias", config.get("attention_bias", False), False),
        ("mlp_bias", config.get("mlp_bias", False), False),
        ("tie_word_embeddings", config.get("tie_word_embeddings", False), False, True),
        ("layers with a window", windowed, "none or all"),
    ):
        if value not in expected:
            raise ValueError(f"{name}={value!r}, expected {expected[-1]!r}: others are not handled")
    ours = {name: config[theirs] for name, theirs in SETTINGS.items()}
    ours |= {"n_kv_heads": config.get("num_key_value_heads"), "head_dim": config.get("head_dim")}
    ours |= {"d_ff": config.get("intermediate_size"), "qk_norm": kind == "qwen3"}
    ours |= {"window": window, "tied": config.get("tie_word_embeddings", False)}
    ours["rope_base"] = 1.0 * rope.get("rope_theta", config.get("rope_theta", 10_000))
    weights = {k: t for k, t in weights.items() if not k.endswith("rotary_emb.inv_freq")}  # old
    renamed = without_prefix(weights, "model.")
    head, table = renamed.get("lm_head.weight"), renamed.get("embed_tokens.weight")
    if ours["tied"] and head is not None and table is not None:
        if same(head, table):
            del renamed["lm_head.weight"]  # the embedding, a second time
        else:  # a head of its own, whatever the config says: transformers keeps it
            ours["tied"] = False
    return ours, renamed


def _window(kind: str, config: dict) -> tuple[int | None, str]:
    """The window that the config asks for, and whether "none or all" layers have it, or "some"."""
    window = config.get("sliding_window") if kind != "llama" else None
    if kind != "qwen3":  # it is in all layers or in none, and layer_types may only agree
        all_layers = "full_attention" if window is None else "sliding_attention"
        layer_types = {*(config.get("layer_types") or [all_layers])}
        return window, "none or all" if layer_types == {all_layers} else "some"
    if not config.get("use_sliding_window", False):
        window = None
    n, first = config["num_hidden_layers"], config["max_window_layers"]
    kinds = config.get("layer_types") or [
        "sliding_attention" if window is not None and i >= first else "full_attention"
        for i in range(n)
    ]
    if len(kinds) != n or not {*kinds} <= {"sliding_attention", "full_attention"}:
        raise ValueError(f"layer_types={kinds}, expected {n} of full and sliding attention")
    if "sliding_attention" not in kinds:
        return None, "none or all"
    return window, "none or all" if window and "full_attention" not in kinds else "some"
