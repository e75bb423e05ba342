"""Hints and questions of the exercises: each has them, and what a question says is true.

The page shows what is tested here; that it shows it is tested in tests/site/test_exercise_box.py.
"""

import json
import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from scratchformer_course.kit.checks.question import Number, Which
from tests.chapters.test_exercises import ALL, of
from tests.node import Node
from tools.mistakes_page import PATIENCE

NUMBERS = [(chapter, each) for chapter, each in ALL if isinstance(each.question, Number)]
WHICH = [(chapter, each) for chapter, each in ALL if isinstance(each.question, Which)]
in_node = Node("../book/_assets/guess-verdicts.js", E="../book/_assets/exercise.js")
KNOWN = {"torch": torch, "math": math, "F": F, "nn": nn}  # to the code that a question shows
LARGEST = 2000  # bytes of a question, as the page holds it
LINES, COLUMNS = 9, 62


@of(ALL)
def test_an_exercise_has_two_hints_and_a_question(exercise):
    assert len(exercise.hints) == 2 and exercise.question is not None
    for hint in exercise.hints:
        assert len(hint) > 10 and hint.count("`") % 2 == 0


@of(NUMBERS + WHICH)
def test_a_question_is_small_and_what_stands_in_backticks_ends(exercise):
    told = exercise.question.export(exercise)
    assert len(json.dumps(told, ensure_ascii=False).encode()) <= LARGEST
    wrong = told["wrong"] if told["kind"] == "number" else {}
    said = [told["ask"], *told.get("reasons", []), *wrong.values()]
    assert all(text.count("`") % 2 == 0 and "\n" not in text for text in said)


@of(NUMBERS)
def test_all_right_answers_give_the_number_and_three_mistakes_give_others(exercise):
    question = exercise.question
    told = question.export(exercise)
    found = [question._of(answer) for answer in exercise.solutions]
    assert set(found) - {None} == {told["right"]}  # some designs do not fit the question's case
    assert len(told["wrong"]) >= 3 and told["right"] not in told["wrong"]


@of(NUMBERS)
def test_a_wrong_number_is_told_the_one_diagnosis_of_its_mistake(exercise):
    told = exercise.question.export(exercise)
    of_number = {}
    for mistake in exercise.mistakes:
        of_number.setdefault(exercise.question._of(mistake.function), []).append(mistake)
    for number, text in told["wrong"].items():
        assert all(m.is_quoted or m.diagnosis == text for m in of_number[number])


def test_the_page_takes_each_right_number_and_tells_each_wrong_one_its_diagnosis():
    told = [each.question.export(each) for _, each in NUMBERS]
    judged = in_node(
        """return input.told.map((question) => [
          E.judgeNumber(question, question.right).state === "right",
          ...Object.entries(question.wrong).map(([typed, words]) =>
            E.judgeNumber(question, typed).text.startsWith(words)),
        ]);""",
        told=told,
    )
    assert all(map(all, judged))


def shown(exercise, code):
    """What a snippet of a question defines, with nothing but PyTorch and `math` at hand."""
    names = dict(KNOWN)
    exec(code, names)
    return names[exercise.name]


@of(WHICH)
def test_of_the_answers_shown_one_is_refused_for_the_reason_that_is_marked(exercise):
    told = exercise.question.export(exercise)
    assert 2 <= len(told["answers"]) <= 3
    assert 3 <= len(told["reasons"]) == len(set(told["reasons"])) <= 4
    for i, code in enumerate(told["answers"]):
        lines = code.splitlines()
        assert len(lines) <= LINES and max(map(len, lines)) <= COLUMNS, code
        said = exercise(shown(exercise, code), limit=PATIENCE)
        if i == told["wrong"]:
            assert told["reasons"][told["reason"]] in said.message, said
        else:
            assert said, (code, said)


def test_code_that_needs_the_table_would_be_noticed():
    exercise = ALL[0][1]
    with pytest.raises(NameError):
        shown(exercise, f"{exercise.name} = right_answer_of_the_table")
