"""A live figure: numbers, the still figure of these numbers, and the scripts that bring it to life.

Nothing is asked of a server. A notebook's output and a saved page hold all they need. Stored
outputs hold no scripts and no weights (SCRATCHFORMER_LIVE=stored): the site adds them, once a page.
"""

import json
import os
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from scratchformer.files import atomic_write
from scratchformer_course.kit.figure.scripts import LOADER, SCRIPT, STYLE, files_of, read
from scratchformer_course.kit.figure.scripts import PACKAGE as PACKAGE

START = "course.live.start();"
STORED = "SCRATCHFORMER_LIVE"  # = stored: outputs hold no scripts, the site brings them
PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>:root {{ color-scheme: light dark;
  --course-query: light-dark(#0067a5, #6fbaf2); --course-key: light-dark(#b34700, #f6a065);
  --course-value: light-dark(#007a55, #52d1a8); --course-stream: light-dark(#5b4bb5, #b5a9ff); }}
html {{ background: Canvas; color: CanvasText; }} body {{ margin: 1rem; }}</style>
<main>{body}</main></html>
"""


class LiveFigure:
    """A figure that a reader can touch: a notebook shows it, `save` writes it as a page.

    `name` is the one that its script registers, `settings` the numbers it draws (what JSON can
    hold), `still` the HTML of a figure with the same numbers for a page without JavaScript.
    `descriptions` are those of the models it runs (`page_model.describe`). Raises ValueError for a
    name without scripts (`scripts.py`), for settings that JSON cannot hold, for half a character of
    UTF-16 in a text, and for a SCRATCHFORMER_LIVE that means nothing.
    """

    def __init__(
        self,
        name: str,
        settings: dict[str, Any],
        still: str,
        descriptions: Sequence[dict[str, Any]] = (),
    ):
        only_stored()
        _check(name, settings, still)
        self.name, self.settings, self.still = name, settings, still
        self.files = files_of(name, settings)
        self.descriptions = list(descriptions)

    def __repr__(self) -> str:
        return f"<LiveFigure {self.name}>"  # no address: a stored output is compared

    def _repr_html_(self) -> str:
        return self.placeholder() if only_stored() else self.html()

    def placeholder(self) -> str:
        """What a stored output holds: the still figure, its numbers, the hashes of its models."""
        models = " ".join(description["hash"] for description in self.descriptions)
        return (
            f'<div class="live-figure" data-figure="{self.name}" data-models="{models}" '
            f'data-settings="{escape(json.dumps(self.settings, allow_nan=False))}">'
            f"{self.still}</div>"
        )

    def html(self) -> str:
        """The figure with all that it needs."""
        files = [STYLE, LOADER, SCRIPT, *self.files]
        style = "\n".join(read(name) for name in files if name.endswith(".css"))
        scripts = [read(name) for name in files if name.endswith(".js")]
        scripts += [description_script(description) for description in self.descriptions]
        script = "\n".join([*scripts, START]).replace("</", r"<\/")  # no text may end the script
        return f"{self.placeholder()}<style>{style}</style><script>{script}</script>"

    def save(self, path: str | Path, title: str = "A live figure") -> None:
        """Write a page of its own, that any browser opens from disk."""
        page = PAGE.format(title=escape(title), body=self.html())
        with atomic_write(path) as part:
            part.write_text(page, encoding="utf-8")


def only_stored() -> bool:
    """Whether SCRATCHFORMER_LIVE asks for outputs without scripts; ValueError if it says else."""
    value = os.environ.get(STORED, "")
    if value not in ("", "stored"):
        raise ValueError(f"{STORED}={value!r}, expected 'stored', or nothing for a live figure")
    return value == "stored"


def _check(name: str, settings: dict[str, Any], still: str) -> None:
    """Raise ValueError unless a page can hold all of it."""
    try:
        (json.dumps(settings, allow_nan=False, ensure_ascii=False) + still).encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise ValueError(
            f"the figure {name} has {half!r} in a text, which is half a character, expected whole "
            "characters"
        ) from error
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(
            f"the settings of the figure {name} are not what JSON can hold ({error}), expected "
            "finite numbers, texts, lists and dicts of them"
        ) from error


def description_script(description: dict[str, Any]) -> str:
    """JavaScript that gives a page this description, if it has not got it yet."""
    value = json.dumps(description).replace("<", r"\u003c")
    return f'course.descriptions["{description["hash"]}"] ??= {value};'
