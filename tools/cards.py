"""`make cards`: an Anki deck of the guesses, of *What you know now* and of the glossary.

Usage: python -m tools.cards [FILE.apkg]

The site must have been built: the cards are made of its pages, where references are resolved. A
guess shows what was asked, with the drawing beside it, and then what answered it. In a line of
*What you know now* the bold words are to be filled in, or else its last clause. A term asks for its
definition. A card keeps its id from edition to edition, so that a new deck brings no card twice.
"""

import hashlib
import re
import sys
import tempfile
from html import escape
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup, NavigableString

from tools.pdf import ROOT, SITE, parts_of_course
from tools.site_pages import KEPT, guess_of, read_page, target_of

FILE = ROOT / "build" / "transformers-from-scratch.apkg"
COURSE = "Transformers from Scratch"
STYLE = """.card { font: 18px/1.45 Georgia, serif; max-width: 34em; margin: auto; padding: 0 1em; }
.card img { max-width: 100%; background: #fff; border-radius: 6px; }
.card pre { overflow-x: auto; font-size: 14px; }
.chapter { color: #777; font-size: 14px; }
.cloze { font-weight: bold; }
td, th { padding: 0 0.5em; text-align: left; }"""
LEFT_OUT = (
    "script, .headerlink, .course-guess-end, .cell_input, details, .live-figure, .course-fold,"
    ".bibtex-citation"
)
CLAUSE = re.compile(r"(?:, |; |: | because )(?=[^,;:]*$)")
Card = tuple[str, list[str]]  # its id, and its fields


class Deck:
    """The cards of a built site, and the drawings on them."""

    def __init__(self, site: Path):
        self.drawings: dict[str, str] = {}  # by the names of their files
        self.guesses: list[Card] = []
        self.lines: list[Card] = []
        self.terms: list[Card] = []
        for name in [name for _, names in parts_of_course() for name in names]:
            body, self.kept = read_page(site, name, coloured=False)
            chapter = body.h1.find(string=True).strip()
            for guess in body.select(".course-guess"):
                self.guesses.append(self.guess(name, chapter, guess))
            for node in body.select(LEFT_OUT):
                node.decompose()
            for i, line in enumerate(lines_of(body)):
                if filled := self.line(line):
                    self.lines.append((f"line {name} {i}", [filled, escape(chapter)]))
            for term in body.select("dl.glossary > dt"):
                fields = [self.html(term), self.html(term.find_next_sibling("dd"))]
                self.terms.append((f"term {term['id']}", fields))

    def html(self, *nodes: Any) -> str:
        """The nodes as Anki shows them: its MathJax writes formulas, drawings are files."""

        def image(found: re.Match[str]) -> str:
            svg = self.kept[int(found[1])]
            name = f"scratchformer-{hashlib.sha256(svg.encode()).hexdigest()[:12]}.svg"
            label = re.search(r'aria-label="([^"]*)"', svg)
            if label is None:  # an ornament
                return ""
            self.drawings[name] = svg
            return f'<img src="{name}" alt="{label[1]}">'

        soup: Any = BeautifulSoup("".join(map(str, nodes)), "html.parser")
        for node in soup.select(LEFT_OUT):
            node.decompose()
        for node in soup.find_all(True):
            math = "math" in node.get("class", ())
            if math:  # two closing braces would end what is to be filled in
                node.string = node.get_text().replace("}}", "} }")
            node.attrs = {}
            if node.name in ("a", "span", "div", "section", "dt", "dd", "figure", "figcaption"):
                node.unwrap()
        text = re.sub(KEPT.format(r"(\d+)"), image, soup.decode(formatter="minimal"))
        return text.strip()

    def guess(self, page: str, chapter: str, guess: Any) -> Card:
        """A question with its choices; what answers it, as the page shows it."""
        name, question, choices, told = map(escape, guess_of(guess))
        answer = guess.find_next(class_="course-guess-answer", attrs={"data-question": name})
        whole = ["figure", "table", "details"]
        shown = [x for x in answer.find_all(["p", "pre", *whole]) if not x.find_parent(whole)]
        fields = [
            self.html(*context_of(guess)),
            f"<b>{question}</b>" + (f"<br>{choices}" if choices else ""),
            told,
            self.html(*shown[:3]),
            escape(chapter),
        ]
        return f"guess {page} {name}", fields

    def line(self, line: Any) -> str:
        """A line with what is to be filled in; empty if it has nothing of that kind."""
        if line.name == "tr":
            left, *right = (cell.p for cell in line.find_all("td"))
            return f"{self.html(left)}{{{{c1::{self.html(*right)}}}}}"
        bold = line.find_all("strong")
        for i, node in enumerate(bold, start=1):
            node.insert_before(f"{{{{c{i}::")
            node.insert_after("}}")
        if bold:
            return self.html(line)
        for text in reversed([x for x in line.children if isinstance(x, NavigableString)]):
            if found := CLAUSE.search(text):
                rest: list[Any] = [
                    text[found.end() :],
                    *[x.extract() for x in list(text.next_siblings)],
                ]
                text.replace_with(text[: found.end()], "{{c1::", *rest, "}}")
                return self.html(line)
        return ""


def context_of(guess: Any) -> list[Any]:
    """The paragraph before a guess with what stands between, and a drawing just above."""
    blocks: list[Any] = []
    for node in guess.find_previous_siblings(limit=4):
        if node.name in ("section", "h1", "h2", "h3"):
            break
        if not any(block.name == "p" for block in blocks) or "<i>kept" in str(node):
            blocks.insert(0, node)
    return blocks


def lines_of(body: Any) -> list[Any]:
    """The lines of *What you know now*: of its list, of its table, or else its paragraphs."""
    section = body.select_one("#what-you-know-now")
    if section is None:
        return []
    return section.select("li > p") or section.select("tbody tr") or section.find_all("p")


def write(deck: Deck, target: Path) -> None:
    """Write the deck. SystemExit with a sentence if genanki is not installed."""
    try:
        import genanki
    except ImportError:
        sys.exit("make cards: genanki is missing: .venv/bin/python -m pip install genanki")

    def kind(number: int, name: str, fields: str, front: str, back: str, **more: Any) -> Any:
        sides = [{"name": name, "qfmt": front, "afmt": back}]
        names = [{"name": field} for field in fields.split()]
        return genanki.Model(number, f"{COURSE}: {name}", names, sides, STYLE, **more)

    chapter = '<p class="chapter">{{Chapter}}</p>'
    asked = chapter + "{{Context}}<p>{{Question}}</p>"
    told = asked + "<hr><p><b>{{Answer}}</b></p>{{Shown}}"
    line = chapter + "{{cloze:Line}}"
    cloze = {"model_type": genanki.Model.CLOZE}
    # Anki knows kinds and decks by these numbers: never change one
    guess = kind(1830457201, "guess", "Context Question Answer Shown Chapter", asked, told)
    known = kind(1830457202, "line", "Line Chapter", line, line, **cloze)
    term = kind(1830457203, "term", "Term Definition", "{{Term}}", "{{Term}}<hr>{{Definition}}")
    decks = []
    for model, number, name, cards in (
        (guess, 2059400117, "Guesses", deck.guesses),
        (known, 2059400118, "What you know now", deck.lines),
        (term, 2059400119, "Glossary", deck.terms),
    ):
        decks.append(genanki.Deck(number, f"{COURSE}::{name}"))
        for id, fields in cards:
            decks[-1].add_note(genanki.Note(model, fields, guid=genanki.guid_for(COURSE, id)))
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, svg in deck.drawings.items():
            Path(folder, name).write_text(svg, encoding="utf-8")
        files = [str(Path(folder, name)) for name in deck.drawings]
        genanki.Package(decks, media_files=files).write_to_file(target)


if __name__ == "__main__":
    target, deck = target_of("cards", FILE), Deck(SITE)
    write(deck, target)
    counts = f"{len(deck.guesses)} guesses, {len(deck.lines)} lines, {len(deck.terms)} terms"
    size = f"{target.stat().st_size / 1e6:.1f} MB"
    print(f"{target}: {counts} and {len(deck.drawings)} drawings, {size}")
