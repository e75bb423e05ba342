"""What the page says of the real model's speed: the formula is chapter 15's, and it is a bound."""

import pytest

from lab import real_speed
from scratchformer_course.measurements import load_measurements
from tools.stand_ins import real_model_is_missing


def test_the_formula_is_bandwidth_over_bytes_and_no_round_beats_it():
    stored = load_measurements("real_speed")
    rounds = zip(
        *(stored[key] for key in ("tokens_a_second", "bytes_a_second", "foretold_tokens_a_second")),
        strict=True,
    )
    for written, delivered, foretold in rounds:
        assert foretold == pytest.approx(delivered * 1e9 / stored["weights_bytes"], rel=0.01)
        assert written < foretold


@pytest.mark.skipif(bool(real_model_is_missing()), reason="SmolLM2 is not at hand")
def test_it_measures_the_whole_model():
    found = real_speed.main(["--quick"])
    assert found["weights_bytes"] == 4 * 134_515_008
    assert len(found["share"]) == 1 and found["share"][0] > 0
