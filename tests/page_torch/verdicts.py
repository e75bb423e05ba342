"""The words that all exercises find for their answers, as JSON: with PyTorch, or with the page's.

Usage: python verdicts.py {real,small} [chapter …]

Answers are those of the tables, right and wrong, the subtle ones of `test_subtle_answers`, and the
unusual ones that stand in `unusual.txt`. Each has its process, so that `import torch` is either.
"""

import json
import math
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))
if sys.argv[1] == "small":
    from page_instead import LACKING, NOT_HERE
else:
    NOT_HERE, LACKING = (), []

import torch
from torch import nn
from torch.nn import functional as F

from scratchformer_course.kit.checks.mistakes import edited
from tests.chapters.subtle import WRONG
from tests.chapters.tables import EXERCISES


def answers(exercise):
    """Pairs of a name and an answer: right, wrong and unusual ones."""
    for i, answer in enumerate(exercise.solutions):
        yield f"right {i}", answer
    for i, mistake in enumerate(exercise.mistakes):
        yield f"mistake {i}", mistake.function
    for change in WRONG.get(exercise.name, ()):
        yield change, edited(exercise.right, change)
    for i, source in enumerate(UNUSUAL.get(exercise.number, ())):
        names = {"torch": torch, "nn": nn, "F": F, "math": math}
        exec(source, names)
        yield f"unusual {i}", names[exercise.name]


def unusual():
    """Sources by the number of the exercise; empty lines stand between functions."""
    found = {}
    text = Path(__file__).with_name("unusual.txt").read_text("utf-8")
    parts = re.split(r"^## (\S+)\n", text, flags=re.MULTILINE)
    for number, source in zip(parts[1::2], parts[2::2], strict=True):
        found.setdefault(number, []).append(source)
    return found


def verdict(exercise, answer):
    """State and words; "not here" where something is missing, whatever the answer made of it."""
    LACKING.clear()
    try:
        found = exercise(answer, limit=0)
        words = [found.state, found.message]
    except NOT_HERE as missing:
        words = ["not here", str(missing)]
    return ["not here", LACKING[0]] if LACKING else words


UNUSUAL = unusual()


def main(chapters):
    """Print the JSON of some chapters, or of all if none is named."""
    tables = [table for name, table in EXERCISES.items() if not chapters or name[:2] in chapters]
    found = {
        f"{exercise.number} {name}": verdict(exercise, answer)
        for table in tables
        for exercise in table
        for name, answer in answers(exercise)
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[2:])
