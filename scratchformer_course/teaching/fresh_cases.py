"""Cases that no reader has seen, drawn from a teacher's seed.

An exercise whose further cases are drawn draws others. Of any other, the listed cases are taken
with the numbers of each tensor, and the bytes of each text, in another order; truth values stay.
"""

from __future__ import annotations

import contextlib
import inspect
import random
import re
from collections.abc import Iterator
from typing import Any

from scratchformer_course.kit.checks.classes import as_function
from scratchformer_course.kit.checks.compare import fresh, is_tensor, matches, same
from scratchformer_course.kit.checks.engine import Answer, Exercise
from scratchformer_course.teaching.plain_values import pack

APART = 1000  # between the first numbers that two seeds draw from


def runnable(answer: Answer, exercise: Exercise) -> Any:
    """The answer as a function of a case, which a class is not."""
    return as_function(answer, exercise.right) if exercise.is_class else answer


def fresh_cases(exercise: Exercise, seed: int) -> list[tuple]:
    """Cases beside those of the table, on which all right answers of the table agree.

    Cases that are listed already, or for which the right answer is no finite number, are left out.
    """
    more: Any = exercise.more
    listed = exercise.cases
    if callable(more) and "start" in inspect.signature(more).parameters:
        made = more(start=APART * (seed + 1))
        found = [case if isinstance(case, tuple) else (case,) for case in made]
    else:
        draw = random.Random(seed)
        found = [tuple(_reordered(part, draw) for part in case) for case in listed]
    new = [case for case in found if not any(same(case, known) for known in listed)]
    return [case for case in new if _is_fair(case, exercise)]


@contextlib.contextmanager
def with_fresh_cases(exercise: Exercise, seed: int) -> Iterator[None]:
    """Inside, the exercise has the fresh cases of a seed as well."""
    before = exercise.more
    exercise.add_cases(fresh_cases(exercise, seed))
    try:
        yield
    finally:
        exercise.more = before


def _reordered(part: Any, draw: random.Random) -> Any:
    if isinstance(part, bytes):
        return bytes(draw.sample(part, len(part)))
    if is_tensor(part) and str(part.dtype) != "torch.bool":
        order = draw.sample(range(part.numel()), part.numel())
        return part.flatten()[order].view(part.shape)
    return part


def _is_fair(case: tuple, exercise: Exercise) -> bool:
    """Whether the right answers agree, on finite values: others may rely on what is not said."""
    try:
        first, *others = (runnable(each, exercise)(*fresh(case)) for each in exercise.solutions)
    except Exception:
        return False
    is_finite = not re.search("NaN|Infinity", pack([first]))
    return is_finite and all(matches(each, first) for each in others)
