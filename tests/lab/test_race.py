"""The speedrun taken apart: the rules kept, one change a rung, factors; the page trains by it."""

import math

import pytest
import torch

from lab import contests, factors, rivals, runs, taken_apart
from scratchformer_course.measurements import load_measurements
from scratchformer_course.tab_trainer.race import RIVAL, TRAINING

V = 65
IDS = torch.randint(V, (700,), generator=torch.Generator().manual_seed(0))
STORED = load_measurements("taken_apart")


class Recorder(taken_apart.Runner):
    """A runner that trains nothing: it remembers which split was read."""

    def __init__(self):
        self.quick, self.seeds, self.ten_seeds, self.vocab_size = True, (0,), (0,), V
        self.splits = dict.fromkeys(("validation", "development", "rotated"), (IDS.repeat(4), IDS))
        self.read = []

    def ours(self, split, seed, model, training, steps=None):
        self.read.append(split)
        return 1.9, {"steps": [1], "train_loss": [2.0], "seconds": [1.0]}

    def nanogpt(self, split, seed):
        return self.ours(split, seed, {}, {})


def test_nothing_is_chosen_on_validation_or_on_the_rotated_split():
    recorder = Recorder()
    taken_apart.climb(recorder)
    taken_apart.one_at_a_time(recorder)
    taken_apart.curves(recorder)
    assert set(recorder.read) == {"development"}
    place = taken_apart.PLACES["final"]
    recorder.read = []
    rivals.one_side(recorder, taken_apart.setting_at("final"), place, "Muon")
    assert recorder.read.count("validation") == 1, "once, with what was picked"


def entry(steps, ms, worse=0.0):
    """A rung, or a rival, that needs so many steps of so many ms to a loss of 1.9."""
    trained = [
        {"steps": n, "seed": seed, "loss": 1.9 - 0.2 * math.log(n / steps)}
        for n in (steps / 1.1, steps * 1.1)
        for seed in (0, 1)
    ]
    read = {split: [1.9 + worse, 1.91 + worse] for split in ("development", "validation")}
    return {"ms": [ms, ms, ms], "runs": trained, **read}


def test_factors_are_quotients_of_neighbours_in_steps_times_milliseconds():
    first, same = {"ms": [40.0, 40.0, 40.0]}, {"ms": [50.0, 50.0, 50.0]}
    ladder = {"first": first, "a": same, "b": entry(500, 20.0), "c": entry(100, 20.0)}
    final = {"AdamW": entry(1200, 20.0, 0.05), "Muon": entry(1000, 25.0)}
    splits = {"development": {"nanoGPT": [{"loss": 1.9}, {"loss": 1.9}]}}
    measured = {"splits": splits, "ladder": ladder, "rivals": {"final": final}}
    result = factors.factors(measured, 1000)
    for name, factor in (("a", 0.8), ("b", 5), ("c", 5)):
        assert result["rungs"][name]["factor"]["value"] == pytest.approx(factor, rel=1e-3), name
    assert result["rivals"]["validation"] == {"value": 0.05, "interval": [0.05, 0.05]}
    assert result["rivals"]["in_steps"]["value"] == pytest.approx(1.2, rel=1e-3)
    assert result["rivals"]["in_time"]["value"] == pytest.approx(0.96, rel=1e-3)


@pytest.mark.parametrize("stored", STORED["rivals"].values())
def test_adamw_was_tuned_as_widely_as_muon_and_the_best_was_picked(stored):
    assert len(stored["AdamW"]["swept"]) == len(stored["Muon"]["swept"])
    for side in rivals.SIDES:
        assert rivals.picked(stored[side]["swept"]) == stored[side]["picked"]


def test_the_page_trains_by_what_was_picked_for_it():
    sides = STORED["rivals"]["final"]
    assert sides["AdamW"]["picked"] == {"lr": TRAINING["lr"], "matrix_lr": RIVAL["matrix_lr"]}
    assert sides["Muon"]["picked"] == {key: TRAINING[key] for key in ("muon_lr", "lr")}


def test_the_contests_that_are_stored_follow_from_the_other_files():
    assert load_measurements("contests")["contests"] == runs.as_json(contests.contests()), (
        "run python -m lab.contests --write"
    )
