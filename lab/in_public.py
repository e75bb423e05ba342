"""What `diagnose` says of the causal classes of transformers -> measurements/in_public.json.

Usage: python -m lab.in_public [--write] [--only KIND ...] [--strict]

Each class is built small, with random weights, and examined in a process of its own. Another
release is examined where `PYTHONPATH` names its folder, as `pip install --no-deps --target FOLDER
transformers==5.13.1` makes it; those that are stored already are kept. With --strict the exit
status is 1 if something is found that `lab.in_public_why` does not explain.
"""

import importlib
import json
import multiprocessing
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import torch

from lab import runs
from lab.in_public_why import explained

SECONDS, LARGEST = 30, 8_000_000  # of processor time for one class, and its weights
VOCABULARY, LENGTH = 67, 32
SETTINGS = {"seconds": SECONDS, "largest": LARGEST, "vocabulary": VOCABULARY, "length": LENGTH}

SMALL: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "unpadded_vocab_size": VOCABULARY,
    "pad_token_id": 0,
    "bos_token_id": 1,
}
SMALL |= {"eos_token_id": 2, "use_cache": True, "is_decoder": True, "rope_theta": 10_000.0}
SMALL |= dict.fromkeys(["max_position_embeddings", "n_positions", "n_ctx", "context_length"], 64)
WIDTHS = "hidden_size n_embd d_model embedding_size word_embed_proj_dim embed_dim dim emb_dim"
SMALL |= dict.fromkeys(WIDTHS.split(), 32)
LAYERS = "num_hidden_layers n_layer num_layers decoder_layers encoder_layers n_layers"
SMALL |= dict.fromkeys(LAYERS.split(), 2)
HEADS = "num_attention_heads n_head num_heads n_heads encoder_attention_heads"
SMALL |= dict.fromkeys([*HEADS.split(), "decoder_attention_heads"], 4)
SMALL |= {"num_key_value_heads": 2, "head_dim": 8, "rotary_dim": 8, "d_kv": 8, "v_head_dim": 8}
INNER = "intermediate_size ffn_dim decoder_ffn_dim encoder_ffn_dim d_ff n_inner"
SMALL |= dict.fromkeys(INNER.split(), 64)
EXPERTS = "num_experts num_local_experts n_routed_experts moe_num_experts"
SMALL |= dict.fromkeys(EXPERTS.split(), 4)
SMALL |= {"num_experts_per_tok": 2, "moe_intermediate_size": 32, "n_group": 1, "topk_group": 1}
SMALL |= {"kv_lora_rank": 16, "q_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8}
SMALL |= {"first_k_dense_replace": 1, "output_router_logits": False}
SMALL |= {"mamba_d_state": 8, "mamba_n_heads": 4, "mamba_d_head": 16, "state_size": 8}
SMALL |= {"mamba_num_heads": 4, "mamba_head_dim": 16, "ssm_state_size": 8, "linear_num_heads": 4}
SMALL |= {"linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_head_dim": 8}
SMALL |= {"linear_key_head_dim": 8, "linear_value_head_dim": 8}


# What some configurations ask for besides, or have under other names.
ROTATION = {"rope_type": "default", "rope_theta": 10_000.0}
OWN: dict[str, dict[str, Any]] = {
    "bamba": {"attn_layer_indices": [1]},
    "blt": {"encoder_hash_byte_group_vocab": 50},
    "cohere_compass_text": {"rope_parameters": {"full_attention": ROTATION}},
    "dbrx": {"attn_config": {"rope_theta": 10_000.0, "kv_n_heads": 2, "clip_qkv": 8.0}},
    "dots1": {"n_shared_experts": 1},
    "falcon_h1": {"mamba_d_ssm": 64},
    "gemma3n_text": {"intermediate_size": [64, 64], "activation_sparsity_pattern": [0.95, 0.0]}
    | {"vocab_size_per_layer_input": VOCABULARY, "hidden_size_per_layer_input": 8}
    | {"num_kv_shared_layers": 0, "laurel_rank": 8},
    "gemma4_text": {"vocab_size_per_layer_input": VOCABULARY, "hidden_size_per_layer_input": 8},
    "granitemoehybrid": {"layer_types": ["linear_attention", "full_attention"]},
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1},
    "llama4_text": {"num_hidden_layers": 2, "no_rope_layers": [1, 0], "moe_layers": [1]}
    | {"layer_types": ["chunked_attention", "full_attention"]},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"], "num_dense_layers": 1},
    "mamba2": {"num_heads": 8, "n_groups": 1},
    "dory": {"num_hidden_layers": 3, "n_input_layers": 1, "n_output_layers": 1}
    | {"layer_types": ["sliding_attention", "full_attention", "sliding_attention"]},
    "minicpm3": {"dim_model_base": 32},
    "musicgen_decoder": {"num_codebooks": 1},
    "nemotron_h": {"n_groups": 1},
    "musicgen_melody_decoder": {"num_codebooks": 1},
    "qwen4_exp_text": {"indexer_budget": 8, "indexer_compress_ratio": 4, "indexer_n_heads": 2}
    | {"indexer_kv_heads": 1, "indexer_head_dim": 8},
    "recurrent_gemma": {
        "num_hidden_layers": 3,
        "block_types": ["recurrent", "recurrent", "attention"],
    },
    "reformer": {"axial_pos_shape": [4, 16], "axial_pos_embds_dim": [16, 16]},
    "roc_bert": {"pronunciation_embed_dim": 8, "shape_embed_dim": 8},
    "xmod": {"default_language": "en_XX"},
    "xlstm": {"hidden_size": 128, "embedding_dim": 128, "num_heads": 2},
    "xlnet": {"max_position_embeddings": None},
    "zamba": {"num_hidden_layers": 4, "layers_block_type": ["mamba", "hybrid"] * 2},
    "zaya": {"num_experts_per_tok": 1},
}


def has(config: Any, name: str) -> bool:
    """Whether a configuration has this entry, and one for all layers."""
    try:
        return hasattr(config, name)
    except Exception:  # configurations of each layer raise errors of their own
        return False


def small_config(kind: type, **changes: Any) -> Any:
    """A configuration of few and narrow layers, of this class of configurations."""
    from transformers import PretrainedConfig

    usual = kind()
    given = {name: value for name, value in SMALL.items() if has(usual, name)}
    parts = {n: v for n, v in vars(usual).items() if isinstance(v, PretrainedConfig)}
    given |= {name: small_config(type(part)).to_dict() for name, part in parts.items()}
    many = next((name for name in LAYERS.split() if has(usual, name)), "")
    count = getattr(usual, many, 0)
    lists = {n: v for n, v in vars(usual).items() if isinstance(v, list) and len(v) == count > 2}
    kinds = {n: [v[i] for i in range(count) if v[i] not in v[:i]] for n, v in lists.items()}
    if kinds:  # one entry for each layer: a layer of each kind
        given[many] = max([2, *map(len, kinds.values())])
        given |= {n: (v + v[-1:] * count)[: given[many]] for n, v in kinds.items()}
    if has(usual, "kv_lora_rank"):  # latent keys are not shared
        given["num_key_value_heads"] = 4
    given |= changes | OWN.get(usual.model_type, {})
    given = {name: value for name, value in given.items() if value is not None}
    for _ in range(6):
        try:
            return kind(**given)
        except Exception as error:  # names an entry that cannot be set: without it
            named = [name for name in given if re.search(rf"[`'\"]{name}[`'\"]", str(error))]
            if not named:
                raise
            del given[named[0]]
    raise ValueError(f"no small configuration of {kind.__name__}")


# --- one class, in a process of its own ----------------------------------------------------------


def classes() -> dict[str, str]:
    """Kind -> class, of all causal ones in the release that is installed."""
    names = importlib.import_module("transformers.models.auto.modeling_auto")
    listed = names.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.items()
    return {kind: name if isinstance(name, str) else name[0] for kind, name in listed}


def built(kind: str, name: str) -> Any:
    """A small model of a class. Raises ValueError, or an error of its own, if there is none."""
    import transformers

    of_kind = getattr(transformers, name)
    config = small_config(of_kind.config_class or transformers.CONFIG_MAPPING[kind])
    with torch.device("meta"):
        size = sum(p.numel() for p in of_kind(config).parameters())
    if size > LARGEST:
        raise ValueError(f"{size:,} weights")
    torch.manual_seed(0)
    return of_kind(config).eval()


def examine(kind: str, name: str) -> list[dict[str, str]]:
    """What `diagnose` says of a class, a row a test, or why there is no small model of it."""
    from scratchformer.diagnosis import diagnose
    from scratchformer.diagnosis.transformers_calls import (
        cache_of_transformers,
        padding_of_transformers,
    )

    try:
        model = built(kind, name)
        cache, padding = cache_of_transformers(model), padding_of_transformers(model)
        report = diagnose(model, VOCABULARY, LENGTH, cache=cache, padding=padding)
    except Exception as error:
        return [not_built(f"{type(error).__name__}: {error}")]
    shown = [f for f in report.findings if f.verdict in ("failed", "noted")]
    return [{"test": f.test, "found": f.verdict, "measured": f.measured[:160]} for f in shown]


def not_built(why: str) -> dict[str, str]:
    """The row of a class that was not examined."""
    return {"test": "not built", "found": "not built", "measured": " ".join(why.split())[:160]}


def apart(kind: str, name: str, by: Callable | None = None) -> list[dict[str, str]]:
    """The rows of a class, found in a process of its own, which ends after SECONDS.

    They are found by `examine`, or `by` another function of the same arguments.
    """
    import resource  # which not every system has, and the build of the site can do without

    def work() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        yours.send((by or examine)(kind, name))

    fork = multiprocessing.get_context("fork")
    mine, yours = fork.Pipe(duplex=False)
    process = fork.Process(target=work)
    process.start()
    yours.close()
    try:
        result = mine.recv()
    except EOFError:  # it was ended, or crashed
        result = [not_built(f"no end in {SECONDS} s")]
    process.join()
    return [{"kind": kind, "class": name} | row for row in result]


def quiet_release() -> str:
    """Which transformers is installed, imported once for all forks, and without its warnings."""
    import transformers

    warnings.filterwarnings("ignore")
    _ = transformers.GenerationMixin, transformers.LlamaForCausalLM
    transformers.logging.set_verbosity(50)
    torch.set_num_threads(1)
    return transformers.__version__


def sweep(only: Iterable[str] = (), by: Callable | None = None) -> dict[str, Any]:
    """The kinds of which nothing is to be said, and the rows that `apart` gives of all others."""
    healthy, rows, start = [], [], time.perf_counter()
    for kind, name in classes().items():
        if only and kind not in only:
            continue
        result = apart(kind, name, by)
        print(kind, json.dumps(result)[:300], file=sys.stderr, flush=True)
        rows += result
        if not result:
            healthy.append(kind)
    seconds = round(time.perf_counter() - start)
    return {"seconds": seconds, "healthy": healthy, "rows": rows}


def main(arguments: list[str] | None = None) -> int:
    parser = runs.command_line(__doc__ or "", "in_public.json", quick=False)
    parser.add_argument("--only", nargs="*", default=[], metavar="KIND")
    parser.add_argument("--strict", action="store_true", help="1 for what is not explained")
    options = parser.parse_args(arguments)
    kept = runs.Kept("in_public", SETTINGS, options.write)
    kept.once("releases", quiet_release(), job=lambda: sweep(options.only))
    releases = dict(sorted(kept.part("releases").items(), key=lambda item: in_order(item[0])))
    lines = []
    for release, of_release in releases.items():
        of_release["rows"] = [explained(row) for row in of_release["rows"]]
        lines += [
            f"{release} {row['kind']}: {row['test']}: {row['measured']}"
            for row in of_release["rows"]
            if not row["why"]
        ]
    kept.result["releases"] = releases
    kept.keep()
    print("\n".join(lines) or "all is explained")
    return int(options.strict and bool(lines))


def in_order(release: str) -> list[int]:
    """A release as numbers, so that 5.13 comes after 5.9."""
    return [int(part) for part in re.findall(r"\d+", release)]


if __name__ == "__main__":
    sys.exit(main())
