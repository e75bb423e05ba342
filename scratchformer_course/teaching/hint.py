"""An exercise's task and hints, for a reader or a tutor in a shell; never an answer."""

from __future__ import annotations

import sys

from scratchformer_course.kit.checks.question import Number
from scratchformer_course.teaching.tables import exercise

USAGE = """usage: python -m scratchformer_course hint NUMBER [1 | 2 | question]
  hint 6.2            the task of exercise 6.2, and its first hint
  hint 6.2 2          both hints
  hint 6.2 question   what its box on the page asks"""
NOT_HERE = "its box on the page shows right answers beside a wrong one, so it is not printed here"


def hint(number: str, what: str = "1") -> list[str]:
    """The lines to print. LookupError without such an exercise; ValueError for another `what`."""
    asked = exercise(number)
    lines = [f"Exercise {number}: {asked.task}"]
    if what == "question":
        question = asked.question
        return [*lines, f"Question: {question.text if isinstance(question, Number) else NOT_HERE}"]
    count = len(asked.hints)
    counts = [str(i + 1) for i in range(count)]
    if what not in counts:
        raise ValueError(f"expected {', '.join(counts)} or question after {number}, got {what!r}")
    shown = zip(counts, asked.hints[: int(what)], strict=False)
    return lines + [f"Hint {i} of {count}: {text}" for i, text in shown]


def main(arguments: list[str]) -> int:
    """Print the task and hints of an exercise; 2 with one line if there is no such thing."""
    if arguments in (["-h"], ["--help"]):
        print(USAGE)
        return 0
    try:
        if not 1 <= len(arguments) <= 2:
            raise ValueError(f"expected NUMBER [1 | 2 | question], got {' '.join(arguments)!r}")
        print(*hint(*arguments), sep="\n")
    except (LookupError, ValueError) as error:
        print(f"hint: {error}", file=sys.stderr)
        return 2
    return 0
