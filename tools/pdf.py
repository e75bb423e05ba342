"""`make pdf`: the course as one PDF, printed from the built site by Chromium. No network is needed.

Usage: python -m tools.pdf [FILE.pdf]

The site must have been built, and Chromium be on the PATH or installed by `playwright install`. The
PDF is written to build/ unless a file is named. Each page of the site is printed by itself, in the
order of _toc.yml, with its figures as they start and its guesses uncovered. What is folded on an
exercise stands in a last part of its own; set-up cells and checks are left to the notebooks. The
printed pages are then joined: links between them become links inside the file, other links lead to
the web, and a link that leads nowhere from paper is taken away.
"""

import contextlib
import functools
import http.server
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote

import yaml

from tools.photograph import BROWSERS

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "_build" / "html"
FILE = ROOT / "build" / "transformers-from-scratch.pdf"
ANSWERS = "answers"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
PAPER = {
    "format": "A4",
    "margin": {"top": "17mm", "bottom": "19mm", "left": "20mm", "right": "20mm"},
    "print_background": True,
}
STYLE = """
  #jb-print-docs-body, .course-way button, #continue-where-you-stopped { display: none !important; }
  .bd-main .bd-content { margin-left: 0 !important; }
  .bd-main .bd-content .bd-article h1:first-of-type { display: block; margin-top: 0; }
  .bd-article .live-figure, .bd-article figure > :not(figcaption) { zoom: 0.75; }
  .bd-article details.sd-dropdown { break-inside: auto; }
  .pdf-title { text-align: center; padding-top: 25vh; break-after: page; }
  .pdf-title img { width: 6rem; }
  .pdf-contents { columns: 2; column-gap: 3rem; font-size: 0.92em; }
  .bd-article .pdf-contents h2 { font-size: 1em; margin: 1em 0 0.2em; }
  .pdf-contents p { display: flex; gap: 1em; margin: 0.1rem 0; break-inside: avoid; }
  .pdf-contents p > :first-child { flex: 1; }
"""
READY = """async () => {
  const figures = [...document.querySelectorAll('.live-figure')];
  for (const figure of figures) figure.scrollIntoView();  // some begin when they are seen
  scrollTo(0, 0);
  await Promise.all([document.fonts.ready, window.MathJax?.startup?.promise]);
  return figures.every(figure => figure.dataset.live);
}"""
# Chromium notes the place of an element in the PDF if a link of the same page leads to it.
PREPARE = """answers => {
  const article = document.querySelector('article.bd-article');
  for (const fold of article.querySelectorAll('details.sd-dropdown')) fold.open = true;
  for (const box of article.querySelectorAll('.course-exercise[id]'))
    if (answers) box.insertAdjacentHTML('beforeend',
      `<p><a href="${answers}#${box.id}">Hints and a worked answer</a></p>`);
  const places = document.createElement('div');
  places.hidden = true;
  for (const {id} of article.querySelectorAll('[id]:not(svg *, mjx-container *)'))
    places.append(Object.assign(document.createElement('a'), {href: '#' + id}));
  article.append(places);
}"""
FOLDED = """() => [...document.querySelectorAll('.course-exercise[id]')].map(box => ({
  id: box.id,
  title: box.querySelector('h2, h3, h4').firstChild.data,
  hints: [...box.querySelectorAll('.course-hint > :not(summary)')].map(x => x.outerHTML),
  worked: [...box.querySelectorAll('.course-worked > :not(summary)')].map(x => x.outerHTML),
}))"""
REPLACE = "html => { document.querySelector('article.bd-article').innerHTML = html; }"


def parts_of_course() -> list[tuple[str, list[str]]]:
    """The pages of _toc.yml without their endings, by part, the root before all."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    parts = [(x["caption"], [page["file"] for page in x["chapters"]]) for x in toc["parts"]]
    return [("", [toc["root"]]), *parts]


@contextlib.contextmanager
def served(site: Path) -> Iterator[str]:
    """The site over http, as pages from disk say that they are: its address."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@contextlib.contextmanager
def started() -> Iterator[Any]:
    """A headless Chromium. FileNotFoundError, which says how to have one, if there is none."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = next(filter(None, map(shutil.which, BROWSERS)), playwright.chromium.executable_path)
        if not Path(found).is_file():
            raise FileNotFoundError(
                "Chromium is missing: install it or Chrome, or let playwright fetch one: "
                "`.venv/bin/playwright install chromium`"
            )
        chromium = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield chromium
        chromium.close()


class Printer:
    """Prints pages of the site, each to a PDF of its own, and keeps what is folded on them."""

    def __init__(self, chromium: Any, address: str, folder: Path) -> None:
        self.context = chromium.new_context(
            viewport={"width": 1000, "height": 1400}, color_scheme="light", reduced_motion="reduce"
        )
        self.address, self.folder = address, folder
        self.titles: dict[str, str] = {}
        self.headings: dict[str, list[tuple[str, str]]] = {}
        self.folded: dict[str, list[dict[str, Any]]] = {}

    def url(self, name: str) -> str:
        return f"{self.address}{name}.html"

    def print(self, name: str, html: str = "", base: str = "", answers: str = "") -> Path:
        """The PDF of a page. With `html`, this is printed in place of what the page `base` says."""
        page = self.context.new_page()
        page.goto(self.url(base or name))
        if html:
            page.evaluate(REPLACE, html)
        page.wait_for_function(READY)
        page.wait_for_load_state("networkidle")  # the models of figures
        page.add_style_tag(content=STYLE)
        self.folded[name] = page.evaluate(FOLDED)
        page.evaluate(PREPARE, answers)
        self.titles[name] = page.evaluate("document.querySelector('article h1').firstChild.data")
        self.headings[name] = page.evaluate(
            "[...document.querySelectorAll('article section[id] > h2')]"
            ".map(h => [h.parentElement.id, h.firstChild.textContent])"
        )
        path = self.folder / f"{name.replace('/', '-')}.pdf"
        page.pdf(path=path, **PAPER)
        page.close()
        return path


def answers_page(printer: Printer, names: list[str]) -> str:
    """The hints and worked answers of all exercises, in the order of the pages."""
    made = ["<section id='answers'><h1>Hints and worked answers</h1>"]
    for name in names:
        if printer.folded[name]:
            made.append(f"<section id='{name}'><h2>{escape(printer.titles[name])}</h2>")
        for box in printer.folded[name]:
            link = f"{printer.url(name)}#{box['id']}"
            heading = f"<h3><a href='{link}'>{escape(box['title'])}</a></h3>"
            hints = "".join(f"<li>{hint}</li>" for hint in box["hints"])
            made += [f"<section id='{box['id']}'>", heading, f"<ol>{hints}</ol>", *box["worked"]]
            made.append("</section>")
        if printer.folded[name]:
            made.append("</section>")
    return "".join([*made, "</section>"])


def front_page(
    printer: Printer, parts: list[tuple[str, list[str]]], numbers: dict[str, int]
) -> str:
    """The title page, and the contents with the numbers of pages."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    lines = []
    for caption, names in parts:
        lines.append(f"<h2>{escape(caption)}</h2>" if caption else "")
        for name in names:
            link = f"<a href='{printer.url(name)}'>{escape(printer.titles[name])}</a>"
            lines.append(f"<p>{link}<span>{numbers.get(name, 0)}</span></p>")
    return f"""<section id='front'><div class='pdf-title'>
      <img src='{printer.address}_static/logo.svg' alt=''><h1>{escape(config["title"])}</h1>
      <p>{escape(config["author"])}</p>{config["html"]["extra_footer"]}</div>
      <p class='h1'>Contents</p><div class='pdf-contents'>{"".join(lines)}</div></section>"""


class Book:
    """The printed pages in one file, and where each of them and their parts begin."""

    def __init__(self, address: str, site: str) -> None:
        from pypdf import PdfWriter

        self.writer = PdfWriter()
        self.address, self.site = address, site
        self.places: dict[str, Any] = {}  # "name.html#fragment" -> a destination

    def add(self, name: str, path: Path) -> None:
        """Append the pages of a PDF, and note its named destinations."""
        from pypdf import PdfReader

        reader, first = PdfReader(path), len(self.writer.pages)
        for page in reader.pages:
            self.writer.add_page(page)
        self.place(f"{name}.html", first, float(reader.pages[0].mediabox.top))
        for key, found in reader.named_destinations.items():
            number = reader.get_destination_page_number(found)
            if number is not None and found.top is not None:
                self.place(f"{name}.html#{unquote(key[1:])}", first + number, float(found.top))

    def place(self, key: str, page: int, top: float) -> None:
        from pypdf.generic import ArrayObject, FloatObject, NameObject, NullObject

        self.places[key] = ArrayObject(
            [
                self.writer.pages[page].indirect_reference,
                NameObject("/XYZ"),
                NullObject(),
                FloatObject(top),
                NullObject(),
            ]
        )

    def target(self, link: Any, name: str) -> Any | None:
        """Where a link of a page leads: to a place in this file, to an address, or nowhere."""
        if "/Dest" in link:
            return self.places.get(f"{name}.html#{unquote(str(link['/Dest'])[1:])}")
        uri = str(link["/A"]["/URI"])
        if not uri.startswith(self.address):
            return uri
        path, _, fragment = unquote(uri.removeprefix(self.address)).partition("#")
        known = self.places.get(f"{path}#{fragment}") if fragment else None
        if known or path in {key.partition("#")[0] for key in self.places}:
            return known or self.places[path]
        return self.site + uri.removeprefix(self.address) if self.site else None

    def connect(self, first: int, last: int, name: str) -> None:
        """Lead the links of these pages to where they belong."""
        from pypdf.generic import ArrayObject, NameObject, TextStringObject

        for page in self.writer.pages[first:last]:
            kept = ArrayObject()
            for reference in page.get("/Annots", []):
                link = reference.get_object()
                target = self.target(link, name)
                if isinstance(target, str):
                    link["/A"][NameObject("/URI")] = TextStringObject(target)
                elif target is not None:
                    link.pop("/A", None)
                    link[NameObject("/Dest")] = target
                if target is not None:
                    kept.append(reference)
            page[NameObject("/Annots")] = kept

    def number(self) -> None:
        """Write its number below each page but the first."""
        from pypdf.generic import ArrayObject, DecodedStreamObject, DictionaryObject, NameObject

        font = DictionaryObject()
        for key, value in {"Type": "Font", "Subtype": "Type1", "BaseFont": "Helvetica"}.items():
            font[NameObject(f"/{key}")] = NameObject(f"/{value}")
        q = DecodedStreamObject()
        q.set_data(b"q\n")
        font_object, before = self.writer._add_object(font), self.writer._add_object(q)
        for i, page in enumerate(self.writer.pages[1:], start=2):
            after = DecodedStreamObject()
            middle = float(page.mediabox.width) / 2 - 2.5 * len(str(i))
            after.set_data(f"\nQ BT /Page 9 Tf 0.35 g {middle:.1f} 28 Td ({i}) Tj ET".encode())
            content = page.raw_get("/Contents")
            own = content if isinstance(content, ArrayObject) else [content]
            page[NameObject("/Contents")] = ArrayObject(
                [before, *own, self.writer._add_object(after)]
            )
            resources = cast("DictionaryObject", page["/Resources"])
            fonts = resources.setdefault(NameObject("/Font"), DictionaryObject())
            fonts[NameObject("/Page")] = font_object


def make_pdf(
    chromium: Any, target: Path, parts: list[tuple[str, list[str]]], site: Path = SITE
) -> None:
    """Write the PDF of these pages of a built site."""
    names = [name for _, pages in parts for name in pages]
    with served(site) as address, tempfile.TemporaryDirectory() as folder:
        printer = Printer(chromium, address, Path(folder))
        printed = {}
        for i, name in enumerate(names, start=1):
            printed[name] = printer.print(name, answers=printer.url(ANSWERS))
            print(f"\r{i} of {len(names)} pages printed", end="", flush=True)
        print()
        html = answers_page(printer, names)
        printed[ANSWERS] = printer.print(ANSWERS, html, base=names[-1])
        join(printer, printed, [*parts, ("Answers", [ANSWERS])], target)


def join(
    printer: Printer, printed: dict[str, Path], parts: list[tuple[str, list[str]]], target: Path
) -> None:
    """One file of title, contents and printed pages, with an outline."""
    from pypdf import PdfReader
    from pypdf.generic import Fit

    lengths = {name: len(PdfReader(path).pages) for name, path in printed.items()}
    base = next(iter(printed))
    numbers: dict[str, int] = {}
    for _ in range(2):  # the contents hold numbers that depend on how many pages they take
        front = printer.print("front", front_page(printer, parts, numbers), base=base)
        begin = 1 + len(PdfReader(front).pages)
        for name, length in lengths.items():
            numbers[name] = begin
            begin += length
    book = Book(printer.address, published())
    book.add("front", front)
    for name, path in printed.items():
        book.add(name, path)
    for name, first in {"front": 1, **numbers}.items():
        last = first - 1 + lengths.get(name, numbers[base] - 1)
        book.connect(first - 1, last, name)
    book.number()
    outline = book.writer.add_outline_item
    for caption, names in parts:
        above = None
        for name in names:
            at = numbers[name] - 1
            if caption and above is None:
                above = outline(title=caption, page_number=at, bold=True, is_open=False)
            item = outline(title=printer.titles[name], page_number=at, parent=above, is_open=False)
            for anchor, title in printer.headings[name]:
                place = book.places.get(f"{name}.html#{anchor}")
                if place:
                    page = book.writer.get_page_number(place[0].get_object())
                    outline(title=title, page_number=page, parent=item, fit=Fit.xyz(top=place[3]))
    book.writer.add_metadata({"/Title": printer.titles["front"]})
    book.writer.page_mode = "/UseOutlines"
    book.writer.compress_identical_objects()
    target.parent.mkdir(parents=True, exist_ok=True)
    book.writer.write(target)


def published() -> str:
    """The address of the published site, or nothing while the course has none of its own."""
    from book._ext.course_ext import has_address, pages_address

    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    repository = config["repository"]["url"]
    return pages_address(repository) if has_address(repository) else ""


def main() -> None:
    target = Path(sys.argv[1]) if sys.argv[1:] else FILE
    if not (SITE / "index.html").is_file():
        sys.exit(f"make pdf: {SITE / 'index.html'} is missing: run `make book` first")
    try:
        with started() as chromium:
            make_pdf(chromium, target, parts_of_course())
    except FileNotFoundError as error:
        sys.exit(f"make pdf: {error}")
    print(f"{target}: {target.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
