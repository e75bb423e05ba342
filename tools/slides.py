"""`make slides`: a deck of each chapter, from its built page: build/slides/NN_name.html.

Usage: python -m tools.slides [CHAPTERS]

CHAPTERS are numbers and ranges, such as 05-10 or 05,07; without them all decks are written. The
site must have been built. A deck is one file that a browser opens without a network: reveal.js from
an installed package, the chapter's headings, drawings, figures and short cells, a slide for each
guess with its answer on the next, and the chapter's prose as speaker notes (key S). Live figures
are alive. The browser's print command gives one slide a page.
"""

import base64
import importlib.util
import json
import re
import sys
from pathlib import Path
from typing import Any

from scratchformer.files import atomic_write
from tools.classroom import chosen
from tools.slides_of_page import slides_of

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "_build" / "html"
FOLDER = ROOT / "build" / "slides"
REVEAL = "sphinx-revealjs"  # the package that holds it
SIZE: dict[str, Any] = {"width": 1280, "height": 720, "margin": 0, "center": False}
SETTINGS = SIZE | {"hash": True, "slideNumber": "c/t", "transition": "none"}
DECK = """<!doctype html>
<html lang="en" data-theme="light"><meta charset="utf-8"><title>{title}</title>
<style>{style}</style>
<div class="reveal"><div class="slides">{slides}</div></div>
<script>{script}</script></html>
"""


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def reveal_folder() -> Path:
    """reveal.js in its package. FileNotFoundError if that is not installed."""
    found = importlib.util.find_spec(REVEAL.replace("-", "_"))
    if found is None or found.origin is None:
        raise FileNotFoundError(f"{REVEAL} is not installed: pip install -r requirements.txt")
    return Path(found.origin).parent / "_static" / "revealjs"


def style(static: Path) -> str:
    """reveal.js's styles but those for paper, the site's letters and light colours, and ours."""

    def inside(found: re.Match[str]) -> str:
        data = base64.b64encode((static / found[1]).read_bytes()).decode()
        return f'url("data:font/woff2;base64,{data}")'

    css = read(static / "course.css")
    fonts = re.sub(r'url\("(fonts/[^"]+)"\)', inside, "".join(re.findall(r"@font-face .*\}", css)))
    light = re.findall(r'^html(?:\[data-theme="light"\])? \{[^}]*\}', css, re.MULTILINE)
    reveal = read(reveal_folder() / "dist" / "reveal.css").split("@media print{html:not")[0]
    code, ours = read(static / "pygments.css"), read(Path(__file__).with_suffix(".css"))
    return "\n".join([reveal, code, fonts, *light, ours])


def write_deck(notebook: Path, site: Path, target: Path) -> int:
    """Write the deck of a chapter whose page is in the site; how many slides it has."""
    moment = json.loads(read(notebook))["metadata"]["moment"]
    slides = slides_of(site / "notebooks" / f"{notebook.stem}.html", moment)
    start = f"Reveal.initialize({{...{json.dumps(SETTINGS)}, plugins: [RevealNotes]}});"
    scripts = [read(reveal_folder() / name) for name in ("dist/reveal.js", "plugin/notes/notes.js")]
    deck = DECK.format(
        title=re.sub(r"<[^>]*>", "", slides[0].heading),
        style=style(site / "_static"),
        slides="\n".join(slide.html() for slide in slides),
        script="\n".join([*scripts, start]).replace("</script", r"<\/script"),
    )
    with atomic_write(target) as part:
        part.write_text(deck, encoding="utf-8")
    return len(slides)


def main(words: list[str]) -> int:
    """Write decks; 0 if they were written, 2 if a chapter or something they need is missing."""
    try:
        for notebook in chosen(" ".join(words)):
            target = FOLDER / f"{notebook.stem}.html"
            count = write_deck(notebook, SITE, target)
            print(f"{target}: {count} slides, {target.stat().st_size / 1e6:.1f} MB")
    except FileNotFoundError as error:
        missing = f"{error.filename} is missing: run `make book` first"
        print(f"slides: {missing if error.filename else error}", file=sys.stderr)
        return 2
    except ValueError as error:
        print(f"slides: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
