"""An exercise in a page: a reader's code runs as it would in the notebook, and its check answers.

The page's worker (book/_assets/python-worker.js) calls `open_chapter` once, and for each press of
*Run* first `late`, then `run`. The page ends a worker that does not come back, and says what `late`
has returned.
"""

import ast
import contextlib
import importlib
import importlib.util
import io
import json
import linecache
import sys
from typing import Any

from scratchformer_course.kit.checks.call import failure
from scratchformer_course.kit.checks.engine import Exercise
from scratchformer_course.kit.checks.verdict import Verdict

LIMIT = 10  # seconds for a press of *Run*
PRINTED = 4000  # characters of what a reader's code prints are shown

exercises: dict[str, Exercise] = {}  # those of the chapter, by number
names: dict[str, Any] = {}  # what the chapter's code finds, as in its notebook


def open_chapter(package: str) -> None:
    """Read the table of a slice, such as "ch01_bpe". Its exercises are solved at first."""
    if importlib.util.find_spec("regex") is None:
        sys.modules["regex"] = importlib.import_module(f"{__package__}.regex_by_re")
    table = importlib.import_module(f"scratchformer_course.{package}.exercises")
    names.update({"__name__": "__main__", "checks": table}, **getattr(table, "IN_NOTEBOOK", {}))
    for exercise in vars(table).values():
        if isinstance(exercise, Exercise):
            exercises[exercise.number], names[exercise.name] = exercise, exercise.right


def late(number: str) -> str:
    """JSON of the seconds for a run, and of the verdict on one that takes longer."""
    return json.dumps({"seconds": LIMIT, "late": _told(exercises[number].late(LIMIT))})


def run(number: str, code: str) -> str:
    """Run the code of an exercise's cell: JSON of the verdict's state and HTML, and of the prints.

    The chapter goes on with the reader's function if it passes, else with the right one.
    """
    exercise = exercises[number]
    printed = io.StringIO()
    names.pop(exercise.name, None)
    with contextlib.redirect_stdout(printed):
        why = _define(code, f"<exercise {number}>")
        if why:
            verdict = Verdict(number, "try again", why)
        else:
            verdict = exercise(names.get(exercise.name, ...))
    if not verdict:
        names[exercise.name] = exercise.right
    text = printed.getvalue()
    text = text if len(text) <= PRINTED else f"{text[:PRINTED]}…"
    return json.dumps({**_told(verdict), "printed": text})


def _told(verdict: Verdict) -> dict[str, str]:
    return {"state": verdict.state, "html": verdict._repr_html_()}


def _define(code: str, file: str) -> str:
    """Run the code, without the call of its check; what went wrong, in words."""
    linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
    try:
        tree = ast.parse(code, file)
        tree.body = [x for x in tree.body if not ast.unparse(x).startswith("checks.")]
        exec(compile(tree, file, "exec"), names)
    except SyntaxError as error:
        place = f"in line {error.lineno}: `{(error.text or '').strip()}`"
        return f"{type(error).__name__}: {error.msg}, {place}."
    except SystemExit:
        return "the code ends the program."
    except Exception as error:
        return failure(error, file)
    return ""
