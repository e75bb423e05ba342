"""Scores that a reader drags: mask, softmax, weights and what a word gets follow.

Calculated here is only the row that stands on a page without JavaScript.
"""

from collections.abc import Mapping, Sequence
from html import escape

from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.kit.figure.still import table

Matrix = Sequence[Sequence[float | int]]
WORDS = 6  # what fits a phone
LARGEST_SCORE = 4  # what the sliders reach, below 0 as well


def weighted_past(
    words: Sequence[str],
    x: Matrix,
    gives: Sequence[str],
    masks: Mapping[str, Sequence[Sequence[bool]]],
) -> LiveFigure:
    """The row of the last word, which looks back; all scores are 0 until a reader drags them.

    `x` (T, C) holds the words' vectors and `gives` the names of their C numbers. Each of the
    `masks` is (T, T), True where the word of the row may look; the first one is on. Raises
    ValueError for words that do not fit a phone or occur twice, for vectors of another size, and
    for a row that may look nowhere.
    """
    T = len(words)
    if not 2 <= T <= WORDS or len(set(words)) < T:
        raise ValueError(f"words={list(words)}, expected 2 to {WORDS}, each once")
    if [len(vector) for vector in x] != [len(gives)] * T:
        wide = [len(vector) for vector in x]
        raise ValueError(f"x has rows of {wide} numbers, expected {T} rows of {len(gives)}")
    for name, mask in masks.items():
        if not all(any(line) for line in mask):
            raise ValueError(f"in the mask {name!r} a row has no True, expected one in each row")
    settings: dict = {
        "words": list(words),
        "x": [list(vector) for vector in x],
        "gives": list(gives),
        "masks": {name: [[bool(may) for may in line] for line in m] for name, m in masks.items()},
        "looks": T - 1,
        "largest": LARGEST_SCORE,
    }
    return LiveFigure("weighted_past", settings, _still(settings))


def _still(s: dict) -> str:
    """The row of the last word under the first mask, as a table: for a page without JavaScript."""
    words, x, gives = s["words"], s["x"], s["gives"]
    name, mask = next(iter(s["masks"].items()))
    weights = [may / sum(mask[-1]) for may in mask[-1]]
    rows = [
        (escape(word), 0, 0 if may else "−∞", f"{weight:.2f}", *(f"{x:g}" for x in vector))
        for word, may, weight, vector in zip(words, mask[-1], weights, x, strict=True)
    ]
    head = ("word", "score", "mask", "weight", *map(escape, gives))
    mixture = [sum(w * v[c] for w, v in zip(weights, x, strict=True)) for c in range(len(gives))]
    gets = ", ".join(f"{escape(g)} {m:.2f}" for g, m in zip(gives, mixture, strict=True))
    return (
        "<p>This figure is live where JavaScript runs: there you drag the scores and switch the "
        f"mask. Here is one row of it, with all scores 0 and the mask “{escape(name)}”: what "
        f"<em>{escape(words[-1])}</em> takes from each word.</p>{table(head, rows)}"
        "<p>The weights mix the vectors. "
        f"<em>{escape(words[-1])}</em> gets: {gets}.</p>"
    )
