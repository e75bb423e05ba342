"""A translation that is written word by word, and the source words that each word reads."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from scratchformer_course.kit.figure.live_figure import LiveFigure

END = "⊣"


def translation_steps(translations: Sequence[Mapping[str, Any]], start: int = 0) -> LiveFigure:
    """A slider through translations: each has `english`, `german`, and `weights`.

    Row t of the weights says how much word t of the German text, or the end after it, reads of
    each English word and of the end after them. `start` is the translation shown first. Raises
    ValueError for a table of another size, and for rows that do not sum to 1.
    """
    for translation in translations:
        _check(translation)
    names = ("english", "german", "weights")
    settings = {"translations": [{name: t[name] for name in names} for t in translations]}
    return LiveFigure("translation_steps", settings | {"start": start}, _still(translations))


def _check(translation: Mapping[str, Any]) -> None:
    size = tuple(len(translation[name].split()) + 1 for name in ("german", "english"))
    rows = translation["weights"]
    if any((len(rows), len(row)) != size for row in rows) or not rows:
        shape = (len(rows), *sorted({len(row) for row in rows}))
        raise ValueError(f"{translation['german']!r} has weights {shape}, expected {size}")
    for row in rows:
        if min(row) < 0 or abs(sum(row) - 1) > 0.01:
            raise ValueError(f"a row of weights sums to {sum(row):.3f}, expected shares of 1")


def _still(translations: Sequence[Mapping[str, Any]]) -> str:
    """Each sentence with its translation, and what each German word reads most."""
    rows = ""
    for each in translations:
        english = [*each["english"].split(), END]
        words = " ".join(
            f"{escape(word)} ({escape(english[row.index(max(row))])} {max(row):.0%})"
            for word, row in zip(each["german"].split(), each["weights"][:-1], strict=True)
        )
        rows += f"<tr><th scope='row'>{escape(each['english'])}</th><td>{words}</td></tr>"
    return (
        "<p>This figure is live where JavaScript runs: there you can step through each translation "
        "word by word. Here each German word comes with the source word that it reads most, and "
        "the share of its attention that this word gets."
        f"</p><table><tbody>{rows}</tbody></table>"
    )
