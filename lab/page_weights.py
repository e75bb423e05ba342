"""What each page of the built site weighs, and how soon a browser shows it -> page_weights.json.

Usage: python -m lab.page_weights [--quick | --write]

`make book` first. Sizes are those of the page's HTML, of all scripts, styles and pictures that it
names and of the fonts it loads, as they are and compressed by gzip as a server sends them. Times
are those of headless Chromium with an empty cache, from disk: to the end of loading, and until the
first live figure is alive. The rounds go through all pages by turns.
"""

import argparse
import gzip
import os
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urlsplit

import yaml

from lab import runs
from scratchformer_course.measurements import FOLDER

STORED = FOLDER / "page_weights.json"
SITE = runs.ROOT / "_build" / "html"
SETTINGS = {"rounds": 5}
NAMED = re.compile(
    r'<script[^>]*\s(?:src|data-src)="([^"]+)"|<img[^>]*\ssrc="([^"]+)"'
    r'|<link(?=[^>]*rel="(?:stylesheet|preload|icon)")[^>]*\shref="([^"]+)"'
)
WATCH = """
new MutationObserver(() => {
  if (!window.firstFigure && document.querySelector(".live-figure[data-live=yes]"))
    window.firstFigure = performance.now();
}).observe(document, { subtree: true, childList: true, attributes: true });
"""
LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd"


def pages_of_the_site() -> list[str]:
    """The pages of the table of contents, the root first."""
    toc = yaml.safe_load((runs.ROOT / "_toc.yml").read_text(encoding="utf-8"))
    return [toc["root"], *(page["file"] for part in toc["parts"] for page in part["chapters"])]


@cache
def weight(path: Path) -> tuple[int, int]:
    """The bytes of a file, as it is and compressed."""
    data = path.read_bytes()
    return len(data), len(gzip.compress(data, 6, mtime=0))


def files_of(path: Path) -> list[Path]:
    """The page itself and each file that it names, once."""
    text = path.read_text(encoding="utf-8")
    names = [unquote(urldefrag("".join(groups))[0].split("?")[0]) for groups in NAMED.findall(text)]
    local = [name for name in names if not re.match(r"data:|[a-z]+://", name)]
    return [path, *dict.fromkeys((path.parent / name).resolve() for name in local)]


def sizes(site: Path, name: str, fonts: Iterable[Path] = ()) -> dict:
    """Bytes of one page: its HTML, live figures and pictures, MathJax, fonts, and all.

    Each is [as it is, compressed]. What is left of "all" is the theme's. Which fonts a page loads
    only a browser knows.
    """
    page, *files = files_of(site / f"{name}.html")

    def add(kept: list[Path]) -> list[int]:
        return [sum(column) for column in zip((0, 0), *map(weight, kept), strict=True)]

    return {
        "html": add([page]),
        "live": add([path for path in files if "_static/live/" in path.as_posix()]),
        "pictures": add([path for path in files if "_images" in path.parts]),
        "mathjax": add([path for path in files if path.name == "tex-chtml-full.js"]),
        "fonts": add([*fonts]),
        "all": add([page, *files, *fonts]),
    }


def opened(browser: Any, address: str) -> tuple[dict[str, int], set[Path]]:
    """The milliseconds of a page in a fresh browser, and the fonts that it asked for."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.add_init_script(WATCH)
    page, asked = context.new_page(), set()
    page.on("request", lambda request: asked.add(Path(unquote(urlsplit(request.url).path))))
    page.goto(address, wait_until="load")
    times = {}
    if page.locator(".live-figure").count():
        page.wait_for_function("window.firstFigure", timeout=60_000)
        times["figure"] = round(page.evaluate("window.firstFigure"))
    page.wait_for_function(f"{LOADED} > 0")
    times["load"] = round(page.evaluate(LOADED))
    page.evaluate("() => window.MathJax?.startup?.promise")
    page.evaluate("() => document.fonts.ready.then(() => 0)")
    context.close()
    return times, {path for path in asked if path.suffix in (".woff", ".woff2")}


def measure(options: argparse.Namespace) -> dict:
    """All pages, and the theme's share of each."""
    if not (SITE / "index.html").is_file():
        raise SystemExit(f"there is no site in {SITE}: run `make book` first")
    names, load = pages_of_the_site(), os.getloadavg()[0]
    rounds: dict[str, list] = {name: [] for name in names}
    with runs.chromium() as browser:
        for _ in range(1 if options.quick else SETTINGS["rounds"]):
            for name in names:
                rounds[name].append(opened(browser, (SITE / f"{name}.html").as_uri()))
    pages = {}
    for name in names:
        times = [times for times, _ in rounds[name]]
        page = sizes(SITE, name, set().union(*(fonts for _, fonts in rounds[name])))
        parts = ("html", "live", "pictures", "mathjax", "fonts")
        page["theme"] = page["all"][1] - sum(page[part][1] for part in parts)
        pages[name] = page | {kind: runs.spread(t[kind] for t in times) for kind in times[0]}
        print(name, pages[name], flush=True)
    return {"load": round(load, 1), "pages": pages}  # of other programs, before the browser's


def main(arguments: list[str] | None = None) -> dict:
    return runs.carry_out(__doc__, STORED, measure, arguments, SETTINGS)


if __name__ == "__main__":
    main()
