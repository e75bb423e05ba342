"""Models on disk: ours come back as they were, and what is broken or missing is said by name.

Those of other programs are test_foreign_files'.
"""

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
    return GPT(GPTConfig(**SIZE | changes)).eval()


@pytest.fixture
def saved(tmp_path):
    folder = tmp_path / "saved" / "model"
    small_gpt().save(folder)
    return folder


@pytest.mark.parametrize("changes", [{}, {"bias": False, "n_layers": 1, "dropout": 0.3}])
def test_a_saved_model_comes_back_the_same(tmp_path, changes):
    model, folder = small_gpt(**changes), tmp_path / "new" / "folder"
    model.save(folder)
    again = GPT.from_pretrained(folder)
    assert again.config == model.config and not again.training
    assert again.lm_head.weight is again.wte.weight  # still tied
    assert torch.equal(again(IDS), model(IDS))
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
    function, calls, new = getattr(owner, name), [], small_gpt(d_model=32)

    def full_disk(*args, **options):
        calls.append(args)
        if len(calls) == nth:
            raise OSError("no space left")
        return function(*args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, full_disk)
        with pytest.raises(OSError, match="no space"):
            new.save(saved)
    expected = new if name == "write_text" or nth == 2 else small_gpt()
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


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.bool])
def test_tensors_and_a_record_come_back_as_they_were(tmp_path, dtype):
    tensors = {"scalar": torch.tensor(1).to(dtype), "transposed": torch.ones(3, 2).T.to(dtype)}
    for file in "xy":
        write_tensors(tmp_path / file, tensors | {"none": torch.empty(0)}, {"text": "é"})
    again, record = read_tensors(tmp_path / "x")
    assert record == {"text": "é"} and again.keys() == tensors.keys() | {"none"}
    assert all(torch.equal(again[name], tensors[name]) for name in tensors)
    assert (tmp_path / "x").read_bytes() == (tmp_path / "y").read_bytes()


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


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ([1, 2], "is not a complete saved model"),
        ({**SIZE, "width": 3}, "holds no GPT: .*'width'"),
        ({"model_type": "bert"}, "model_type='bert', expected 'gpt2'"),
        (SIZE | {"bias": False}, r"h\.0\.attn\.c_attn\.bias is \(48,\) in it, expected no such"),
    ],
)
def test_a_config_that_is_no_gpts_is_refused(foreign, config, words):
    (foreign / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=words):
        GPT.from_pretrained(foreign)


@pytest.mark.parametrize(
    ("weights", "config", "words"),
    [
        ({"wpe.weight": torch.ones(8, 16).long()}, {}, r"int64\) is not of finite floats"),
        ({"wpe.weight": torch.full((8, 16), torch.nan)}, {}, "is not of finite floats"),
        (
            {"wpe.weight": torch.full((8, 16), 1e300, dtype=torch.float64)},
            {},
            "is not of finite floats",
        ),
        ({}, {"vocab_size": 4 * 10**9}, "is of another model: .*expected .*4000000000"),
        ({}, {"n_layers": 4 * 10**9}, "is of another model: .*expected .*4000000000"),
    ],
)
def test_a_file_of_another_size_or_without_finite_floats_is_refused_quickly(
    tmp_path, weights, config, words
):
    weights = dict(small_gpt().named_parameters()) | weights
    write_tensors(tmp_path / "own.safetensors", weights, {"config": SIZE | config})
    with pytest.raises(ValueError, match=words):
        GPT.from_pretrained(tmp_path / "own.safetensors")
    with pytest.raises(FileNotFoundError, match=r"there is no file .*other\.safetensors"):
        GPT.from_pretrained(tmp_path / "other.safetensors")


def test_what_gpt2_cannot_compute_is_not_saved_as_it(tmp_path):
    rotary = SpeedrunGPT(SpeedrunConfig(**SIZE, positions="rotary"))
    for model, words in (
        (small_gpt(bias=False), "bias=False, expected True: GPT-2's architecture"),
        (rotary, "positions='rotary', expected 'learned'"),
    ):
        with pytest.raises(ValueError, match=words):
            save_as_gpt2(tmp_path / "folder", model)
    assert not (tmp_path / "folder").exists()


# --- the hub, its cache and the reader's own folder: half a gigabyte is fetched only if asked for -


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """An empty cache of Hugging Face's, and no folder of the reader's own; "gpt2" is tiny."""
    monkeypatch.setitem(pretrained.PUBLISHED, "gpt2", (2, 16))
    for name in ("SCRATCHFORMER_GPT2", "SCRATCHFORMER_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("socket.socket.connect", lambda *args: pytest.fail("a connection"))
    for module in ("constants", "file_download"):  # releases before 0.25 look in the second
        name = f"huggingface_hub.{module}.HF_HUB_CACHE"
        monkeypatch.setattr(name, str(tmp_path / "cache"), raising=False)
    model = tmp_path / "cache" / "models--gpt2"
    (model / "refs").mkdir(parents=True)
    (model / "refs" / "main").write_text("a1b2")
    return model / "snapshots" / "a1b2"


def test_a_name_is_looked_up_on_the_hub(cache, saved, monkeypatch):
    asked = []

    def download(name, file, **options):
        asked.append((name, file))
        return str(saved / file)

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    assert torch.equal(GPT.from_pretrained("gpt2")(IDS), small_gpt()(IDS))
    assert asked == [("gpt2", "config.json"), ("gpt2", "model.safetensors")]
    assert find_gpt2("gpt2", download=True) == saved


@pytest.mark.parametrize("offline", ["", "1"])
def test_a_hub_that_does_not_answer_or_is_not_asked_says_what_to_do(cache, monkeypatch, offline):
    def fail(*args, **options):
        raise ConnectionError("no route to host")

    monkeypatch.setattr("huggingface_hub.hf_hub_download", fail)
    monkeypatch.setenv("SCRATCHFORMER_OFFLINE", offline)
    why = "SCRATCHFORMER_OFFLINE forbids" if offline else "ConnectionError: no route to host"
    words = f"'gpt2' is no folder, and .* did not give it .*{why}.*save config.json and"
    with pytest.raises(OSError, match=words):
        GPT.from_pretrained("gpt2")
    with pytest.warns(UserWarning, match=words):
        assert find_gpt2("gpt2", download=True) is None


def test_a_model_in_the_cache_is_used_if_it_is_complete_and_none_is_fetched(cache, monkeypatch):
    assert find_gpt2() is None
    small_gpt().save(cache)
    assert find_gpt2() == cache and find_gpt2("gpt2-medium") is None
    monkeypatch.setenv("SCRATCHFORMER_OFFLINE", "1")
    assert torch.equal(GPT.from_pretrained("gpt2")(IDS), small_gpt()(IDS))
    for name in ("config.json", "model.safetensors"):  # a download that was interrupted
        (cache / name).rename(cache / "part")
        assert find_gpt2() is None
        (cache / "part").rename(cache / name)


def test_the_readers_own_folder_comes_first_if_it_holds_a_model_of_that_size(
    cache, saved, monkeypatch
):
    small_gpt().save(cache)
    monkeypatch.setenv("SCRATCHFORMER_GPT2", str(saved))
    assert find_gpt2("gpt2", download=True) == saved
    assert find_gpt2("somebody/derived-from-gpt2") == saved  # of which no size is known
    words = r"saved.model, a model of \(blocks, width\) \(3, 16\), and gpt2 has \(2, 16\): not used"
    for save in (GPT.save, lambda model, folder: save_as_gpt2(folder, model)):
        save(small_gpt(n_layers=3), saved)
        with pytest.warns(UserWarning, match=words):
            assert find_gpt2("gpt2") == cache
    (saved / "config.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"SCRATCHFORMER_GPT2 is .*config"):
        find_gpt2()
