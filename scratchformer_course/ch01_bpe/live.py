"""A text grows from bytes to tokens, one merge of a byte-level tokenizer at a time."""

from collections.abc import Sequence

from scratchformer.tokenizers import ByteBPE
from scratchformer_course.ch01_bpe.drawings import coloured
from scratchformer_course.kit.figure.live_figure import LiveFigure

MOST_CHARACTERS = 2_000  # of a text, here and in the figure's field


def merges(
    tokens: Sequence[bytes], pattern: str, text: str, ids: Sequence[int], start: int = 0
) -> LiveFigure:
    """The merges of `text`, and of any other text that a reader types, after `start` merges first.

    `tokens[i]` is the token with the id i: the 256 bytes in order, then one token for each merge,
    in the order of learning. `pattern` cuts a text into chunks; it is a regular expression that
    means the same in Python and in JavaScript. `ids` are those of `text`, for a page without
    JavaScript. Raises ValueError for a merge that comes twice, a text that is empty or too long,
    ids that do not spell it, and more merges at the start than there are.
    """
    _check(tokens, text, ids)
    if not 0 <= start <= len(tokens) - 256:
        raise ValueError(f"start={start}, expected 0 to {len(tokens) - 256} merges")
    settings = {
        "merged": [token.decode("latin-1") for token in tokens[256:]],
        "pattern": pattern,
        "text": text,
        "start": start,
        "longest": MOST_CHARACTERS,
    }
    return LiveFigure("merges", settings, _still(tokens, text, ids))


def real_tokens(tokenizer: ByteBPE, text: str) -> LiveFigure:
    """`text`, and any other that a reader types, in the tokens of SmolLM2's `tokenizer`.

    The figure holds these tokens alone. The whole vocabulary is a script of the site.
    """
    ids = tokenizer.encode(text)
    shown = [(tokenizer.tokens[i], i) for i in ids]
    heading = f"{len(text)} characters, {len(ids)} tokens of {len(tokenizer.tokens):,}"
    still = (
        "<p>This figure is live where JavaScript runs, on the course’s site: there you type any "
        "text. "
        "These tokens were recorded.</p>"
        f"{coloured([(heading, [(label(token), i) for token, i in shown])]).data}"
    )
    pieces = [(token.decode("latin-1"), i) for token, i in shown]
    return LiveFigure("real_tokens", {"text": text, "pieces": pieces}, still)


def label(token: bytes) -> str:
    """A token as a reader can see it; bytes that are no text are written as numbers."""
    try:
        shown = token.decode().replace("\n", "⏎").replace("\t", "⇥")
    except UnicodeDecodeError:
        shown = "\0"
    return shown if shown.isprintable() else "".join(f"<{byte}>" for byte in token)


def _check(tokens: Sequence[bytes], text: str, ids: Sequence[int]) -> None:
    rest = tokens[256:]
    if len(set(rest)) < len(rest):
        raise ValueError(f"got {len(rest)} merges, {len(set(rest))} different, expected each once")
    if not 0 < len(text) <= MOST_CHARACTERS:
        raise ValueError(f"a text of {len(text)} characters, expected 1 to {MOST_CHARACTERS:,}")
    if "\r" in text:
        raise ValueError("the text has a carriage return; a field of a page has only \\n for lines")
    if b"".join(tokens[i] for i in ids) != text.encode():
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
