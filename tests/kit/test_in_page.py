"""Exercises checked as in a page: in the only thread, without what a browser's Python lacks."""

import io
import json
import subprocess
import sys
import unicodedata
import zipfile

import pytest
import regex

from book._ext.code_ext import files_of, runs_in_page
from scratchformer.tokenizers.patterns import GPT2_PATTERN, SMOLLM2_PATTERN
from scratchformer_course.kit.checks import in_page, regex_by_re
from scratchformer_course.kit.checks.sandbox import in_turn
from tests.chapters.tables import EXERCISES, PATIENCE, of

ROOMS = [f"ch{chapter}" for chapter in EXERCISES if runs_in_page(f"ch{chapter}")]
IN_PAGE = [(room[2:], each) for room in ROOMS for each in EXERCISES[room[2:]]]
# the engine alone, in a Python that finds nothing else
ALONE = """
import sys
sys.path[:] = [folder, *(path for path in sys.path if "site-packages" not in path)]
sys.modules.update(dict.fromkeys(("torch", "numpy", "tiktoken")))
from scratchformer_course.kit.checks import in_page
in_page.open_chapter(room)
for number, each in in_page.exercises.items():
    print(in_page.run(number, f"{each.name} = checks.{each.name}.right"))
"""


@pytest.fixture
def chapter():
    in_page.exercises.clear()
    in_page.names.clear()
    in_page.open_chapter("ch01_bpe")


def run(code, number="1.1"):
    found = json.loads(in_page.run(number, code))
    return found["state"], found["html"], found["printed"]


def test_the_chapters_without_pytorch_run_in_their_pages():
    assert ROOMS == ["ch01_bpe", "ch15_costs"]


@of(IN_PAGE)
def test_the_only_thread_gives_the_verdicts_of_a_thread_of_its_own(exercise):
    for answer in (*exercise.solutions, *(each.function for each in exercise.mistakes)):
        assert exercise(answer, run=in_turn, limit=PATIENCE) == exercise(answer, limit=PATIENCE)


@pytest.mark.parametrize("room", ROOMS)
def test_what_a_page_gets_needs_nothing_but_python_and_is_the_same_each_time(room, tmp_path):
    packed = files_of(room)
    assert packed == files_of(room) and len(packed) < 60_000
    zipfile.ZipFile(io.BytesIO(packed)).extractall(tmp_path)
    code = f"folder, room = {str(tmp_path)!r}, {room!r}\n{ALONE}"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True)
    verdicts = [json.loads(line)["state"] for line in done.stdout.splitlines()]
    assert verdicts == ["passed"] * len(EXERCISES[room[2:]]), done.stderr


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
        (
            "def count_pairs(words)\n    return",
            "try again",
            "SyntaxError: expected &#x27;:&#x27;, in line 1",
        ),
        ("import sys\nsys.exit()", "try again", "ends the program"),
        ("def count_pairs(words):\n    return count_pairs(words)", "try again", "RecursionError"),
    ],
)
def test_what_goes_wrong_before_or_in_the_check_is_said_in_words(chapter, code, state, words):
    found = run(code)
    assert found[0] == state and words in found[1] and "Traceback" not in found[1]


@pytest.mark.parametrize("code", ["while True:\n    x = 1", "def count_pairs(words):\n    {}"])
def test_a_loop_without_end_comes_to_one(chapter, code, monkeypatch):
    monkeypatch.setattr(in_page, "LIMIT", 0.3)
    check = in_page.exercises["1.1"]
    if "{}" in code:
        loop = "while True:\n        x = 1"
        exec(code.format(loop), names := {})
        said = str(check(names["count_pairs"], run=in_turn, limit=0.3))
        assert "`count_pairs({" in said
    else:
        said = run(code)[1]
    assert "did not come back within 0.3 seconds: is there a loop that never ends?" in said
    assert sys.gettrace() is None or "coverage" in str(sys.gettrace())


def test_regex_cuts_as_the_real_one_does_at_every_character_that_python_knows():
    known = (chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000)
    text = "".join(f"a{c} {c}1 " for c in known if unicodedata.category(c) != "Cn")
    for pattern in (GPT2_PATTERN, SMOLLM2_PATTERN):
        assert regex_by_re.findall(pattern, text) == regex.findall(pattern, text)
    found = regex_by_re.compile(r"\p{N}+[\]\s\p{L}]").finditer("a12] 3x")
    assert [match.group() for match in found] == ["12]", "3x"]
    with pytest.raises(regex_by_re.error, match=r"not \\p\{Lu\}"):
        regex_by_re.findall(r"\p{Lu}", "A")
