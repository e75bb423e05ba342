"""A Sphinx extension: the picture of a chapter where its address is shared.

It holds the chapter's number, title and moment (or its promise, where no moment is named), and the
machine with the chapter's part filled. sphinxext-opengraph draws those of other pages.
"""

import importlib
import io
import textwrap
from pathlib import Path
from typing import Any

import nbformat
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image
from sphinx.application import Sphinx

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
    machine = importlib.import_module("machine_ext")  # of this folder
    is_in_one = any(number in numbers for numbers in machine.STAGES.values())
    row = machine.STAGES if is_in_one else machine.BESIDE
    step = (WIDTH - 112) / len(row)
    for i, (name, numbers) in enumerate(row.items()):
        is_own = number in numbers
        box = {"boxstyle": "round,pad=0.5", "ec": BLUE, "fc": BLUE if is_own else "white"}
        ink = "white" if is_own else FAINT
        say(56 + (i + 0.5) * step, 478, name, 13, ink, ha="center", va="center", bbox=box)
    say(56, 528, address, 18, FAINT)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    picture = Image.frombytes("RGBA", (WIDTH, HEIGHT), bytes(canvas.buffer_rgba()))
    picture = picture.convert("RGB").quantize(COLOURS)
    file = io.BytesIO()
    picture.save(file, "PNG", optimize=True)
    return file.getvalue()


def add_card(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
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


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the hook, between those that describe a page and write its tags."""
    app.connect("html-page-context", add_card, priority=450)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
