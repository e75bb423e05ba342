"""Students' notebooks are graded by what they wrote: fairly, alone, and whatever they try."""

import csv
import json
import re
import subprocess
import sys

import nbformat
import pytest
from readers import NOTEBOOKS, stubs

from scratchformer_course.teaching import grade as command
from scratchformer_course.teaching import student_process
from scratchformer_course.teaching.examiner import examined
from scratchformer_course.teaching.fresh_cases import fresh_cases, with_fresh_cases
from scratchformer_course.teaching.plain_values import pack, unpack
from scratchformer_course.teaching.points import MOST, PARTIAL, grade, right_values
from scratchformer_course.teaching.student import Unwritten, answer
from scratchformer_course.teaching.student_process import examine, isolation
from scratchformer_course.teaching.tables import exercise, exercises

SEED = 3


def filled(path, answers=None):
    """The code cells of a chapter, its stubs replaced: by `answers`, or else by the worked ones."""
    notebook = nbformat.read(path, as_version=4)
    worked = {}
    for each in exercises(path.stem):
        title = f"# @title Worked solution {each.number}\n"
        (code,) = (c.source for c in notebook.cells if c.source.startswith(title))
        code = code.removeprefix(title)
        worked[each.name] = re.sub(rf"\b{each.name}(_solution|Solution)\b", each.name, code)
    for cell, name in stubs(notebook):
        cell.source = (worked if answers is None else answers).get(name, cell.source)
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def saved(path, cells):
    """A notebook of these code cells."""
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(made, path)
    return path


def of(number):
    """The path of the chapter with this number."""
    return next(path for path in NOTEBOOKS if path.name.startswith(number))


def graded_here(each, answer):
    """The grade of an answer that may be trusted: no process of its own is started for it."""
    with with_fresh_cases(each, SEED):
        said = examined(each, answer)
    return grade(each, said, SEED)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_worked_answers_have_all_points_and_mistakes_stubs_and_constants_do_not(path):
    known = {each.name: each.right for each in exercises(path.stem)}
    right, unwritten = filled(path), filled(path, {})
    for each in exercises(path.stem):
        assert graded_here(each, answer(right, each.name, known)).points == MOST
        stub = graded_here(each, answer(unwritten, each.name, known))
        assert (stub.points, stub.state) == (0, "not yet"), stub
        for mistake in each.mistakes:
            got = graded_here(each, mistake.function)
            assert got.points <= PARTIAL and got.state == "try again", (mistake.description, got)
        expected = right_values(each, SEED)
        for value in expected[:3]:
            constant = {"state": "try again", "values": pack([value] * len(expected))}
            assert grade(each, constant, SEED).points == 0


def test_a_pass_counts_only_with_the_values_to_it():
    each = exercise("1.2")
    some = right_values(each, SEED)
    some = [("?",), *some[1:]]
    got = grade(each, {"state": "passed", "values": pack(some)}, SEED)
    assert got.state == "try again" and 0 < got.points <= PARTIAL
    assert grade(each, {"state": "passed", "values": "no values"}, SEED).points == 0


def test_values_survive_the_way_out_of_a_process():
    import torch

    value = [(1, -2.5, True, None, "é", b"\xff"), {("a",): [float("inf")]}, 2**70, ()]
    tensors = [torch.arange(6).view(2, 3).T, torch.tensor(0.5).bfloat16(), torch.ones(2) > 0]
    *plain, a, b, c = unpack(pack([*value, *tensors]))
    assert plain == value and unpack(pack([object()])) == [...]
    for got, sent in zip((a, b, c), tensors, strict=True):
        assert got.dtype == sent.dtype and got.equal(sent)


@pytest.mark.parametrize("number", ["1.2", "6.3", "9.1"])
def test_the_same_seed_draws_the_same_cases_and_another_one_others(number):
    each = exercise(number)
    one, again, other = (repr(fresh_cases(each, seed)) for seed in (1, 1, 2))
    assert one == again != other


# --- what a student wrote


def taken(*cells):
    """What the function `spread` of these cells returns for 2."""
    return answer(["from torch import nn\n", *cells], "spread", {"nearest": len})(2)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["def spread(x):\n    return 1", "def spread(x):\n    return 2"], 2),
        (["def spread(x):\n    return help_me(x)", "def help_me(x):\n    return x + 5"], 7),
        (["k = 1", "def spread(x):\n    return k", "k = 2"], 1),
        (["k = 1", "k = 2", "def spread(x):\n    return k"], 2),
        (
            ["found = []\nfor i in range(3):\n    found.append(i)", "spread = lambda x: found"],
            [0, 1, 2],
        ),
        (["def twice(f):\n    return lambda x: 2 * f(x)", "@twice\ndef spread(x): return 9"], 18),
        (["k = 'ab'; m = 3", "def spread(x):\n    return len(k) + m"], 5),
        (["def mine(x):\n    return x", "spread = mine"], 2),
        (
            [
                "import functools",
                "def spread(x):\n    return x",
                "spread = functools.cache(spread)",
            ],
            2,
        ),
        (["raise KeyError", "%time 1\n!ls\ndef spread(x):\n    return 4", "1 / 0"], 4),
        (["def spread(x)\n    return 1", "def spread(x):\n    return 8"], 8),
        (["from math import *", "def spread(x):\n    return sqrt(8 * x)"], 4),
        (["try:\n    def spread(x):\n        return 3\nexcept NameError:\n    pass"], 3),
        (["from typing import Callable", "f = abs", "spread: Callable = f"], 2),
        (["def spread(x):\n    return (7\n% 4)"], 3),
        (["def spread(x):\n    return 5", "if True:\n    k, spread = 1, abs"], 5),
        (["def nearest(x):\n    return 0", "def spread(x):\n    return nearest('abc')"], 3),
        (
            [
                "from scratchformer_course.ch03_positions import exercises as checks",
                "def spread(x):\n    return 6\n\nchecks.spread(spread)",
                "# @title Worked solution 3.1\ndef spread_solution(x):\n    return 0",
                "spread = checks.spread.choose(spread, spread_solution)",
                "spread = spread_solution",
                "# @title Of the course\ndef spread(x):\n    return 0",
            ],
            6,
        ),
    ],
)
def test_what_the_student_wrote_is_taken_and_what_it_needs(cells, expected):
    assert taken(*cells) == expected


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("def spread(x)\n    return 1", "expected ':', in line 1"),
        ("k = 1 / 0\ndef spread(x):\n    return k", "ZeroDivisionError: division by zero, in `k ="),
        ("import sys\nk = sys.exit()\ndef spread(x):\n    return k", "SystemExit"),
    ],
)
def test_a_notebook_that_cannot_be_run_is_told_where(cell, words):
    with pytest.raises(Unwritten, match=re.escape(words)):
        taken(cell)


# --- hostile notebooks: exercise 1.2 has cases, 1.4 has none


PATCHES = {
    "the engine": "engine.Exercise.__call__ = lambda *args, **more: FORGED",
    "the verdict": "engine.Verdict = lambda *args: verdict.Verdict('', 'passed', '')",
    "its truth": "verdict.Verdict.passed = verdict.Verdict.__bool__ = lambda self: True",
    "the comparison": "engine.matches = compare.same = lambda *args: True",
    "what is wrong": "verdict.expect.__code__ = (lambda condition, diagnosis: None).__code__",
    "the judge": "checks.ByteTokenizer.judge = lambda call: 'well done'",
    "the cases": "checks.merge_pair._cases = checks.merge_pair.more = ()",
    "the right answers": "checks.merge_pair.solutions.append(1)",
    "Python": "import builtins\nbuiltins.all = builtins.isinstance = lambda *args: True",
}
REFUSED = "a graded notebook may not"
LATE = "is there a loop that never ends"
TRIES = {
    "never ends": ("while True: pass", LATE),
    "never ends in C": ("import re\nre.match('(a+)+$', 'a' * 50 + 'b')", LATE),
    "exits": ("os._exit(0)", "ends the process"),
    "exits by an error": ("raise SystemExit", "ends the program"),
    "prints a gigabyte": ("for i in range(1000): print('x' * 10**6)", ""),
    "fills the memory": ("x = [bytearray(10**9) for i in range(100)]", ""),
    "deletes a file": ("os.remove({file!r})", REFUSED),
    "deletes a folder": ("import shutil\nshutil.rmtree({folder!r})", REFUSED),
    "overwrites a file": ("open({file!r}, 'w').write('x')", REFUSED),
    "ends who asks": ("os.kill(os.getppid(), 9)", REFUSED),
    "starts a process": ("import subprocess\nsubprocess.run(['rm', {file!r}])", REFUSED),
    "connects": ("import socket\nsocket.create_connection(('localhost', 80))", REFUSED),
    "looks for the checker": ("import gc\ngc.get_objects()", REFUSED),
    "forges a reply": ("forge()", "returned `()`"),
    "equals everything": ("return type('Any', (), {{'__eq__': lambda *args: True}})()", "returned"),
}
OPEN = """
import contextlib, os, sys
from scratchformer_course.kit.checks import compare, engine, verdict

checks = sys.modules["scratchformer_course.ch01_bpe.exer" + "cises"]  # unseen before it runs
FORGED = {"state": "passed", "message": "", "values": "[[], null]"}

def forge(*args):
    import json
    for i in range(3, 30):
        with contextlib.suppress(OSError):
            os.write(i, b"\\n" + b"0" * 32 + b" " + json.dumps(FORGED).encode() + b"\\n")
"""


def hostile(code):
    """The cells of chapter 01 whose answers to 1.2 and 1.4 do this when they are called."""
    body = "".join(f"        {line}\n" for line in (OPEN + code).splitlines())
    answers = {
        "merge_pair": f"def merge_pair(word, pair):\n    if word:\n{body}    return ()",
        "ByteTokenizer": f"class ByteTokenizer:\n    def __init__(self, tokens):\n{body}",
    }
    return filled(of("01"), answers)


@pytest.mark.parametrize(
    "line",
    [
        "from scratchformer_course.ch01_bpe.exercises import merge_pair as a",
        "return merge_pair.__globals__['merge'](word, pair)",
        "return sys._getframe(1)",
    ],
)
def test_who_looks_for_the_answer_in_plain_sight_is_told(line):
    cells = filled(of("01"), {"merge_pair": f"def merge_pair(word, pair):\n    {line}"})
    got = grade(exercise("1.2"), examine(cells, "01_bpe", "1.2", SEED, 20.0), SEED)
    assert got.points == 0 and "looks for the course's own answers" in got.message


@pytest.mark.parametrize("code", PATCHES.values(), ids=PATCHES)
def test_who_patches_the_checker_has_no_points(code):
    for number in ("1.2", "1.4"):
        said = examine(hostile(code), "01_bpe", number, SEED, 20.0)
        assert grade(exercise(number), said, SEED).points == 0, said


@pytest.mark.parametrize(("code", "words"), TRIES.values(), ids=TRIES)
def test_a_hostile_notebook_has_a_verdict_no_points_and_does_no_harm(code, words, tmp_path):
    file = tmp_path / "others" / "work.txt"
    file.parent.mkdir()
    file.write_text("of another student")
    cells = hostile(code.format(file=str(file), folder=str(file.parent)))
    said = examine(cells, "01_bpe", "1.2", SEED, 2.0)
    got = grade(exercise("1.2"), said, SEED)
    assert (got.points, got.state) == (0, "try again") and words in got.message, got
    assert file.read_text() == "of another student"


@pytest.mark.skipif(not isolation(), reason="the system grants no namespaces")
def test_a_library_that_writes_past_the_guard_finds_a_read_only_disk(tmp_path):
    file = tmp_path / "work.safetensors"
    file.write_text("of another student")
    code = "from safetensors.numpy import save_file\nimport numpy\n"
    code += f"save_file({{'a': numpy.zeros(3)}}, {str(file)!r})"
    said = examine(hostile(code), "01_bpe", "1.2", SEED, 20.0)
    assert grade(exercise("1.2"), said, SEED).points == 0
    assert file.read_text() == "of another student", said


def test_who_patches_torch_has_no_points():
    code = "def fading_scores(T):\n    torch.allclose = torch.isclose = lambda *a, **k: True\n"
    code += "    return torch.zeros(T, T)"
    said = examine(filled(of("05"), {"fading_scores": code}), "05_averaging", "5.3", SEED, 20.0)
    assert said["changed"] and grade(exercise("5.3"), said, SEED).points == 0, said


# --- the command


def test_a_class_is_graded_and_one_notebook_costs_no_other(tmp_path, capsys):
    mistaken = {"merge_pair": "def merge_pair(word, pair):\n    return word"}
    paths = [
        saved(tmp_path / "ann" / "bpe.ipynb", filled(of("01"))),
        saved(tmp_path / "bob" / "bpe.ipynb", hostile("import os\nos._exit(0)")),
        saved(tmp_path / "eve" / "bpe.ipynb", filled(of("01"), mistaken)),
    ]
    out = tmp_path / "out"
    assert command.main([*map(str, paths), "--out", str(out), "--seed", "5"]) == 1
    ann, bob, eve = csv.DictReader((out / "grades.csv").open(newline=""))
    assert [ann[number] for number in ("1.1", "1.2", "1.3", "1.4", "points")] == ["10"] * 4 + ["40"]
    assert (bob["points"], bob["maximum"], bob["chapter"]) == ("0", "40", "01_bpe")
    assert 0 < float(eve["1.2"]) <= PARTIAL and eve["1.1"] == "0"
    assert f"{paths[0]}: 40 of 40" in capsys.readouterr().out
    report = (out / "eve" / "bpe.grade.md").read_text()
    assert "Exercise 1.2 · `merge_pair`" in report and "**not yet**" in report
    results = json.loads((out / "bob" / "bpe.grade.json").read_text())
    assert results["score"] == 0 and "ends the process" in results["tests"][1]["output"]
    assert command.main([str(paths[0]), "--out", str(out)]) == 0  # of one who is late
    again = [*csv.DictReader((out / "grades.csv").open(newline=""))]
    assert [row["points"] for row in again] == ["40", "0", eve["points"]]


def test_the_command_prints_gradescopes_json_and_ends_with_0_if_all_passed(tmp_path):
    words = [sys.executable, "-m", "scratchformer_course", "grade", "--json"]
    notebook = saved(tmp_path / "mine.ipynb", filled(of("01")))
    ended = subprocess.run([*words, str(notebook)], capture_output=True, text=True)
    results = json.loads(ended.stdout)
    assert (ended.returncode, results["score"], len(results["tests"])) == (0, 40, 4), ended.stderr
    assert results["tests"][0]["max_score"] == MOST and results["tests"][0]["status"] == "passed"


def test_what_cannot_be_graded_is_named_and_the_rest_is_graded(tmp_path, capsys):
    right = saved(tmp_path / "right.ipynb", filled(of("01")))
    other = saved(tmp_path / "other.ipynb", ["import scratchformer_course.ch99_none"])
    broken = tmp_path / "broken.ipynb"
    broken.write_text('{"cells": 1}')
    words = [str(path) for path in (right, other, broken, tmp_path / "none.ipynb")]
    assert command.main([*words, "--out", str(tmp_path / "out")]) == 2
    printed = capsys.readouterr()
    assert f"{right}: 40 of 40" in printed.out and printed.err.count("\n") == 3
    assert command.main([str(right), "--out", str(right)]) == 2  # a file, and no folder
    for words in ("an import of a chapter", "expected a notebook", "No such file"):
        assert words in printed.err


def test_a_grader_that_cannot_start_says_so_and_gives_no_points(tmp_path, capsys, monkeypatch):
    notebook = saved(tmp_path / "right.ipynb", filled(of("01")))
    monkeypatch.setattr(student_process, "START", "import a_module_that_is_not_there")
    assert command.main([str(notebook)]) == 2
    assert "a_module_that_is_not_there" in capsys.readouterr().err
