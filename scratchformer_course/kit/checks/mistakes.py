"""The usual mistakes of an exercise: wrong answers, and what a check says of them.

Most are edits of the worked answer, which `exercise(…, right=[right_masked_softmax], mistakes={…})`
reads:

    "~mask -> mask": "The mask is the wrong way round: True means may look",
    "dim=1 -> dim=0": "Softmax runs down the columns: each row is one position",
"""

from __future__ import annotations

import inspect
import linecache
import sys
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Answer = Callable[..., Any]  # a function or a class, as a learner would write it
ARROW = " -> "


@dataclass(frozen=True)
class Mistake:
    """A usual wrong answer: what the learner did, what the check says, and the answer."""

    description: str
    diagnosis: str  # without the full stop
    function: Answer
    is_specific: bool = False  # where several mistakes do the same, this one is named
    is_quoted: bool = False  # the engine or the judge finds the words; `diagnosis` holds some


def mistake(description: str, diagnosis: str, answer: Answer, *, specific: bool = False) -> Mistake:
    """A wrong answer that has a diagnosis of its own: what is wrong, and what to look at.

    Where two mistakes give the same values on all cases, a check says both diagnoses, unless one of
    them is `specific`.
    """
    return Mistake(description, diagnosis.rstrip("."), answer, specific)


def refused(description: str, words: str, answer: Answer) -> Mistake:
    """A wrong answer for which the judge or the engine finds the words; `words` quotes some."""
    return Mistake(description, words.rstrip("."), answer, is_quoted=True)


def edits(right: Any, diagnoses: Mapping[str, str], *, quoted: bool = False) -> list[Mistake]:
    """One mistake for each edit, `"before -> after"`, of a function's or a class's source.

    Every occurrence of `before` is replaced, and `after` may be empty. Several edits of one mistake
    are separated by a line break. `quoted` says that the judge finds the words, of which the
    diagnosis holds some. ValueError if `before` is not in the source, or if an edit has no arrow.
    """
    return [
        Mistake(change, words.rstrip("."), edited(right, change), is_quoted=quoted)
        for change, words in diagnoses.items()
    ]


def edited(right: Any, change: str) -> Any:
    """The function or class that an edited source defines, among the names of the original."""
    name = right.__name__
    source = textwrap.dedent(inspect.getsource(right))
    for line in change.split("\n"):
        before, arrow, after = line.partition(ARROW)
        if not arrow or before not in source:
            raise ValueError(
                f"{line!r}: expected `before{ARROW}after`, with a part of {name}'s source"
            )
        source = source.replace(before, after)
    file = f"<{name}: {change}>"  # registered, so that `inspect.getsource` finds it
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names = dict(vars(sys.modules[right.__module__]))
    exec(compile(source, file, "exec"), names)
    return names[name]
