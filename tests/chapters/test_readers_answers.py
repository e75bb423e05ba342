"""What the reader writes is what the page then uses: every chapter runs to its end with any answer.

Each chapter is run twice on the smoke budget: once with another right answer
in the place of every stub, once with a wrong one. With a right answer the page says that the
reader's own function is used from there on, with a wrong one that the worked one is.

A right answer meets the real corpora, if they are here, and so all claims that hold on them. With a
wrong one the chapter goes on as it is stored, which is tested where it is compared: the stand-in,
which is short on this budget, will do.
"""

import os
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from test_stored_notebooks import NOTEBOOKS

from tools.usual_mistakes import EXERCISES

ROOT = Path(__file__).resolve().parents[2]
CALL = re.compile(r"^checks\.(\w+)\((\w+)\)$", re.MULTILINE)


def stubs(notebook):
    """The cells in which a reader writes, each with the name of what is asked for."""
    for cell in notebook.cells:
        call = CALL.search(cell.source) if cell.cell_type == "code" else None
        if call and call.group(1) == call.group(2) and "..." in cell.source:
            yield cell, call.group(1)


def answered(path, answer):
    """The chapter with `answer`, "right" or "wrong", in place of every stub, executed."""
    notebook = nbformat.read(path, as_version=4)
    pick = {"right": "solutions[-1]", "wrong": "mistakes[0].function"}[answer]
    for cell, name in stubs(notebook):
        cell.source = f"{name} = checks.{name}.{pick}\ncheck = checks.{name}({name})\ncheck"
        cell.source += f"\nassert bool(check) is {answer == 'right'}, str(check)"
    resources = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources).execute()
    return notebook


@pytest.fixture(autouse=True)
def a_few_steps(monkeypatch):
    monkeypatch.setenv("SCRATCHFORMER_BUDGET", "smoke")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))


@pytest.fixture
def no_corpora(monkeypatch, tmp_path):
    """A kernel that is started now finds stand-ins alone."""
    monkeypatch.delenv("SCRATCHFORMER_DATA", raising=False)
    monkeypatch.setenv("SCRATCHFORMER_CACHE", str(tmp_path))
    monkeypatch.setenv("SCRATCHFORMER_OFFLINE", "1")


@pytest.mark.parametrize("answer", ["right", "wrong"])
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_chapter_runs_to_its_end_and_uses_what_the_reader_wrote(path, answer, request):
    if answer == "wrong":
        request.getfixturevalue("no_corpora")
    notebook = answered(path, answer)
    outputs = [out.get("text", "") for cell in notebook.cells for out in cell.get("outputs", [])]
    said = re.findall(r"From here on: (your|the worked) `", "".join(outputs))
    chosen = sum(".choose(" in cell.source for cell in notebook.cells if cell.cell_type == "code")
    assert said == ["your" if answer == "right" else "the worked"] * chosen


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
