"""What a rung is, and how one is climbed: a check of what some of the five files define."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from scratchformer_course.blank.mine import Mine, in_words
from scratchformer_course.kit.checks import Exercise, Wrong
from scratchformer_course.kit.checks.sandbox import seeded
from scratchformer_course.teaching.tables import exercise

SECONDS = 90.0


class NotHere(Exception):
    """Something that the rung compares with is not on this machine."""


@dataclass(frozen=True)
class Rung:
    """One step: `check(mine, *what the file defines)` returns words of praise or raises `Wrong`."""

    title: str
    file: str
    names: tuple[str, ...]  # what it takes: of this file, or "model.py:GPT"
    chapter: str  # where to read when stuck, such as "05"
    check: Callable[..., str] = field(repr=False)
    optional: bool = False
    seconds: float = SECONDS

    def climb(self, mine: Mine) -> dict[str, Any]:
        """State ("passed", "not yet", "try again", "not here"), message and seconds."""
        start = time.perf_counter()
        state, message = "passed", ""
        try:
            things = [mine.get(*self._place(name)) for name in self.names]
            with seeded():
                message = self.check(*things)
        except Wrong as wrong:
            state, message = wrong.state, str(wrong)
        except NotHere as missing:
            state, message = "not here", str(missing)
        except (Exception, SystemExit) as error:
            state, message = "try again", in_words(error, mine.folder)
        return {"state": state, "message": message, "seconds": time.perf_counter() - start}

    def _place(self, name: str) -> tuple[str, str]:
        file, colon, inside = name.partition(":")
        return (file, inside) if colon else (self.file, name)


RUNGS: list[Rung] = []


def rung(file: str, *names: str, chapter: str, **settings: Any) -> Callable:
    """Make a check the next rung; the first line of its docstring is the title."""

    def add(check: Callable[..., str]) -> Callable[..., str]:
        title = (check.__doc__ or "").strip().splitlines()[0].rstrip(".")
        RUNGS.append(Rung(title, file, names, chapter, check, **settings))
        return check

    return add


def from_table(title: str, file: str, table: str | Exercise, **settings: Any) -> None:
    """The next rung is an exercise: that of a number, such as "6.3", or one of this ladder."""
    asked = exercise(table) if isinstance(table, str) else table
    chapter = f"{int(asked.number.partition('.')[0]):02}"

    def check(function: Any) -> str:
        verdict = asked(function, limit=0)  # the climb has limits of its own
        if not verdict:
            raise Wrong(verdict.message, verdict.state)
        return ""

    RUNGS.append(Rung(title, file, (asked.name,), chapter, check, **settings))
