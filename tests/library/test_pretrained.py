"""Models on disk: ours come back as they were, and what is broken or missing is said by name.

Those of other programs are test_foreign_files'.
"""

import json
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import pytest
import safetensors.torch
import torch
from random_weights import randomised
from safetensors.torch import load_file, save_file
from short_run import small_gpt

from scratchformer.models import GPT, GPTConfig, pretrained
from scratchformer.models.pretrained import (
    INDEX,
    find_gpt2,
    read_tensors,
    save_as_gpt2,
    write_tensors,
)

SIZE = asdict(GPTConfig(13, 8, d_model=16, n_heads=4, n_layers=2))
IDS = torch.randint(11, (2, 8), generator=torch.Generator().manual_seed(0))


def random_gpt(**changes):
    sizes = {"vocab_size": 13, "n_heads": 4}
    return randomised(small_gpt(**sizes | changes))


@pytest.fixture
def saved(tmp_path):
    random_gpt().save(tmp_path / "saved")
    return tmp_path / "saved"


@pytest.mark.parametrize("changes", [{}, {"bias": False, "n_layers": 1, "dropout": 0.3}])
def test_a_saved_model_comes_back_the_same(tmp_path, changes):
    model, folder = random_gpt(**changes), tmp_path / "new" / "folder"
    model.save(folder)
    again = GPT.from_pretrained(folder)
    assert again.config == model.config and not again.training
    assert again.lm_head.weight is again.wte.weight  # still tied
    assert torch.equal(again(IDS), model(IDS))
    assert sorted(p.name for p in folder.iterdir()) == ["config.json", "model.safetensors"]


@pytest.mark.parametrize("nth", range(1, 5))
def test_a_save_that_fails_leaves_the_old_model_or_the_new(saved, monkeypatch, nth):
    """In this order: the weights, in their place, the config, in its place."""
    calls, new = [], random_gpt(d_model=32)

    def on_a_full_disk(function):
        def run(*args, **options):
            calls.append(function)
            if len(calls) == nth:
                raise OSError("no space left")
            return function(*args, **options)

        return run

    for owner, name in ((safetensors.torch, "save_file"), (Path, "replace"), (Path, "write_text")):
        monkeypatch.setattr(owner, name, on_a_full_disk(getattr(owner, name)))
    with pytest.raises(OSError, match="no space"):
        new.save(saved)
    expected = new if nth > 2 else random_gpt()
    assert torch.equal(GPT.from_pretrained(saved)(IDS), expected(IDS))
    assert not list(saved.glob(".*"))


def test_what_killed_saves_left_is_removed_or_not_believed(saved):
    """The weights are new and config.json is old: the config in the weights' header counts."""
    old = (saved / "config.json").read_text()
    for name in ("model.safetensors", "config.json"):
        (saved / f".{name}.0123.part").write_bytes(b"half")
    random_gpt(d_model=32).save(saved)
    assert sorted(p.name for p in saved.iterdir()) == ["config.json", "model.safetensors"]
    (saved / "config.json").write_text(old)
    assert GPT.from_pretrained(saved).config.d_model == 32
    (saved / "config.json").unlink()
    assert GPT.from_pretrained(saved).config.d_model == 32


def test_tensors_and_a_record_come_back_as_they_were(tmp_path):
    tensors = {"a": torch.tensor(1).bfloat16(), "b": torch.ones(3, 2).bool().T, "c": torch.empty(0)}
    for file in "xy":
        write_tensors(tmp_path / file, tensors, {"text": "é"})
    again, record = read_tensors(tmp_path / "x")
    assert record == {"text": "é"} and again.keys() == tensors.keys()
    assert all(torch.equal(again[name], tensors[name]) for name in tensors)
    assert (tmp_path / "x").read_bytes() == (tmp_path / "y").read_bytes()


# --- what is broken or missing ----------------------------------------------------------------


@pytest.fixture
def foreign(tmp_path):
    """A folder as other programs write it: a config.json, and weights with nothing of ours."""
    model = random_gpt()
    save_file({n: p.detach() for n, p in model.named_parameters()}, tmp_path / "model.safetensors")
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


def in_shards(folder):
    """The weights of a folder in two files, as transformers has those of large models."""
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    where = {name: f"{i % 2}.safetensors" for i, name in enumerate(sorted(weights))}
    for file in {*where.values()}:
        save_file({name: weights[name] for name in weights if where[name] == file}, folder / file)
    (folder / INDEX).write_text(json.dumps({"weight_map": where}))
    return where


NAME = "h.0.attn.c_attn.bias"  # a tensor in 0.safetensors
REFUSED = [  # (file, what it holds, words)
    ("config.json", [1, 2], "is not a complete saved model"),
    ("config.json", SIZE | {"width": 3}, "holds no GPT: .*'width'"),
    ("config.json", {"model_type": "bert"}, "model_type='bert', expected 'gpt2'"),
    ("config.json", SIZE | {"bias": False}, rf"{NAME} is \(48,\) in it, expected no such"),
    (
        "config.json",
        SIZE | {"vocab_size": 4 * 10**9},
        "is of another model: .*expected .*4000000000",
    ),
    ("config.json", SIZE | {"n_layers": 4 * 10**9}, "is of another model: .*expected 4000000000"),
    (INDEX, {NAME: "1.safetensors"}, f"{NAME} is"),
    (INDEX, {NAME: None}, f"{NAME} is in"),
    (INDEX, {NAME: "../0.safetensors"}, "expected a file beside it"),
    (INDEX, {NAME: 3}, "is not a complete saved model"),
]


@pytest.mark.parametrize(("file", "content", "words"), REFUSED)
def test_a_config_or_an_index_that_does_not_fit_is_refused_in_a_line(foreign, file, content, words):
    if file == INDEX:
        where = in_shards(foreign) | content
        content = {"weight_map": {name: place for name, place in where.items() if place}}
    (foreign / file).write_text(json.dumps(content))
    with pytest.raises(ValueError, match=words) as error:
        GPT.from_pretrained(foreign)
    assert "\n" not in str(error.value)


def test_a_single_file_is_read_if_all_its_numbers_are_finite(tmp_path):
    file, weights = tmp_path / "own.safetensors", dict(random_gpt().named_parameters())
    write_tensors(file, weights, {"config": SIZE})
    assert torch.equal(GPT.from_pretrained(file)(IDS), random_gpt()(IDS))
    for wrong in (torch.ones(8, 16).long(), torch.full((8, 16), 1e300, dtype=torch.float64)):
        write_tensors(file, weights | {"wpe.weight": wrong}, {"config": SIZE})
        with pytest.raises(ValueError, match=r"wpe\.weight \(torch.*\) is not of finite floats"):
            GPT.from_pretrained(file)
    file.unlink()
    with pytest.raises(FileNotFoundError, match=r"there is no file .*own\.safetensors"):
        GPT.from_pretrained(file)


def test_what_gpt2_cannot_compute_is_not_saved_as_it(tmp_path):
    with pytest.raises(ValueError, match="bias=False, expected True: GPT-2's architecture"):
        save_as_gpt2(tmp_path / "folder", random_gpt(bias=False))
    assert not (tmp_path / "folder").exists()


# --- the hub, its cache and the reader's own folder: half a gigabyte is fetched only if asked for -


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """A folder that stands for Hugging Face's hub, and one for their cache; "gpt2" is tiny."""
    from huggingface_hub.errors import EntryNotFoundError

    hub = SimpleNamespace(folder=tmp_path / "hub", cache=tmp_path / "cache", asked=[])

    def download(name, file):
        hub.asked.append(file)
        if not hub.folder.is_dir():
            raise ConnectionError("no route to host")
        if not (hub.folder / file).is_file():
            raise EntryNotFoundError(f"{name} has no {file}")
        return str(hub.folder / file)

    def cached(name, file):
        path = hub.cache / file
        return str(path) if path.is_file() and name == "gpt2" else None

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", cached)
    monkeypatch.setitem(pretrained.PUBLISHED, "gpt2", (2, 16))
    for name in ("SCRATCHFORMER_GPT2", "SCRATCHFORMER_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    return hub


def test_a_name_is_looked_up_on_the_hub_in_one_file_or_in_several(hub):
    random_gpt().save(hub.folder)
    assert torch.equal(GPT.from_pretrained("gpt2")(IDS), random_gpt()(IDS))
    assert hub.asked == ["config.json", "model.safetensors"]
    assert find_gpt2("gpt2", download=True) == hub.folder
    where = in_shards(hub.folder)
    assert torch.equal(GPT.from_pretrained("gpt2")(IDS), random_gpt()(IDS))
    assert {*where.values()} < {*hub.asked}


@pytest.mark.parametrize("offline", ["", "1"])
def test_a_hub_that_does_not_answer_or_is_not_asked_says_what_to_do(hub, monkeypatch, offline):
    monkeypatch.setenv("SCRATCHFORMER_OFFLINE", offline)
    why = "SCRATCHFORMER_OFFLINE forbids" if offline else "ConnectionError: no route to host"
    words = f"'gpt2' is no folder, and .* did not give it .*{why}.*save config.json and"
    with pytest.raises(OSError, match=words):
        GPT.from_pretrained("gpt2")
    with pytest.warns(UserWarning, match=words):
        assert find_gpt2("gpt2", download=True) is None


def test_a_model_in_the_cache_is_used_if_it_is_complete_and_none_is_fetched(hub, monkeypatch):
    random_gpt().save(hub.cache)
    assert find_gpt2() == hub.cache and find_gpt2("gpt2-medium") is None
    monkeypatch.setenv("SCRATCHFORMER_OFFLINE", "1")
    for name in ("config.json", "model.safetensors"):  # a download that was interrupted
        (hub.cache / name).rename(hub.cache / "part")
        assert find_gpt2() is None
        (hub.cache / "part").rename(hub.cache / name)
    in_shards(hub.cache)
    assert torch.equal(GPT.from_pretrained("gpt2")(IDS), random_gpt()(IDS)) and not hub.asked


def test_the_readers_own_folder_comes_first_if_it_holds_a_model_of_that_size(
    hub, saved, monkeypatch
):
    random_gpt().save(hub.cache)
    monkeypatch.setenv("SCRATCHFORMER_GPT2", str(saved))
    assert find_gpt2("gpt2", download=True) == saved
    assert find_gpt2("somebody/derived-from-gpt2") == saved  # of which no size is known
    words = r"saved, a model of \(blocks, width\) \(3, 16\), and gpt2 has \(2, 16\): not used"
    for save in (GPT.save, lambda model, folder: save_as_gpt2(folder, model)):
        save(random_gpt(n_layers=3), saved)
        with pytest.warns(UserWarning, match=words):
            assert find_gpt2("gpt2") == hub.cache
    (saved / "config.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"SCRATCHFORMER_GPT2 is .*config\.json is missing"):
        find_gpt2()
