"""A translation that is written word by word, and the source words that each word reads."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from scratchformer_course.kit.figure.live_figure import LiveFigure

END = "⊣"


def translation_steps(translations: Sequence[Mapping[str, Any]], start: int = 0) -> LiveFigure:
    """A slider through translations: each has `english`, `german`, and `weights`.

    Row t of the weights says how much word t of the German text, or the end after it, reads of
    each English word and of the end after them. `start` is the translation shown first.
    """
    names = ("english", "german", "weights")
    settings = {"translations": [{name: t[name] for name in names} for t in translations]}
    return LiveFigure("translation_steps", settings | {"start": start}, _still(translations))


def _still(translations: Sequence[Mapping[str, Any]]) -> str:
    """Each sentence with its translation, and what each German word reads most."""
    rows = ""
    for pair in translations:
        english = [*pair["english"].split(), END]
        words = " ".join(
            f"{escape(word)} ({escape(english[row.index(max(row))])} {max(row):.0%})"
            for word, row in zip(pair["german"].split(), pair["weights"][:-1], strict=True)
        )
        rows += f"<tr><th scope='row'>{escape(pair['english'])}</th><td>{words}</td></tr>"
    return (
        "<p>This figure is live where JavaScript runs: there you can step through each translation "
        "word by word. Here each German word comes with the source word that it reads most, and "
        "the share of its attention that this word gets."
        f"</p><table><tbody>{rows}</tbody></table>"
    )
