"""How many of today's models have which part -> measurements/census.json.

Usage: python -m lab.census [--write]

A model here is a folder of the installed `transformers` that has a causal language model, and whose
copyright line names a year from 2024 to 2026: that in which somebody began to write the file. It is
built with its default configuration on PyTorch's meta device, which keeps shapes and no numbers.
Each rule below looks at what was built: at the configuration, at the names and classes of the
modules, at the names of the parameters, and, where these cannot say, at the source. A rule sees
what a folder does by default; a checkpoint may differ.
"""

import importlib
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from lab import runs

YEARS = (2024, 2025, 2026)
# Folders that are no text decoder of their own, and why
LEFT_OUT = {
    "got_ocr2": "reads images, with Qwen2",
    "moss_transcribe_diarize": "hears, with Qwen3",
    "musicgen_melody": "writes music",
    "moshi": "speaks",
    "mllama": "Llama, with eyes",
    "emu3": "draws",
    "aria": "the text half of a model that sees",
    "phi4_multimodal": "Phi, with eyes and ears",
    "gemma4_assistant": "a draft for Gemma 4",
    "gemma4_unified": "Gemma 4, once more",
    "gemma4_unified_assistant": "a draft for it",
    "cohere_compass": "an encoder of texts, in effect",
}
YEAR = {"olmoe": 2024}  # its files have no copyright line
# What a default leaves open, or leaves out of a hybrid: as in a published checkpoint, or any number
CHANGES: dict[str, dict[str, Any]] = {
    "bamba": {"attn_layer_indices": [9, 18, 27]},
    "dbrx": {"attn_config": {"kv_n_heads": 8, "rope_theta": 500_000.0}, "num_key_value_heads": 8},
    "dots1": {"n_routed_experts": 128, "n_shared_experts": 2, "num_experts_per_tok": 6},
    "granitemoehybrid": {"layer_types": (["mamba"] * 9 + ["attention"]) * 3 + ["mamba"] * 2},
    "hunyuan_v1_dense": {"head_dim": 128},
    "hunyuan_v1_moe": {"head_dim": 128, "num_experts": 64, "moe_topk": 8},
    "lfm2": {"layer_types": (["conv", "conv", "full_attention"] * 11)[:32]},
    "lfm2_moe": {"layer_types": (["conv", "conv", "full_attention"] * 11)[:32]},
    "ministral": {"head_dim": 128},
    "nemotron": {"num_key_value_heads": 8},
    "qwen4_exp": {
        "indexer_n_heads": 4,
        "indexer_kv_heads": 1,
        "indexer_head_dim": 256,
        "indexer_budget": 2048,
        "indexer_compress_ratio": 4,
    },
}


@dataclass
class Built:
    """A model on the meta device, as the rules see it."""

    folder: str
    config: dict[str, Any]
    source: str  # of its modelling file
    modules: list[tuple[str, str]] = field(default_factory=list)  # name, class
    biased: list[str] = field(default_factory=list)  # names of linear layers with a bias
    parameters: set[str] = field(default_factory=set)  # their names
    total: int = 0

    @property
    def kinds(self) -> Counter:
        """How many layers there are of each kind, by the configuration."""
        return Counter(self.config.get("layer_types") or self.config.get("layers_block_type") or ())

    def classes(self, pattern: str) -> int:
        """How many modules are of a class whose name has the pattern."""
        return sum(bool(re.search(pattern, kind)) for _, kind in self.modules)

    def names(self, pattern: str) -> bool:
        """Whether the pattern is in a module's name; an indexer's does not count."""
        others = r"indexer|cross_attn"
        return any(re.search(pattern, n) for n, _ in self.modules if not re.search(others, n))

    def attention_says(self, pattern: str) -> bool:
        """Whether the pattern is in the source of a class of softmax attention."""
        classes = re.split(r"^class ", self.source, flags=re.MULTILINE)[1:]
        return any(
            re.search(pattern, text)
            for text in classes
            if re.match(r"\w*Attention\b", text) and not re.match(r"\w*(Lightning|Linear)", text)
        )


# Classes that mix the tokens: with a memory of fixed size (Mamba, the delta rule, linear attention,
# recurrent networks), and with softmax
MEMORY = (
    r"Mamba2?Mixer$|MambaLayer$|BambaMixer$|FalconH1Mixer$|GatedDeltaNet$|DeltaAttention$"
    r"|LightningAttention$|RecurrentBlock$|xLSTMLayer$"
)
SOFTMAX = r"(?<!Lightning)(?<!Delta)(Attention|MoMoA|MoA)$"


def memory_layers(b: Built) -> int:
    """Layers whose past is a table of fixed size."""
    return b.classes(MEMORY)


def attention_layers(b: Built) -> int:
    """Layers with softmax attention."""
    return b.classes(SOFTMAX)


def window(b: Built) -> bool:
    size = b.config.get("sliding_window") or b.config.get("attention_window_size")
    by_layer = any(re.search("sliding|chunked", kind) for kind in b.kinds)
    everywhere = not b.config.get("layer_types") and b.config.get("use_sliding_window") is not False
    return by_layer or bool(size and everywhere)


def shared_keys(b: Built) -> bool:
    keys = b.config.get("num_key_value_heads")
    heads = b.config.get("num_attention_heads") or b.config.get("n_heads")
    return bool(attention_layers(b) and keys and heads and keys < heads) and not compressed(b)


def compressed(b: Built) -> bool:
    return bool(b.config.get("kv_lora_rank"))


def output_gate(b: Built) -> bool:
    module = r"(self_attn|attention|attn)\.(gate_proj|g_proj|output_gate|gate)$"
    product = r"attn_output \* (torch\.sigmoid\(gate|gate)|torch\.sigmoid\(gate\)"
    by_name = b.names(module) and b.attention_says("gate")
    return by_name or b.attention_says(product)


def ahead(b: Built) -> bool:
    of_config = (b.config[k] for k in b.config if re.search(r"nextn|num_mtp|mtp_num", k))
    if b.folder == "olmo_hybrid":  # it is Qwen3-Next's list of weights to skip that it has
        return False
    ignored = r"_keys_to_ignore_on_load_unexpected = \[[^\]]*(mtp|nextn|layers\\?\.\d)"
    return any(type(n) is int and n > 0 for n in of_config) or bool(re.search(ignored, b.source))


QK_NORM = r"(attn|attention|temporal_block|mixer|qkv_proj)\S*\.(q|k|qk|query|key)_(layer)?norm$"
BIASED = r"\b(self_attn|attn|attention|temporal_block|mlp|mlp_block|feed_forward)\.\w+$"

# A part -> what it is, and the rule by which it is counted
RULES: dict[str, tuple[str, Callable[[Built], bool]]] = {
    "RMSNorm": (
        "more modules of a class *RMSNorm than of one *LayerNorm",
        lambda b: b.classes("RMSNorm") > b.classes("LayerNorm"),
    ),
    "rotation": (
        "a module of a class *RotaryEmbedding",
        lambda b: b.classes("RotaryEmbedding") > 0,
    ),
    "shared keys": ("fewer heads of keys than of queries, and none compressed", shared_keys),
    "compressed keys": ("the configuration has a kv_lora_rank", compressed),
    "QK norm": (
        "a norm of queries or keys in an attention, by its name",
        lambda b: b.names(QK_NORM),
    ),
    "output gate": (
        "a module for it in a softmax attention, or its product with a sigmoid in the source",
        output_gate,
    ),
    "window": ("layers of a kind sliding or chunked, or one window for all", window),
    "experts": ("a module of a class *Experts or *MoE", lambda b: b.classes(r"Experts|MoE$") > 0),
    "memory beside attention": (
        "both layers of fixed memory, by their class, and layers of softmax attention",
        lambda b: bool(memory_layers(b) and attention_layers(b)),
    ),
    "sinks": (
        "a parameter with sink in its name",
        lambda b: any("sink" in n for n in b.parameters),
    ),
    "several tokens ahead": ("the configuration counts such layers, or loading skips them", ahead),
    "biases": (
        "a linear layer of attention or network with a bias",
        lambda b: any(re.search(BIASED, n) for n in b.biased),
    ),
    "tied table": (
        "tie_word_embeddings in the configuration",
        lambda b: bool(b.config.get("tie_word_embeddings")),
    ),
}
SETTINGS = {"years": list(YEARS), "rules": {name: told for name, (told, _) in RULES.items()}}
SETTINGS |= {"left_out": LEFT_OUT, "changes": CHANGES}


def folders() -> dict[str, tuple[str, int]]:
    """Each folder that is counted: a class of it, and its year."""
    import transformers
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as NAMES

    root, wanted, found = Path(transformers.__file__).parent / "models", {*NAMES.values()}, {}
    for path in sorted(root.glob("*/modeling_*.py")):
        folder, source = path.parent.name, path.read_text(encoding="utf-8")
        if path.stem != f"modeling_{folder}" or folder in LEFT_OUT:
            continue
        classes = [c for c in re.findall(r"^class (\w+)\(", source, re.MULTILINE) if c in wanted]
        year = year_of(path)
        if classes and year in YEARS:
            causal = [c for c in classes if c.endswith("ForCausalLM")]
            found[folder] = ((causal or classes)[0], year)
    return found


def year_of(path: Path) -> int:
    """The first year in a copyright line of the modelling file, or of those beside it."""
    for kind in ("modeling", "modular", "configuration"):
        other = path.with_name(path.name.replace("modeling", kind))
        if other.exists():
            text = other.read_text(encoding="utf-8")
            if year := re.search(r"Copyright.*?(20\d\d)", text):
                return int(year[1])
    return YEAR.get(path.parent.name, 0)


def module(folder: str, kind: str = "modeling") -> Any:
    return importlib.import_module(f"transformers.models.{folder}.{kind}_{folder}")


def build(folder: str, name: str, changes: dict[str, Any] | None = None) -> tuple[Any, Built]:
    """The model of a class on the meta device, from its default configuration, and its parts."""
    model_class = getattr(module(folder), name)
    changes = CHANGES.get(folder, {}) if changes is None else changes
    config = model_class.config_class(**changes)
    with torch.device("meta"):
        model = model_class(config)
    source = Path(module(folder).__file__).read_text(encoding="utf-8")
    built = Built(folder, config.to_dict(), source)
    for path, part in model.named_modules():
        built.modules.append((path, type(part).__name__))
        if type(part).__name__ in ("Linear", "Conv1D") and part.bias is not None:
            built.biased.append(path)
    for path, p in model.named_parameters():
        built.parameters.add(path)
        built.total += p.numel()
    return model, built


def row(folder: str, name: str, year: int) -> dict[str, Any]:
    """What the rules say of a class of a folder."""
    _, built = build(folder, name)
    parts = [part for part, (_, rule) in RULES.items() if rule(built)]
    found: dict[str, Any] = {"year": year, "class": name, "parts": parts}
    if "memory beside attention" in parts:
        found["layers"] = [memory_layers(built), attention_layers(built)]
    return found


def count(rows: dict[str, dict]) -> dict[str, list[int]]:
    """How many models of each year have each part."""
    years = {part: [0] * len(YEARS) for part in ("models", *RULES)}
    for found in rows.values():
        for part in ("models", *found["parts"]):
            years[part][YEARS.index(found["year"])] += 1
    return years


def measure(_=None) -> dict[str, Any]:
    import transformers

    rows = {folder: row(folder, *found) for folder, found in folders().items()}
    return {"release": transformers.__version__, "count": count(rows), "models": rows}


main = runs.script(__doc__, "census", measure, SETTINGS, quick=False)

if __name__ == "__main__":
    main()
