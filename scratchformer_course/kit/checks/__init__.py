"""Instant checks for the exercises: calling an exercise with an answer returns a `Verdict`.

The exercises of a chapter stand in its slice, as tables: `ch08_rotary/exercises.py`.
"""

from scratchformer_course.kit.checks.engine import Exercise, exercise
from scratchformer_course.kit.checks.mistakes import mistake, refused
from scratchformer_course.kit.checks.question import number, which
from scratchformer_course.kit.checks.verdict import Wrong, expect

__all__ = ["Exercise", "Wrong", "exercise", "expect", "mistake", "number", "refused", "which"]
