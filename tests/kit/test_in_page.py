"""Exercises checked as in a page: in the only thread, without what a browser's Python lacks."""

import ast
import io
import json
import re
import subprocess
import sys
import unicodedata
import zipfile

import pytest
import regex

from scratchformer.tokenizers.patterns import GPT2_PATTERN, SMOLLM2_PATTERN
from scratchformer_course.kit.checks import in_page, regex_by_re
from scratchformer_course.teaching import packed_python
from tests.chapters.tables import EXERCISES

PACKAGES = ["ch01_bpe", "ch05_averaging", "ch15_costs"]
# what a page gets, in a Python that finds nothing else
ALONE = """
import sys
sys.path[:] = [folder, *(path for path in sys.path if "site-packages" not in path)]
from scratchformer_course.kit.checks import in_page
in_page.open_chapter(package)
for number, each in in_page.exercises.items():
    print(in_page.run(number, f"{each.name} = checks.{each.name}.right"))
"""


@pytest.fixture
def chapter():
    in_page.exercises.clear()
    in_page.names.clear()
    in_page.open_chapter("ch01_bpe")
    notebook = json.loads((packed_python.ROOT / "notebooks/01_bpe.ipynb").read_text("utf-8"))
    in_page.notebook[:] = ast.parse(packed_python.in_notebook(notebook)).body


def run(code, number="1.1"):
    verdict = json.loads(in_page.run(number, code))
    return verdict["state"], verdict["html"], verdict["printed"]


@pytest.mark.parametrize("package", PACKAGES)
def test_what_a_page_gets_needs_nothing_but_python_and_is_the_same_each_time(package, tmp_path):
    packed = packed_python.chapter_files(package)
    assert packed == packed_python.chapter_files(package) and len(packed) < 10_000
    for files in (packed, packed_python.shared_files()):
        zipfile.ZipFile(io.BytesIO(files)).extractall(tmp_path)
    code = f"folder, package = {str(tmp_path)!r}, {package!r}\n{ALONE}"
    process = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True)
    verdicts = [json.loads(line)["state"] for line in process.stdout.splitlines()]
    assert verdicts == ["passed"] * len(EXERCISES[package[2:]]), process.stderr


@pytest.mark.parametrize(
    ("notebook", "defined", "left_out"),
    [
        ("07_multi_head", "def turn_back_solution(b)", "def split_heads"),  # an exercise itself
        ("14_encoder_decoder", "def split_heads(x, n_heads)", "class CrossAttention"),
        ("01_bpe", "PATTERN = ", "matplotlib"),
    ],
)
def test_a_page_gets_what_the_answers_of_a_notebook_use(notebook, defined, left_out):
    path = packed_python.ROOT / f"notebooks/{notebook}.ipynb"
    code = packed_python.in_notebook(json.loads(path.read_text("utf-8")))
    assert defined in code and left_out not in code


def test_an_answer_that_passed_is_remembered_without_a_word(chapter, capsys):
    code = "def count_pairs(words):\n    return checks.right_count_pairs(words)\n"
    assert in_page.remember("1.1", f"print('mine')\n{code}") and capsys.readouterr().out == ""
    assert in_page.names["count_pairs"] is not in_page.exercises["1.1"].right
    assert not in_page.remember("1.1", "def count_pairs(words):\n    return {}")
    assert in_page.names["count_pairs"] is in_page.exercises["1.1"].right


def test_the_chapter_goes_on_with_the_readers_function_only_if_it_is_right(chapter):
    worked = in_page.names["count_pairs"]
    mine = (
        "def count_pairs(words):\n    print('mine')\n    return checks.right_count_pairs(words)\n"
    )
    state, _, printed = run(f"{mine}\n\nchecks.count_pairs(count_pairs)")
    assert state == "passed" and printed.startswith("mine\n")
    assert in_page.names["count_pairs"] is not worked
    assert run("def count_pairs(words):\n    return ...")[0] == "not yet"
    assert in_page.names["count_pairs"] is worked
    assert run("PATTERN, regex, pairwise, Counter, merge_pair\n" + mine)[0] == "passed"


@pytest.mark.parametrize(
    ("code", "state", "words"),
    [
        ("", "not yet", "write <code"),
        ("def count_pairs(words):\n    return 1 / 0", "try again", "in line 2: <code"),
        ("x = 1\ny = x / 0", "try again", "ZeroDivisionError: division by zero in line 2"),
        ("def f(words)\n    return", "try again", "SyntaxError: expected &#x27;:&#x27;, in line 1"),
        ("import sys\nsys.exit()", "try again", "ends the program"),
    ],
)
def test_what_goes_wrong_before_or_in_the_check_is_told_in_words(chapter, code, state, words):
    verdict, html, _ = run(code)
    assert verdict == state and words in html and "Traceback" not in html


def test_what_the_page_says_of_a_loop_without_end_is_known_before_it_runs(chapter):
    known = json.loads(in_page.late("1.1"))
    assert known["seconds"] == in_page.LIMIT and known["late"]["state"] == "not here"
    words = f"</code> did not come back within {in_page.LIMIT} seconds: is there a loop"
    assert f"count_pairs{words}" in known["late"]["html"]


def test_regex_cuts_as_the_real_one_does_at_every_letter_and_number_that_python_knows():
    known = (chr(code) for code in range(32, 0x110000) if not 0xD800 <= code < 0xE000)
    text = "".join(f"a{c} {c}1 " for c in known if unicodedata.category(c) != "Cn")
    for pattern in (GPT2_PATTERN, SMOLLM2_PATTERN):
        assert regex_by_re.findall(pattern, text) == regex.findall(pattern, text)
    matches = regex_by_re.compile(r"\p{N}+[\]\s\p{L}]").finditer("a12] 3x")
    assert [match.group() for match in matches] == ["12]", "3x"]
    with pytest.raises(re.error, match=r"bad escape \\p"):
        regex_by_re.findall(r"\p{Lu}", "A")
