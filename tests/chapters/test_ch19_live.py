"""The switches of chapter 19 find what was stored, and what a change is worth is of pairs."""

import itertools

import pytest

from scratchformer_course.ch19_since_gpt2.live import PARTS, lines
from scratchformer_course.ch19_since_gpt2.worth import difference, worth
from scratchformer_course.measurements import load_measurements
from tests.node import Node

in_node = Node(F="ch19_since_gpt2/live.js")
LINES = load_measurements("real_lines")


def run(*losses):
    return {"validation": list(losses), "rate": 0.01}


STORED = {
    "alone": {"none": run(2.0, 2.1, 2.3), "rotary": run(1.9, 2.05, 2.2), "experts": run(2.0)},
    "company": {
        "none": run(1.8, 1.9, 2.0),
        "rotary": run(1.9, 2.1, 2.0),
        "window": run(1.0, 1.0, 1.0),
    },
}


def test_each_set_of_switches_finds_its_own_answers():
    figure = lines(LINES)
    some = [c for n in range(5) for c in itertools.combinations(sorted(PARTS), n)]
    found = in_node(
        "return input.some.map((on) => F.storedRun(input.said, new Set(on)))",
        some=some,
        said=figure.settings["said"],
    )
    assert [sorted(names) for names, *_ in found] == [list(on) for on in some]
    assert figure.still.count("<tr>") == 6 and "La femme" in figure.still


def test_differences_are_of_pairs():
    same = difference([1.0, 5.0, 9.0], [0.9, 4.9, 8.9])
    assert same.mean == pytest.approx(0.1) and same.half < 1e-9 and same.decides
    assert not difference([1.0, 2.0, 3.5], [1.1, 1.9, 3.0]).decides


def test_worth_is_what_a_change_adds():
    found = worth(STORED)
    assert set(found["alone"]) == {"rotary"} and set(found["company"]) == {"rotary", "window"}
    assert found["alone"]["rotary"].mean == pytest.approx(-0.25 / 3)
    assert found["company"]["rotary"].mean == pytest.approx(-0.1)  # with it less than without it
    assert found["company"]["window"].mean == pytest.approx(-0.9)
