"""The speedrun taken apart: the rules kept, one change a rung, factors; the page trains by it."""

import math

import pytest
import torch

from lab import contests, factors, rivals, runs, tab_rivals, taken_apart
from scratchformer_course.measurements import load_measurements
from scratchformer_course.tab_trainer.race import RIVAL, TRAINING

V = 65
IDS = torch.randint(V, (700,), generator=torch.Generator().manual_seed(0))
STORED, TAB = runs.read(taken_apart.STORED), runs.read(tab_rivals.STORED)


def test_a_rung_is_one_change_and_the_last_is_the_configuration():
    for name, (_, of_model, of_training) in list(taken_apart.LADDER.items())[1:]:
        if of_training not in (taken_apart.MUON, taken_apart.OWN_RATES):
            rates = {"lr", "muon_lr", "warmup", "schedule"}  # they go together
            changed = {*of_model, *of_training}
            assert len(changed) == 1 or changed <= rates or changed == {"d_model", "n_heads"}, name
    of_model, of_training = list(taken_apart.rungs().values())[-1]
    model, training = taken_apart.configuration()
    with torch.device("meta"):
        for changes, _ in taken_apart.WITHOUT.values():
            taken_apart.build(V, model | changes)  # raises for what cannot be built
        last, record = (taken_apart.build(V, sizes).config for sizes in (of_model, model))
    assert last == record
    wanted = {"warmup": 0, **training, "betas": tuple(training["betas"])}
    for name in wanted.keys() - {"steps", "seed", "precision"}:
        assert of_training[name] == wanted[name], name


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
    taken_apart.climb(recorder, STORED)
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


def test_what_is_stored_of_factors_follows_from_its_runs():
    again = factors.factors(STORED, 2000)
    for name, rung in STORED["factors"]["rungs"].items():
        assert again["rungs"][name]["ms"] == rung["ms"]
        assert again["rungs"][name].get("factor", {}).get("value") == rung.get("factor", {}).get(
            "value"
        )
    ratio = factors.ratio(STORED["race"])
    assert ratio["value"] == STORED["ratio"]["ratio"]["value"]


@pytest.mark.parametrize("name", ["early", "final", "tab"])
def test_adamw_was_tuned_as_widely_as_muon_and_the_best_was_picked(name):
    places = taken_apart.PLACES | {"tab": tab_rivals.PLACE}
    stored = STORED["rivals"] | {"tab": TAB}
    assert len(stored[name]["AdamW"]["swept"]) == len(stored[name]["Muon"]["swept"])
    for side, inner in rivals.SIDES.items():
        swept = stored[name][side]["swept"]
        pairs = [(tried["changes"][inner], tried["changes"]["lr"]) for tried in swept]
        assert pairs[: len(places[name].pairs[side])] == places[name].pairs[side]
        assert rivals.picked(swept) == stored[name][side]["picked"]


def test_the_page_trains_by_what_was_picked_for_it():
    assert TAB["AdamW"]["picked"] == {"lr": TRAINING["lr"], "matrix_lr": RIVAL["matrix_lr"]}
    assert all(TAB["Muon"]["picked"][key] == TRAINING[key] for key in ("muon_lr", "lr"))


def test_the_contests_that_are_stored_follow_from_the_other_files():
    assert load_measurements("contests")["contests"] == runs.as_json(contests.contests()), (
        "run python -m lab.contests --write"
    )
