"""The PyTorch of the page says what PyTorch says, or that it does not know.

Each comparison runs in a process of its own: in one of them `import torch` means the page's.
"""

import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from scratchformer_course.page_torch import names
from scratchformer_course.teaching import packed_python

HERE = Path(__file__).parent
PROGRAMS = 1500
# What is not the same in any of the idioms, and why that does no harm
DIFFERENT = {
    "F.gelu(x), F.gelu(x, approximate": "the last digit of a sum of float32 numbers",
    "x.shape(0)": "an error names the type Size, not torch.Size",
    "x.size[0]": "an error names a method, not a built-in one",
    "[type(c) for c in net.children()]": "layers say where they are defined",
}
# Differences that random programs still find: operation and kind of each
KNOWN = {
    ("torch.einsum({einsum})", "stride"),
    ("{x}[{iset}] = {s}", "error"),
    ("{x}[{iset}] = {v}", "error"),
    ("{x}[{iset}] += {v}", "error"),
    ("backward() of {x}[{iset}] = {v}", "error"),
}


def found(script, *words):
    """What a script of this folder prints, read as JSON."""
    command = [sys.executable, str(HERE / script), *map(str, words)]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


def to_twelve_digits(words):
    """Words, with numbers of more than twelve digits rounded: the last ones depend on the sum."""
    return re.sub(r"\d+\.\d{12,}(e[+-]?\d+)?", lambda number: f"{float(number[0]):.11g}", words)


def verdicts_of_both():
    """The words for each answer with PyTorch and with the page's, whose process takes longer."""
    with ThreadPoolExecutor() as pool:
        small, real = pool.map(lambda word: found("verdicts.py", word), ("small", "real"))
    assert real.keys() == small.keys() and len(small) > 500
    return {answer: (real[answer], small[answer]) for answer in small}


@pytest.mark.slow
def test_every_answer_gets_the_same_words_but_in_exercises_that_are_left_to_the_notebook():
    pairs = verdicts_of_both()
    missing = {answer for answer, (_, (state, _)) in pairs.items() if state == "not here"}
    other = {
        answer: pair
        for answer, pair in pairs.items()
        if answer not in missing and len({(state, to_twelve_digits(w)) for state, w in pair}) > 1
    }
    left = set(packed_python.notebook_only())
    assert {answer.split()[0] for answer in other} <= left, other
    listed = re.compile(r"(\S+) (right|mistake) ")
    not_word_for_word = {m[1] for answer in {*other, *missing} if (m := listed.match(answer))}
    assert not_word_for_word == left, "notebook_only.json lists what differs"


def test_idioms_of_learners_give_the_same_or_are_said_to_be_missing():
    differences = found("idioms.py")
    missing = [text for text, (_, small) in differences.items() if small.startswith("not here")]
    assert len(missing) < 85
    for text, pair in differences.items():
        is_known = any(part in text for part in DIFFERENT)
        assert text in missing or is_known, f"{text}\n{pair[0]}\n{pair[1]}"


def test_random_programs_give_the_same():
    result = found("random_expressions.py", PROGRAMS)
    headings = re.findall(r"^=== (.*): (.*?) \(\d+ times\)$", result["failures"], re.MULTILINE)
    unknown = set(headings) - KNOWN
    assert not unknown, result["failures"]
    ends = result["ends"]
    assert not result["unused"] and ends["different"] <= PROGRAMS / 75
    assert ends["not in page"] <= PROGRAMS / 12 and ends["same slopes"] > PROGRAMS / 3


@pytest.mark.parametrize("room", ["torch", "Tensor", "nn", "modules", "functional", "optim"])
def test_the_names_that_it_lacks_are_those_of_the_installed_pytorch(room):
    code = "import json; from scratchformer_course.page_torch import names"
    command = [sys.executable, "-c", f"{code}; print(json.dumps(names.installed()))"]
    fresh = subprocess.run(command, capture_output=True, text=True, check=True)  # nothing is added
    assert names.KNOWN[room] == set(json.loads(fresh.stdout)[room])
