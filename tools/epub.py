"""`make epub`: the course as one EPUB 3, for readers of books. No network is needed.

Usage: python -m tools.epub [FILE.epub]

The site must have been built: like the PDF, the book is made of its pages. Figures are as they are
without JavaScript, guesses are uncovered, and formulas become MathML. Hints and worked answers are
gathered at the end of a chapter; what else is folded stays on the site.
"""

import json
import posixpath
import re
import zipfile
from html import escape
from pathlib import Path
from time import gmtime, strftime
from typing import Any

from bs4 import BeautifulSoup
from jinja2 import Environment, FileSystemLoader
from latex2mathml.converter import convert
from pygments.formatters import HtmlFormatter

from book._ext.exercise_ext import inline
from scratchformer import __version__
from tools.pdf import ROOT, SITE, parts_of_course
from tools.site_pages import KEPT, guess_of, read_page, target_of

FILE = ROOT / "build" / "transformers-from-scratch.epub"
FOLDER = ROOT / "tools" / "epub_files"  # templates of the files that every EPUB has
# what a reader presses, what leads from page to page, and folded code
LEFT_OUT = (
    "script, style, button, input, .headerlink, .course-machine, .course-start, .course-end,"
    ".course-run, .course-do, .course-report, .course-ticked, .course-from-here, .course-setup,"
    ".course-checks, .course-guess-end, details.hide, .sd-summary-state-marker, .toctree-wrapper,"
    "#continue-where-you-stopped, .film-controls, .film-map, .film-run, .flow-controls"
)
LOGO = '<svg x="160" y="120" width="280" height="280"'  # where it stands on the cover
NAMES = {"details": "div", "summary": "p", "article": "div", "nav": "div"}


class Page:
    """A page of the site, as a chapter of the book."""

    def __init__(self, site: Path, name: str):
        self.name, self.file = name, f"{posixpath.basename(name)}.xhtml"
        self.body, self.kept = read_page(site, name)
        self.gather_answers()
        for node in self.body.select(LEFT_OUT):
            node.decompose()
        self.title = self.body.h1.get_text().strip()
        for formula in self.body.select(".math"):
            self.write_formula(formula)
        for guess in self.body.select(".course-guess"):
            self.tell_guess(guess)
        for node in self.body.find_all(True):
            node.attrs = {k: v for k, v in node.attrs.items() if not k.startswith("data-")}
            node.name = NAMES.get(node.name, node.name)
        self.ids = {str(node["id"]) for node in self.body.find_all(id=True)}

    def write_formula(self, node: Any) -> None:
        self.kept.append(formula_of(node.get_text(), is_block=node.name == "div"))
        node.clear()
        add(node, KEPT.format(len(self.kept) - 1))

    def tell_guess(self, guess: Any) -> None:
        """Write a question and its choices where its form would be, and its answer below it."""
        name, *asked, answer = map(escape, guess_of(guess))
        add(guess, f"<p><strong>Guess first.</strong> {': '.join(filter(None, asked))}</p>")
        place = self.body.select_one(f'.course-guess-answer[data-question="{name}"]')
        answer = f"<p><strong>The answer.</strong> {answer}</p>"
        place.insert(0, BeautifulSoup(answer, "html.parser"))

    def gather_answers(self) -> None:
        """Write what each exercise asks in place of its form; hints and answers go to the end."""
        end: Any = BeautifulSoup(
            "<section><h2>Hints and worked answers</h2></section>", "html.parser"
        )
        for box in self.body.select("section.course-exercise"):
            add(end.section, f"<h3>{escape(box.h3.find(string=True))}</h3>")
            for question in box.select(".course-question"):
                asked = json.loads(question.script.string)
                answer, text = asked.get("right"), f"<p>{inline(asked['ask'])}</p>"
                if asked["kind"] == "which":
                    answer = asked["reasons"][asked["reason"]]
                    reasons = "".join(f"<li>{inline(reason)}</li>" for reason in asked["reasons"])
                    text += f"<pre>{escape(asked['code'])}</pre><ul>{reasons}</ul>"
                question.clear()
                add(question, text)
                add(end.section, f"<p>The answer to its question: {inline(answer)}</p>")
            for fold in box.select(".course-hint, .course-worked"):
                end.section.append(fold.extract())
        if end.h3:
            self.body.article.append(end)

    def write(self, pages: dict[str, "Page"]) -> str:
        """The page as XHTML; links lead to other pages of the book, or nowhere."""
        for link in self.body.find_all("a"):
            address, _, place = str(link.get("href", "")).partition("#")
            if ":" in address:
                continue
            name = posixpath.join(posixpath.dirname(self.name), address.removesuffix(".html"))
            target = pages.get(posixpath.normpath(name)) if address else self
            if target is None:
                link.unwrap()
            else:
                link["href"] = target.file + (f"#{place}" if place in target.ids else "")
        body = self.body.decode(formatter="minimal")
        body = re.sub(KEPT.format(r"(\d+)"), lambda found: self.kept[int(found[1])], body)
        return template("page.xhtml", title=self.title, body=body)


def formula_of(text: str, is_block: bool) -> str:
    """A formula of a page as MathML, with its LaTeX for who cannot see it."""
    tex = re.sub(r"^\\[(\[]|\\[)\]]$", "", text.strip())
    tex = re.sub(r"\\(begin|end)\{split\}", "", tex).strip()  # Sphinx puts it around
    tex = tex.replace("{aligned}", "{split}")  # the converter knows it by this name
    math = convert(tex, display="block" if is_block else "inline")
    return math.replace("<math ", f'<math alttext="{escape(tex)}" ', 1)


def add(place: Any, html: str) -> None:
    """Append HTML to an element."""
    place.append(BeautifulSoup(html, "html.parser"))


def template(name: str, **values: object) -> str:
    files = Environment(loader=FileSystemLoader(FOLDER), trim_blocks=True, lstrip_blocks=True)
    return files.get_template(name).render(values)


def make_epub(target: Path, parts: list[tuple[str, list[str]]], site: Path = SITE) -> None:
    """Write the EPUB of these pages of a built site."""
    pages = {name: Page(site, name) for _, names in parts for name in names}
    texts = {page.file: page.write(pages) for page in pages.values()}
    contents = [(caption, [pages[name] for name in names]) for caption, names in parts]
    built = strftime("%Y-%m-%dT%H:%M:%SZ", gmtime((site / "index.html").stat().st_mtime))
    facts = {"contents": contents, "texts": texts, "version": __version__, "modified": built}
    logo = (ROOT / "book" / "_assets" / "logo.svg").read_text(encoding="utf-8")
    code = HtmlFormatter(style="xcode").get_style_defs(".highlight")
    files = {
        "META-INF/container.xml": template("container.xml"),
        "package.opf": template("package.opf", **facts),
        "contents.xhtml": template("contents.xhtml", **facts),
        "cover.svg": template("cover.svg", logo=logo.replace("<svg", LOGO, 1)),
        "style.css": template("style.css") + code,
        **texts,
    }
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        for name, text in files.items():
            book.writestr(name, text)


if __name__ == "__main__":
    target = target_of("epub", FILE)
    make_epub(target, parts_of_course())
    print(f"{target}: {target.stat().st_size / 1e6:.1f} MB")
