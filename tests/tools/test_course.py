"""course.py: the commands of the course, on a machine that has nothing but Python."""

import ast
import os
import re
import subprocess
import sys

import pytest

import course

FILES = ("requirements.txt", "requirements-lab.txt", "pyproject.toml", "notebooks/01_bpe.ipynb")


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A folder with requirements and no environments."""
    (tmp_path / "notebooks").mkdir()
    for name in FILES:
        (tmp_path / name).touch()
    monkeypatch.setattr(course, "ROOT", tmp_path)
    monkeypatch.setattr(course, "BOOK_ENVIRONMENT", tmp_path / ".venv")
    monkeypatch.setattr(course, "LAB_ENVIRONMENT", tmp_path / ".venv-lab")
    return tmp_path


@pytest.fixture
def ran(root, monkeypatch):
    """The commands that were run, as lines."""
    lines = []

    def note(command, **_):
        lines.append(" ".join(command))
        if "venv" in command:  # ["python", "-m", "venv", FOLDER]
            os.makedirs(command[-1], exist_ok=True)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(course.subprocess, "run", note)
    return lines


def test_it_needs_the_standard_library_alone():
    tree = ast.parse((course.ROOT / "course.py").read_text(encoding="utf-8"))
    names = {a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names}
    names |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names


def test_an_environment_is_made_once_and_again_when_a_requirement_changes(root, ran):
    course.main(["install"])
    assert any("venv" in line for line in ran) and "-r requirements.txt" in ran[-1]
    made = len(ran)
    course.main(["install"])
    assert len(ran) == made
    later = (root / ".venv" / "ready").stat().st_mtime + 10
    os.utime(root / "requirements.txt", (later, later))
    (root / ".venv").rename(root / "old")
    course.main(["install"])
    assert len(ran) == 2 * made


def test_the_lab_has_an_environment_of_its_own_and_opens_a_notebook_that_exists(root, ran):
    assert course.main(["lab", "--torch", "auto", "--no-browser"]) == 0
    printed = "\n".join(ran)
    assert "-r requirements-lab.txt" in printed and "-r requirements.txt" not in printed
    assert "--torch-backend auto" in printed and f"{root / '.venv'}{os.sep}" not in printed
    notebook, option = re.search(r"jupyter lab (\S+) (\S+)$", ran[-1]).groups()
    assert (root / notebook).is_file() and option == "--no-browser"


@pytest.mark.parametrize("version", [(3, 9), (3, 15)])
def test_another_python_is_refused_before_anything_is_made(root, ran, monkeypatch, version):
    monkeypatch.setattr(sys, "version_info", (*version, 0, "final", 0))
    with pytest.raises(SystemExit, match=r"3\.10 to 3\.14 is needed"):
        course.main(["book"])
    assert ran == [] and not (root / ".venv").exists()


def test_clean_removes_what_was_made_and_nothing_else(root):
    for name in ("_build", "build", ".venv", ".mypy_cache", "lab/__pycache__"):
        (root / name).mkdir(parents=True)
    course.main(["clean"])
    left = {path.relative_to(root).as_posix() for path in root.rglob("*")}
    assert left == {*FILES, "notebooks", "lab"}


def test_an_environment_that_was_moved_is_made_anew(root, ran, monkeypatch):
    course.main(["install"])
    made = len(ran)
    monkeypatch.setattr(course, "BOOK_ENVIRONMENT", (root / ".venv").rename(root / "renamed"))
    course.main(["install"])
    assert len(ran) == 2 * made and "--clear" in ran[made]
