"""Chapter 11's trials: WSD rises, stays and falls; only the blocks' matrices decay."""

import pytest
import torch

from lab import runs, settings
from scratchformer.data import scored_split

V = 12


@pytest.fixture
def small(monkeypatch):
    """Scripts that take a few steps each, on random characters."""
    monkeypatch.setattr(settings, "T", 8)
    monkeypatch.setattr(settings, "RATES", (0.001, 0.004))
    monkeypatch.setattr(settings, "CHARACTERS", 2**9)
    monkeypatch.setattr(settings, "STEPS", 10)
    monkeypatch.setattr(settings, "WARMUP", 2)
    monkeypatch.setattr(settings, "TRIED", (0.001, 0.004))
    monkeypatch.setattr(settings, "BIRTHS", (1, 2))
    ids = torch.randint(V, (600,), generator=torch.Generator().manual_seed(0))
    return {split: scored_split(ids, split) for split in ("development", "validation")}


def test_wsd_rises_stays_and_falls_over_its_last_fifth_and_is_never_0():
    rates = settings.scheduled("wsd", 1.0, 100, 4)
    assert rates[:4] == pytest.approx([0.2, 0.4, 0.6, 0.8]) and set(rates[4:81]) == {1.0}
    assert rates[80:] == pytest.approx([1 - s / 20 for s in range(20)])


def test_only_the_matrices_of_the_blocks_decay():
    model = settings.new_model(V, 0)
    optimizer = settings.new_optimizer(model)
    decay = {id(p): g["weight_decay"] for g in optimizer.param_groups for p in g["params"]}
    assert len(decay) == len(list(model.parameters()))
    assert sum(value == 0.1 for value in decay.values()) == 8
    assert decay[id(model.h[0].mlp.c_fc.weight)] == 0.1 and decay[id(model.wte.weight)] == 0


def test_each_part_stores_what_the_chapter_reads(small, monkeypatch, tmp_path):
    monkeypatch.setattr(settings, "FILE", tmp_path / "settings.json")
    monkeypatch.setattr(runs, "load_splits", lambda write: (small, V))
    threads = torch.get_num_threads()
    for part in settings.PARTS:
        settings.main(["--write", "--only", part])
    torch.set_num_threads(threads)
    found = runs.read(tmp_path / "settings.json")
    assert set(found["batch"]["development"]) == {"0.05", "0.2"}
    assert set(found["optimizers"]["best"]) == {"descent", "momentum", "AdamW"}
    for each in found["births"]["runs"]:
        assert [step for step, *_ in each["rows"]] == [1, 2]
