"""A grade is what a notebook says when it is run again, in any honest style."""

import csv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
import pytest
from readers import NOTEBOOKS, ROOT, stubs

from scratchformer_course.ch05_averaging.exercises import averaging_weights
from scratchformer_course.teaching import grade
from scratchformer_course.teaching.grade import best, chapter_of, run, students, summary

IMPORTS = """import math, functools
import numpy as np
import torch
from torch import nn
from scratchformer_course.ch05_averaging import exercises as checks
"""
RIGHT = """def averaging_weights(T):
    ones = torch.ones(T, T).tril()
    return ones / ones.sum(dim=1, keepdim=True)
"""
BODY = "torch.ones(T, T).tril() / torch.arange(1, T + 1).unsqueeze(1)"
CHECK = "checks.averaging_weights(averaging_weights)"
BLOCK = """from scratchformer.attention import MultiHeadAttention
from scratchformer.blocks import FeedForward
class TransformerBlock(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.attn = MultiHeadAttention(d_model, n_heads)
        self.mlp = FeedForward(d_model, 4 * d_model)

    def forward(self, x, mask=None):
        x = x + self.attn(self.ln_1(x), mask=mask)
        return x + self.mlp(self.ln_2(x))
"""
MARK = "checks.fading_scores(...)"  # behind each style
CHECK_BLOCK = "checks9.TransformerBlock(TransformerBlock)"
# What honest notebooks look like: the cells of each; where none calls the check, the last does.
STYLES = {
    "as the chapter has it": [RIGHT],
    "check in a cell of its own, shown by print": [RIGHT, f"print({CHECK})"],
    "check in a loop in a function": [
        f"{RIGHT}\ndef my_check():\n    for _ in range(2):\n        v = {CHECK}\nmy_check()"
    ],
    "another name for the check": [
        f"check = checks.averaging_weights\n{RIGHT}",
        "averaging_weights = check.choose(averaging_weights)",
    ],
    "bound by walrus, in a tuple, in a chain, with a type": [
        f"(a := lambda T: {BODY})\nb, c = a, 1\nd: object = b\naveraging_weights = e = d"
    ],
    "defined under if, try and with, with a global, a print and a nested function": [
        "N = 1\nif N:\n  try:\n    with torch.no_grad():\n      def averaging_weights(T):\n"
        "        global N\n        print(T)\n        def inner():\n"
        f"          return N * ({BODY})\n        return inner()\n  finally:\n    pass"
    ],
    "a helper named x_solution": [
        f"def averaging_weights_solution(T):\n    return {BODY}\n"
        "checks.averaging_weights(averaging_weights_solution)"
    ],
    "helpers in an earlier and a later cell, whose name is used again afterwards": [
        "def past(T):\n    return torch.ones(T, T).tril()",
        "def averaging_weights(T):\n    return past(T) / later(T)",
        f"def later(T):\n    return past(T).sum(1, keepdim=True)\n{CHECK}",
        "past = averaging_weights = 3",
    ],
    "a wrong attempt and a broken cell first": [
        "def averaging_weights(T):\n    return 1",
        CHECK,
        "def averaging_weights(T:",
        f"{RIGHT}\n{CHECK}",
    ],
    "typed, decorated, and a docstring that talks of cheating": [
        "@functools.cache\ndef averaging_weights(T: int = 4) -> torch.Tensor:\n"
        f'    """No __globals__, .solutions or _getframe."""\n    return {BODY}'
    ],
    "callables that are no functions": [
        f"class Mine:\n    def __call__(self, T):\n        return {BODY}",
        "kinds = Mine(), Mine().__call__, functools.partial(Mine().__call__)\n"
        f"for averaging_weights in kinds:\n    assert {CHECK}",
    ],
    "by NumPy": [
        "def averaging_weights(T):\n    past = np.tril(np.ones((T, T)))\n"
        "    return torch.tensor(past / past.sum(1, keepdims=True)).float()"
    ],
    "magics in a titled cell": [f"# @title My weights\n%precision 3\n{RIGHT}\n%time {CHECK}"],
    "random numbers and a star import": [
        f"from torch import *\ntorch.manual_seed(3)\n{RIGHT}\n{CHECK}\ntorch.rand(2)"
    ],
    "a class, and nn.init at the top": [
        f"{BLOCK}\nnn.init.zeros_(TransformerBlock(2, 1).ln_1.weight)",
        CHECK_BLOCK,
    ],
    "a class that inherits, continued in a later cell": [
        BLOCK.replace("class TransformerBlock", "class Base").replace("def forward", "def later"),
        "class TransformerBlock(Base):\n    pass",
        f"TransformerBlock.forward = lambda self, x, mask=None: self.later(x, mask)\n{CHECK_BLOCK}",
    ],
}


def notebook(cells):
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])


def saved(path, cells):
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook(cells), path)
    return path


@pytest.mark.slow
def test_honest_styles_keep_their_points():
    table = "from scratchformer_course.ch09_block import exercises as checks9"
    everything = [IMPORTS + table]
    for style in STYLES.values():
        last = [] if "checks" in "".join(style) else [CHECK]
        everything += ["averaging_weights = TransformerBlock = ...", *style, *last, MARK]
    passed, states = [], []
    for verdict in run(notebook(everything), "05_averaging", seed=3, seconds=60):
        if verdict["exercise"] == "5.3":
            passed.append(states[-1:] == ["passed"])
            states = []
        else:
            states.append(verdict["state"])
    assert [name for name, good in zip(STYLES, passed, strict=True) if not good] == []


@pytest.mark.slow
def test_the_worked_answers_of_a_chapter_count_for_nobody_and_a_reader_s_own_do(tmp_path, capsys):
    path = next(path for path in NOTEBOOKS if path.name.startswith("05"))
    unwritten = tmp_path / "class" / "bob" / path.name
    written = tmp_path / "class" / "ann" / path.name
    chapter = nbformat.read(path, as_version=4)
    for target in (unwritten, written):
        target.parent.mkdir(parents=True)
        nbformat.write(chapter, target)
        for cell, name in stubs(chapter):
            worked = f"{name} = checks.{name}.right"
            cell.source = f"{worked}\nchecks.{name}({name})"
    out = tmp_path / "grades"
    words = [str(path) for path in (unwritten, written)]
    assert grade.main([*words, "--out", str(out)]) == 0
    printed = capsys.readouterr()
    assert printed.err.splitlines()[0].endswith("Strangers' code belongs in a container:")
    assert "5.1: 1 of 2 passed\n  1 x replace the `...` in `averaging_weights`." in printed.out
    rows = [*csv.DictReader((out / "grades.csv").open(newline=""))]
    assert [[*row.values()] for row in rows] == [["bob", *"0000"], ["ann", *"1113"]]
    ran = nbformat.read(out / "ann" / path.name, as_version=4)
    assert any("passed" in str(cell.get("outputs")) for cell in ran.cells)
    late = saved(tmp_path / "class" / "zoe" / "late.ipynb", [IMPORTS + RIGHT, CHECK])
    assert grade.main([str(late), "--out", str(out)]) == 0  # the others' rows stay
    rows = [*csv.DictReader((out / "grades.csv").open(newline=""))]
    assert [row["sum"] for row in rows] == ["0", "3", "1"]


@pytest.mark.slow
def test_a_wrong_answer_is_named_and_what_knows_the_listed_cases_alone_fails_on_fresh_ones():
    known = {case[0] for case in averaging_weights.cases}
    sums, memory = "torch.ones(T, T).tril()", f"({BODY}) * (T in {known})"
    cells = [f"averaging_weights = lambda T: {body}\n{CHECK}" for body in (sums, memory)]
    first, second = run(notebook([IMPORTS, *cells]), "05_averaging", seed=3, seconds=60)
    assert first["state"] == "try again" and "sums, not means" in first["message"]
    assert averaging_weights(lambda T: averaging_weights.right(T) * (T in known))
    assert second["state"] == "try again", second


@pytest.mark.slow
def test_a_cell_without_end_and_a_kernel_that_dies_cost_no_exercise_before_them():
    ends = [IMPORTS + RIGHT, CHECK, "while True: pass", "import os; os._exit(0)", "1"]
    verdicts = run(notebook(ends), "05_averaging", seed=0, seconds=15)
    results = best("ann", "05_averaging", verdicts)
    assert [result.state for result in results] == ["passed", "not yet", "not yet"]
    assert "never ran" in results[1].message
    assert summary(results)[:2] == ["5.1: 1 of 1 passed", "5.2: 0 of 1 passed"]


def test_a_student_is_named_by_the_folder_or_where_all_are_in_one_by_the_file():
    folders = [Path("class/ann/05.ipynb"), Path("class/ann/06.ipynb"), Path("class/bob/05.ipynb")]
    assert [*students(folders).values()] == ["ann", "ann", "bob"]
    files = [Path("class/ann.ipynb"), Path("class/bob.ipynb")]
    assert [*students(files).values()] == ["ann", "bob"]


def test_what_cannot_be_graded_is_named_in_a_line(tmp_path, capsys):
    other = saved(tmp_path / "other.ipynb", ["import scratchformer_course.ch99_none"])
    broken = tmp_path / "broken.ipynb"
    broken.write_text('{"cells": 1}')
    assert grade.main([str(path) for path in (other, broken, tmp_path / "none.ipynb")]) == 2
    error = capsys.readouterr().err
    for words in ("other.ipynb: expected an import of a chapter", "broken.ipynb: ", "No such file"):
        assert words in error
    assert chapter_of([IMPORTS]) == "05_averaging"


def test_the_page_on_security_has_the_command_that_the_grader_prints():
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert "--network none --read-only" in text and "--network none --read-only" in grade.CONTAINER


def result(student, state="passed", message="said, with\r\na line"):
    return grade.Result(student, "5.1", state, message)


def test_results_of_several_calls_stand_side_by_side(tmp_path):
    assert grade.store(tmp_path, [result("ann")]) == []
    assert grade.store(tmp_path, [result("bob", "try again", "half a pair: \ud800")]) == []
    assert grade.store(tmp_path, [result("Zoë")]) == []
    rows = [*csv.DictReader((tmp_path / "grades.csv").open(encoding="utf-8", newline=""))]
    assert [(row["student"], row["5.1"]) for row in rows] == [
        ("ann", "1"),
        ("bob", "0"),
        ("Zoë", "1"),
    ]
    notes = grade.store(tmp_path, [result("ann", "not yet")])
    assert notes == ["ann was graded before: replaced"]
    states = {r.student: r.state for r in grade.read_results(tmp_path / "verdicts.csv")}
    assert states == {"ann": "not yet", "bob": "try again", "Zoë": "passed"}


def test_several_processes_that_grade_at_once_lose_nothing(tmp_path):
    students = [f"s{i}" for i in range(12)]
    with ThreadPoolExecutor(6) as pool:
        [*pool.map(lambda name: grade.store(tmp_path, [result(name)]), students)]
    stored = {r.student for r in grade.read_results(tmp_path / "verdicts.csv")}
    assert stored == {*students}


def test_a_teachers_remarks_are_kept_and_a_changed_table_of_verdicts_is_refused(tmp_path, capsys):
    grade.store(tmp_path, [result("ann")])
    grades, verdicts = tmp_path / "grades.csv", tmp_path / "verdicts.csv"
    remarks = grades.read_bytes().replace(b"sum", b"sum;remarks")
    grades.write_bytes(remarks)
    (note,) = grade.store(tmp_path, [result("bob")])
    assert "grades-1.csv" in note and (tmp_path / "grades-1.csv").read_bytes() == remarks
    assert len(grades.read_text().splitlines()) == 3
    good = verdicts.read_bytes()
    for changed in (b"\xef\xbb\xbf" + good, good.replace(b",", b";"), good[:-9], good + b"x"):
        verdicts.write_bytes(changed)
        with pytest.raises(ValueError, match="has been changed since it was written"):
            grade.store(tmp_path, [result("zoe")])
        with pytest.raises(SystemExit):  # before anything is run
            grade.main(["no.ipynb", "--out", str(tmp_path)])
        assert verdicts.read_bytes() == changed
    verdicts.write_bytes(good)
    assert grade.main(["no.ipynb", "--out", str(tmp_path)]) == 2
    assert "no.ipynb: No such file" in capsys.readouterr().err
