"""The speedrun taken apart: the rules kept, one change a rung, factors and their intervals."""

import math

import pytest
import torch

from lab import factors, runs, taken_apart

V = 65
IDS = torch.randint(V, (700,), generator=torch.Generator().manual_seed(0))


def test_a_rung_is_one_change_and_the_last_is_the_configuration():
    for name, (factor, _, of_model, of_training) in list(taken_apart.LADDER.items())[1:]:
        assert factor
        if of_training not in (taken_apart.MUON, taken_apart.OWN_RATES):
            rates = {"lr", "muon_lr", "warmup", "schedule"}  # they go together
            changed = {*of_model, *of_training}
            one = len(changed) == 1 or changed <= rates or changed == {"d_model", "n_heads"}
            assert one, name
    of_model, of_training = list(taken_apart.rungs().values())[-1]
    model, training = taken_apart.configuration()
    with torch.device("meta"):
        for changes, _ in taken_apart.WITHOUT.values():
            taken_apart.build(V, model | changes)  # raises for what cannot be built
        for sizes, _ in (taken_apart.rungs() | taken_apart.elsewhere()).values():
            taken_apart.build(V, sizes)
    full, own = (taken_apart.build(V, settings).config for settings in (of_model, model))
    assert full == own
    left_out = {"steps", "seed", "device", "evaluate_every"}
    wanted = {"warmup": 0, "context_length": model["context_length"]} | training
    last = {"context_length": model["context_length"], "precision": "float32"} | of_training
    assert {k: v for k, v in last.items() if k not in left_out} == {
        k: tuple(v) if k == "betas" else v for k, v in wanted.items() if k not in left_out
    }


TEXT = IDS.repeat(4)  # enough for one batch


class Recorder(taken_apart.Runner):
    """A runner that trains nothing: it remembers which split was read."""

    def __init__(self):
        self.quick, self.seeds, self.ten_seeds, self.vocab_size = True, (0,), (0,), V
        self.splits = dict.fromkeys(("validation", "development", "rotated"), (TEXT, IDS))
        self.read = []

    def ours(self, split, seed, model, training, steps=None):
        self.read.append(split)
        return 1.9, {"steps": [1], "train_loss": [2.0], "seconds": [1.0]}

    def nanogpt(self, split, seed):
        self.read.append(split)
        return 1.9, {"steps": [1], "train_loss": [2.0], "seconds": [1.0]}


def test_nothing_is_chosen_on_validation_or_on_the_rotated_split():
    recorder = Recorder()
    taken_apart.climb(recorder, 1.9)
    taken_apart.one_at_a_time(recorder)
    for place in taken_apart.PLACES:
        taken_apart.swept(place, recorder, {})
    assert set(recorder.read) == {"development"}
    for part, split in (("race", "validation"), ("reference", "development")):
        recorder.read = []
        _, measure = taken_apart.PARTS[part]
        measure(recorder, {})
        assert set(recorder.read) == {split}


def artificial():
    """Rungs that need 1,000, 1,000, 500 and 100 steps of 40, 50, 20 and 20 ms."""

    def entry(steps, ms):
        runs = [
            {"steps": n, "seed": seed, "loss": 1.9 - 0.2 * math.log(n / steps)}
            for n in (round(steps / 1.1), round(steps * 1.1))
            for seed in (0, 1)
        ]
        return {"ms": [ms, ms, ms], "runs": runs}

    first, same = {"ms": [40.0, 40.0, 40.0]}, {"ms": [50.0, 50.0, 50.0]}
    return {
        "splits": {"development": {"nanoGPT": [{"loss": 1.9}, {"loss": 1.9}]}},
        "ladder": {"first": first, "a": same, "b": entry(500, 20.0), "c": entry(100, 20.0)},
        "elsewhere": {"c before b": entry(250, 40.0), "without b": entry(400, 20.0)},
    }


def test_factors_are_quotients_of_neighbours_and_their_product_is_the_total():
    groups = {"first": None, "a": "speed", "b": "speed", "c": "steps"}
    elsewhere = {"c before b": ("c", "first"), "without b": ("b", "no b")}
    found = factors.factors(artificial(), groups, elsewhere, 1000)
    assert found["rungs"]["a"]["steps"] == 1000
    assert found["rungs"]["a"]["factor"]["value"] == pytest.approx(0.8)
    assert found["rungs"]["b"]["steps"] == pytest.approx(500, rel=1e-3)
    assert found["rungs"]["b"]["seconds"] == pytest.approx(10, rel=1e-3)
    assert found["products"]["speed"]["value"] == pytest.approx(4, rel=1e-3)
    assert found["products"]["steps"]["value"] == pytest.approx(5, rel=1e-3)
    assert found["total"]["value"] == pytest.approx(20, rel=1e-3)
    assert found["elsewhere"]["c before b"]["value"] == pytest.approx(4, rel=1e-3)
    assert found["elsewhere"]["without b"]["value"] == pytest.approx(4, rel=1e-3)
    assert found["noise"] == 0


def test_the_races_ratio_is_of_medians_and_its_interval_holds_it():
    ours = [
        {"steps": n, "seed": seed, "seconds": n / 50, "val_loss": 1.9 - 0.2 * math.log(n / 60)}
        for n in (50, 60, 75)
        for seed in range(10)
    ]
    nanogpt = [{"seconds": t, "val_loss": 1.9} for t in (60.0, 66.0, 90.0)]
    found = factors.race_summary({"ours": ours, "nanoGPT": nanogpt, "steps": 75})
    assert found["ratio"]["value"] == pytest.approx(66 / 1.5)
    assert found["ratio"]["range"] == pytest.approx([60 / 1.5, 90 / 1.5])
    assert found["ratio"]["interval"] == pytest.approx([60 / 1.5, 90 / 1.5])
    assert found["seconds_at_target"]["value"] == pytest.approx(1.2, rel=1e-3)
    assert found["ratio_at_target"]["value"] == pytest.approx(55, rel=1e-3)


def test_the_rivals_ratio_is_of_steps_times_milliseconds():
    def side(steps, ms, worse):
        return {
            "development": [1.9 + worse, 1.91 + worse], "validation": [2.0 + worse, 2.0 + worse],
            "ms": [ms] * 3,
            "runs": [
                {"steps": n, "seed": seed, "loss": 1.9 - 0.2 * math.log(n / steps)}
                for n in (round(steps / 1.1), round(steps * 1.1)) for seed in (0, 1)
            ],
        }  # fmt: skip

    made = artificial() | {"rivals": {"final": {
        "AdamW": side(1200, 20.0, 0.05), "Muon": side(1000, 25.0, 0.0), "steps": 60,
    }}}  # fmt: skip
    found = factors.rivals(made)
    assert found["validation"] == {"value": 0.05, "interval": [0.05, 0.05]}
    assert found["in_steps"]["value"] == pytest.approx(1.2, rel=1e-2)
    assert found["in_time"]["value"] == pytest.approx(0.96, rel=1e-2)
    assert found["seeds"] == 2


def test_all_parts_run_from_end_to_end_and_are_stored_one_by_one(monkeypatch, tmp_path, short_text):
    monkeypatch.setattr(taken_apart, "STORED", tmp_path / "taken_apart.json")
    monkeypatch.setattr(factors, "DRAWS", 20)
    first = dict(list(taken_apart.LADDER.items())[:7])
    monkeypatch.setattr(taken_apart, "LADDER", first)
    monkeypatch.setattr(taken_apart, "ELSEWHERE", {})
    raced = dict.fromkeys((*taken_apart.RACERS, "x"), ({}, {}))
    monkeypatch.setattr(taken_apart, "WITHOUT", raced)
    monkeypatch.setattr(taken_apart, "ORDERS", (1, 2))
    found = taken_apart.main(["--quick"])
    assert set(found["parts"]) == set(taken_apart.PARTS)
    assert not taken_apart.STORED.exists()
    taken_apart.main(["--write", "--only", "counts"])
    stored = runs.read(taken_apart.STORED)
    assert list(stored["parts"]) == ["counts"] and len(stored["splits"]) == 3
