"""Files of transformers, edited: ours give its logits, or say by name what they do not compute."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from scratchformer.models import GPT, Llama
from scratchformer.models.pretrained import INDEX

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


def edited(bases, folder, kind, changes, edit=None):
    """A copy of a base whose config has `changes`, and whose weights `edit` has changed."""
    shutil.copytree(bases / kind, folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8")) | changes
    config = {key: value for key, value in config.items() if value != GONE}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    if edit:
        weights = load_file(folder / "model.safetensors")
        edit(weights)
        save_file(weights, folder / "model.safetensors", {"format": "pt"})
    return folder


def old(**changes):
    """The keys of a rotation as files had them before transformers 5."""
    return {"rope_parameters": GONE, **changes}


def own_head(weights):
    table = weights.get(TABLE, weights.get("transformer.wte.weight"))
    weights[HEAD] = torch.randn(table.shape, generator=torch.Generator().manual_seed(2))


def equal_head(weights):
    weights[HEAD] = weights[TABLE].clone()


def no_head(weights):
    del weights[HEAD]


def half(weights):
    weights |= {name: tensor.half() for name, tensor in weights.items()}


def eight_bits(weights):
    weights[TABLE] = weights[TABLE].to(torch.float8_e4m3fn)


def not_numbers(weights):
    weights[TABLE][3, 3] = torch.nan


def old_buffers(weights):
    weights["model.layers.0.self_attn.rotary_emb.inv_freq"] = torch.ones(4)


def no_prefix(weights):
    for name in list(weights):
        weights[name.removeprefix("transformer.")] = weights.pop(name)


def twice(weights):
    weights["norm.weight"] = weights["model.norm.weight"] + 1


YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}
SLIDES, FULL = ["sliding_attention"] * 2, ["full_attention"] * 2
WINDOW = {"use_sliding_window": True, "sliding_window": 5}
SAME = [  # kind, changes of the config, and of the weights: our logits are those of transformers
    *((kind, {}) for kind in SIZES),
    *((kind, old()) for kind in ("llama", "mistral", "qwen3")),
    ("llama", old(rope_theta=500.0)),
    ("qwen3", old(rope_theta=500, rope_scaling=None)),
    ("llama", {"rope_theta": 500.0}),
    ("llama", {"rope_theta": 500.0, "rope_parameters": {"rope_type": "default"}}),
    ("mistral", {"rope_scaling": {"rope_type": "default", "rope_theta": 700.0}}),
    ("llama", {"rope_scaling": {"type": "default"}, "rope_theta": 500.0}),
    ("llama", {"rope_scaling": {"factor": 4.0}}),
    ("llama", {"hidden_act": "swish", "is_causal": True}),
    ("llama", {"hidden_act": GONE, "attention_bias": GONE, "mlp_bias": GONE, "head_dim": GONE}),
    ("llama", {"head_dim": None, "pretraining_tp": 2, "torch_dtype": "float16"}),
    ("llama", {"rms_norm_eps": 0.1, "max_position_embeddings": 32, "sliding_window": 4}),
    ("llama", {"tie_word_embeddings": GONE}),
    ("llama", {"tie_word_embeddings": True}, own_head),
    ("qwen3", {"tie_word_embeddings": True}, own_head),
    ("mistral", {"tie_word_embeddings": True}, equal_head),
    ("llama", {"tie_word_embeddings": True}, no_head),
    ("llama", {}, half),
    ("llama", {}, old_buffers),
    ("mistral", {"sliding_window": 5}),
    ("mistral", {"sliding_window": None}),
    ("mistral", {"sliding_window": GONE}),
    ("mistral", {"sliding_window": 5, "layer_types": SLIDES}),
    ("llama", {"layer_types": FULL}),
    ("qwen3", {"sliding_window": 5, "max_window_layers": 0, "layer_types": GONE}),
    ("qwen3", {**WINDOW, "max_window_layers": 0, "layer_types": GONE}),
    ("qwen3", {**WINDOW, "max_window_layers": 2, "layer_types": GONE}),
    ("qwen3", {**WINDOW, "max_window_layers": GONE, "layer_types": GONE}),
    ("qwen3", {**WINDOW, "layer_types": SLIDES}),
    ("qwen3", {**WINDOW, "layer_types": FULL}),
    ("gpt2", {"tie_word_embeddings": GONE, "layer_norm_epsilon": GONE, "n_inner": 128}),
    ("gpt2", {"reorder_and_upcast_attn": True, "attn_pdrop": 0.5, "num_hidden_layers": 2}),
    ("gpt2", {}, no_prefix),
]
REFUSED = [  # the same, and a word of what is said
    ("llama", {"rope_scaling": YARN}, "rope_type='yarn'"),
    ("qwen3", {"rope_scaling": YARN}, "rope_type='yarn'"),
    ("mistral", {"rope_scaling": YARN}, "rope_type='yarn'"),
    ("llama", old(rope_scaling={"type": "linear", "factor": 2.0}), "rope_type='linear'"),
    ("llama", {"rope_parameters": {"rope_type": "dynamic", "factor": 2.0}}, "'dynamic'"),
    ("qwen3", {"rope_parameters": {"full_attention": {"rope_theta": 1e4}}}, "full_attention"),
    ("llama", {"partial_rotary_factor": 0.5}, "partial_rotary_factor=0.5"),
    ("llama", {"rope_parameters": {"partial_rotary_factor": 0.5}}, "partial_rotary_factor=0.5"),
    ("llama", old(rope_theta=None), "holds no Llama"),
    ("llama", {"rms_norm_eps": "1e-6"}, "holds no Llama"),
    ("qwen3", {"attention_bias": True}, "attention_bias=True"),
    ("llama", {"mlp_bias": True}, "mlp_bias=True"),
    ("llama", {"hidden_act": "gelu"}, "hidden_act='gelu'"),
    ("llama", {"num_attention_heads": 4.0}, "4.0, expected a whole|holds no Llama"),
    ("llama", {"num_key_value_heads": GONE}, "is of another model"),
    ("mistral", {"num_key_value_heads": GONE}, "n_kv_heads=8"),
    ("qwen3", {"head_dim": GONE, "num_key_value_heads": 4}, "is of another model"),
    *((kind, {"is_causal": False}, "is_causal=False, expected True") for kind in SIZES),
    ("llama", {"quantization_config": {"bits": 4}}, "quantization_config"),
    ("llama", {"tie_word_embeddings": GONE}, "lm_head.weight is missing", no_head),
    ("llama", {}, r"embed_tokens.weight \(torch.float8_e4m3fn\) is not of finite", eight_bits),
    ("llama", {}, "embed_tokens.weight .* is not of finite floats", not_numbers),
    ("llama", {}, "norm.weight is there twice", twice),
    ("qwen3", {**WINDOW, "max_window_layers": 1, "layer_types": GONE}, "'some'"),
    ("qwen3", {**WINDOW, "layer_types": [*SLIDES[:1], *FULL[:1]]}, "'some'"),
    ("qwen3", {"layer_types": SLIDES}, "'some'"),
    ("mistral", {"sliding_window": 5, "layer_types": FULL}, "'some'"),
    ("llama", {"sliding_window": 5, "layer_types": SLIDES}, "'some'"),
    ("qwen3", {"layer_types": ["chunked_attention"] * 2}, "chunked_attention"),
    ("gpt2", {}, "lm_head.weight is not wte.weight", own_head),
    ("gpt2", {"tie_word_embeddings": GONE}, "lm_head.weight is not wte.weight", own_head),
    ("gpt2", {"num_attention_heads": 2}, "num_attention_heads=2 and n_head=4"),
    ("gpt2", {"n_head": GONE}, "holds no GPT: .*n_head"),
    ("gpt2", {"layer_norm_epsilon": 1e-6}, "layer_norm_epsilon=1e-06"),
    ("gpt2", {"activation_function": "relu"}, "activation_function='relu', expected 'gelu_new'"),
    ("gpt2", {"n_inner": 32}, "n_inner=32, expected 4 n_embd = 128"),
    ("gpt2", {"scale_attn_by_inverse_layer_idx": True}, "inverse_layer_idx=True, expected False"),
    ("gpt2", {"tie_word_embeddings": False}, "tie_word_embeddings=False, expected True"),
    ("gpt2", {"scale_attn_weights": False}, "scale_attn_weights=False"),
    ("gpt2", {"add_cross_attention": True}, "add_cross_attention=True"),
]


def read(folder, kind):
    return (GPT if kind == "gpt2" else Llama).from_pretrained(folder)


@torch.no_grad()
def test_an_edited_configuration_means_what_it_means_to_transformers(bases, tmp_path):
    from transformers import AutoModelForCausalLM

    for i, (kind, changes, *edit) in enumerate(SAME):
        folder = edited(bases, tmp_path / str(i), kind, changes, *edit)
        theirs = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        expected = theirs.eval()(IDS).logits
        gap = (read(folder, kind)(IDS) - expected).abs().max()
        assert gap < 1e-5 * expected.abs().max(), (kind, changes, edit)
    missing = edited(bases, tmp_path / "missing", "mistral", {"sliding_window": GONE})
    assert Llama.from_pretrained(missing).config.window == 4096


def test_what_our_class_does_not_compute_is_refused_by_name(bases, tmp_path):
    for i, (kind, changes, words, *edit) in enumerate(REFUSED):
        folder = edited(bases, tmp_path / str(i), kind, changes, *edit)
        with pytest.raises(ValueError, match=words):
            read(folder, kind)


def test_a_config_that_was_edited_counts_more_than_the_header_of_our_own_file(tmp_path, bases):
    Llama.from_pretrained(bases / "llama").save(tmp_path / "ours")
    folder = edited(tmp_path, tmp_path / "base", "ours", {"rope_theta": 500.0})
    assert Llama.from_pretrained(folder).config.rope_base == 500
    stretched = edited(tmp_path, tmp_path / "stretched", "ours", {"rope_scaling": YARN})
    with pytest.raises(ValueError, match="rope_type='yarn'"):
        Llama.from_pretrained(stretched)


def sharded(bases, folder):
    """The Llama in three files, as transformers shards it."""
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(bases / "llama", dtype=torch.float32)
    model.save_pretrained(folder, max_shard_size=20_000)
    return json.loads((folder / INDEX).read_text(encoding="utf-8"))["weight_map"]


def test_weights_in_several_files_are_read_and_odd_ones_refused_in_a_line(bases, tmp_path):
    where = sharded(bases, tmp_path)
    assert len({*where.values()}) > 2
    again = Llama.from_pretrained(tmp_path)
    assert torch.equal(again(IDS), Llama.from_pretrained(bases / "llama")(IDS))
    one, *_, other = sorted({*where.values()})
    name = next(n for n, file in where.items() if file == one)
    for content, words in (
        ({"weight_map": where | {name: other}}, f"{name} is"),
        ({"weight_map": where | {"model.extra": one}}, "model.extra is not in"),
        ({"weight_map": {n: f for n, f in where.items() if n != name}}, f"{name} is in"),
        ({"weight_map": where | {name: f"../{one}"}}, "expected a file beside it"),
        ({"weight_map": where | {name: 3}}, "is not a complete saved model"),
        ({"weight_map": list(where)}, "is no index of weights"),
        ({}, "is no index of weights"),
        ([], "is not a complete saved model"),
    ):
        (tmp_path / INDEX).write_text(json.dumps(content), encoding="utf-8")
        with pytest.raises(ValueError, match=words) as told:
            Llama.from_pretrained(tmp_path)
        assert "\n" not in str(told.value)
    (tmp_path / INDEX).write_text(json.dumps({"weight_map": where}), encoding="utf-8")
    (tmp_path / other).unlink()
    with pytest.raises(FileNotFoundError, match=other):
        Llama.from_pretrained(tmp_path)


def test_files_of_a_large_model_are_fetched_from_the_hub_as_its_index_names_them(
    bases, tmp_path, monkeypatch
):
    from huggingface_hub.errors import EntryNotFoundError

    where, asked = sharded(bases, tmp_path), []

    def answer(name, file):
        asked.append(file)
        if not (tmp_path / file).is_file():
            raise EntryNotFoundError(f"{name} has no {file}")
        return str(tmp_path / file)

    monkeypatch.delenv("SCRATCHFORMER_OFFLINE", raising=False)
    monkeypatch.setattr("huggingface_hub.hf_hub_download", answer)
    expected = Llama.from_pretrained(tmp_path)(IDS)
    assert torch.equal(Llama.from_pretrained("somebody/large")(IDS), expected)
    assert {*where.values()} < {*asked}

    def cached(name, file):
        return str(tmp_path / file) if (tmp_path / file).is_file() else None

    monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", cached)
    monkeypatch.setattr("huggingface_hub.hf_hub_download", lambda *a: pytest.fail("asked"))
    monkeypatch.setenv("SCRATCHFORMER_OFFLINE", "1")
    assert torch.equal(Llama.from_pretrained("somebody/large")(IDS), expected)
