"""Points for an exercise, from what a student's process says and from the values that it sends.

Each exercise has `MOST` points. They are given if its check passes and if, compared here, the
values are right on every case, listed or fresh. Otherwise the share of the cases that are right
gives up to `PARTIAL` points, where what one constant answer could reach counts nothing. An exercise
that has no cases, because many answers are right, has all points or none.
"""

from __future__ import annotations

import contextlib
import functools
from dataclasses import dataclass
from typing import Any

from scratchformer_course.kit.checks.compare import fresh, matches
from scratchformer_course.kit.checks.engine import Exercise
from scratchformer_course.teaching.fresh_cases import runnable, with_fresh_cases
from scratchformer_course.teaching.plain_values import unpack

MOST, PARTIAL = 10.0, 5.0
LONGEST = 2000  # characters of a diagnosis


@dataclass(frozen=True)
class Grade:
    """Points for one exercise, with what its check says."""

    number: str
    name: str
    points: float
    state: str  # "passed", "not yet" or "try again"
    message: str
    right: int  # of so many cases
    cases: int


@functools.cache
def right_values(exercise: Exercise, seed: int) -> list:
    """The values that are right on the cases of the table, and on the fresh ones of a seed."""
    with with_fresh_cases(exercise, seed):
        right = runnable(exercise.right, exercise)
        return [right(*fresh(case)) for case in exercise.cases]


def grade(exercise: Exercise, said: dict[str, Any], seed: int) -> Grade:
    """The grade for what `student_process.examine` returns."""
    state, message = said.get("state"), clean(str(said.get("message")))
    state = state if state in ("passed", "not yet") else "try again"
    expected = right_values(exercise, seed)
    agrees = [False] * len(expected)
    with contextlib.suppress(ValueError):
        values = unpack(str(said.get("values")))
        agrees = [_agrees(*pair) for pair in zip(values, expected, strict=False)] or agrees
    right = sum(agrees)
    if name := said.get("changed"):
        state, right = "try again", 0
        message = f"The notebook changes its own checker (`{clean(str(name))}`): no points."
    if state == "passed" and right < len(expected):
        state = "try again"
        message = f"{len(expected) - right} of {len(expected)} values are not what is expected."
    points = MOST if state == "passed" else 0.0
    if state == "try again" and right:
        constant = max(sum(_agrees(x, y) for x in expected) for y in expected)
        share = max(0, right - constant) / max(1, len(expected) - constant)
        points = round(PARTIAL * share, 1)
    return Grade(exercise.number, exercise.name, points, state, message, right, len(expected))


def _agrees(value: Any, expected: Any) -> bool:
    with contextlib.suppress(Exception):
        return matches(value, expected)
    return False


def clean(text: str) -> str:
    """A student's text or a file's name, without characters that steer a terminal."""
    return "".join(c if c.isprintable() or c == "\n" else "�" for c in text[:LONGEST])
