"""What a change since GPT-2 is worth: differences of pairs, alone and beside the other changes."""

import pytest

from scratchformer_course.ch19_since_gpt2.worth import difference, worth


def run(*losses):
    return {"validation": list(losses), "rate": 0.01}


ALONE = {"none": run(2.0, 2.1, 2.3), "rotary": run(1.9, 2.05, 2.2), "experts": run(2.0)}
BESIDE = {
    "none": run(1.8, 1.9, 2.0),
    "rotary": run(1.9, 2.1, 2.0),
    "window": run(1.0, 1.0, 1.0),
}


def test_differences_are_of_pairs():
    same = difference([1.0, 5.0, 9.0], [0.9, 4.9, 8.9])
    assert same.mean == pytest.approx(0.1) and same.half < 1e-9 and same.decides
    assert not difference([1.0, 2.0, 3.5], [1.1, 1.9, 3.0]).decides


def test_worth_is_what_a_change_adds():
    gains = worth({"alone": ALONE, "company": BESIDE})
    means = {where: {name: d.mean for name, d in rows.items()} for where, rows in gains.items()}
    assert means["alone"] == pytest.approx({"rotary": -0.25 / 3})
    # in "company" a name is of the run without this change, but for those not among the six
    assert means["company"] == pytest.approx({"rotary": -0.1, "window": -0.9})
