"""The tables of exercises, found by the name of a chapter or the number of an exercise."""

from __future__ import annotations

import importlib
from pathlib import Path

from scratchformer_course.kit.checks.engine import Exercise


def chapters() -> list[str]:
    """The names of all chapters, such as "08_rotary", in order."""
    folders = Path(__file__).parents[1].glob("ch[0-9][0-9]_*")
    return sorted(folder.name[2:] for folder in folders)


def exercises(chapter: str) -> list[Exercise]:
    """The exercises of a chapter, such as "08_rotary", by number."""
    table = importlib.import_module(f"scratchformer_course.ch{chapter}.exercises")
    chapter_exercises = [value for value in vars(table).values() if isinstance(value, Exercise)]
    return sorted(chapter_exercises, key=lambda exercise: exercise.number)


def exercise(number: str) -> Exercise:
    """The exercise of a number, such as "6.2". LookupError if there is none."""
    chapter_number = number.partition(".")[0]
    for chapter in chapters():
        if chapter_number.isdecimal() and chapter.startswith(f"{int(chapter_number):02}_"):
            chapter_exercises = exercises(chapter)
            for candidate in chapter_exercises:
                if candidate.number == number:
                    return candidate
            numbers = ", ".join(candidate.number for candidate in chapter_exercises)
            raise LookupError(f"there is no exercise {number}: chapter {chapter} has {numbers}")
    raise LookupError(f"expected the number of an exercise, such as 6.2, and got {number!r}")
