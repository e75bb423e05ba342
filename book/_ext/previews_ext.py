"""A Sphinx extension: what shows of a page elsewhere.

Where the address of a chapter is shared, a picture with its number, title and moment (or its
promise, where no moment is named), and the machine with the chapter's part filled;
sphinxext-opengraph draws those of other pages. At links to the glossary, the first sentence of the
term (previews.js).
"""

import io
import re
import textwrap
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import nbformat
from docutils import nodes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image
from sphinx.application import Sphinx

from scratchformer_course.pages.flow import BESIDE, STAGES

GLOSSARY = "book/glossary"
WIDTH, HEIGHT = 1146, 600  # pixels
COLOURS = 64  # enough for letters, and a third of the bytes
INK, BLUE, FAINT = "#1d2733", "#1f6199", "#5c6773"


def draw_card(number: str, title: str, text: str, address: str) -> bytes:
    """A PNG, the same in each build."""
    figure = Figure((WIDTH / 100, HEIGHT / 100), dpi=100, facecolor="white")

    def say(x: float, y: float, words: str, size: int, colour: str = INK, **look: Any) -> None:
        place: dict[str, Any] = {"ha": "left", "va": "top", "linespacing": 1.3}
        figure.text(x / WIDTH, 1 - y / HEIGHT, words, size=size, color=colour, **place | look)

    say(56, 44, "Transformers from Scratch", 20, FAINT)
    say(56, 92, f"{number} · {title}", 36 if len(title) < 30 else 28, BLUE, weight="bold")
    say(56, 190, textwrap.fill(textwrap.shorten(text, 230, placeholder=" …"), 54), 26)
    row = STAGES if any(number in numbers for numbers in STAGES.values()) else BESIDE
    step = (WIDTH - 112) / len(row)
    for i, (name, numbers) in enumerate(row.items()):
        is_current = number in numbers
        box = {"boxstyle": "round,pad=0.5", "ec": BLUE, "fc": BLUE if is_current else "white"}
        ink = "white" if is_current else FAINT
        say(56 + (i + 0.5) * step, 478, name, 13, ink, ha="center", va="center", bbox=box)
    say(56, 528, address, 18, FAINT)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    picture = Image.frombytes("RGBA", (WIDTH, HEIGHT), bytes(canvas.buffer_rgba()))
    picture = picture.convert("RGB").quantize(COLOURS)
    file = io.BytesIO()
    picture.save(file, "PNG", optimize=True)
    return file.getvalue()


def add_card(app: Sphinx, pagename: str, _: str, context: dict, doctree: Any) -> None:
    """`html-page-context`: a chapter's picture, after its description and before its tags."""
    if not pagename.startswith("notebooks/") or app.builder.format != "html":
        return
    notebook = nbformat.read(Path(app.srcdir, f"{pagename}.ipynb"), as_version=4)
    number, _, title = app.env.titles[pagename].astext().partition(" · ")
    text = notebook.metadata.get("moment") or context["meta"]["og:description"]
    known = app.config.html_baseurl if app.tags.has("addressed") else ""  # once there is one
    address = known.removeprefix("https://").rstrip("/")
    place = f"_images/social_previews/{pagename.replace('/', '_')}.png"
    path = Path(app.outdir, place)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(draw_card(number, title, text, address))
    context["meta"] |= {
        "og:image": app.config.html_baseurl + place,
        "og:image:alt": f"{number} · {title}. {text}".replace('"', "”"),
        "og:image:width": str(WIDTH),
        "og:image:height": str(HEIGHT),
    }


@cache
def first_sentences(app: Sphinx) -> dict[str, str]:
    """The beginning of each entry of the glossary, by its anchor."""
    glossary = app.env.get_doctree(GLOSSARY)
    return {
        id: re.split(r"(?<=\.) ", " ".join(item.children[-1][0].astext().split()))[0]
        for item in glossary.findall(nodes.definition_list_item)
        for term in item.findall(nodes.term)
        for id in term["ids"]
    }


def add_previews(app: Sphinx, pagename: str, _: str, context: dict, doctree: Any) -> None:
    """`html-page-context`: links to the glossary carry what previews.js shows."""
    if doctree is not None and pagename != GLOSSARY:
        context["body"] = re.sub(
            r'(?<=glossary\.html#)(term-[^"]+)"',
            lambda link: f'{link[0]} data-preview="{escape(first_sentences(app)[link[1]])}"',
            context["body"],
        )


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the hooks: a card comes after the description, and before the tags are written."""
    app.connect("html-page-context", add_card, priority=450)
    app.connect("html-page-context", add_previews)
    app.add_js_file("previews.js", defer="defer")
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
