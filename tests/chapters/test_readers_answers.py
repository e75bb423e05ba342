"""What the reader writes is what the page then uses: every chapter runs to its end with it.

Another right answer stands in the place of every stub, on the smoke budget and with the real
corpora, if they are at hand. `tests/lone` runs every chapter with wrong answers, and as they are
stored the chapters have none: then the page goes on with the worked ones.
"""

import os
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from readers import NOTEBOOKS, choices, fill, stubs

from tools.mistakes_page import EXERCISES

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_chapter_runs_to_its_end_and_uses_what_the_reader_wrote(path, monkeypatch):
    monkeypatch.setenv("SCRATCHFORMER_BUDGET", "smoke")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    notebook = nbformat.read(path, as_version=4)
    fill(notebook, "right")
    resources = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources).execute()
    outputs = [out.get("text", "") for cell in notebook.cells for out in cell.get("outputs", [])]
    said = re.findall(r"From here on: (your|the worked) `", "".join(outputs))
    assert said == ["your"] * len(choices(notebook))


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
