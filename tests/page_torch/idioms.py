"""Snippets that learners write, run with PyTorch and with the page's: JSON of the differences.

Usage: python idioms.py

A snippet's last line is an expression, whose repr is compared, or it raises, and the type and the
words of the error are compared. They stand in `idioms.txt`, between empty lines.
"""

import ast
import json
import math
import sys
import warnings
from pathlib import Path

import torch as real

sys.path.insert(0, str(Path(__file__).parents[2]))

from scratchformer_course import page_torch as small


def snippets():
    """All snippets, without their headings."""
    parts = Path(__file__).with_name("idioms.txt").read_text(encoding="utf-8").split("\n\n")
    lines = [[line for line in part.splitlines() if not line.startswith("## ")] for part in parts]
    return ["\n".join(some) for some in lines if some]


def outcome(snippet, torch):
    """The repr of the last line, or the error; what is missing, if something is."""
    tree = ast.parse(snippet)
    names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "math": math}
    torch.manual_seed(0)
    small.lacking.clear()
    try:
        exec(compile(ast.Module(tree.body[:-1], []), "snippet", "exec"), names)
        words = repr(eval(compile(ast.Expression(tree.body[-1].value), "snippet", "eval"), names))
    except small.NotInPage:
        words = ""
    except Exception as error:
        words = f"{type(error).__name__}: {error}"
    return f"not here: {small.lacking[0]}" if small.lacking else words


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    pairs = {text: (outcome(text, real), outcome(text, small)) for text in snippets()}
    print(json.dumps({text: pair for text, pair in pairs.items() if pair[0] != pair[1]}))
