"""Files of transformers, edited: ours give its logits, or say by name what they do not compute."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from scratchformer.models import GPT, Llama

SIZE = {"vocab_size": 29, "hidden_size": 32, "intermediate_size": 40, "num_hidden_layers": 2}
SIZE |= {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64}
SIZES = {"llama": SIZE, "mistral": SIZE, "qwen3": SIZE | {"head_dim": 8}}
SIZES["gpt2"] = {"vocab_size": 29, "n_positions": 64, "n_embd": 32, "n_head": 4, "n_layer": 2}
IDS = torch.randint(29, (2, 24), generator=torch.Generator().manual_seed(0))  # (B, T)
GONE = "gone"  # in place of a value: the key is taken out
HEAD, TABLE = "lm_head.weight", "model.embed_tokens.weight"


@pytest.fixture(scope="module")
def bases(tmp_path_factory):
    """A folder for each architecture, with large random weights, as transformers saves it."""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    root = tmp_path_factory.mktemp("foreign")
    for kind, sizes in SIZES.items():
        ids = {"bos_token_id": 0, "eos_token_id": 0, "initializer_range": 0.3}
        config = transformers.AutoConfig.for_model(kind, **sizes, **ids)
        torch.manual_seed(1)
        transformers.AutoModelForCausalLM.from_config(config).save_pretrained(root / kind)
    return root


EDITS = {  # what is changed in the weights; None: taken out
    "": lambda weights: {},
    "another head": lambda weights: {HEAD: torch.randn(29, 32)},
    "the table as head": lambda weights: {HEAD: weights[TABLE].clone()},
    "no head": lambda weights: {HEAD: None},
    "16 bits": lambda weights: {name: tensor.half() for name, tensor in weights.items()},
    "8 bits": lambda weights: {TABLE: weights[TABLE].to(torch.float8_e4m3fn)},
    "a norm twice": lambda weights: {"norm.weight": weights["model.norm.weight"] + 1},
    "old buffers": lambda weights: {"model.layers.0.rotary_emb.inv_freq": torch.ones(4)},
    "old masks": lambda weights: {"transformer.h.0.attn.bias": torch.ones(1, 1, 8, 8).tril()},
    "no prefix": lambda weights: {
        name: tensor
        for old in weights
        for name, tensor in ((old.removeprefix("transformer."), weights[old]), (old, None))
    },
}


def edited(base, folder, changes, edit=""):
    """A copy of a base whose config has `changes`, and whose weights are changed by an edit."""
    shutil.copytree(base, folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8")) | changes
    config = {key: value for key, value in config.items() if value != GONE}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    weights = load_file(folder / "model.safetensors")
    weights = {k: t for k, t in (weights | EDITS[edit](weights)).items() if t is not None}
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    return folder


def read(folder, kind):
    return (GPT if kind == "gpt2" else Llama).from_pretrained(folder)


OLD = {"rope_parameters": GONE}  # the rotation's keys are elsewhere in files before transformers 5
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}
FULL = ["full_attention"] * 2
SLIDING = {"sliding_window": 5, "layer_types": ["sliding_attention"] * 2}
WINDOW = {"use_sliding_window": True, "sliding_window": 5, "layer_types": GONE}
SAME = [  # kind, changes of the config, and of the weights: our logits are those of transformers
    ("llama", OLD | {"rope_theta": 500.0, "hidden_act": "swish", "rms_norm_eps": 0.1}, "16 bits"),
    ("llama", {"rope_theta": 500.0, "sliding_window": 4, "tie_word_embeddings": GONE}),
    ("llama", {"layer_types": FULL, "head_dim": None}, "old buffers"),
    ("llama", {"hidden_act": GONE, "attention_bias": GONE, "mlp_bias": GONE, "head_dim": GONE}),
    ("llama", {"rope_scaling": {"type": "default"}, "tie_word_embeddings": True}, "no head"),
    ("mistral", {"rope_scaling": {"rope_type": "default", "rope_theta": 700.0}} | SLIDING),
    ("mistral", {"sliding_window": None, "tie_word_embeddings": True}, "the table as head"),
    ("qwen3", {"sliding_window": 5, "tie_word_embeddings": True}, "another head"),
    ("qwen3", WINDOW | {"max_window_layers": 0}),
    ("qwen3", WINDOW | {"max_window_layers": GONE}),
    ("qwen3", WINDOW | SLIDING),
    ("gpt2", {"tie_word_embeddings": GONE, "layer_norm_epsilon": GONE, "n_inner": 128}),
    ("gpt2", {"reorder_and_upcast_attn": True, "num_hidden_layers": 2}, "old masks"),
    ("gpt2", {}, "no prefix"),
    (
        "gpt2",
        dict.fromkeys(("n_positions", "n_embd", "n_head", "n_layer"), GONE)
        | {"max_position_embeddings": 64, "hidden_size": 32}
        | {"num_attention_heads": 4, "num_hidden_layers": 2},
    ),
]
REFUSED = [  # the same, and a word of what is said
    ("llama", {"model_type": "gpt2"}, "model_type='gpt2', expected one of llama, qwen3, mistral"),
    ("llama", {"hidden_size": GONE}, "config.json has no hidden_size"),
    ("qwen3", {"rope_scaling": YARN}, "rope_type='yarn'"),
    ("llama", OLD | {"rope_scaling": {"type": "linear", "factor": 2.0}}, "rope_type='linear'"),
    ("qwen3", {"rope_parameters": {"full_attention": {"rope_theta": 1e4}}}, "full_attention"),
    ("llama", {"partial_rotary_factor": 0.5}, "partial_rotary_factor=0.5"),
    ("llama", {"rope_parameters": {"partial_rotary_factor": 0.5}}, "partial_rotary_factor=0.5"),
    ("qwen3", {"attention_bias": True}, "attention_bias=True"),
    ("llama", {"num_attention_heads": 4.0}, "4.0, expected a whole|holds no Llama"),
    ("mistral", {"num_key_value_heads": GONE}, "n_kv_heads=8"),
    ("qwen3", {"head_dim": GONE, "num_key_value_heads": 4}, "is of another model"),
    ("llama", {"is_causal": False}, "is_causal=False, expected True"),
    ("llama", {"quantization_config": {"bits": 4}}, "quantization_config"),
    ("llama", {"tie_word_embeddings": GONE}, "lm_head.weight is missing", "no head"),
    ("llama", {}, r"embed_tokens.weight \(torch.float8_e4m3fn\) is not of finite", "8 bits"),
    ("llama", {}, "norm.weight is there twice", "a norm twice"),
    ("qwen3", WINDOW | {"max_window_layers": 1}, "'some'"),
    ("qwen3", {"layer_types": SLIDING["layer_types"]}, "'some'"),
    ("mistral", {"sliding_window": 5, "layer_types": FULL}, "'some'"),
    ("qwen3", {"layer_types": ["chunked_attention"] * 2}, "chunked_attention"),
    ("gpt2", {}, "lm_head.weight is not wte.weight", "another head"),
    ("gpt2", {"num_attention_heads": 2}, "num_attention_heads=2 and n_head=4"),
    ("gpt2", {"n_head": GONE}, "holds no GPT: .*n_head"),
    ("gpt2", {"activation_function": "relu"}, "activation_function='relu', expected 'gelu_new'"),
    ("gpt2", {"n_inner": 32}, "n_inner=32, expected 4 n_embd = 128"),
]


@torch.no_grad()
def test_an_edited_configuration_means_what_it_means_to_transformers(bases, tmp_path):
    from transformers import AutoModelForCausalLM

    for i, (kind, changes, *edit) in enumerate(SAME):
        folder = edited(bases / kind, tmp_path / str(i), changes, *edit)
        theirs = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        expected = theirs.eval()(IDS).logits
        gap = (read(folder, kind)(IDS) - expected).abs().max()
        assert gap < 1e-5 * expected.abs().max(), (kind, changes, edit)
    missing = edited(bases / "mistral", tmp_path / "missing", {"sliding_window": GONE})
    assert Llama.from_pretrained(missing).config.window == 4096


def test_what_our_class_does_not_compute_is_refused_by_name(bases, tmp_path):
    for i, (kind, changes, words, *edit) in enumerate(REFUSED):
        folder = edited(bases / kind, tmp_path / str(i), changes, *edit)
        with pytest.raises(ValueError, match=words):
            read(folder, kind)


def test_a_config_that_was_edited_counts_more_than_the_header_of_our_own_file(tmp_path, bases):
    Llama.from_pretrained(bases / "llama").save(tmp_path / "ours")
    config = json.loads((tmp_path / "ours" / "config.json").read_text()) | {"rope_theta": 500.0}
    (tmp_path / "ours" / "config.json").write_text(json.dumps(config))
    assert Llama.from_pretrained(tmp_path / "ours").config.rope_base == 500
