"""Scores that a reader drags: mask, softmax, weights and what a word gets follow.

Calculated here is only the row that stands on a page without JavaScript.
"""

from collections.abc import Mapping, Sequence
from html import escape

from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.kit.figure.numbers import check_finite

Matrix = Sequence[Sequence[float | int]]
WORDS, NUMBERS, MASKS = 6, 3, 4  # what fits a phone: words, numbers of a vector, masks
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
    ValueError for sizes that do not fit each other or a phone, for words that occur twice, and for
    a row that may look nowhere.
    """
    _check(words, x, gives, masks)
    settings = {
        "words": list(words),
        "x": [list(vector) for vector in x],
        "gives": list(gives),
        "masks": {name: [[bool(may) for may in line] for line in m] for name, m in masks.items()},
        "looks": len(words) - 1,
        "largest": LARGEST_SCORE,
    }
    return LiveFigure("weighted_past", settings, _still(words, x, gives, masks))


def _check(
    words: Sequence[str],
    x: Matrix,
    gives: Sequence[str],
    masks: Mapping[str, Sequence[Sequence[bool]]],
) -> None:
    T = len(words)
    if not 2 <= T <= WORDS or len(set(words)) < T:
        raise ValueError(f"words={list(words)}, expected 2 to {WORDS}, each once")
    if not 1 <= len(gives) <= NUMBERS or not 1 <= len(masks) <= MASKS:
        sizes = f"{len(gives)} numbers and {len(masks)} masks"
        raise ValueError(f"got {sizes}, expected 1 to {NUMBERS} and 1 to {MASKS}")
    if [len(vector) for vector in x] != [len(gives)] * T:
        wide = [len(vector) for vector in x]
        raise ValueError(f"x has rows of {wide} numbers, expected {T} rows of {len(gives)}")
    check_finite("x", [number for vector in x for number in vector])
    for name, mask in masks.items():
        if [len(line) for line in mask] != [T] * T:
            raise ValueError(f"the mask {name!r} is not {T} rows of {T}")
        if not all(any(line) for line in mask):
            raise ValueError(f"in the mask {name!r} a row has no True, expected one in each row")


def _still(
    words: Sequence[str],
    x: Matrix,
    gives: Sequence[str],
    masks: Mapping[str, Sequence[Sequence[bool]]],
) -> str:
    """The row of the last word under the first mask, as a table: for a page without JavaScript."""
    name, mask = next(iter(masks.items()))
    weights = [may / sum(mask[-1]) for may in mask[-1]]
    lines = "".join(
        f"<tr><th scope='row'>{escape(word)}</th><td>0</td><td>{'0' if may else '−∞'}</td>"
        f"<td>{weight:.2f}</td>" + "".join(f"<td>{number:g}</td>" for number in vector) + "</tr>"
        for word, may, weight, vector in zip(words, mask[-1], weights, x, strict=True)
    )
    columns = ("word", "score", "mask", "weight", *gives)
    head = "".join(f"<th scope='col'>{escape(column)}</th>" for column in columns)
    mixture = [sum(w * v[c] for w, v in zip(weights, x, strict=True)) for c in range(len(gives))]
    gets = ", ".join(f"{escape(g)} {m:.2f}" for g, m in zip(gives, mixture, strict=True))
    return (
        "<p>This figure is live where JavaScript runs: there you drag the scores and switch the "
        f"mask. Here is one row of it, with all scores 0 and the mask “{escape(name)}”: what "
        f"<em>{escape(words[-1])}</em> takes from each word.</p><table><thead><tr>{head}</tr>"
        f"</thead><tbody>{lines}</tbody></table><p>The weights mix the vectors. "
        f"<em>{escape(words[-1])}</em> gets: {gets}.</p>"
    )
