"""Mistakes written as edits of the worked answer: what changes in its source, and what is wrong then.

mistakes=edits(right_masked_softmax, {
    "~mask -> mask": "The mask is the wrong way round: True means may look",
    "dim=1 -> dim=0": "Softmax runs down the columns: each row is one position",
})
"""

from __future__ import annotations

import inspect
import linecache
import sys
import textwrap
from collections.abc import Mapping
from typing import Any

from scratchformer_course.kit.checks.engine import Mistake

ARROW = " -> "


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
