"""Muon's rival: tuned as widely everywhere, and the page trains by what won."""

import statistics

import pytest

from lab import records, rivals, runs, tab_rivals, taken_apart
from scratchformer_course.tab_trainer.race import RIVAL, TRAINING

FOUND = runs.read(tab_rivals.STORED)


PLACES = {
    **{name: (runs.read(taken_apart.STORED)["rivals"][name], place)
       for name, place in taken_apart.PLACES.items()},
    "two minutes": (runs.read(records.STORED)["rivals"], records.PLACE),
    "the tab": (FOUND, tab_rivals.PLACE),
}  # fmt: skip


@pytest.mark.parametrize("name", PLACES)
def test_adamw_was_tuned_as_widely_as_muon_and_the_best_was_picked(name):
    found, place = PLACES[name]
    assert len(found["AdamW"]["swept"]) >= len(found["Muon"]["swept"])
    for side, inner in rivals.SIDES.items():
        swept = found[side]["swept"]
        pairs = [(one["changes"][inner], one["changes"]["lr"]) for one in swept]
        assert pairs[: len(place.pairs[side])] == place.pairs[side]
        assert all(len(one["losses"]) == place.sweep_seeds for one in swept)
        assert rivals.picked(swept) == found[side]["picked"]
        assert len(found[side].get("validation", [])) == place.seeds


def test_without_muon_the_page_trains_by_the_adamw_that_was_picked():
    assert FOUND["AdamW"]["picked"] == {"lr": TRAINING["lr"]} | {
        key: value for key, value in RIVAL.items() if value is not None
    }


def test_with_muon_the_page_has_the_picked_rates_and_loses_little_by_the_races_momentum():
    picked = FOUND["Muon"]["picked"]
    assert all(picked[key] == TRAINING[key] for key in ("muon_lr", "lr"))
    own, best = (statistics.mean(FOUND[key]["development"]) for key in ("page", "Muon"))
    assert own < best + 0.01
