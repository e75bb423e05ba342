"""Chapter 23's prices: a faulty run is scored twice, and finished runs are kept."""

import pytest
import torch

from lab import runs, silent_bugs


@pytest.fixture
def short(short_text, monkeypatch, tmp_path):
    """A few steps on a short text, and a file of its own."""
    monkeypatch.setattr(silent_bugs, "FILE", tmp_path / "silent_bugs.json")
    monkeypatch.setattr(silent_bugs, "STEPS", 4)
    monkeypatch.setattr(silent_bugs, "SEEDS", 2)
    return tmp_path / "silent_bugs.json"


def test_each_run_is_stored_once_with_both_of_its_losses(short, monkeypatch):
    silent_bugs.main(["--write", "--only", "not_shifted"])
    own = runs.read(short)["patients"]["not_shifted"]
    assert len(own["right"]) == len(own["reported"]) == 2 and len(own["curve"]) == 4
    monkeypatch.setattr(silent_bugs, "patient_run", None)  # a second call has nothing to run
    silent_bugs.main(["--write", "--only", "not_shifted"])
    assert runs.read(short)["patients"]["not_shifted"] == own


def test_a_twin_scores_the_patients_that_use_its_weights(short):
    found = silent_bugs.main(["--quick", "--only", "little"])
    assert not short.exists()
    entry = found["patients"]["validation_trained_on"]
    assert entry["right"] == found["twins"]["little"]["right"] != entry["reported"]


def test_a_seed_s_figures_replace_their_own_and_follow_those_before():
    own = {"right": [1.0, 2.0]}
    silent_bugs.add(own, 1, {"right": 3.00004, "reported": 4.0})
    silent_bugs.add(own, 0, {"right": 5.0})
    assert own == {"right": [5.0], "reported": [4.0]}


def test_the_curve_has_twenty_means():
    losses = torch.arange(500, dtype=torch.float64).tolist()
    assert silent_bugs.curve(losses) == [12 + 25 * i for i in range(20)]
