"""A dozen models, part by part, by their configurations -> measurements/models_of_today.json.

Usage: python -m lab.models_of_today [--write]

Each model is built on PyTorch's meta device by the installed `transformers`, at its full size.
Where the release's default configuration is the published model, nothing is given here; elsewhere
the numbers below are those of the published configuration. In all cases a test holds the count of
weights against the published one. Weights *used* for a token are all but the table that is only
looked up, and but the experts that the token is not sent to. The cache is counted in numbers, layer
by layer: a test compares the same sums with the cache of small models of the same parts.
"""

import re
from collections import Counter
from typing import Any

from lab import census, runs
from lab.census import RULES, Built

Changes = dict[str, Any]
SMOLLM2: Changes = {"vocab_size": 49152, "hidden_size": 576, "intermediate_size": 1536}
SMOLLM2 |= {"num_hidden_layers": 30, "num_attention_heads": 9, "num_key_value_heads": 3}
SMOLLM2 |= {"rope_theta": 100_000.0, "tie_word_embeddings": True}
LLAMA3: Changes = {"vocab_size": 128_256, "intermediate_size": 14336, "num_key_value_heads": 8}
LLAMA3 |= {"rope_theta": 500_000.0}
YARN = {"rope_type": "yarn", "factor": 40.0, "original_max_position_embeddings": 4096}
V3 = {"rope_parameters": YARN | {"rope_theta": 10_000.0}}
GEMMA3: Changes = {"hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34}
GEMMA3 |= {"sliding_window": 1024, "vocab_size": 262_208}
QWEN3: Changes = {"intermediate_size": 12288, "num_hidden_layers": 36, "num_key_value_heads": 8}
QWEN3 |= {"rope_theta": 1_000_000.0}
KIMI_FULL = [4, 8, 12, 16, 20, 24, 27]  # counted from 1, as its configuration does
KIMI = {
    "full_attn_layers": KIMI_FULL,
    "kda_layers": [i for i in range(1, 28) if i not in KIMI_FULL],
}
# name -> folder, class, what differs from the release's default, year, weights as published (in
# thousand millions, all and used; None: not told)
MODELS: dict[str, tuple[str, str, dict[str, Any], int, float, float | None]] = {
    "GPT-2": ("gpt2", "GPT2LMHeadModel", {}, 2019, 0.124, None),
    "Mistral 7B": ("mistral", "MistralForCausalLM", {"rope_theta": 10_000.0}, 2023, 7.24, None),
    "Llama 3 8B": ("llama", "LlamaForCausalLM", LLAMA3, 2024, 8.03, None),
    "DeepSeek-V3": ("deepseek_v3", "DeepseekV3ForCausalLM", V3, 2024, 671, 37),
    "SmolLM2 135M": ("llama", "LlamaForCausalLM", SMOLLM2, 2025, 0.1345, None),
    "Gemma 3 4B": ("gemma3", "Gemma3ForCausalLM", GEMMA3, 2025, 3.88, None),
    "Qwen3 8B": ("qwen3", "Qwen3ForCausalLM", QWEN3, 2025, 8.2, None),
    "gpt-oss 120b": ("gpt_oss", "GptOssForCausalLM", {}, 2025, 116.8, 5.1),
    "Qwen3-Next 80B": ("qwen3_next", "Qwen3NextForCausalLM", {}, 2025, 80, 3),
    "Kimi Linear 48B": (
        "kimi_linear",
        "KimiLinearForCausalLM",
        {"linear_attn_config": KIMI},
        2025,
        48,
        3,
    ),
    "Olmo Hybrid 7B": ("olmo_hybrid", "OlmoHybridForCausalLM", {}, 2026, 7, None),
    "DeepSeek-V4 Flash": ("deepseek_v4", "DeepseekV4ForCausalLM", {}, 2026, 284, 13),
}
SETTINGS = {"models": {name: list(told) for name, told in MODELS.items()}}


def has(part: str, b: Built) -> bool:
    return RULES[part][1](b)


# --- the cache -----------------------------------------------------------------------------------


def cached(config: Any) -> list[dict[str, Any]]:
    """What a model keeps of its past, kind by kind of its layers.

    `each` is how many numbers a layer keeps for a token, of the last `limit` ones (None: of all),
    and `fixed` those that it keeps whatever the length.
    """
    c, n = config, config.num_hidden_layers
    usual = "sliding_attention" if getattr(c, "sliding_window", None) else "full_attention"
    kinds = Counter(getattr(c, "layer_types", None) or [usual] * n)
    return [{"kind": kind, "layers": m} | kept_by(c, kind) for kind, m in kinds.items()]


def kept_by(c: Any, kind: str) -> dict[str, Any]:
    """What one layer of this kind keeps."""
    heads = getattr(c, "num_key_value_heads", None) or c.num_attention_heads
    D = getattr(c, "head_dim", None) or c.hidden_size // c.num_attention_heads
    if kind == "linear_attention":
        return {"each": 0, "limit": None, "fixed": state_of(c)}
    if rate := getattr(c, "compress_rates", {}).get(kind):  # one entry for so many tokens
        window, overlap, wide = D * (c.sliding_window - 1), 0, D
        if (
            kind == "compressed_sparse_attention"
        ):  # with an index; an entry reads the one before, too
            wide = D + c.index_head_dim
            overlap = 2 * rate * wide
        return {"each": wide / rate, "limit": None, "fixed": window + overlap}
    if getattr(c, "kv_lora_rank", None):
        return {"each": c.kv_lora_rank + c.qk_rope_head_dim, "limit": None, "fixed": 0}
    limit = c.sliding_window - 1 if kind == "sliding_attention" else None
    return {"each": 2 * heads * D, "limit": limit, "fixed": 0}


def state_of(c: Any) -> int:
    """A layer of the delta rule: a table for each head, and the last tokens of its convolution."""
    if H := getattr(c, "linear_num_heads", None):  # Kimi's heads are all of one width
        return H * c.linear_head_dim * (c.linear_head_dim + 3 * c.linear_conv_kernel_dim)
    K, V = c.linear_num_key_heads * c.linear_key_head_dim, c.linear_value_head_dim
    V *= c.linear_num_value_heads
    return c.linear_key_head_dim * V + (2 * K + V) * c.linear_conv_kernel_dim


# --- the parts -----------------------------------------------------------------------------------


def parts_of(c: Any, b: Built, given: dict[str, Any]) -> dict[str, tuple[str, str | None]]:
    """Ten parts: what the model has, and the setting of the reader's Llama.

    "" where none is needed, None where it has none.
    """
    return {
        "norms": norms(b),
        "positions": positions(c, b, given),
        "heads": keys(c),
        "QK norm": qk_norm(b),
        "window": windows(c),
        "fixed memory": memory(b),
        "sink or gate": silence(b),
        "network": network(c, b),
        "biases": ("yes", None) if has("biases", b) else ("no", ""),
        "table": tied(c),
    }


def norms(b: Built) -> tuple[str, str | None]:
    kind = "RMSNorm" if has("RMSNorm", b) else "LayerNorm"
    layers = Counter(
        re.sub(r".*\.\d+\.", "", n) for n, _ in b.modules if re.search(r"\.\d+\.\w+$", n)
    )
    before = layers["input_layernorm"] + layers["ln_1"]
    after = layers["post_feedforward_layernorm"]
    n = b.config.get("num_hidden_layers") or b.config["n_layer"]
    if before + after == n and after:
        return f"{kind} before in {before} layers, after in {after}", None
    where = "before and after" if after else "before"
    return f"{kind} {where}", "" if (kind, where) == ("RMSNorm", "before") else None


def positions(c: Any, b: Built, given: dict[str, Any]) -> tuple[str, str | None]:
    if not has("rotation", b):
        table = any(n.endswith("wpe") for n, _ in b.modules)
        return (f"a table of {c.n_positions:,}" if table else "none in attention"), None
    rope = {k: v for k, v in c.rope_parameters.items() if v}
    sorts = [rope] if "rope_theta" in rope else list(rope.values())
    share = min(sort.get("partial_rotary_factor", 1) for sort in sorts)
    if has("compressed keys", b):
        share = c.qk_rope_head_dim / (c.qk_nope_head_dim + c.qk_rope_head_dim)
    text = "rotation" if share == 1 else f"rotation of 1/{1 / share:.0f} of a head"
    text += ", two bases" if len({sort["rope_theta"] for sort in sorts}) > 1 else ""
    text += ", stretched" if sorts[0]["rope_type"] == "yarn" else ""
    base = f"rope_base={given['rope_theta']:_.0f}" if "rope_theta" in given else "rope_base"
    return text, base if text == "rotation" else None


def keys(c: Any) -> tuple[str, str | None]:
    H = c.num_attention_heads
    if getattr(c, "kv_lora_rank", None):
        return f"{H}, keys and values from {c.kv_lora_rank} numbers", None
    K = getattr(c, "num_key_value_heads", None) or H
    D = getattr(c, "head_dim", None) or c.hidden_size // H
    if hasattr(c, "compress_rates"):
        return f"{H}, one key that is the value too, {D} wide, compressed along the text", None
    return f"{H}, {K} of keys, {D} wide", f"n_heads={H}, n_kv_heads={K}, head_dim={D}"


def qk_norm(b: Built) -> tuple[str, str | None]:
    return ("yes", "qk_norm=True") if has("QK norm", b) else ("no", "qk_norm=False")


def windows(c: Any) -> tuple[str, str | None]:
    kinds = Counter(layer["kind"] for layer in cached(c) for _ in range(layer["layers"]))
    size = getattr(c, "sliding_window", None)
    if hasattr(c, "compress_rates"):
        return f"{size}, beside the compressed past", None
    n = kinds["sliding_attention"]
    if not n:
        return "no", "window=None"
    if n == c.num_hidden_layers:
        return f"{size:,} in all layers", f"window={size}"
    return f"{size:,} in {n} of {c.num_hidden_layers} layers", None


def memory(b: Built) -> tuple[str, str | None]:
    n, attention = census.memory_layers(b), census.attention_layers(b)
    return (f"in {n} of {n + attention} layers", None) if n else ("no", "")


def silence(b: Built) -> tuple[str, str | None]:
    ways = [("sinks", "a sink a head"), ("output gate", "a gate on the output")]
    found = [text for part, text in ways if has(part, b)]
    return (", ".join(found), None) if found else ("no", "")


def network(c: Any, b: Built) -> tuple[str, str | None]:
    if has("experts", b):
        E, k, shared = experts_of(c)
        return f"{k} of {E} experts" + (f", {shared} for all" if shared else ""), None
    d_ff = getattr(c, "intermediate_size", None) or 4 * c.hidden_size
    activation = getattr(c, "hidden_act", None) or getattr(c, "hidden_activation", "") or "gelu"
    gated = b.names(r"\.gate_proj$")
    if gated and activation == "silu":
        return f"SwiGLU, {d_ff:,}", f"d_ff={d_ff}"
    return f"{'gated ' if gated else ''}GELU, {d_ff:,}", None


def experts_of(c: Any) -> tuple[int, int, int]:
    """Experts of a layer, those that a token uses, and those that all use."""
    names = "n_routed_experts num_experts num_local_experts"
    E = next(n for n in (getattr(c, name, None) for name in names.split()) if n)
    k = getattr(c, "num_experts_per_tok", None) or c.num_experts_per_token
    shared = getattr(c, "n_shared_experts", None) or getattr(c, "num_shared_experts", None)
    return E, k, shared or int(bool(getattr(c, "shared_expert_intermediate_size", 0)))


def tied(c: Any) -> tuple[str, str | None]:
    return (
        ("one for reading and writing", "tied=True")
        if c.tie_word_embeddings
        else ("two", "tied=False")
    )


def weights(model: Any, c: Any, b: Built) -> tuple[int, int]:
    """All weights, and those that are used for a token."""
    used = float(b.total)
    if not c.tie_word_embeddings:
        used -= model.get_input_embeddings().weight.numel()
    if has("experts", b):
        E, k, _ = experts_of(c)
        routed = sum(p.numel() for n, p in model.named_parameters() if ".experts." in n)
        used -= routed * (1 - k / E)
    return b.total, round(used)


def described(name: str) -> dict[str, Any]:
    """All that the page shows of a model."""
    folder, kind, changes, year, *_ = MODELS[name]
    model, built = census.build(folder, kind, changes)
    c = model.config
    total, used = weights(model, c, built)
    parts = {part: list(told) for part, told in parts_of(c, built, changes).items()}
    kinds = getattr(c, "layer_types", None) or [cached(c)[0]["kind"]] * c.num_hidden_layers
    found = {"year": year, "weights": total, "used": used, "parts": parts, "cache": cached(c)}
    return found | {"kinds": kinds, "width": c.hidden_size, "vocabulary": c.vocab_size}


def measure(_=None) -> dict[str, Any]:
    import transformers

    return {"release": transformers.__version__, "of": {name: described(name) for name in MODELS}}


main = runs.script(__doc__, "models_of_today", measure, SETTINGS, quick=False)

if __name__ == "__main__":
    main()
