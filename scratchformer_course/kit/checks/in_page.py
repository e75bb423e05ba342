"""An exercise in a page: a reader's code runs as it would in the notebook, and its check answers.

The page's worker (book/_assets/python-worker.js) calls `open_chapter` once, and `run` for each
press of *Run*.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.util
import io
import json
import linecache
import sys
from typing import Any

from scratchformer_course.kit.checks.call import Call
from scratchformer_course.kit.checks.engine import Exercise
from scratchformer_course.kit.checks.sandbox import LIMIT, in_turn
from scratchformer_course.kit.checks.verdict import Verdict

PRINTED = 4000  # characters of what a reader's code prints are shown

exercises: dict[str, Exercise] = {}  # those of the chapter, by number
names: dict[str, Any] = {}  # what the chapter's code finds, as in its notebook


def open_chapter(room: str) -> None:
    """Read the table of a slice, such as "ch01_bpe". Its exercises are solved at first."""
    if importlib.util.find_spec("regex") is None:
        sys.modules["regex"] = importlib.import_module(f"{__package__}.regex_by_re")
    table = importlib.import_module(f"scratchformer_course.{room}.exercises")
    found = [each for each in vars(table).values() if isinstance(each, Exercise)]
    exercises.update((each.number, each) for each in found)
    names.update({"__name__": "__main__", "checks": table}, **getattr(table, "IN_NOTEBOOK", {}))
    names.update((each.name, each.right) for each in found)


def run(number: str, code: str) -> str:
    """Run the code of an exercise's cell: JSON of the verdict's state and HTML, and of the prints.

    The chapter goes on with the reader's function if it passes, else with the right one.
    """
    exercise = exercises[number]
    printed = io.StringIO()
    names.pop(exercise.name, None)
    with contextlib.redirect_stdout(printed):
        why = _define(exercise.name, code, f"<exercise {number}>")
        if why:
            verdict = Verdict(number, "try again", why)
        else:
            verdict = exercise(names.get(exercise.name, ...), run=in_turn)
    if not verdict:
        names[exercise.name] = exercise.right
    text = printed.getvalue()
    text = text if len(text) <= PRINTED else f"{text[:PRINTED]}…"
    return json.dumps({"state": verdict.state, "html": verdict._repr_html_(), "printed": text})


def _define(name: str, code: str, file: str) -> str:
    """Run the code, without the call of its check; what went wrong, in words."""
    linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
    call = Call(exec, name, [])
    try:
        tree = ast.parse(code, file)
        tree.body = [x for x in tree.body if not ast.unparse(x).startswith("checks.")]
        compiled = compile(tree, file, "exec")
    except SyntaxError as error:
        place = f"in line {error.lineno}: `{(error.text or '').strip()}`"
        return f"{type(error).__name__}: {error.msg}, {place}."
    except ValueError as error:  # a null character
        return f"{type(error).__name__}: {error}."

    def work() -> str:
        try:
            exec(compiled, names)
        except Exception as error:
            call.given, call.error = type("Code", (), {"__code__": compiled}), error
            return call.failure()
        return "done"

    ended = in_turn(work, LIMIT)
    if ended.problem:
        return f"the code {ended.problem}: is there a loop that never ends?"
    return "" if ended.result == "done" else ended.result or "the code ends the program."
