"""Questions on the page: all that they know comes from the table of the exercise."""

import pytest

from scratchformer_course.kit.checks import exercise, mistake, number, refused, which
from scratchformer_course.kit.checks.question import source


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
    told = number("2 by 3?", lambda area: area(2, 3), digits=0).export(area)
    assert told["right"] == "6" and told["ask"] == "2 by 3?"
    assert told["wrong"]["5"] == "These are added: multiply"
    assert told["wrong"]["3"] == "That is a triangle"
    assert "is a str" in told["wrong"]["2"]  # asked of the check, not quoted from the table
    assert list(told["wrong"]) == ["-1", "2", "3", "5", "10"]


def test_a_number_that_two_diagnoses_share_is_left_out_and_so_is_the_right_one():
    told = number("4 by 4?", lambda area: area(4, 4), digits=0).export(area)
    assert told["right"] == "16" and "16" not in told["wrong"]  # 2 · (4 + 4) is right by chance
    told = number("0 by 3?", lambda area: abs(area(0, 3)), digits=0).export(area)
    assert "3" not in told["wrong"]  # added, or subtracted
    assert told["wrong"]["6"] == "That is the way around"


def test_numbers_that_look_alike_are_not_told_apart():
    told = number("", lambda area: 3 + area(2, 3) / 1000, digits=1).export(area)
    assert told["right"] == "3.0" and told["wrong"] == {}


def test_an_answer_without_a_number_is_an_error_in_the_table():
    with pytest.raises(ValueError, match=r"exercise 0\.1: the right answer gives no number"):
        number("", lambda area: float("nan")).export(area)


def test_which_shows_code_and_reasons_in_an_order_that_stays():
    question = which("takes half", [by_adding], ["adds", "subtracts"])
    told = question.export(area)
    assert told == question.export(area)
    assert told["answers"][told["wrong"]] == "def area(a, b):\n    return a * b / 2"
    assert told["reasons"][told["reason"]] == "That is a triangle"
    assert sorted(told["reasons"])[1:] == ["These are added: multiply",
                                           "These are subtracted: multiply"]  # fmt: skip
    assert "def area(a, b):\n    return sum(" in told["answers"][1 - told["wrong"]]


def test_which_refuses_a_mistake_that_the_table_does_not_know():
    with pytest.raises(ValueError, match=r"exercise 0\.1 has no mistake 'multiplies'"):
        which("multiplies", [right_area], []).export(area)


def test_a_lambda_is_shown_as_a_function():
    assert source(lambda a: a + 1, "f") == "def f(a):\n    return a + 1"
