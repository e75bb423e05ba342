"""The tables of all exercises, chapter by chapter."""

import functools

import pytest
from readers import NOTEBOOKS

from scratchformer_course.teaching.tables import exercises

PATIENCE = 60.0  # seconds for a check: a busy machine is no mistake

EXERCISES = {path.stem: exercises(path.stem) for path in NOTEBOOKS}
ALL = [(chapter, exercise) for chapter, table in EXERCISES.items() for exercise in table]


def of(exercises):
    """One test for each of these exercises, called `08_rotary.rotate`."""
    names = [f"{chapter}.{exercise.name}" for chapter, exercise in exercises]
    return pytest.mark.parametrize("exercise", [exercise for _, exercise in exercises], ids=names)


@functools.cache
def exported(exercise):
    """What the page knows of an exercise's question: found once, for all tests of it."""
    return exercise.question.export(exercise)
