"""`make classroom`: every stub is left, no worked answer is, and a notebook runs alone."""

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import nbformat
import pytest
from readers import NOTEBOOKS, fill, stubs

from tools import classroom

ROOT = Path(__file__).resolve().parents[2]
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
        assert stubs_left == [(name, cell.source) for cell, name in stubs(chapter)] != []
        text = (folder / path.name).read_text("utf-8")
        assert not any(gone in text for gone in ("_solution", "Solution(", "git+https")), path.name
        assert not any(cell.outputs for cell in notebook.cells if cell.cell_type == "code")


@pytest.mark.slow
def test_it_runs_alone_to_its_end_and_goes_on_with_what_the_student_wrote(folder, tmp_path):
    """In every stub a wrong answer, which is refused, and then a right one."""
    notebook = nbformat.read(folder / "08_rotary.ipynb", as_version=4)
    fill(notebook)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    version = "python{}.{}".format(*sys.version_info)
    borrowed = tmp_path / "venv" / "lib" / version / "site-packages" / "borrowed.pth"
    borrowed.write_text(sysconfig.get_path("purelib"))
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SCRATCHFORMER", "PYTHON"))}
    settings = {"BUDGET": "smoke", "LIVE": "stored", "CACHE": str(tmp_path / "cache")}
    env = kept | {f"SCRATCHFORMER_{key}": value for key, value in settings.items()}
    env |= {"PIP_NO_INDEX": "1", "HTTPS_PROXY": "http://127.0.0.1:9", "OMP_NUM_THREADS": "1"}
    shell = shutil.copy(SHELL, tmp_path)
    for wheel in folder.glob("*.whl"):
        shutil.copy(wheel, tmp_path)
    nbformat.write(notebook, tmp_path / "chapter.ipynb")
    python, asked = tmp_path / "venv" / "bin" / "python", str(tmp_path / "chapter.ipynb")
    ran = subprocess.run(
        [python, shell], cwd=tmp_path, env=env, input=asked, stdout=subprocess.PIPE, text=True
    )
    assert ran.stdout == "null\n"


def test_only_the_chosen_chapters_are_made_and_others_are_refused_in_a_line(capsys, monkeypatch):
    def numbers(asked):
        return [int(path.name[:2]) for path in classroom.chosen(asked)]

    assert numbers("05-07") == [5, 6, 7] and numbers("6, 17") == numbers("06 17") == [6, 17]
    assert numbers("05-06,06,3") == [3, 5, 6] and len(numbers("")) == len(NOTEBOOKS)
    monkeypatch.setattr(classroom, "classroom", pytest.fail)
    for asked in ("10-05", "99", "5-", "attention", "05;06", "5,", "-1"):
        assert classroom.main([asked]) == 2
        printed = capsys.readouterr().out
        assert repr(asked) in printed and "05-10" in printed and printed.count("\n") == 1
