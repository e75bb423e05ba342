r"""The module `regex` where it cannot be installed, in a page: Python's `re` with \p{L} and \p{N}.

It is for the patterns of GPT-2 and its like. Letters and numbers are those that Python knows.
"""

import functools
import itertools
import re
import sys
from collections.abc import Callable
from typing import Any

IN_BRACKETS, OUTSIDE = r"\\p\{([LN])\}(?=[^\[]*\])", r"\\p\{([LN])\}"


@functools.cache
def members(part: str) -> str:
    """All letters ("L") or numbers ("N"), as ranges that stand in brackets."""
    is_member = str.isalpha if part == "L" else lambda c: c.isnumeric() and not c.isalpha()
    groups = itertools.groupby(map(chr, range(sys.maxunicode + 1)), is_member)
    runs = ["".join(group) for is_in, group in groups if is_in]
    return "".join(f"{run[0]}-{run[-1]}" for run in runs)


@functools.cache
def translated(pattern: str) -> str:
    """The pattern as `re` reads it; one that is compiled is read already."""
    if not isinstance(pattern, str):
        return pattern
    pattern = re.sub(IN_BRACKETS, lambda match: members(match[1]), pattern)
    return re.sub(OUTSIDE, lambda match: f"[{members(match[1])}]", pattern)


def __getattr__(name: str) -> Callable[..., Any]:
    function = getattr(re, name)
    return lambda pattern, *given, **named: function(translated(pattern), *given, **named)
