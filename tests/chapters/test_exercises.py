"""The exercises' checks refuse wrong answers with the right words, and no right answer.

What can go wrong in any exercise is tested in tests/kit/test_check_engine.py, on the engine.
"""

import copy
import random
from collections import Counter

import pytest
import torch

from tools.mistakes_page import COMMAND, EXERCISES, PAGE, PATIENCE, page, refusal

ALL = [(chapter, each) for chapter, found in EXERCISES.items() for each in found]
JUDGED = [(chapter, each) for chapter, each in ALL if each.judge]


def of(exercises):
    """One test for each of these exercises, called `08_rotary.rotate`."""
    names = [f"{chapter}.{each.name}" for chapter, each in exercises]
    return pytest.mark.parametrize("exercise", [each for _, each in exercises], ids=names)


@of(ALL)
def test_a_usual_mistake_is_refused_with_the_diagnosis_meant_for_it(exercise):
    for mistake in exercise.mistakes:
        said = refusal(exercise, mistake)
        assert said.state == "try again", (mistake.description, said)
        assert mistake.diagnosis in said.message, (mistake.description, said)
        assert said.message.count("\n") <= 1 and "Traceback" not in said.message


@of(ALL)
def test_the_order_of_the_mistakes_carries_no_meaning(exercise):
    if all(mistake.is_quoted for mistake in exercise.mistakes):
        return  # the judge finds all words, whatever the table holds
    orders = [exercise.mistakes[::-1]]  # any two of them change places
    if not exercise.is_class:  # a class takes ten times as long
        orders.append(random.Random(1).sample(exercise.mistakes, len(exercise.mistakes)))
    for order in orders:
        reordered = copy.copy(exercise)
        reordered.mistakes = order
        for mistake in order:
            said = reordered(mistake.function, limit=PATIENCE)
            expected = refusal(exercise, mistake)
            assert (said.state, said.message) == (expected.state, expected.message)


@of(ALL)
def test_a_right_answer_passes(exercise):
    for answer in exercise.solutions:
        said = exercise(answer, limit=PATIENCE)
        assert said, (answer, said)


@of(ALL)
def test_an_exercise_has_at_least_five_mistakes_and_two_right_answers(exercise):
    assert len(exercise.mistakes) >= 5 and len(exercise.solutions) >= 2
    names = Counter(mistake.description for mistake in exercise.mistakes)
    assert max(names.values()) == 1, f"{names.most_common(1)} stands twice"


def with_nan(value):
    """The value with NaN in the place of its numbers."""
    if isinstance(value, tuple | list):
        return type(value)(map(with_nan, value))
    if isinstance(value, torch.Tensor):
        return torch.full_like(value, float("nan"), dtype=torch.float)
    return float("nan")


def instead(exercise, change):
    """An answer that returns `change` of what is right."""
    if not exercise.is_class:
        return lambda *args: change(exercise.right(*args))

    class Answer(exercise.right):
        def forward(self, *inputs):
            return change(super().forward(*inputs))

    return Answer


@of(JUDGED)
def test_a_judge_takes_nothing_for_an_answer_that_is_none(exercise):
    unfilled = exercise(instead(exercise, lambda right: ...), limit=PATIENCE)
    assert (unfilled.state, "replace the `...`" in unfilled.message) == ("not yet", True)
    for change in (lambda right: None, lambda right: {1, 2}, with_nan):
        said = exercise(instead(exercise, change), limit=PATIENCE)
        assert said.state == "try again" and "cannot be examined" not in said.message, said


def test_the_page_of_wrong_answers_is_up_to_date():
    stale = f"book/exercise_checks.md is stale: run `{COMMAND}`"
    assert PAGE.exists() and PAGE.read_text(encoding="utf-8") == page(), stale


def test_there_are_as_many_mistakes_as_the_welcome_page_says():
    assert sum(len(exercise.mistakes) for _, exercise in ALL) > 1000
