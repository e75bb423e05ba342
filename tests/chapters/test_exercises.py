"""The exercises' checks refuse wrong answers with the right words, and no right answer."""

import sys
from collections import Counter

import numpy as np
import pytest
import torch

from scratchformer import checks
from tools.usual_mistakes import (
    ANSWERS,
    COMMAND,
    EXERCISES,
    PAGE,
    RIGHT,
    page,
    refusal,
    verdict,
)

SOLUTIONS = [(check, function) for check, found in RIGHT.items() for function in found]


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda m: f"{m.check}-{m.description}")
def test_a_wrong_answer_is_refused_with_the_diagnosis_meant_for_it(answer):
    said = refusal(answer)
    assert not said and said.state == "try again"
    assert answer.fragment in said.message
    assert said.message.count("\n") <= 1 and "Traceback" not in said.message


@pytest.mark.parametrize(("check", "function"), SOLUTIONS, ids=[check for check, _ in SOLUTIONS])
def test_a_right_answer_passes_whatever_the_global_seeds(check, function):
    for seed in range(2):
        torch.manual_seed(seed)
        answer = verdict(check, function)
        assert answer and answer.state == "passed", answer


def test_every_check_has_at_least_five_mistakes_and_two_solutions():
    counts = Counter(answer.check for answer in ANSWERS)
    assert set(counts) == set(RIGHT) == set(EXERCISES)
    assert len(counts) >= 73 and sum(counts.values()) >= 744
    assert min(counts.values()) >= 5
    assert min(map(len, RIGHT.values())) >= 2


def as_double(value):
    return (
        value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
    )


def as_bfloat16(value):
    return as_double(value).bfloat16() if as_double(value) is not value else value


def as_sparse(value):
    return value.to_sparse() if isinstance(value, torch.Tensor) and value.dim() else value


def as_numpy_number(value):
    known = {bool: np.bool_, int: np.int64, float: np.float64}
    return known[type(value)](value) if type(value) in known else value


def as_tensor_without_dimensions(value):
    return torch.tensor(value) if isinstance(value, bool | int | float) else value


# a class as an answer is tested in tests/unit/test_checks_engine.py
FUNCTIONS = [check for check, exercise in EXERCISES.items() if not exercise.is_class]
STYLES = [as_double, as_bfloat16, as_sparse, as_numpy_number, as_tensor_without_dimensions]


@pytest.mark.parametrize("check", FUNCTIONS)
@pytest.mark.parametrize("style", STYLES)
def test_a_right_answer_in_another_type_that_means_the_same_passes(check, style):
    right = RIGHT[check][0]

    def other(*args):
        value = right(*args)
        if isinstance(value, tuple) and not all(isinstance(part, str) for part in value):
            return list(map(style, value))  # "return two things": a list will do
        return style(value)

    assert verdict(check, other), verdict(check, other)


def raises(*args):
    raise ValueError("something else")


def loops(*args):
    while True:
        pass


UNIVERSAL = {
    "unfilled stub": (lambda *args: ..., "not yet", "replace the `...`"),
    "stub half filled": (lambda *args: len(...), "not yet", "replace the `...`"),
    "no return": (lambda *args: None, "try again", "is the `return` missing?"),
    "wrong type": (lambda *args: {1, 2}, "try again", "is a set"),
    "generator": (lambda *args: (i for i in "ab"), "try again", "is a generator"),
    "exception": (raises, "try again", "ValueError: something else in line"),
    "endless loop": (loops, "try again", "a loop that never ends?"),
    "no parameters": (lambda: 1, "try again", "but yours is `()`"),
    "no function": ("text", "try again", "itself, without ()"),
    "exit": (lambda *args: sys.exit(), "try again", "ends the program"),
}


@pytest.mark.parametrize("check", FUNCTIONS)
@pytest.mark.parametrize("name", UNIVERSAL)
def test_what_can_go_wrong_in_any_exercise_is_told(check, name):
    function, state, fragment = UNIVERSAL[name]
    limit = 0.1 if name == "endless loop" else 5.0
    answer = verdict(check, function, limit=limit)
    assert (answer.state, fragment in answer.message) == (state, True), answer


@pytest.mark.parametrize("check", FUNCTIONS)
def test_an_argument_changed_in_place_is_told_although_the_answer_is_right(check):
    right, changed = RIGHT[check][0], []

    def spoils(*args):
        answer = right(*args)
        for first in [arg for arg in args if isinstance(arg, dict | list | torch.Tensor)][:1]:
            changed.append(first)
            if isinstance(first, torch.Tensor):
                first.zero_().sub_(1) if first.dtype != torch.bool else first.logical_not_()
            else:
                first.clear()
        return answer

    answer = verdict(check, spoils)
    if changed:
        assert not answer and "in place: work on a copy" in answer.message, answer
    else:
        assert answer, "it takes nothing that can be changed, and the answer was right"


@pytest.mark.parametrize("check", FUNCTIONS)
def test_nan_is_refused_wherever_an_answer_holds_floats(check):
    right, spoiled = RIGHT[check][0], []

    def spoil(value):
        if isinstance(value, tuple):
            return type(value)(map(spoil, value))
        if isinstance(value, torch.Tensor):
            spoiled.append(value)
            return torch.full_like(value, float("nan"), dtype=torch.float)
        return value

    answer = verdict(check, lambda *args: spoil(right(*args)))
    if spoiled:
        assert not answer and ("nan" in answer.message.lower() or "float" in answer.message)
    else:
        assert answer, "no tensor to spoil, and the answer was right"


def test_a_check_changes_no_global_random_state_and_no_given_data():
    torch.manual_seed(3)
    before = torch.get_rng_state()
    given = checks.bigram_to_gpt.bigram_counts.cases[0][0]
    ids = given.clone()
    for answer in ANSWERS:
        if answer.check in ("bigram_to_gpt.sample_next", "bigram_to_gpt.bigram_counts"):
            verdict(answer.check, answer.function)
    assert torch.equal(before, torch.get_rng_state())
    assert torch.equal(ids, given)


def test_the_page_of_wrong_answers_is_up_to_date():
    stale = f"book/exercise_checks.md is stale: run `{COMMAND}`"
    assert PAGE.exists() and PAGE.read_text(encoding="utf-8") == page(), stale
