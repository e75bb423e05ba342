"""Examines one answer: in the student's process, and for tests in any.

    python -c "from scratchformer_course.teaching.examiner import main; main()"

reads from its input what to examine (`student_process.py` starts it), and writes one line: a word
that only the two know, and JSON with the verdict and with the values that the answer gives.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import json
import os
import random
import sys
from typing import Any

from scratchformer_course.kit.checks.call import Call
from scratchformer_course.kit.checks.engine import Exercise
from scratchformer_course.kit.checks.sandbox import SEED
from scratchformer_course.kit.checks.verdict import Wrong
from scratchformer_course.teaching import guard, student
from scratchformer_course.teaching.fresh_cases import runnable, with_fresh_cases
from scratchformer_course.teaching.plain_values import pack
from scratchformer_course.teaching.tables import exercise, exercises


def reseed() -> None:
    """The states of random numbers that each check finds."""
    random.seed(SEED)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(SEED)
    if torch := sys.modules.get("torch"):
        torch.default_generator.manual_seed(SEED)


def values(each: Exercise, answer: Any) -> list:
    """What an answer gives on every case; `...` where it fails."""
    found = []
    reseed()
    for case in each.cases:
        call = Call(answer, each.name, each.parameters, each.is_class)
        call.function = runnable(answer, each)
        with contextlib.suppress(Wrong):
            call(*case)
        found.append(... if call.error is not None else call.value)
    return found


def examined(each: Exercise, answer: Any) -> dict[str, Any]:
    """State and message of the verdict, and the packed values, or none for an unwritten stub."""
    verdict = each(answer, limit=0)
    found = [] if verdict.state == "not yet" else values(each, answer)
    return {"state": verdict.state, "message": verdict.message, "values": pack(found)}


def main() -> None:
    """Read a job, examine it, reply, and end the process."""
    job = json.load(sys.stdin)
    reply = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):
        os.dup2(nothing, stream)
    each = exercise(job["number"])
    known = {other.name: other.right for other in exercises(job["chapter"])}
    with with_fresh_cases(each, job["seed"]):
        works = each(each.right, limit=0)  # loads what the check needs, while that is allowed
        if not works:
            raise RuntimeError(f"the right answer is refused on this machine. {works}")
        os.dup2(nothing, 2)  # only what is wrong with the grader itself has been told until here
        if any("matplotlib" in cell for cell in job["cells"]):
            importlib.import_module("matplotlib.pyplot")  # writes into its cache at first
        before = guard.marks()
        if job["is_isolated"]:
            guard.read_only()
        guard.bound()
        faulthandler.dump_traceback_later(job["seconds"], exit=True, file=reply)
        guard.refuse()
        try:
            result = examined(each, student.answer(job["cells"], each.name, known))
        except student.Unwritten as why:
            result = {"state": "try again", "message": str(why)}
        except BaseException as error:
            result = {"state": "try again", "message": f"It ends with {type(error).__name__}."}
        result["changed"] = guard.changed(before, guard.marks())
    reply.write(f"\n{job['word']} {json.dumps(result)}\n".encode())
    reply.flush()
    os._exit(0)  # no thread of the notebook's, and nothing that it wants done at the end
