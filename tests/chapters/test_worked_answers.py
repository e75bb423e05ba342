"""The worked answer of an exercise stands once: a notebook shows the function of the table."""

import ast
import inspect
import json
import re
import sys
import textwrap

from readers import NOTEBOOKS

from tests.chapters.tables import ALL, of

CELLS = [
    "".join(cell["source"])
    for path in NOTEBOOKS
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
    if cell["cell_type"] == "code"
]
DEFINES = ast.FunctionDef | ast.ClassDef


def code_of(source: str, name: str) -> str:
    """The function or class of a name that a source defines, without docstrings and comments.

    Names of worked answers end in "solution" in a notebook, and begin with "right" in a table.
    """
    definitions = [node for node in ast.parse(source).body if isinstance(node, DEFINES)]
    (node,) = (node for node in definitions if name.lower() in node.name.lower())
    for part in ast.walk(node):
        if isinstance(part, DEFINES) and ast.get_docstring(part):
            del part.body[0]
    return re.sub(r"\bright_(?=\w)|\bRight(?=[A-Z])|_solution\b|Solution\b", "", ast.unparse(node))


@of(ALL)
def test_the_worked_answer_of_the_notebook_is_the_first_right_answer_of_the_table(exercise):
    title = f"# @title Worked solution {exercise.number}\n"
    (shown,) = (cell for cell in CELLS if cell.startswith(title))
    table = sys.modules[exercise.right.__module__]
    right = getattr(table, f"Right{exercise.name}", exercise.right)  # a class behind a function
    known = textwrap.dedent(inspect.getsource(right))
    assert code_of(shown, exercise.name) == code_of(known, exercise.name)
