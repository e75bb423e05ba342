"""What runs in the kernel of a graded notebook: fresh cases, and a record of each verdict."""

from __future__ import annotations

import inspect
import json
from typing import Any

from IPython import get_ipython

from scratchformer_course.kit.checks.engine import Exercise, after_check
from scratchformer_course.kit.checks.verdict import Verdict
from scratchformer_course.teaching.tables import exercises

APART = 1000  # between the first numbers that two seeds draw from


def begin(chapter: str, record: str, seed: int) -> None:
    """Give a chapter's checks the cases of a seed, and write each of their verdicts to a file.

    Until a cell defines them, the answers are `...`: a cell with a syntax error costs no other.
    """
    shell: Any = get_ipython()
    for exercise in exercises(chapter):
        shell.user_ns[exercise.name] = ...
        more: Any = exercise.more
        if callable(more) and "start" in inspect.signature(more).parameters:
            cases = more(start=APART * (seed + 1))
            exercise.add_cases([case if isinstance(case, tuple) else (case,) for case in cases])
    file = open(record, "a", encoding="utf-8", buffering=1)  # noqa: SIM115  as long as the kernel

    def write(exercise: Exercise, answer: Any, verdict: Verdict) -> None:
        if not shell.user_ns["In"][-1].startswith("# @title Worked solution"):
            row = {"exercise": exercise.number, "state": verdict.state, "message": verdict.message}
            file.write(json.dumps(row) + "\n")

    after_check.append(write)
