"""`hint` prints the hints in order, keeps the rest back, and never prints a worked answer."""

import os
import re
import subprocess
import sys

import nbformat
import pytest
from readers import NOTEBOOKS

from scratchformer_course.teaching.hint import hint, main

WORKED = {}  # number -> the lines of the worked answer, without comments and what every answer has
for cell in (cell for path in NOTEBOOKS for cell in nbformat.read(path, as_version=4).cells):
    if title := re.match(r"# @title Worked solution ([\d.]+)\n", cell.source):
        lines = re.sub(r"\s+# .*", "", cell.source[title.end() :]).split("\n")
        shared = ("def ", "class ", "checks.", '"""')
        lines = {line.strip() for line in lines if len(line.strip()) > 8}
        WORKED[title[1]] = {line for line in lines if not line.startswith(shared)}


def quoted(number, lines):
    """The lines of the worked answer that stand in what is printed."""
    return {line for line in WORKED[number] if any(line in printed for printed in lines)}


@pytest.mark.parametrize("number", WORKED)
def test_hints_come_in_order_and_none_of_them_is_the_worked_answer(number):
    task, first = hint(number)
    assert task.startswith(f"Exercise {number}: ") and first.startswith("Hint 1 of 2: ")
    both = hint(number, "2")
    assert both[:2] == [task, first] and both[2].startswith("Hint 2 of 2: ") and len(both) == 3
    assert not quoted(number, [task, first])
    assert quoted(number, both) < WORKED[number]  # a second hint quotes a line or two
    asked = hint(number, "question")
    assert len(asked) == 2 and asked[1].startswith("Question: ") and not quoted(number, asked)


@pytest.mark.parametrize("words", [[], ["6"], ["6.9"], ["six"], ["6.2", "3"], ["6.2", "1", "2"]])
def test_what_is_no_exercise_gets_one_line_on_what_is_expected(words, capsys):
    assert main(words) == 2
    out, error = capsys.readouterr()
    assert not out and error.count("\n") == 1
    assert "expected" in error or "6.1, 6.2, 6.3" in error


def test_the_command_prints_its_letters_into_any_pipe():
    command = [sys.executable, "-m", "scratchformer_course", "hint", "6.3", "2"]
    narrow = {**os.environ, "PYTHONIOENCODING": "ascii"}
    printed = subprocess.run(command, env=narrow, capture_output=True, check=True).stdout
    assert printed.decode().splitlines() == hint("6.3", "2")
