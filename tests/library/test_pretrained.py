"""Models on disk: ours come back as they were, GPT-2 as Hugging Face computes it, others never."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest
import safetensors.torch
import torch

from scratchformer.models import GPT, GPTConfig, pretrained
from scratchformer.models.pretrained import (
    find_gpt2,
    read_tensors,
    save_as_gpt2,
    write_tensors,
)
from scratchformer_course.page_model.speedrun import SpeedrunConfig, SpeedrunGPT

SIZE = {"vocab_size": 13, "context_length": 8, "d_model": 16, "n_heads": 4, "n_layers": 2}
IDS = torch.randint(11, (2, 8), generator=torch.Generator().manual_seed(0))


def small_gpt(**changes):
    torch.manual_seed(0)
    return GPT(GPTConfig(**SIZE | changes))


@pytest.fixture
def saved(tmp_path):
    small_gpt().save(tmp_path)
    return tmp_path


@pytest.mark.parametrize("changes", [{}, {"bias": False, "n_layers": 1, "dropout": 0.3}])
def test_a_saved_model_comes_back_the_same(tmp_path, changes):
    model, folder = small_gpt(**changes), tmp_path / "new" / "folder"
    model.save(folder)
    again = GPT.from_pretrained(folder)
    assert again.config == model.config
    assert all(map(torch.equal, model.parameters(), again.parameters()))
    assert again.lm_head.weight is again.wte.weight  # still tied
    assert not again.training and torch.equal(again(IDS), model.eval()(IDS))
    assert sorted(p.name for p in folder.iterdir()) == ["config.json", "model.safetensors"]


@pytest.mark.parametrize(
    ("owner", "name", "nth"),
    [
        (safetensors.torch, "save_file", 1),  # the weights
        (Path, "replace", 1),
        (Path, "write_text", 1),  # the config
        (Path, "replace", 2),
    ],
)
def test_a_save_that_fails_leaves_the_old_model_or_the_new(saved, monkeypatch, owner, name, nth):
    function, calls = getattr(owner, name), []

    def full_disk(*args, **options):
        calls.append(args)
        if len(calls) == nth:
            raise OSError("no space left")
        return function(*args, **options)

    new = small_gpt(d_model=32).eval()
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, full_disk)
        with pytest.raises(OSError, match="no space"):
            new.save(saved)
    weights_are_new = name == "write_text" or nth == 2
    expected = new if weights_are_new else small_gpt().eval()
    assert torch.equal(GPT.from_pretrained(saved)(IDS), expected(IDS))
    assert not list(saved.glob(".*"))


def test_what_killed_saves_left_is_removed_or_not_believed(saved):
    """The weights are new and config.json is old: the config in the weights' header counts."""
    old = (saved / "config.json").read_text()
    for name in ("model.safetensors", "config.json"):
        (saved / f".{name}.0123.part").write_bytes(b"half")
    small_gpt(d_model=32).save(saved)
    assert sorted(p.name for p in saved.iterdir()) == ["config.json", "model.safetensors"]
    (saved / "config.json").write_text(old)
    assert GPT.from_pretrained(saved).config.d_model == 32
    (saved / "config.json").unlink()
    assert GPT.from_pretrained(saved).config.d_model == 32


# --- Hugging Face's GPT-2, made on the spot ---------------------------------------------------


def hugging_face(folder, **changes):
    """A GPT-2 with large random weights, saved by transformers, and how to ask it for logits."""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    size = {"vocab_size": 13, "n_positions": 8, "n_embd": 16, "n_head": 4, "n_layer": 2}
    config = transformers.GPT2Config(**size | {"bos_token_id": 0, "eos_token_id": 0} | changes)
    torch.manual_seed(1)
    model = transformers.GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for p in model.parameters():
            p.normal_(std=0.15)  # far from the start, where a wrong model would give the same
    model.save_pretrained(folder)
    return model


@pytest.mark.parametrize(
    "changes", [{}, {"vocab_size": 50, "n_positions": 20, "n_embd": 24, "n_inner": 96}]
)
def test_a_hugging_face_folder_gives_its_logits(tmp_path, changes):
    theirs = hugging_face(tmp_path, **changes)
    ours = GPT.from_pretrained(tmp_path)
    with torch.no_grad():
        expected = theirs(IDS).logits
        torch.testing.assert_close(ours(IDS), expected, rtol=0, atol=1e-5)
    assert expected.std() > 0.1 and not ours.training and ours.config.dropout == 0
    ours.save(tmp_path / "ours")
    assert torch.equal(GPT.from_pretrained(tmp_path / "ours")(IDS), ours(IDS))


def test_a_file_of_2019_with_masks_and_a_head_is_the_same_model(tmp_path):
    """Old files also hold the causal mask of each block, and some the tied head a second time."""
    theirs = hugging_face(tmp_path)
    weights = safetensors.torch.load_file(tmp_path / "model.safetensors")
    mask = torch.ones(8, 8).tril().view(1, 1, 8, 8)
    for i in range(2):
        weights[f"transformer.h.{i}.attn.bias"] = mask.clone()
        weights[f"transformer.h.{i}.attn.masked_bias"] = torch.tensor(-1e4)
    weights["lm_head.weight"] = weights["transformer.wte.weight"].clone()
    safetensors.torch.save_file(weights, tmp_path / "model.safetensors")
    with torch.no_grad():
        logits = GPT.from_pretrained(tmp_path)(IDS)
        torch.testing.assert_close(logits, theirs(IDS).logits, rtol=0, atol=1e-5)


def test_what_gpt2_cannot_compute_is_not_saved_as_one(tmp_path):
    rotary = SpeedrunGPT(SpeedrunConfig(**SIZE, positions="rotary"))
    for model, words in (
        (small_gpt(bias=False), "bias=False, expected True: GPT-2's architecture"),
        (rotary, "positions='rotary', expected 'learned'"),
    ):
        with pytest.raises(ValueError, match=words):
            save_as_gpt2(tmp_path / "folder", model)
    assert not (tmp_path / "folder").exists()


# --- what is broken or missing ----------------------------------------------------------------


@pytest.fixture
def foreign(tmp_path):
    """A folder as other programs write it: a config.json, and weights with nothing of ours."""
    model = small_gpt()
    weights = {name: p.detach() for name, p in model.named_parameters()}
    safetensors.torch.save_file(weights, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(asdict(model.config)))
    return tmp_path


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_file_missing_or_cut_short_is_refused(foreign, name):
    data = (foreign / name).read_bytes()
    for share in (0.0, 0.99):
        (foreign / name).write_bytes(data[: int(share * len(data))])
        with pytest.raises(ValueError, match="is not a complete saved model"):
            GPT.from_pretrained(foreign)
    (foreign / name).unlink()
    with pytest.raises(FileNotFoundError, match=f"{name} is missing, expected a saved model"):
        GPT.from_pretrained(foreign)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.int64, torch.bool])
def test_tensors_and_a_record_come_back_as_they_were(tmp_path, dtype):
    tensors = {"a": torch.ones(2, 3).to(dtype), "scalar": torch.tensor(1).to(dtype)}
    tensors["transposed"], tensors["none"] = torch.ones(3, 2).T.to(dtype), torch.empty(0)
    for folder in "xy":
        write_tensors(tmp_path / folder / "file", tensors, {"step": 3, "text": "é"})
    found, record = read_tensors(tmp_path / "x" / "file")
    assert record["step"] == 3 and record["text"] == "é"
    assert all(torch.equal(found[name], tensors[name]) for name in tensors)
    assert (tmp_path / "x" / "file").read_bytes() == (tmp_path / "y" / "file").read_bytes()


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ([1, 2], "is not a complete saved model"),
        ({**SIZE, "width": 3}, "holds no GPT: .*'width'"),
        ({"n_layers": 3}, "holds no GPT: .*'vocab_size'"),
        ({"model_type": "bert"}, "model_type='bert', expected 'gpt2'"),
        (SIZE | {"bias": False}, r"h\.0\.attn\.c_attn\.bias is \(48,\) in it, expected no such"),
    ],
)
def test_a_config_that_is_no_gpts_is_refused(foreign, config, words):
    (foreign / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=words):
        GPT.from_pretrained(foreign)


def test_one_file_of_another_size_or_without_finite_floats_builds_nothing(tmp_path, monkeypatch):
    file, weights = tmp_path / "own.safetensors", dict(small_gpt().named_parameters())
    monkeypatch.setattr(GPT, "__init__", lambda *args: pytest.fail("a model was built"))
    for wrong in (torch.ones(8, 16).long(), torch.full((8, 16), torch.nan)):
        write_tensors(file, weights | {"wpe.weight": wrong}, {"config": SIZE})
        with pytest.raises(ValueError, match=r"wpe\.weight \(torch.*\) is not of finite floats"):
            GPT.from_pretrained(file)
    for name in ("vocab_size", "n_layers"):
        write_tensors(file, weights, {"config": SIZE | {name: 4 * 10**9}})
        with pytest.raises(ValueError, match=r"is of another model: .*expected .*4000000000"):
            GPT.from_pretrained(file)


def test_a_file_that_is_not_there_is_not_asked_of_the_hub(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.hf_hub_download", lambda *a, **k: pytest.fail("asked"))
    with pytest.raises(FileNotFoundError, match=r"there is no file .*own\.safetensors"):
        GPT.from_pretrained(tmp_path / "own.safetensors")


# --- the hub ----------------------------------------------------------------------------------


def test_a_name_is_looked_up_on_the_hub(cache, saved, monkeypatch):
    monkeypatch.delenv("SCRATCHFORMER_OFFLINE", raising=False)
    asked = []

    def download(name, file, **options):
        asked.append((name, file))
        return str(saved / file)

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    assert torch.equal(GPT.from_pretrained("gpt2")(IDS), small_gpt()(IDS))
    assert asked == [("gpt2", "config.json"), ("gpt2", "model.safetensors")]
    assert find_gpt2("gpt2", download=True) == saved


def test_a_hub_that_does_not_answer_says_what_to_do(cache, monkeypatch):
    monkeypatch.delenv("SCRATCHFORMER_OFFLINE", raising=False)

    def fail(*args, **options):
        raise ConnectionError("no route to host")

    monkeypatch.setattr("huggingface_hub.hf_hub_download", fail)
    words = "'gpt2' is no folder, and .* did not give it .ConnectionError: no route to .*Connect"
    with pytest.raises(OSError, match=words):
        GPT.from_pretrained("gpt2")
    with pytest.warns(UserWarning, match=words):
        assert find_gpt2("gpt2", download=True) is None


def test_offline_nothing_is_asked_of_the_network(cache, no_network, monkeypatch):
    monkeypatch.setenv("SCRATCHFORMER_OFFLINE", "1")
    with pytest.raises(OSError, match=r"'some-one/some-model' is no folder.*save config\.json and"):
        GPT.from_pretrained("some-one/some-model")


# --- looking for GPT-2: half a gigabyte is fetched only if asked for ------------------------------


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """An empty cache of Hugging Face's, and no folder of the reader's own; "gpt2" is tiny."""
    monkeypatch.setitem(pretrained.PUBLISHED, "gpt2", (2, 16))
    monkeypatch.delenv("SCRATCHFORMER_GPT2", raising=False)
    for module in ("constants", "file_download"):  # releases before 0.25 look in the second
        name = f"huggingface_hub.{module}.HF_HUB_CACHE"
        monkeypatch.setattr(name, str(tmp_path / "cache"), raising=False)
    revision = tmp_path / "cache" / "models--gpt2" / "refs" / "main"
    revision.parent.mkdir(parents=True)
    revision.write_text("a1b2")
    folder = tmp_path / "cache" / "models--gpt2" / "snapshots" / "a1b2"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def no_network(monkeypatch):
    monkeypatch.setattr("socket.socket.connect", lambda *args: pytest.fail("a connection"))


def test_a_model_in_the_cache_is_found_if_it_is_whole_and_none_is_fetched(cache, no_network):
    assert find_gpt2() is None and find_gpt2("gpt2-xl") is None
    small_gpt().save(cache)
    assert find_gpt2() == cache and find_gpt2("gpt2-medium") is None
    assert torch.equal(GPT.from_pretrained(find_gpt2())(IDS), small_gpt()(IDS))
    (cache / "model.safetensors").unlink()  # as after a download that was interrupted
    assert find_gpt2() is None


def test_the_readers_own_folder_comes_first(cache, no_network, saved, monkeypatch):
    small_gpt(d_model=32).save(cache)
    monkeypatch.setenv("SCRATCHFORMER_GPT2", str(saved))
    assert find_gpt2("gpt2", download=True) == saved
    assert find_gpt2("somebody/derived-from-gpt2") == saved  # of which no size is known


def test_an_own_folder_of_another_size_is_passed_over(cache, no_network, tmp_path, monkeypatch):
    small_gpt().save(cache)
    monkeypatch.setenv("SCRATCHFORMER_GPT2", str(tmp_path / "own"))
    words = r"own, a model of \(blocks, width\) \(3, 16\), and gpt2 has \(2, 16\): not used"
    for save in (GPT.save, lambda model, folder: save_as_gpt2(folder, model)):
        save(small_gpt(n_layers=3), tmp_path / "own")
        with pytest.warns(UserWarning, match=words):
            assert find_gpt2("gpt2") == cache


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_an_own_folder_without_a_model_is_an_error(cache, no_network, saved, monkeypatch, name):
    monkeypatch.setenv("SCRATCHFORMER_GPT2", str(saved))
    (saved / name).unlink()
    with pytest.raises(FileNotFoundError, match=f"SCRATCHFORMER_GPT2 is .*{name} is missing"):
        find_gpt2()


def test_a_number_too_large_for_the_models_type_is_refused():
    own = {"w": torch.nn.Parameter(torch.ones(2))}
    with pytest.raises(ValueError, match=r"a file: w .* is not of finite floats only"):
        pretrained.load_tensors(
            own, {"w": torch.tensor([1.0, 1e300], dtype=torch.float64)}, "a file"
        )
    assert torch.equal(own["w"], torch.ones(2))
