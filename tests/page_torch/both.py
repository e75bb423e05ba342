"""PyTorch and the page's: the names that a program starts with, and how its lines run."""

import math
import sys
from pathlib import Path
from typing import NamedTuple

import torch as real

sys.path.insert(0, str(Path(__file__).parents[2]))

from scratchformer_course import page_torch as small


class Step(NamedTuple):
    """A line of a program, the operation that it was drawn for, and the name of its result."""

    operation: str
    line: str
    result: str


def fresh(torch):
    """The names that a program starts with; `inf` and `nan` stand in the texts of lists."""
    return {"torch": torch, "F": torch.nn.functional, "inf": math.inf, "nan": math.nan}


def words_of(error):
    """The type and the first line of an error."""
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"


def attempt(line, names):
    """The error that a line ends in, as words; they are empty if it ran."""
    try:
        exec(line, names)
    except small.NotInPage:
        return "NotInPage"
    except Exception as error:
        return words_of(error)
    return ""


def seen(look, value):
    """What a look at a value shows, or the words of the error that the look ends in."""
    try:
        return look(value)
    except Exception as error:
        return words_of(error)


def tensors_in(names):
    """PyTorch's tensors that an operation may use, as pairs of text and tensor, oldest first."""
    found = []
    for name, value in names.items():
        if name[0] in "xyw" and isinstance(value, tuple):
            found += [(f"{name}[{i}]", part) for i, part in enumerate(value)]
        elif name[0] in "xyw":
            found.append((name, value))
    return [(text, value) for text, value in found if isinstance(value, real.Tensor)]


def flat(value):
    """The numbers of nested lists in one list."""
    if isinstance(value, list | tuple):
        return [number for part in value for number in flat(part)]
    return [value]
