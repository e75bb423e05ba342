"""The ladder of the empty file: a solution climbs it, and wrong files stop where they are wrong."""

import re
import sys
from pathlib import Path

import pytest

from scratchformer_course.blank.empty_files import blank, written
from scratchformer_course.blank.mine import FILES, Mine
from scratchformer_course.blank.rungs import RUNGS, STAGES


def wrong_files():
    """(rung, words, file, old, new) for each entry of wrong_files.txt."""
    text = Path(__file__).with_name("wrong_files.txt").read_text("utf-8")
    for entry in text.split("\n== ")[1:]:
        head, file, *edit = entry.rstrip("\n").split("\n")
        rung, _, words = head.partition(" == ")
        old, new = ("\n".join(x[1:] for x in edit if x[:1] == sign) for sign in "-+")
        yield rung, words, file, old, new


TITLES = [rung.title for rung in RUNGS]
SLOW = {"Better than a table of counts, in two minutes"}  # a minute of its own; test_climb.py
REAL = {"SmolLM2's 134,515,008 numbers in your class", "It answers"}


@pytest.fixture
def folder(tmp_path):
    """A folder with the solution, whose modules are forgotten afterwards."""
    written(tmp_path)
    path = list(sys.path)
    yield tmp_path
    sys.path[:] = path
    for name in FILES:
        sys.modules.pop(name.removesuffix(".py"), None)


def climbed(folder, changed=None, last=None):
    """Title -> verdict of each rung, up to the first that does not hold.

    With a file that was changed, and the title of the last rung: only of rungs whose file is it or
    imports it, and of those that may take a minute only of the last.
    """
    users = {"attention.py": FILES[1:], "model.py": FILES[2:], None: FILES}.get(changed, [changed])
    mine, said = Mine(folder), {}
    for rung in RUNGS[: TITLES.index(last) + 1 if last else None]:
        is_slow = rung.seconds >= 60 if last else rung.title in SLOW
        if rung.file in users and (rung.title == last or not is_slow):
            said[rung.title] = rung.climb(mine)
            if said[rung.title]["state"] == "try again":
                break
    return said


def test_titles_are_distinct_and_there_are_about_thirty_rungs():
    assert len(set(TITLES)) == len(TITLES)
    assert 30 <= len(TITLES) == sum(STAGES.values()) <= 40


@pytest.mark.slow
def test_a_solution_of_five_files_climbs_every_rung(folder):
    said = climbed(folder)
    failed = {t: v for t, v in said.items() if v["state"] not in ("passed", "not here")}
    assert not failed
    assert {t for t, v in said.items() if v["state"] == "not here"} <= {
        *REAL,
        "Your file, opened by transformers",
    }


@pytest.mark.parametrize(
    "wrong", list(wrong_files()), ids=lambda wrong: f"{wrong[0]}: {wrong[4][:25]}"
)
def test_a_wrong_file_is_stopped_at_its_rung(folder, wrong):
    title, words, file, old, new = wrong
    text = (folder / file).read_text("utf-8")
    assert text.count(old) == 1
    (folder / file).write_text(text.replace(old, new), "utf-8")
    said = climbed(folder, file, title)
    stop = list(said)[-1]
    assert said[stop]["state"] == "try again", "nothing stops it"
    assert stop == title, said[stop]
    assert words in said[stop]["message"], said[stop]


@pytest.mark.parametrize(
    ("file", "text", "state", "words"),
    [
        ("tokenizer.py", "", "try again", "does not define `count_pairs`"),
        (
            "tokenizer.py",
            "def count_pairs(words)\n    pass\n",
            "try again",
            "line 1: Python cannot",
        ),
        (
            "tokenizer.py",
            "import nothing_of_this_name\n",
            "try again",
            "importing `tokenizer.py` fails: `tokenizer.py`, line 1",
        ),
        ("tokenizer.py", "import scratchformer.tokenizers\n", "try again", "write it yourself"),
        ("model.py", "from scratchformer_course import kit\n", "try again", "`model.py`, line 1"),
        (
            "help.py",
            "import importlib\nimportlib.import_module('scratchformer.files')\n",
            "try again",
            "line 2",
        ),
        ("model.py", "a = __import__('scratchformer')\n", "try again", "write it yourself"),
        (
            "tokenizer.py",
            "def count_pairs(words):\n    return ...\n",
            "not yet",
            "write `count_pairs`",
        ),
        (
            "tokenizer.py",
            "def count_pairs(words):\n    print(words)\n",
            "try again",
            "returned None",
        ),
        (
            "tokenizer.py",
            "def count_pairs(words):\n    raise SystemExit\n",
            "try again",
            "ends the program",
        ),
        ("tokenizer.py", "\x00", "try again", "Python cannot read it"),
        ("tokenizer.py", None, "try again", "is missing"),
    ],
)
def test_what_cannot_be_run_gets_a_sentence(folder, file, text, state, words):
    (folder / file).unlink(missing_ok=True)
    if text is not None:
        (folder / file).write_text(text, "utf-8")
    said = RUNGS[0].climb(Mine(folder))
    assert said["state"] == state
    assert words in said["message"]


def test_the_empty_files_say_what_to_write_and_use_nothing_of_the_course(tmp_path):
    files = blank(tmp_path / "mine")
    texts = {path.name: path.read_text("utf-8") for path in files}
    assert {*FILES, "README.md"} == set(texts)
    assert not any(
        "import scratchformer" in text or "from scratchformer" in text for text in texts.values()
    )
    for rung in RUNGS:
        for name in rung.names:
            file, _, inside = name.rpartition(":")
            assert re.search(rf"(def|class|import) {inside}\b", texts[file or rung.file])


def test_blank_writes_over_nothing(tmp_path):
    (tmp_path / "model.py").write_text("mine", "utf-8")
    with pytest.raises(FileExistsError, match=r"model\.py"):
        blank(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["model.py"]
