"""What each page of the built site weighs, and how soon a browser shows it -> page_weights.json.

Usage: python -m lab.page_weights [--quick | --write]

`make book` first. Sizes are those of the page's HTML, of all scripts, styles and pictures that it
names and of the fonts it loads, as they are and compressed by gzip as a server sends them. Times
are those of headless Chromium with an empty cache: from disk, to the end of loading and until the
first live figure is alive; over two slowed lines, until something is painted. The rounds go through
all pages by turns.
"""

import contextlib
import functools
import gzip
import http.server
import os
import re
import threading
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urlsplit

import yaml

from lab import runs
from scratchformer_course.measurements import FOLDER

STORED = FOLDER / "page_weights.json"
LINES = {"10 Mbit": (10e6, 40), "1.6 Mbit": (1.6e6, 150)}  # bits a second, ms to an answer
SITE = runs.ROOT / "_build" / "html"
ROUNDS = 5
SETTINGS = {"lines": LINES, "rounds": ROUNDS}
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
NAMED = re.compile(
    r'<script[^>]*\s(?:src|data-src)="([^"]+)"|<img[^>]*\ssrc="([^"]+)"'
    r'|<link(?=[^>]*rel="(?:stylesheet|preload|icon)")[^>]*\shref="([^"]+)"'
)
OWN = "_static/live/"  # what only pages with live figures have
WATCH = """
new MutationObserver(() => {
  if (!window.firstFigure && document.querySelector(".live-figure[data-live=yes]"))
    window.firstFigure = performance.now();
}).observe(document, { subtree: true, childList: true, attributes: true });
"""


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
    found: dict[str, dict[str, list[int]]] = {name: {"load": [], "figure": []} for name in names}
    fonts: dict[str, set[Path]] = {name: set() for name in names}
    with runs.chromium() as browser:
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
    return found, fonts


class Compressing(http.server.SimpleHTTPRequestHandler):
    """Sends files as a site's server does: text compressed, over connections that stay."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            return self.send_error(404)
        is_text = path.suffix in (".html", ".css", ".js", ".svg")
        body = compressed(path) if is_text else path.read_bytes()
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(path))
        if is_text:
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@cache
def compressed(path: Path) -> bytes:
    return gzip.compress(path.read_bytes(), 6, mtime=0)


class Patient(http.server.ThreadingHTTPServer):
    """Says nothing when a page is left before all of it has come."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass


@contextlib.contextmanager
def served(site: Path) -> Iterator[str]:
    """The address of the site on this machine, with a slash at its end."""
    handler = functools.partial(Compressing, directory=str(site))
    with Patient(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def first_paint(browser: Any, address: str, line: tuple[float, int], **options: Any) -> float:
    """Milliseconds until something of a page stands on the screen, over a line of such a speed."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, **options)
    page = context.new_page()
    network = context.new_cdp_session(page)
    network.send("Network.enable")
    bits_a_second, latency = line
    both_ways = dict.fromkeys(("downloadThroughput", "uploadThroughput"), bits_a_second / 8)
    conditions = {"offline": False, "latency": latency, **both_ways}
    network.send("Network.emulateNetworkConditions", conditions)
    page.goto(address, wait_until="commit")
    page.wait_for_function(PAINTED, timeout=120_000)
    found = page.evaluate(PAINTED)
    context.close()
    return found


def paints(site: Path, names: list[str], rounds: int) -> dict[str, dict[str, list[int]]]:
    """Milliseconds to each page's first paint on each line, round by round."""
    found: dict[str, dict[str, list[int]]] = {name: {line: [] for line in LINES} for name in names}
    with runs.chromium() as browser, served(site) as address:
        for _ in range(rounds):
            for name in names:
                for line, speed in LINES.items():
                    found[name][line].append(
                        round(first_paint(browser, f"{address}{name}.html", speed))
                    )
    return found


def keep_font(kept: set[Path], address: str) -> None:
    """Keep the file behind an address if it is a font's."""
    path = Path(unquote(urlsplit(address).path))
    if path.suffix in (".woff", ".woff2"):
        kept.add(path)


def measure(site: Path, rounds: int) -> dict:
    """All pages, with the day, the machine and the theme's share."""
    names, pages, load = pages_of_the_site(), {}, os.getloadavg()[0]
    timed, fonts = times(site, names, rounds)
    painted = paints(site, names, rounds)
    for name in names:
        timed[name] |= painted[name]
        pages[name] = sizes(site, name, fonts[name])
        parts = ("html", "live", "pictures", "mathjax", "fonts")
        rest = pages[name]["all"][1] - sum(pages[name][part][1] for part in parts)
        pages[name] |= {"theme": rest} | {
            kind: runs.spread(numbers) for kind, numbers in timed[name].items() if numbers
        }
    return {
        "what": "bytes of each page, [as it is, compressed], and milliseconds [median, min, max]",
        "load": round(load, 1),  # other programs at work, before the browser is
        "machine": runs.machine(),
        "pages": pages,
    }


def main(arguments: list[str] | None = None) -> None:
    options = runs.command_line(__doc__, STORED.name).parse_args(arguments)
    if not (SITE / "index.html").is_file():
        raise SystemExit(f"there is no site in {SITE}: run `make book` first")
    stored = {"settings": SETTINGS} | measure(SITE, 1 if options.quick else ROUNDS) | runs.stamp()
    print(runs.as_text(stored["pages"]))
    if options.write:
        runs.store(STORED, stored)


if __name__ == "__main__":
    main()
