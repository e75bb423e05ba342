"""A chapter's exercises: a stub, and below it the worked answer, which stands once.

A notebook shows the function of the table; tests/lone fills the stubs.
"""

import ast
import inspect
import re
import sys
import textwrap

import nbformat
import pytest
from readers import NOTEBOOKS, stubs

from tests.chapters.tables import ALL, EXERCISES, of

CELLS = {path.stem: nbformat.read(path, as_version=4) for path in NOTEBOOKS}
DEFINES = ast.FunctionDef | ast.ClassDef


def worked(chapter: str, exercise) -> str:
    """The cell of a worked answer."""
    title = f"# @title Worked solution {exercise.number}\n"
    (source,) = (c.source for c in CELLS[chapter].cells if c.source.startswith(title))
    return source


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
    (chapter,) = (chapter for chapter, other in ALL if other is exercise)
    table = sys.modules[exercise.right.__module__]
    right = getattr(table, f"Right{exercise.name}", exercise.right)  # a class behind a function
    known = textwrap.dedent(inspect.getsource(right))
    assert code_of(worked(chapter, exercise), exercise.name) == code_of(known, exercise.name)


@pytest.mark.parametrize("chapter", CELLS)
def test_every_exercise_has_a_stub_with_a_docstring_and_a_solution_behind_it(chapter):
    sources = [cell.source for cell in CELLS[chapter].cells]
    asked = {name: cell.source for cell, name in stubs(CELLS[chapter])}
    assert list(asked) == [exercise.name for exercise in EXERCISES[chapter]]
    least = {"00_primer": 2, "11_training": 2, "12_generation": 2, "26_empty_file": 0}
    assert least.get(chapter, 3) <= len(asked) <= 6
    for exercise in EXERCISES[chapter]:
        stub, solution = asked[exercise.name], worked(chapter, exercise)
        assert '"""' in stub, f"{exercise.name}: the stub has no docstring"
        assert sources.index(stub) < sources.index(solution)
