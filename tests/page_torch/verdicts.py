"""The words that all exercises find for their answers, as JSON: with PyTorch, or with the page's.

Usage: python verdicts.py {real,small} [chapter …]

Answers are those of the tables, right and wrong, the subtle ones of `test_subtle_answers`, and the
unusual ones that stand in `unusual.txt`. Each has its process, so that `import torch` is either.
"""

import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent)]
if sys.argv[1] == "small":
    import numpy as real_numpy

    from scratchformer_course import page_torch
    from scratchformer_course.page_torch import products

    class Numbers(real_numpy.ndarray):
        """What JavaScript gives in a page."""

        def to_py(self):
            return self

    def product(left, right, n, k, m):
        """A product of matrices, in place of the page's JavaScript."""
        a, b = (real_numpy.frombuffer(x).reshape(rows, k) for x, rows in ((left, n), (right, m)))
        return (a @ b.T).reshape(-1).view(Numbers)

    page_torch.install()
    products.use_product(product)
    NOT_HERE, LACKING = page_torch.NotInPage, page_torch.lacking
else:
    NOT_HERE, LACKING = (), []

import math

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
    parts = re.split(r"^## (\S+)\n", (HERE / "unusual.txt").read_text("utf-8"), flags=re.MULTILINE)
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
if __name__ == "__main__":
    chosen = {
        chapter: table
        for chapter, table in EXERCISES.items()
        if not sys.argv[2:] or chapter[:2] in sys.argv[2:]
    }
    print(
        json.dumps(
            {
                f"{exercise.number} {name}": verdict(exercise, answer)
                for table in chosen.values()
                for exercise in table
                for name, answer in answers(exercise)
            }
        )
    )
