"""Chapter 23's two figures: what they say of a patient is true, and faults are told."""

import pytest

from scratchformer_course.ch23_silent_bugs.clinic import CLINIC, QUESTIONS, broken_by
from scratchformer_course.ch23_silent_bugs.faults import FAULTS
from scratchformer_course.ch23_silent_bugs.live import PAIRS, two_curves
from scratchformer_course.measurements import load_measurements
from tests.node import Node

in_node = Node(B="ch23_silent_bugs/live.js")
STORED = load_measurements("silent_bugs")
# Wrong diagnoses whose own invariant fails, too: the words say what tells the two apart
NEAR = {
    ("heads_mixed", "mask_one_off"),
    ("heads_mixed", "positions_forgotten"),
    ("not_shifted", "shifted_twice"),
    ("norm_over_time", "deviation_for_root"),
}


@pytest.mark.parametrize("name", CLINIC)
def test_what_speaks_against_a_wrong_diagnosis_is_so(name):
    program, others = FAULTS[name].program, CLINIC[name].others
    assert len(others) == 4 and name not in others
    assert broken_by(program, [FAULTS[name].invariant])
    near = {other for other in others if broken_by(program, [FAULTS[other].invariant])}
    assert {(name, other) for other in near} == {pair for pair in NEAR if pair[0] == name}


def test_each_patient_of_the_clinic_fails_a_question_and_its_healthy_twin_none():
    for name in CLINIC:
        healthy = FAULTS[name].healthy
        assert not any(broken_by(healthy, tests) for tests in QUESTIONS.values()), name
    first = {}
    for name in CLINIC:
        asked = [broken_by(FAULTS[name].program, tests) for tests in QUESTIONS.values()]
        first[name] = next(i for i, said in enumerate(asked) if said)
    assert list(first.values()) == [0, 1, 2, 3, 0, 4]


def test_what_the_symptoms_say_of_losses_was_measured():
    ends = {name: STORED["patients"][name]["curve"][-1] for name in CLINIC}
    twins = {name: STORED["twins"][FAULTS[name].setting]["curve"] for name in CLINIC}
    assert ends["heads_mixed"] < twins["heads_mixed"][-1] - 0.5
    assert ends["norm_over_time"] < twins["norm_over_time"][-1] - 0.5
    assert 1.2 < ends["heads_mixed"] < 1.6
    assert 0.05 < STORED["patients"]["mask_one_off"]["curve"][-1] < 0.15
    assert max(STORED["patients"]["not_shifted"]["curve"][4:]) < 0.01  # from step 100 on
    for name in ("padding_attended", "repeat_for_interleave"):
        assert abs(ends[name] - twins[name][-1]) < 0.03
    slow = STORED["patients"]["gradients_not_zeroed"]["curve"]
    assert all(a > b for a, b in zip(slow, twins["gradients_not_zeroed"], strict=True))
    shifted = STORED["patients"]["shifted_twice"]["curve"][-1]
    assert shifted > STORED["twins"]["plain"]["curve"][-1] + 0.3


def test_a_price_in_words():
    body = "return input.prices.map(B.truth)"
    sure = {"right": [0.8, 0.7, 0.9], "reported": [-0.23, -0.3, -0.2], "spread": 0.02}
    small = [-0.01, -0.03, -0.01]
    noise = {"right": small, "reported": small, "spread": 0.02}
    loaded = {"right": [0.01, 0.0, 0.02], "loaded": [0.4, 0.2, 0.5]}
    one, two, three = in_node(body, prices=[sure, noise, loaded])
    assert "reports a loss that is 0.23 nats lower" in one and "costs +0.80" in one
    assert "cannot tell" in two and "cannot tell" not in three
    assert "+0.40 nats a token (three seeds: +0.20 to +0.50)" in three


def test_a_pair_holds_the_patient_where_it_says():
    pairs = two_curves(STORED).settings["pairs"]
    assert [pair["broken"] for pair in pairs].count(0) == len(pairs) / 2
    for pair, name in zip(pairs, PAIRS, strict=True):
        fault = FAULTS[name]
        twin = STORED["twins"][fault.setting]["curve"]
        assert pair["curves"][1 - pair["broken"]] == twin
        curve = STORED["patients"][name]["curve"] if fault.trained else twin
        assert pair["curves"][pair["broken"]] == curve
    assert pairs[3]["curves"][0] == pairs[3]["curves"][1]  # as the page says
    assert (
        in_node(
            "return input.pairs.filter((p) => /seeds cannot/.test(B.truth(p))).length", pairs=pairs
        )
        == 3
    )
