"""What each page of the built site weighs, and how soon a browser shows it -> page_weights.json.

Usage: python lab/page_weights.py [--rounds N] [--write]

`make book` first. Sizes are those of the page's HTML, of all scripts, styles and pictures that it
names and of the fonts it loads, as they are and compressed by gzip as a server sends them. Times
are those of headless Chromium, which opens the page from disk with an empty cache: to the end of
loading, and until the first live figure is alive. The rounds go through all pages by turns.
"""

import argparse
import gzip
import json
import os
import re
import shutil
import statistics
import sys
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import yaml

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "_build" / "html"
STORED = Path(__file__).with_name("page_weights.json")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
NAMED = re.compile(
    r'<script[^>]*\ssrc="([^"]+)"|<img[^>]*\ssrc="([^"]+)"'
    r'|<link(?=[^>]*rel="(?:stylesheet|preload|icon)")[^>]*\shref="([^"]+)"'
)
OWN = "_static/live/"  # what only pages with live figures have
WATCH = """
new MutationObserver(() => {
  if (!window.firstFigure && document.querySelector(".live-figure[data-live=yes]"))
    window.firstFigure = performance.now();
}).observe(document, { subtree: true, childList: true, attributes: true });
"""


def toc() -> list[str]:
    """The pages of the table of contents, the root first."""
    told = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    return [told["root"], *(page["file"] for part in told["parts"] for page in part["chapters"])]


@cache
def weight(path: Path) -> tuple[int, int]:
    """The bytes of a file, as it is and compressed."""
    data = path.read_bytes()
    return len(data), len(gzip.compress(data, 6, mtime=0))


def files_of(path: Path) -> list[Path]:
    """The page itself and each file that it names, once."""
    text = path.read_text(encoding="utf-8")
    names = [unquote(urldefrag("".join(found))[0].split("?")[0]) for found in NAMED.findall(text)]
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

    live = [path for path in files if OWN in path.as_posix()]
    pictures = [path for path in files if "_images" in path.parts]
    mathjax = [path for path in files if path.name == "tex-chtml-full.js"]
    return {
        "html": add([page]),
        "live": add(live),
        "pictures": add(pictures),
        "mathjax": add(mathjax),
        "fonts": add([*fonts]),
        "all": add([page, *files, *fonts]),
    }


def times(
    site: Path, names: list[str], rounds: int
) -> tuple[dict[str, dict[str, list[int]]], dict[str, set[Path]]]:
    """Milliseconds of each round, for each page; and the fonts that each page asked for."""
    from playwright.sync_api import sync_playwright

    found: dict[str, dict[str, list[int]]] = {name: {"load": [], "figure": []} for name in names}
    fonts: dict[str, set[Path]] = {name: set() for name in names}
    with sync_playwright() as playwright:
        program = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        for _ in range(rounds):
            for name in names:
                context = browser.new_context(viewport={"width": 1280, "height": 900})
                context.add_init_script(WATCH)
                page = context.new_page()
                page.on("request", lambda request, kept=fonts[name]: keep_font(kept, request.url))
                page.goto((site / f"{name}.html").as_uri(), wait_until="load")
                if page.locator(".live-figure").count():
                    page.wait_for_function("window.firstFigure", timeout=60_000)
                    found[name]["figure"].append(round(page.evaluate("window.firstFigure")))
                ended = "performance.getEntriesByType('navigation')[0].loadEventEnd"
                page.wait_for_function(f"{ended} > 0")
                found[name]["load"].append(round(page.evaluate(ended)))
                page.evaluate("() => window.MathJax?.startup?.promise")
                page.evaluate("() => document.fonts.ready.then(() => 0)")
                context.close()
        browser.close()
    return found, fonts


def keep_font(kept: set[Path], address: str) -> None:
    """Keep the file behind an address if it is a font's."""
    path = Path(unquote(urlsplit(address).path))
    if path.suffix in (".woff", ".woff2"):
        kept.add(path)


def spread(numbers: list[int]) -> list[float]:
    """Median, least and greatest."""
    return [statistics.median(numbers), min(numbers), max(numbers)]


def measure(site: Path, rounds: int) -> dict:
    """All pages, with the day, the machine and the theme's share."""
    from table import machine  # beside this file

    names, pages, load = toc(), {}, os.getloadavg()[0]
    timed, fonts = times(site, names, rounds)
    for name in names:
        pages[name] = sizes(site, name, fonts[name]) | {
            kind: spread(numbers) for kind, numbers in timed[name].items() if numbers
        }
    return {
        "what": "bytes of each page, [as it is, compressed], and milliseconds [median, min, max]",
        "day": time.strftime("%Y-%m-%d", time.gmtime()),
        "rounds": rounds,
        "load": round(load, 1),  # other programs at work, before the browser is
        "machine": machine(),
        "pages": pages,
    }


def kilobytes(size: list[int]) -> str:
    """Compressed, and in brackets as it is."""
    return f"{size[1] / 1e3:,.0f} ({size[0] / 1e3:,.0f})" if size[0] else "–"


def milliseconds(found: list[float] | None) -> str:
    return f"**{found[0]:,.0f}** ({found[1]:,.0f}–{found[2]:,.0f})" if found else "–"


def section(stored: dict) -> list[str]:
    """The lines of the benchmarks' page that show what is stored."""
    pages, here = stored["pages"], stored["machine"]
    parts = ("html", "live", "pictures", "mathjax", "fonts")
    rest = [p["all"][1] - sum(p[part][1] for part in parts) for p in pages.values()]
    fonts = [p["fonts"][1] for p in pages.values()]
    mathjax = max(p["mathjax"][1] for p in pages.values())
    busy = f", beside other programs (a load of {stored['load']})" if stored["load"] > 2 else ""
    heaviest = max(pages, key=lambda name: pages[name]["all"][1])
    lines = [
        "",
        "## The pages of this site",
        "",
        "How much does a page load, and how soon is it there? Sizes are in kilobytes, compressed "
        "as a server sends them, and in brackets as they are on a disk. *HTML* and *Live figures* "
        "are what a page needs for itself. *All* adds what pages share: the theme's scripts and "
        f"styles, {min(rest) / 1e3:,.0f} to {max(rest) / 1e3:,.0f} kB compressed, and on pages "
        f"with formulas MathJax, {mathjax / 1e3:,.0f} kB, and {min(fonts) / 1e3:,.0f} to "
        f"{max(fonts) / 1e3:,.0f} kB of fonts. A browser keeps them from page to page, and so it "
        f"keeps the weights of the live figures. The heaviest page is `{heaviest}` with "
        f"{pages[heaviest]['all'][1] / 1e6:.2f} MB.",
        "",
        "Times are milliseconds in headless Chromium, which opens the page from disk with nothing "
        f"kept: median, least and greatest of {stored['rounds']} rounds, of {stored['day']}, on "
        f"{here['cores']} cores of “{here['processor']}”{busy}. *Loaded* is the end of all "
        "scripts and styles. *Alive* is when the first live figure is.",
        "",
        "| Page | HTML, kB | Live figures, kB | All, kB | Loaded, ms | Alive, ms |",
        "|---|---|---|---|---|---|",
    ]
    for name, page in pages.items():
        cells = [kilobytes(page[part]) for part in ("html", "live", "all")]
        cells += [milliseconds(page.get(kind)) for kind in ("load", "figure")]
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="store it, and renew the page")
    options = parser.parse_args()
    if not (SITE / "index.html").is_file():
        raise SystemExit(f"there is no site in {SITE}: run `make book` first")
    stored = measure(SITE, options.rounds)
    print("\n".join(section(stored)))
    if options.write:
        import table

        from scratchformer.files import atomic_write

        with atomic_write(STORED) as part:
            part.write_text(json.dumps(stored).replace('}, "', '},\n "') + "\n", encoding="utf-8")
        table.write_page(json.loads(table.STORED.read_text(encoding="utf-8")))


if __name__ == "__main__":
    sys.exit(main())
