"""Questions on the page: all that they know comes from the table of the exercise."""

import pytest

from scratchformer_course.kit.checks import exercise, mistake, number, refused, which


def right_area(a, b):
    return a * b


def by_adding(a, b):
    return sum(a for _ in range(b))


area = exercise(
    "0.1",
    "area(a, b), of a rectangle",
    cases=((2, 3), (4, 5)),
    right=[right_area, by_adding],
    mistakes=[
        mistake("adds", "These are added: multiply", lambda a, b: a + b),
        mistake("takes half", "That is a triangle", lambda a, b: a * b / 2),
        mistake("takes the edge", "That is the way around", lambda a, b: 2 * (a + b)),
        mistake("subtracts", "These are subtracted: multiply", lambda a, b: a - b),
        mistake("divides by nothing", "You divide by 0", lambda a, b: a / 0),
        refused("returns text", "is a str", lambda a, b: str(2.5)),
    ],
)


def test_each_wrong_number_has_the_one_diagnosis_of_its_mistake():
    asked = number("2 by 3?", lambda area: area(2, 3), digits=0).export(area)
    assert asked["right"] == "6" and asked["ask"] == "2 by 3?"
    assert asked["wrong"]["5"] == "These are added: multiply"
    assert "is a str" in asked["wrong"]["2"]  # asked of the check, not quoted from the table
    assert list(asked["wrong"]) == ["-1", "2", "3", "5", "10"]
    alike = number("", lambda area: 3 + area(2, 3) / 1000, digits=1).export(area)
    assert alike["right"] == "3.0" and alike["wrong"] == {}
    with pytest.raises(ValueError, match=r"exercise 0\.1: the right answer gives no number"):
        number("", lambda area: float("nan")).export(area)


def test_a_number_that_two_diagnoses_share_is_left_out_and_so_is_the_right_one():
    asked = number("0 by 3?", lambda area: abs(area(0, 3)), digits=0).export(area)
    assert "3" not in asked["wrong"]  # added, or subtracted
    assert asked["right"] == "0" and "0" not in asked["wrong"]  # a triangle's is 0 by chance
    assert asked["wrong"]["6"] == "That is the way around"


def test_which_shows_code_and_reasons():
    asked = which("takes half", ["adds", "subtracts"]).export(area)
    assert asked["code"] == "def area(a, b):\n    return a * b / 2"
    assert asked["reasons"][asked["reason"]] == "That is a triangle"
    assert {"These are added: multiply", "These are subtracted: multiply"} < {*asked["reasons"]}
    with pytest.raises(ValueError, match=r"exercise 0\.1 has no mistake 'multiplies'"):
        which("multiplies", []).export(area)
