"""`make pdf`: the course as one PDF, printed from the built site by Chromium. No network is needed.

Usage: python -m tools.pdf [FILE.pdf]

The site must have been built, and Chromium be on the PATH or installed by `playwright install`. The
PDF is written to build/ unless a file is named. Pages are printed in the order of _toc.yml, with
their figures as they start and their guesses uncovered; what is folded stays on the site. Links
between pages become links inside the file, and its outline has the parts and the pages.
"""

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml
from playwright.sync_api import sync_playwright
from pypdf import PdfWriter
from pypdf.generic import ArrayObject, Fit, NameObject

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "_build" / "html"
FILE = ROOT / "build" / "transformers-from-scratch.pdf"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
PAPER = {
    "format": "A4",
    "margin": {"top": "17mm", "bottom": "19mm", "left": "20mm", "right": "20mm"},
    "print_background": True,
}
STYLE = """
  #continue-where-you-stopped { display: none !important; }
  .bd-main .bd-content { margin-left: 0 !important; }
  .bd-main .bd-content .bd-article h1:first-of-type { display: block; margin-top: 0; }
  .bd-article .live-figure, .bd-article figure > :not(figcaption) { zoom: 0.75; }
"""
READY = """async () => {
  const figures = [...document.querySelectorAll('.live-figure')];
  for (const figure of figures) figure.scrollIntoView();  // some begin when they are seen
  scrollTo(0, 0);
  await Promise.all([document.fonts.ready, window.MathJax?.startup?.promise]);
  return figures.every(figure => figure.dataset.live);
}"""

# the words of a page's title, without the link to it
TITLE = """[...document.querySelector('article h1').childNodes]
  .filter(node => !(node instanceof HTMLAnchorElement)).map(node => node.textContent).join("")"""


def parts_of_course() -> list[tuple[str, list[str]]]:
    """The pages of _toc.yml without their endings, by part, the root before all."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    parts = [(x["caption"], [page["file"] for page in x["chapters"]]) for x in toc["parts"]]
    return [("", [toc["root"]]), *parts]


def print_page(context: Any, address: str, path: Path) -> str:
    """Print the page at an address to a PDF; its title."""
    page = context.new_page()
    page.goto(address)
    page.wait_for_function(READY)
    page.wait_for_load_state("networkidle")  # the models of figures
    page.add_style_tag(content=STYLE)
    page.pdf(path=path, **PAPER)
    title = page.evaluate(TITLE)
    page.close()
    return title


def connect(writer: Any, first_pages: dict[str, int], address: str) -> None:
    """Lead each link to a page of the site to that page in the file, and take dead ones away.

    A link to a place within a page leads to the page's beginning.
    """
    for number, page in enumerate(writer.pages):
        kept = ArrayObject()
        for reference in page.get("/Annots", []):
            link = reference.get_object()
            uri = str(link.get("/A", {}).get("/URI", ""))
            if uri and not uri.startswith(address):
                kept.append(reference)  # to the web
                continue
            name = uri.removeprefix(address).partition(".html")[0]
            within = max(start for start in first_pages.values() if start <= number)
            target = first_pages.get(name) if uri else within
            if target is not None:
                where = writer.pages[target].indirect_reference
                link.pop("/A", None)
                link[NameObject("/Dest")] = ArrayObject([where, NameObject(Fit.fit().fit_type)])
                kept.append(reference)
        page[NameObject("/Annots")] = kept


def make_pdf(
    chromium: Any, target: Path, parts: list[tuple[str, list[str]]], site: Path = SITE
) -> None:
    """Write the PDF of these pages of a built site."""
    writer, first_pages = PdfWriter(), {}
    context = chromium.new_context(
        viewport={"width": 1000, "height": 1400}, color_scheme="light", reduced_motion="reduce"
    )
    address = f"{site.as_uri()}/"
    with tempfile.TemporaryDirectory() as folder:
        for caption, names in parts:
            above = None
            for name in names:
                path = Path(folder) / "page.pdf"
                title = print_page(context, f"{address}{name}.html", path)
                first = first_pages[name] = len(writer.pages)
                writer.append(path, import_outline=False)
                if caption and above is None:
                    above = writer.add_outline_item(title=caption, page_number=first, bold=True)
                writer.add_outline_item(title=title, page_number=first, parent=above)
    connect(writer, first_pages, address)
    writer.page_mode = "/UseOutlines"
    writer.compress_identical_objects()
    target.parent.mkdir(parents=True, exist_ok=True)
    writer.write(target)


def main() -> None:
    target = Path(sys.argv[1]) if sys.argv[1:] else FILE
    if not (SITE / "index.html").is_file():
        sys.exit(f"make pdf: {SITE / 'index.html'} is missing: run `make book` first")
    with sync_playwright() as playwright:
        program = next(
            filter(None, map(shutil.which, BROWSERS)), playwright.chromium.executable_path
        )
        if not Path(program).is_file():
            sys.exit(
                "make pdf: Chromium is missing: install it or Chrome, or let playwright fetch one: "
                "`.venv/bin/playwright install chromium`"
            )
        chromium = playwright.chromium.launch(executable_path=program, args=FLAGS)
        make_pdf(chromium, target, parts_of_course())
        chromium.close()
    print(f"{target}: {target.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
