r"""The module `regex` where it cannot be installed, in a page: Python's `re` with \p{L} and \p{N}.

It is for the patterns of GPT-2 and its like. Letters and numbers are those that Python knows.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from itertools import groupby
from typing import Any

PARTS = re.compile(r"\\[pP]\{\^?\w+\}|\\.|.", re.DOTALL)
error, Pattern, Match = re.error, re.Pattern, re.Match


@functools.cache
def members() -> dict[str, str]:
    """The characters of each part that `re` does not know, or reads otherwise, as in brackets."""
    everything = "".join(map(chr, range(0x110000)))
    found = {r"\p{L}": "", r"\p{N}": "", r"\s": ""}
    for run in re.finditer(r"[^\W_]+", everything):  # letters and numbers, and nothing else
        for is_letter, group in groupby(run[0], str.isalpha):
            characters = "".join(group)
            found[r"\p{L}" if is_letter else r"\p{N}"] += f"{characters[0]}-{characters[-1]}"
    found[r"\s"] = re.sub("[\x1c-\x1f]", "", "".join(re.findall(r"\s", everything)))
    return found


@functools.cache
def translated(pattern: str) -> str:
    """The pattern as `re` reads it."""
    inside, parts = False, []
    for part in PARTS.findall(pattern):
        inside = part == "[" or (inside and part != "]")
        if part in members():
            part = members()[part] if inside else f"[{members()[part]}]"
        elif part.lower().startswith(r"\p{"):
            raise error(rf"in a page, \p{{L}} and \p{{N}} are known, and not {part}", pattern)
        parts.append(part)
    return "".join(parts)


def _function(name: str) -> Callable[..., Any]:
    def call(pattern: Any, *given: Any, **named: Any) -> Any:
        plain = translated(pattern) if isinstance(pattern, str) else pattern
        return getattr(re, name)(plain, *given, **named)

    return call


compile, findall, finditer = map(_function, ("compile", "findall", "finditer"))
match, fullmatch, search = map(_function, ("match", "fullmatch", "search"))
split, sub, subn = map(_function, ("split", "sub", "subn"))
escape = re.escape
