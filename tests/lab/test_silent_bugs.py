"""Chapter 25's prices: a faulty run is scored twice, and finished runs are kept."""

import pytest

from lab import runs, silent_bugs


@pytest.fixture
def short(short_text, monkeypatch, tmp_path):
    """A few steps on a short text, and a file of its own."""
    monkeypatch.setattr(runs, "FOLDER", tmp_path)
    monkeypatch.setattr(silent_bugs, "SETTINGS", silent_bugs.SETTINGS | {"steps": 4, "seeds": 2})
    return tmp_path / "silent_bugs.json"


def test_each_run_is_stored_once_with_both_of_its_losses(short, monkeypatch):
    silent_bugs.main(["--write", "--only", "not_shifted"])
    patient = runs.read(short)["patients"]["not_shifted"]
    assert len(patient["right"]) == len(patient["reported"]) == 2 and len(patient["curve"]) == 4
    monkeypatch.setattr(silent_bugs, "patient_run", None)  # a second call has nothing to run
    silent_bugs.main(["--write", "--only", "not_shifted"])
    assert runs.read(short)["patients"]["not_shifted"] == patient


def test_a_price_is_the_mean_difference_from_the_twin_on_the_same_rows():
    assert silent_bugs.price([3.0, 2.0], [1.0, 1.5]) == [1.25, 0.5, 2.0]
    assert silent_bugs.price([], [1.0]) is None
    derived = silent_bugs.derive(
        {
            "twins": {"plain": {"right": [1.0], "some": [1.2], "writing": [2.0]}},
            "patients": {"mask_one_off": {"right": [5.2], "reported": [0.25], "loaded": [2.2]}},
        }
    )
    costs = derived["patients"]["mask_one_off"]["prices"]
    means = {figure: cost[0] for figure, cost in costs.items()}
    assert means == pytest.approx({"right": 4.0, "reported": -0.75, "loaded": 1.0})


def test_a_price_is_noise_if_it_is_small_or_if_its_sign_is_not_sure():
    assert silent_bugs.within_noise([0.01, 0.005, 0.015], spread=0.012)
    assert silent_bugs.within_noise([0.1, -0.1, 0.3], spread=0.001)
    assert not silent_bugs.within_noise([0.01, 0.005, 0.015], spread=0.008)
    assert not silent_bugs.within_noise([-0.1, -0.2, -0.05], spread=0.0)
