"""The tables of all exercises, chapter by chapter."""

import functools
import importlib

import pytest
from readers import NOTEBOOKS

from scratchformer_course.kit.checks import Exercise

PATIENCE = 60.0  # seconds for a check: a busy machine is no mistake


def exercises(chapter):
    """The exercises of a chapter, such as "08_rotary", by number."""
    table = importlib.import_module(f"scratchformer_course.ch{chapter}.exercises")
    found = [each for each in vars(table).values() if isinstance(each, Exercise)]
    return sorted(found, key=lambda each: each.number)


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
