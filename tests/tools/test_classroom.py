"""`make classroom`: every stub is left, no worked answer is, and a notebook runs alone."""

import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import nbformat
import pytest
from readers import NOTEBOOKS, ROOT, environment, fill, stubs

from tools import classroom

GONE = ("_solution", "Solution(", "git+https", "# @title Check")
SHELL = ROOT / "tests" / "lone" / "shell.py"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What `make classroom` makes of all chapters."""
    made = tmp_path_factory.mktemp("made") / "classroom"
    assert classroom.classroom(NOTEBOOKS, made) == made.with_suffix(".zip")
    with zipfile.ZipFile(made.with_suffix(".zip")) as archive:
        names = {Path(name).name for name in archive.namelist()} - {made.name, ""}
    assert names == {path.name for path in made.iterdir()}
    return made


def test_each_notebook_is_valid_keeps_every_stub_and_shows_no_worked_answer_or_output(folder):
    for path in NOTEBOOKS:
        notebook = nbformat.read(folder / path.name, as_version=4)
        nbformat.validate(notebook)
        stubs_left = [(name, cell.source) for cell, name in stubs(notebook)]
        chapter = nbformat.read(path, as_version=4)
        assert stubs_left == [(name, cell.source) for cell, name in stubs(chapter)]
        assert stubs_left or path.stem == "26_empty_file"
        text = (folder / path.name).read_text("utf-8")
        assert not any(word in text for word in GONE), path.name
        assert not any(cell.outputs for cell in notebook.cells if cell.cell_type == "code")


@pytest.mark.slow
def test_it_runs_alone_to_its_end_and_goes_on_with_what_the_student_wrote(folder, tmp_path):
    """In every stub a wrong answer, which is refused, and then a right one."""
    notebook = nbformat.read(folder / "08_rotary.ipynb", as_version=4)
    fill(notebook)
    nbformat.write(notebook, tmp_path / "chapter.ipynb")
    for path in (SHELL, *folder.glob("*.whl")):
        shutil.copy(path, tmp_path)
    python = environment(tmp_path)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SCRATCHFORMER", "PYTHON"))}
    settings = {"BUDGET": "smoke", "LIVE": "stored", "CACHE": str(tmp_path / "cache")}
    env = kept | {f"SCRATCHFORMER_{key}": value for key, value in settings.items()}
    env |= {"PIP_NO_INDEX": "1", "HTTPS_PROXY": "http://127.0.0.1:9", "OMP_NUM_THREADS": "1"}
    asked, command = str(tmp_path / "chapter.ipynb"), [python, tmp_path / SHELL.name]
    ran = subprocess.run(
        command, cwd=tmp_path, env=env, input=asked, capture_output=True, text=True
    )
    assert ran.stdout == "null\n", ran.stderr


def test_only_the_chosen_chapters_are_made_and_others_are_refused_in_a_line(capsys, monkeypatch):
    def numbers(asked):
        return [int(path.name[:2]) for path in classroom.chosen(asked)]

    assert numbers("05-06,06 3") == [3, 5, 6] and len(numbers("")) == len(NOTEBOOKS)
    monkeypatch.setattr(classroom, "classroom", pytest.fail)
    for asked in ("10-05", "99", "5-", "attention", "5,"):
        assert classroom.main([asked]) == 2
        printed = capsys.readouterr().out
        assert repr(asked) in printed and "05-10" in printed and printed.count("\n") == 1
