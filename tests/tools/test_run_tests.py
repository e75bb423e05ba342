"""`make quick` runs what a change touches; `make test` tells of each part, and always ends."""

import os
import sys

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from tools import run_tests

HANGING = """
import signal, time
def test_in_python():
    while True:
        pass
def test_in_c():
    if hasattr(signal, "SIGALRM"):
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    time.sleep(1000)
def test_beside_them(): pass
"""
DYING = """
import os, pathlib, subprocess, sys, time
import psutil
pid = pathlib.Path(__file__).with_name("pid")
def test_that_ends_its_process():
    program = [sys.executable, "-c", "import time; time.sleep(1000)"]
    child = subprocess.Popen(program, start_new_session=True)
    pid.write_text(str(child.pid))
    os._exit(1)
def is_alive():
    try:
        return psutil.Process(int(pid.read_text())).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
def test_that_what_it_started_has_ended():
    while not pid.exists() or is_alive():
        time.sleep(0.1)
"""


@pytest.fixture
def run():
    return run_tests.Run()


def names(run):
    """The tests that have failed, without their files."""
    failed = [note for note in run.notes if " FAILED " in note]
    return {note.split(" - ")[0].split("::")[-1] for note in failed}


def test_what_hangs_fails_by_name_and_the_others_are_run(run, tmp_path, capsys):
    (tmp_path / "test_it.py").write_text(HANGING)
    run.part("unit", [run_tests.any_order(str(tmp_path), seconds=2)])
    printed = capsys.readouterr().out
    assert names(run) == {"test_in_c", "test_in_python"} and run.end() == 1, printed
    assert "2 failed, 1 passed" in run.summary[0], printed


def test_what_dies_fails_by_name_and_takes_along_what_it_has_started(run, tmp_path, capsys):
    (tmp_path / "test_it.py").write_text(DYING)
    run.part("unit", [run_tests.any_order(str(tmp_path), seconds=60)])
    printed = capsys.readouterr().out
    assert names(run) == {"test_that_ends_its_process"} and run.end() == 1, printed
    assert "1 failed, 1 passed" in run.summary[0], printed


def test_a_cell_that_hangs_fails_by_name(run, tmp_path, capsys):
    cells = [new_code_cell(text, execution_count=1) for text in ("x = 1", "while True: pass", "x")]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = new_notebook(cells=cells, metadata={"kernelspec": kernel})
    nbformat.write(notebook, tmp_path / "chapter.ipynb")
    run.part("notebooks", [run_tests.notebooks(str(tmp_path), seconds=4)])
    assert names(run) == {"Cell 1"} and run.end() == 1, capsys.readouterr().out


def test_a_part_that_takes_too_long_is_ended_and_says_what_it_was_running(tmp_path):
    (tmp_path / "test_it.py").write_text(HANGING)
    command = run_tests.any_order(str(tmp_path), "-k", "python or beside")
    for limit in (5, 30, 300):  # the last two for a machine on which five seconds begin nothing
        run = run_tests.Run(limit)
        run.part("unit", [command])
        over = next(note for note in run.notes if note.startswith("unit: FAILED, since"))
        assert run.end() == 1
        if "test_it.py::" in over:
            break
    assert "test_it.py::test_in_python" in over and "beside" not in over


def test_a_change_touches_its_chapter_its_room_and_its_tests():
    paths = "notebooks/08_rotary.ipynb scratchformer_course/ch11_training/live.js README.md"
    paths += " lab/law.py scratchformer_course/kit/canvas.py tests/chapters/test_guesses.py"
    chapters, tests = run_tests.touched(paths.split())
    assert chapters == ["08", "11"]
    assert tests == ["tests/chapters/test_guesses.py", "tests/kit", "tests/lab"]


def test_parts_go_on_after_a_failure_and_the_summary_says_which_failed(capsys):
    run = run_tests.Run()
    python = [sys.executable, "-c"]
    output = "SKIPPED [1] no browser\\nRERUN tests/a.py::slow\\nFAILED tests/a.py::b - Error"
    run.part("first", [[*python, f"print('{output}'); raise SystemExit(3)"]])
    run.part("second", [[*python, "import os; print(os.environ['SAID'])"]], "lane | ", SAID="yes")
    assert run.end() == 1
    printed = capsys.readouterr().out
    assert "lane | yes" in printed
    for note in (
        "SKIPPED [1] no browser",
        "RERUN tests/a.py::slow",
        "FAILED tests/a.py::b - Error",
    ):
        assert f"\nfirst: {note}\n" in printed
    verdicts = [line.split()[1] for line in printed.splitlines() if " min, " in line]
    assert verdicts == ["FAILED", "passed"]


def test_every_part_is_run_once_by_make_test():
    lanes = [name for lane in run_tests.LANES for name in lane]
    assert sorted([*run_tests.FIRST, *lanes]) == sorted(run_tests.PARTS)
    assert run_tests.main(["no such part"]) == 2


def test_quick_says_what_it_lacks_where_there_is_no_repository(tmp_path, monkeypatch):
    monkeypatch.setattr(run_tests, "ROOT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    for path in (os.environ["PATH"], ""):
        monkeypatch.setenv("PATH", path)
        with pytest.raises(SystemExit, match=r"quick asks git what has changed since HEAD: .+"):
            run_tests.changed("HEAD")
