"""A text grows from bytes to tokens, one merge of a byte-level tokenizer at a time."""

import json
from collections.abc import Sequence
from html import escape
from itertools import pairwise
from typing import Any

import regex

from scratchformer_course.ch01_bpe.drawings import coloured
from scratchformer_course.kit.figure.live_figure import LiveFigure

FILES = ("ch01_bpe/live.css", "page_model/tokenizer.js", "ch01_bpe/live.js")
MOST_CHARACTERS = 2_000  # of a text, here and in the figure's field
LARGEST = 60_000  # characters of settings as a stored output holds them
# What a pattern may hold, since it means the same in Python and, by tokenizer.js, in JavaScript
ESCAPED = r"\\(?:[sSnrt]|[pP]\{[LMNPSZC][a-z]?\}|[\[\](){}.*+?|/^$])"
SHARED = regex.compile(
    rf"""(?:
    (?: {ESCAPED} | \[\^?(?:{ESCAPED}|[^\[\]\\^])+\] | [^\\\[\](){{}}.*+?|^$]  # a character
      | \((?:\?(?:[:=!]|<[=!])) | \) | \|                              # a group, or one of two
    )
    (?: (?:[*+?]|\{{\d+(?:,\d*)?\}})\?? (?![*+]) )?                      # how often
    )+""",
    regex.VERBOSE,
)


def merges(tokens: Sequence[bytes], pattern: str, text: str, ids: Sequence[int]) -> LiveFigure:
    """The merges of `text`, and of any other text that a reader types.

    `tokens[i]` is the token with the id i: the 256 bytes in order, then one token for each merge,
    in the order of learning. `pattern` cuts a text into chunks; it is a regular expression of what
    Python and JavaScript share, and `\\s`. `ids` are those of `text`, for a page without
    JavaScript. A lone surrogate, which is no character, becomes U+FFFD, as in ByteBPE. Raises
    ValueError for tokens in another order or too many, a pattern that JavaScript may read
    otherwise, a text that is empty or too long, and ids that are not those of merging it.
    """
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    _check_pattern(pattern)
    _check(tokens, text, ids)
    expected = [i for chunk in regex.findall(pattern, text) for i in _merged(tokens, chunk)]
    if list(ids) != expected:
        raise ValueError(
            f"the ids are {list(ids)[:8]} …, expected those of merging: {expected[:8]}"
        )
    settings: dict[str, Any] = {
        "merged": [token.decode("latin-1") for token in tokens[256:]],
        "pattern": pattern,
        "text": text,
        "longest": MOST_CHARACTERS,
    }
    if (size := len(escape(json.dumps(settings)))) > LARGEST:
        raise ValueError(
            f"{len(tokens):,} tokens take {size:,} characters of a page, "
            f"expected at most {LARGEST:,}: give fewer tokens"
        )
    return LiveFigure("merges", settings, _still(tokens, text, ids), FILES)


def label(token: bytes) -> str:
    """A token as a reader can see it; bytes that are no text are written as numbers."""
    try:
        shown = token.decode().replace("\n", "⏎").replace("\t", "⇥")
    except UnicodeDecodeError:
        shown = "\0"
    return shown if shown.isprintable() else "".join(f"<{byte}>" for byte in token)


def _check_pattern(pattern: str) -> None:
    """Raise ValueError for a pattern that Python or JavaScript cannot read, or reads otherwise."""
    try:
        regex.compile(pattern)
    except (regex.error, OverflowError) as error:
        raise ValueError(f"the pattern {pattern!r} cannot be read: {error}") from error
    found = SHARED.match(pattern)
    end = found.end() if found else 0
    if end < len(pattern) or not pattern:
        raise ValueError(
            f"the pattern has {pattern[end : end + 8]!r} at {end}, which Python and JavaScript may "
            r"read in two ways; expected characters, classes such as \s and \p{L}, and groups (?:…)"
        )


def _merged(tokens: Sequence[bytes], chunk: str) -> list[int]:
    """The ids of a chunk: neighbours that make the token of the lowest id come first."""
    rank = {token: i for i, token in enumerate(tokens)}
    whole = chunk.encode()
    if whole in rank:  # even if no merges lead to it
        return [rank[whole]]
    pieces = [bytes([byte]) for byte in whole]
    while True:
        joined = [a + b for a, b in pairwise(pieces)]
        best = min((j for j in joined if j in rank), key=rank.__getitem__, default=None)
        if best is None:
            return [rank[piece] for piece in pieces]
        place = joined.index(best)
        pieces[place : place + 2] = [best]


def _check(tokens: Sequence[bytes], text: str, ids: Sequence[int]) -> None:
    for i, token in enumerate(tokens):
        if len(token) < 2 if i >= 256 else token != bytes([i]):
            raise ValueError(
                f"token {i} is {token!r}, expected the 256 bytes in order, then longer tokens"
            )
    if len(tokens) < 257 or len(set(tokens)) < len(tokens):
        raise ValueError(
            f"got {len(tokens)} tokens, {len(set(tokens))} of them different; "
            "expected 257 or more, each once"
        )
    if not 0 < len(text) <= MOST_CHARACTERS:
        raise ValueError(f"a text of {len(text)} characters, expected 1 to {MOST_CHARACTERS:,}")
    if "\r" in text:
        raise ValueError("the text has a carriage return; a field of a page has only \\n for lines")
    unknown = [i for i in ids if not 0 <= i < len(tokens)]
    if unknown or b"".join(tokens[i] for i in ids) != text.encode():
        raise ValueError(f"the ids {list(ids)[:8]} … do not spell the text {text[:20]!r} …")


def _still(tokens: Sequence[bytes], text: str, ids: Sequence[int]) -> str:
    """The tokens after the last merge, for a page without JavaScript."""
    n = len(text.encode())
    heading = f"{n} bytes, {len(ids)} tokens after {len(tokens) - 256:,} merges"
    return (
        "<p>This figure is live where JavaScript runs: there you type a text and see one merge "
        "after another. In a notebook its cell has to be run. A dot stands for a space, a number "
        "in angle brackets for one byte.</p>"
        f"{coloured([(heading, [(label(tokens[i]), i) for i in ids])]).data}"
    )
