"""The tables of all exercises, chapter by chapter."""

import functools

import pytest
from readers import NOTEBOOKS

from scratchformer_course.teaching.tables import exercises

PATIENCE = 60.0  # seconds for a check: a busy machine is no mistake

EXERCISES = {path.stem: exercises(path.stem) for path in NOTEBOOKS}
ALL = [(chapter, each) for chapter, found in EXERCISES.items() for each in found]


def of(exercises):
    """One test for each of these exercises, called `08_rotary.rotate`."""
    names = [f"{chapter}.{each.name}" for chapter, each in exercises]
    return pytest.mark.parametrize("exercise", [each for _, each in exercises], ids=names)


@functools.cache
def exported(exercise):
    """What the page knows of an exercise's question: found once, for all tests of it."""
    return exercise.question.export(exercise)
