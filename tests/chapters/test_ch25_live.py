"""Chapter 25's two figures: what they say of a patient is true, and faults are told."""

import pytest

from scratchformer_course.ch25_silent_bugs.clinic import CLINIC, QUESTIONS, broken_by
from scratchformer_course.ch25_silent_bugs.faults import FAULTS
from scratchformer_course.ch25_silent_bugs.live import two_curves
from scratchformer_course.measurements import load_measurements
from tests.node import Node

in_node = Node(B="ch25_silent_bugs/live.js")
STORED = load_measurements("silent_bugs")
# Wrong diagnoses whose own invariant fails, too: the words say what tells the two apart
SIMILAR = {
    "heads_mixed": {"mask_one_off", "positions_forgotten"},
    "not_shifted": {"shifted_twice"},
    "norm_over_time": {"deviation_for_root"},
}
FIRST_FAILURE = dict(zip(CLINIC, (0, 1, 2, 3, 0, 4), strict=True))  # the first question that fails


@pytest.mark.parametrize("name", CLINIC)
def test_what_speaks_for_and_against_a_diagnosis_is_so(name):
    fault, others = FAULTS[name], CLINIC[name].others
    assert len(others) == 4 and name not in others
    assert broken_by(fault.program, [fault.invariant])
    near = {o for o in others if broken_by(fault.program, [FAULTS[o].invariant])}
    assert near == SIMILAR.get(name, set())
    answers = [broken_by(fault.program, tests) for tests in QUESTIONS.values()]
    assert next(i for i, answer in enumerate(answers) if answer) == FIRST_FAILURE[name]
    assert not any(broken_by(fault.healthy, tests) for tests in QUESTIONS.values())


def test_what_the_symptoms_say_of_losses_was_measured():
    losses = {
        name: STORED["patients"][name]["curve"][-1]
        for name in CLINIC | {"mask_one_off": 0, "shifted_twice": 0}
    }
    excess = {
        name: loss - STORED["twins"][FAULTS[name].setting]["curve"][-1]
        for name, loss in losses.items()
    }
    assert max(excess["heads_mixed"], excess["norm_over_time"]) < -0.5
    assert 1.2 < losses["heads_mixed"] < 1.6 and 0.05 < losses["mask_one_off"] < 0.15
    assert max(STORED["patients"]["not_shifted"]["curve"][4:]) < 0.01  # from step 100 on
    assert max(abs(excess["padding_attended"]), abs(excess["repeat_for_interleave"])) < 0.03
    assert excess["gradients_not_zeroed"] > 0 and excess["shifted_twice"] > 0.3


def test_a_price_in_words():
    body = "return input.prices.map(B.truth)"
    small = [-0.01, -0.03, -0.01]
    prices = [
        {"right": [0.8, 0.7, 0.9], "reported": [-0.23, -0.3, -0.2], "spread": 0.02},
        {"right": small, "reported": small, "spread": 0.02},
        {"right": [0.01, 0.0, 0.02], "loaded": [0.4, 0.2, 0.5]},
    ]
    sure, noise, loaded = in_node(body, prices=prices)
    assert "reports a loss that is 0.23 nats lower" in sure and "costs +0.80" in sure
    assert "cannot tell" in noise and "cannot tell" not in loaded
    assert "+0.40 nats a token (three seeds: +0.20 to +0.50)" in loaded


def test_half_of_the_pairs_have_the_patient_first_and_three_are_too_near_to_tell():
    pairs = two_curves(STORED).settings["pairs"]
    assert sorted(pair["broken"] for pair in pairs) == [0, 0, 0, 0, 1, 1, 1, 1]
    for pair in pairs:
        patients = [patient.get("curve") for patient in STORED["patients"].values()]
        twins = [twin["curve"] for twin in STORED["twins"].values()]
        assert pair["curves"][pair["broken"]] in patients + twins
        assert pair["curves"][1 - pair["broken"]] in twins
    verdicts = in_node("return input.pairs.map(B.truth)", pairs=pairs)
    assert sum("seeds cannot" in verdict for verdict in verdicts) == 3
