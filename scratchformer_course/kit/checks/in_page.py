"""An exercise in a page: a reader's code runs as it would in the notebook, and its check answers.

The page's worker (book/_assets/python-worker.js) calls `open_chapter` once, and for each press of
*Run* first `remember` with each earlier answer that has passed and is new to it, then `late`, then
`run`. The page ends a worker that does not come back, and says what `late` has returned.

What the chapter's notebook imports and defines is in `in_notebook.py`, which the build has written
(teaching/packed_python.py): an answer gets of it what it names.
"""

import ast
import contextlib
import importlib
import importlib.util
import io
import json
import linecache
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from scratchformer_course import page_torch
from scratchformer_course.kit.checks.call import failure
from scratchformer_course.kit.checks.engine import Exercise
from scratchformer_course.kit.checks.verdict import Verdict
from scratchformer_course.page_torch import products

LIMIT = 60  # seconds for a press of *Run*, which a slow phone may need
TOO_LATE = (
    "`{}` did not come back within {} seconds: is there a loop that never ends? If not, run this "
    "in the notebook."
)
NOT_HERE = (
    "The page's small PyTorch does not know {}: run this in the notebook. That says nothing about "
    "your answer."
)
PRINTED = 4000  # characters of what a reader's code prints are shown

exercises: dict[str, Exercise] = {}  # those of the chapter, by number
names: dict[str, Any] = {}  # what the chapter's code finds, as in its notebook
notebook: list[ast.stmt] = []  # what the notebook imports and defines, and no answer has named yet


def open_chapter(package: str, product: Callable | None = None) -> None:
    """Read the table of a slice, such as "ch01_bpe". Its exercises are solved at first.

    Where there is no PyTorch, `page_torch` takes its place, and large products of matrices are
    computed by `product` (see page_torch/products.py).
    """
    if not _is_there("torch"):
        page_torch.install()
        if product is not None:
            products.use_product(product)
    if not _is_there("regex"):
        sys.modules["regex"] = importlib.import_module(f"{__package__}.regex_by_re")
    if not _is_there("tiktoken"):
        sys.modules["tiktoken"] = ModuleType("tiktoken")  # a page calls nothing of it
        vars(sys.modules["tiktoken"])["Encoding"] = object
    table = importlib.import_module(f"scratchformer_course.{package}.exercises")
    names.update({"__name__": "__main__", "checks": table})
    written = Path(str(table.__file__)).with_name("in_notebook.py")
    notebook[:] = ast.parse(written.read_text("utf-8")).body if written.is_file() else []
    for exercise in vars(table).values():
        if isinstance(exercise, Exercise):
            exercises[exercise.number], names[exercise.name] = exercise, exercise.right


def _is_there(module: str) -> bool:
    return module in sys.modules or importlib.util.find_spec(module) is not None


def late(number: str) -> str:
    """JSON of the seconds for a run, and of the verdict on one that takes longer."""
    verdict = Verdict(number, "not here", TOO_LATE.format(exercises[number].name, LIMIT))
    return json.dumps({"seconds": LIMIT, "late": _told(verdict)})


def remember(number: str, code: str) -> bool:
    """Run an answer that passed before, silently; whether the chapter goes on with it."""
    return json.loads(run(number, code))["state"] == "passed"


def run(number: str, code: str) -> str:
    """Run the code of an exercise's cell: JSON of the verdict's state and HTML, and of the prints.

    The chapter goes on with the reader's function if it passes, else with the right one.
    """
    exercise = exercises[number]
    printed = io.StringIO()
    names.pop(exercise.name, None)
    page_torch.lacking.clear()
    with contextlib.redirect_stdout(printed), contextlib.suppress(page_torch.NotInPage):
        why = _define(code, f"<exercise {number}>")
        if why:
            verdict = Verdict(number, "try again", why)
        else:
            verdict = exercise(names.get(exercise.name, ...))
    if page_torch.lacking:
        verdict = Verdict(number, "not here", NOT_HERE.format(page_torch.lacking[0]))
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
        _lend(tree)
        exec(compile(tree, file, "exec"), names)
    except SyntaxError as error:
        place = f"in line {error.lineno}: `{(error.text or '').strip()}`"
        return f"{type(error).__name__}: {error.msg}, {place}."
    except SystemExit:
        return "the code ends the program."
    except Exception as error:
        return failure(error, file)
    return ""


def _lend(tree: ast.Module) -> None:
    """Run those statements of the notebook that define what the code names."""
    wanted, lent = _named(tree), []
    for statement in reversed(notebook):  # what is used is defined above
        if wanted & defined(statement):
            wanted |= _named(statement)
            lent.append(statement)
    for statement in reversed(lent):
        notebook.remove(statement)
        with contextlib.suppress(ImportError):  # then the code's own line says what is not there
            exec(compile(ast.Module([statement], []), "<notebook>", "exec"), names)


def _named(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def defined(statement: ast.stmt) -> set[str]:
    """The names that a statement of a notebook gives to what it makes."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return {x.id for target in targets for x in ast.walk(target) if isinstance(x, ast.Name)}
