"""The exercises' checks refuse usual mistakes with the right words, and no right answer.

What can go wrong in any exercise, and that the order of a table carries no meaning, is tested in
tests/kit/test_check_engine.py, on the engine.
"""

import torch

from tests.chapters.tables import ALL, PATIENCE, of

MISTAKES = 6  # the likeliest: an answer that no table lists is refused as well
JUDGED = [(chapter, exercise) for chapter, exercise in ALL if exercise.judge]


@of(ALL)
def test_an_exercise_lists_few_mistakes_and_says_something_else_of_each(exercise):
    assert 2 <= len(exercise.mistakes) <= MISTAKES and exercise.solutions
    for words in ("description", "diagnosis"):
        assert len({getattr(m, words) for m in exercise.mistakes}) == len(exercise.mistakes)


@of(ALL)
def test_a_usual_mistake_is_refused_with_the_diagnosis_meant_for_it(exercise):
    for mistake in exercise.mistakes:
        verdict = exercise(mistake.function, limit=PATIENCE)
        assert verdict.state == "try again", (mistake.description, verdict)
        assert mistake.diagnosis in verdict.message, (mistake.description, verdict)
        assert verdict.message.count("\n") <= 1 and "Traceback" not in verdict.message


@of(ALL)
def test_a_right_answer_passes(exercise):
    for answer in exercise.solutions:
        verdict = exercise(answer, limit=PATIENCE)
        assert verdict, (answer, verdict)


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
        verdict = exercise(instead(exercise, change), limit=PATIENCE)
        assert verdict.state == "try again", verdict
        assert "cannot be examined" not in verdict.message, verdict
