"""The page's optimisers: AdamW was tuned as widely as Muon, and the page trains by what won."""

import json
import shutil
import statistics

import pytest

from lab import records_page, rivals, runs, tab_rivals
from scratchformer_course.tab_trainer.race import CONFIG, RIVAL, TRAINING

FOUND = runs.read(tab_rivals.STORED)


def as_json(value):
    return json.loads(json.dumps(value))


def test_what_is_stored_is_of_the_pages_setting_and_both_sides_got_the_same_trial():
    assert FOUND["settings"] == as_json([CONFIG, TRAINING]), "measure again"
    place = tab_rivals.PLACE
    assert FOUND["steps"] == place.steps == TRAINING["steps"]
    tried = {side: FOUND[side]["swept"] for side in rivals.SIDES}
    assert len(tried["AdamW"]) == len(tried["Muon"])
    for side, inner in rivals.SIDES.items():
        pairs = as_json(place.pairs[side])
        assert [[a["changes"][inner], a["changes"]["lr"]] for a in tried[side]][:16] == pairs
        assert all(len(attempt["losses"]) == place.sweep_seeds for attempt in tried[side])
        picked = FOUND[side]["picked"]
        assert rivals.picked(tried[side]) == picked
        for key in (inner, "lr"):
            rates = {attempt["changes"][key] for attempt in tried[side]}
            assert min(rates) < picked[key] < max(rates), "at the edge of the grid"
        for split in ("development", "validation"):
            assert len(FOUND[side][split]) == place.seeds


def test_without_muon_the_page_trains_by_the_adamw_that_was_picked():
    assert FOUND["AdamW"]["picked"] == {"lr": TRAINING["lr"]} | {
        key: value for key, value in RIVAL.items() if value is not None
    }


def test_with_muon_the_page_has_the_picked_rates_and_loses_little_by_the_races_momentum():
    picked = FOUND["Muon"]["picked"]
    assert all(picked[key] == TRAINING[key] for key in ("muon_lr", "lr"))
    own, best = (statistics.mean(FOUND[key]["development"]) for key in ("page", "Muon"))
    assert own < best + 0.01


def test_adamw_comes_to_muons_loss_with_half_as_many_steps_more_and_not_with_a_quarter():
    losses = records_page.by_steps(FOUND["AdamW"]["longer"])
    few, many = (statistics.mean(losses[steps]) for steps in sorted(losses))
    assert abs(many - statistics.mean(FOUND["Muon"]["development"])) < 0.01 < few - many


@pytest.mark.skipif(shutil.which("node") is None, reason="no node on the PATH")
def test_both_sides_train_in_node_from_end_to_end(short_text):
    found = tab_rivals.main(["--quick"])
    for side in rivals.SIDES:
        assert len(found[side]["swept"]) == 3 and len(found[side]["validation"]) == 1
        assert all(loss < 5 for attempt in found[side]["swept"] for loss in attempt["losses"])
    assert {run["loss"] < 5 for run in found["AdamW"]["longer"]} == {True}
