"""A check that a reader passes in a notebook leaves a tick, in a file that the page can read."""

import json
import sys
import types

import pytest

from scratchformer_course.kit.checks import exercise, ticks
from tests.node import Node

double = exercise("7.2", "double(x)", cases=(3, 4), right=[lambda x: 2 * x], mistakes=[])


@pytest.fixture
def notebook(monkeypatch, tmp_path):
    """As in a kernel, with a cache folder of its own; gives the ids that are ticked."""
    ipython = types.SimpleNamespace(get_ipython=lambda: types.SimpleNamespace(kernel="a kernel"))
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setenv("SCRATCHFORMER_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SCRATCHFORMER_BUDGET", raising=False)

    def done():
        path = ticks.file()
        return json.loads(path.read_text("utf-8"))["done"] if path.is_file() else []

    return done


def mine(x):
    return x + x


def test_a_readers_right_answer_is_ticked_once_and_the_welcome_page_reads_it(notebook):
    ticks.file().parent.mkdir()
    ticks.file().write_text(json.dumps({**ticks.FORMAT, "done": ["1.10", "8.1"]}))
    assert double(mine) and double(mine)
    assert notebook() == ["1.10", "7.2", "8.1"]
    in_node = Node(P="../book/_assets/course-progress.js")
    text = ticks.file().read_text("utf-8")
    assert set(in_node("return [...P.fromFile(input.text)]", text=text)) == set(notebook())


def test_a_wrong_answer_the_worked_one_and_a_smoke_run_leave_no_tick(notebook, monkeypatch):
    def double_solution(x):
        return 2 * x

    assert not double(lambda x: x * x) and double(double_solution)
    monkeypatch.setenv("SCRATCHFORMER_BUDGET", "smoke")
    assert double(mine)
    monkeypatch.delenv("SCRATCHFORMER_BUDGET")
    sys.modules["IPython"].get_ipython = lambda: None  # outside of a notebook
    assert double(mine)
    assert notebook() == [] and not ticks.file().parent.exists()


def test_a_file_that_cannot_be_read_or_written_is_no_error_for_the_reader(notebook):
    ticks.file().parent.write_text("a file stands here")
    assert double(mine)
    ticks.file().parent.unlink()
    ticks.file().parent.mkdir()
    for text in ("[1]", '{"version": 2, "done": {"01": "yes"}}'):  # of a newer edition
        ticks.file().write_text(text)
        assert double(mine) and ticks.file().read_text() == text
    ticks.file().write_text("{")  # half a file
    assert double(mine) and notebook() == ["7.2"]
