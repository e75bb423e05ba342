"""The stubs that the chapters hold are those of their exercises (tests/lone fills them)."""

import nbformat
import pytest
from readers import NOTEBOOKS, stubs

from tests.chapters.tables import EXERCISES


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_every_exercise_has_a_stub_with_a_docstring_and_a_solution_behind_it(path):
    notebook = nbformat.read(path, as_version=4)
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    asked = {name: cell.source for cell, name in stubs(notebook)}
    assert list(asked) == [exercise.name for exercise in EXERCISES[path.stem]]
    for exercise in EXERCISES[path.stem]:
        source, title = asked[exercise.name], f"# @title Worked solution {exercise.number}\n"
        assert '"""' in source, f"{exercise.name}: the stub has no docstring"
        solution = next(text for text in code if title in text)
        assert code.index(source) < code.index(solution)
    wanted = 2 if path.stem == "00_primer" else 3
    assert wanted <= len(asked) <= 6
