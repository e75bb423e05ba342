"""A Sphinx extension: what the chapters say of themselves, as cards, routes and a map.

The first cell of a chapter holds a line of facts, and that line is the only source: titles,
minutes, needs and exercises come from the chapters at each build. Directives take short texts:

    :::{routes}                     "Name: 01 02 04. A sentence." in paragraphs of their own
    :::{chapter-map}                chapters in rows as they shall stand, "." for an empty place
    :::{chapter-cards}              "01. A sentence." in paragraphs of their own
"""

import json
import posixpath
import re
from collections.abc import Iterable
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
FACTS = re.compile(
    r"Needs: (?P<needs>.*?) Reading: about (?P<minutes>\d+) minutes\. "
    r"Running: about (?P<seconds>\d+) seconds"
)
CHAPTER = re.compile(r"<(?:/notebooks/)?(\d\d)_\w+>")
EXERCISE = re.compile(r"^### Exercise (\d+\.\d+) · ", re.MULTILINE)


class Chapter(NamedTuple):
    """A chapter; others are named by their two digits."""

    number: str  # "05"
    docname: str  # notebooks/05_averaging
    title: str  # without the number
    needs: tuple[str, ...]  # chapters to have read before
    helped_by: tuple[str, ...]  # chapters that help, and that it does without
    minutes: int  # of reading
    seconds: int  # of running
    exercises: tuple[str, ...]  # "5.1", …


@lru_cache(maxsize=1)
def chapters(root: Path = ROOT) -> dict[str, Chapter]:
    """All chapters by number, in order. ValueError for one without a title or a line of facts."""
    return {(c := read(path)).number: c for path in sorted(root.glob("notebooks/*.ipynb"))}


def read(path: Path) -> Chapter:
    """The facts of one notebook."""
    cells = json.loads(path.read_text(encoding="utf-8")).get("cells", [])
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    if not texts:
        raise ValueError(f"{path.name}: no markdown cell, expected one with a title and the facts")
    title = re.match(r"# (\d\d) · (.*)\n", texts[0])
    facts = FACTS.search(" ".join(texts[0].split()))
    if not title or not facts:
        raise ValueError(f"{path.name}: no title or no line of facts in its first cell")
    needs, helped_by = split_needs(facts["needs"])
    return Chapter(
        number=title[1],
        docname=f"notebooks/{path.stem}",
        title=title[2].split(":")[0],
        needs=needs,
        helped_by=helped_by,
        minutes=int(facts["minutes"]),
        seconds=int(facts["seconds"]),
        exercises=tuple(EXERCISE.findall("\n\n".join(texts))),
    )


def split_needs(line: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The chapters that a line of facts needs, and those that it says help."""
    needs, helped_by = [], []
    for clause in re.split(r"[;.]", line):
        if "not needed" not in clause:
            (helped_by if "helps" in clause else needs).extend(CHAPTER.findall(clause))
    return tuple(sorted(needs)), tuple(sorted(helped_by))


def parts(root: Path = ROOT) -> dict[str, list[str]]:
    """The chapters of each part of the table of contents, by the part's name."""
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    found = {
        part["caption"]: [
            number[1]
            for page in part["chapters"]
            if (number := re.match(r"notebooks/(\d\d)_", page["file"]))
        ]
        for part in toc["parts"]
    }
    return {name: numbers for name, numbers in found.items() if numbers}


def taken_for_granted(route: list[str]) -> list[str]:
    """What the chapters of a route need, and the route does not hold before them."""
    known = chapters()
    return sorted(
        {
            need
            for i, number in enumerate(route)
            for need in known[number].needs
            if need not in route[:i]
        }
    )


def missing_arrows() -> set[tuple[str, str]]:
    """Needs that other needs imply, as (needed, chapter): the map leaves these arrows out."""
    known = chapters()

    def before(number: str) -> set[str]:
        return {p for need in known[number].needs for p in {need, *before(need)}}

    return {
        (need, chapter.number)
        for chapter in known.values()
        for need in chapter.needs
        if any(need in before(other) for other in chapter.needs if other != need)
    }


# the map, in units of a pixel: a phone of 390 px has room for 358
COLUMN, ROW, BOX_WIDTH, BOX_HEIGHT = 120, 68, 106, 46


class FromChapters(Directive):
    """What these directives share."""

    has_content = True

    @property
    def page(self) -> str:
        return self.state.document.settings.env.docname

    def depend_on_chapters(self) -> None:
        env = self.state.document.settings.env
        for path in [*Path(env.srcdir).glob("notebooks/*.ipynb"), Path(env.srcdir, "_toc.yml")]:
            env.note_dependency(str(path))

    def paragraphs(self) -> list[str]:
        return [" ".join(text.split()) for text in "\n".join(self.content).split("\n\n") if text]

    def chapter(self, number: str) -> Chapter:
        if number not in chapters():
            raise self.error(f"there is no chapter {number!r}")
        return chapters()[number]

    def href(self, number: str) -> str:
        return relative(self.chapter(number).docname, self.page)

    def link(self, number: str, text: str = "") -> str:
        title = text or f"{number} · {self.chapter(number).title}"
        return f'<a href="{self.href(number)}">{escape(title)}</a>'

    def raw(self, html: str) -> list[nodes.Node]:
        self.depend_on_chapters()
        return [nodes.raw("", html, format="html")]


def relative(docname: str, page: str) -> str:
    """The address of a page, as seen from another one."""
    return posixpath.relpath(docname, posixpath.dirname(page)) + ".html"


def duration(minutes: int) -> str:
    """Minutes as one would say them."""
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest:02} min" if minutes > 99 else f"{minutes} min"


# ---- cards -------------------------------------------------------------------------------------


class Cards(FromChapters):
    """A card for each chapter, under the parts of the table of contents."""

    def run(self) -> list[nodes.Node]:
        texts = dict(text.split(". ", 1) for text in self.paragraphs())
        if set(texts) != set(chapters()):
            raise self.error(f"cards for {sorted(set(texts) ^ set(chapters()))}: no such chapters")
        html = ""
        for name, numbers in parts().items():
            minutes = duration(sum(self.chapter(number).minutes for number in numbers))
            cards = "".join(self.card(self.chapter(n), texts[n]) for n in numbers)
            html += f'<h3 class="course-part">{escape(name)} <span>{minutes}</span></h3>'
            html += f'<ol class="course-cards">{cards}</ol>'
        return self.raw(html)

    def card(self, chapter: Chapter, text: str) -> str:
        return (
            f'<li data-chapter="{chapter.number}" data-exercises="{" ".join(chapter.exercises)}">'
            f'<p class="course-card-title">{self.link(chapter.number)}</p><p>{escape(text)}</p>'
            f'<p class="course-card-facts">{chapter.minutes} min · '
            f'{len(chapter.exercises)} exercises <span class="course-ticked"></span></p></li>'
        )


# ---- routes ------------------------------------------------------------------------------------


class Routes(FromChapters):
    """Lists of chapters for readers who want something else, with the sums of their minutes."""

    def run(self) -> list[nodes.Node]:
        return self.raw(
            f'<div class="course-routes">{"".join(map(self.route, self.paragraphs()))}</div>'
        )

    def route(self, paragraph: str) -> str:
        found = re.fullmatch(r"(.+?): (all|\d\d(?: \d\d)*)\. (.+)", paragraph)
        if not found:
            raise self.error(f"{paragraph!r}, expected “Name: 01 02. A sentence.”")
        name, listed, text = found.groups()
        numbers = list(chapters()) if listed == "all" else listed.split()
        minutes = sum(self.chapter(number).minutes for number in numbers)
        steps = f"<p>All {len(numbers)} chapters, in the order of the cards below.</p>"
        if listed != "all":
            items = "".join(f"<li>{self.link(number)}</li>" for number in numbers)
            steps = f"<ol>{items}</ol>"
            if granted := taken_for_granted(numbers):
                links = [self.link(number, number) for number in granted]
                steps += f'<p class="course-granted">It takes for granted: {in_words(links)}.</p>'
        return (
            f'<section class="course-route" data-route="{" ".join(numbers)}">'
            f"<h3>{escape(name)} <span>{duration(minutes)}</span></h3>"
            f"<p>{escape(text)}</p>{steps}</section>"
        )


def in_words(names: Iterable[str]) -> str:
    """`a, b and c`"""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


# ---- the map -----------------------------------------------------------------------------------


class Map(FromChapters):
    """The chapters and what they need: an SVG whose boxes are links."""

    def run(self) -> list[nodes.Node]:
        rows = [line.split() for line in self.content if line.strip()]
        places = {
            number: (column, row)
            for row, numbers in enumerate(rows)
            for column, number in enumerate(numbers)
            if number != "."
        }
        if set(places) != set(chapters()):
            raise self.error(f"chapters {sorted(set(places) ^ set(chapters()))}: not in the map")
        width, height = COLUMN * max(map(len, rows)), ROW * len(rows) - ROW + BOX_HEIGHT + 2
        left_out = missing_arrows()
        arrows = "".join(
            arrow(places[need], places[c.number], dashed=need in c.helped_by)
            for c in chapters().values()
            for need in (*c.needs, *c.helped_by)
            if (need, c.number) not in left_out
        )
        boxes = "".join(self.box(chapters()[n], *place) for n, place in places.items())
        return self.raw(
            f'<svg class="course-map" viewBox="0 0 {width} {height}" role="group" '
            'aria-label="Map of the chapters: an arrow leads from a chapter to one that needs it">'
            '<defs><marker id="course-map-head" viewBox="0 0 8 8" refX="7" refY="4" '
            'markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto">'
            f'<path d="M0 0L8 4L0 8z"/></marker></defs>{arrows}{boxes}</svg>'
        )

    def box(self, chapter: Chapter, column: int, row: int) -> str:
        x, y = column * COLUMN + (COLUMN - BOX_WIDTH) / 2, row * ROW + 1
        needs = f"needs {in_words(chapter.needs)}" if chapter.needs else "needs no other"
        if chapter.helped_by:
            needs += f", and {in_words(chapter.helped_by)} helps"
        middle = x + BOX_WIDTH / 2
        lines = two_lines(f"{chapter.number} {chapter.title}")
        first = y + BOX_HEIGHT / 2 - (len(lines) - 1) * 8.5
        text = "".join(
            f'<text x="{middle:g}" y="{first + 17 * i:g}" dy=".35em">{escape(line)}</text>'
            for i, line in enumerate(lines)
        )
        return (
            f'<a href="{self.href(chapter.number)}" data-needs="{" ".join(chapter.needs)}" '
            f'data-helped-by="{" ".join(chapter.helped_by)}" '
            f'aria-label="{escape(f"{chapter.number} {chapter.title}: {needs}")}">'
            f'<rect x="{x:g}" y="{y:g}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="6"/>'
            f"{text}</a>"
        )


def two_lines(text: str) -> list[str]:
    """The text on one line if it is short, or cut at the place that leaves the shortest lines."""
    if len(text) <= 13:
        return [text]
    cuts = [m.end() for m in re.finditer(r"[ –-]", text)]
    cut = min(cuts, key=lambda i: max(len(text[:i].strip()), len(text[i:])))
    return [text[:cut].strip(), text[cut:]]


def arrow(start: tuple[int, int], end: tuple[int, int], dashed: bool) -> str:
    """A line between two places of the map: from below a box to above another, or sideways."""
    (from_column, from_row), (to_column, to_row) = start, end
    x1, x2 = ((column + 0.5) * COLUMN for column in (from_column, to_column))
    if from_row == to_row:
        way = 1 if to_column > from_column else -1
        y = from_row * ROW + 1 + BOX_HEIGHT / 2
        path = f"M{x1 + way * BOX_WIDTH / 2:g} {y:g}H{x2 - way * (BOX_WIDTH / 2 + 1):g}"
    else:
        y1, y2 = from_row * ROW + 1 + BOX_HEIGHT, to_row * ROW
        middle = (y1 + y2) / 2
        path = f"M{x1:g} {y1:g}C{x1:g} {middle:g} {x2:g} {middle:g} {x2:g} {y2:g}"
    dashes = ' stroke-dasharray="4 3"' if dashed else ""
    return f'<path class="course-arrow" marker-end="url(#course-map-head)" d="{path}"{dashes}/>'


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives, and the script of the readers' ticks."""
    app.add_directive("routes", Routes)
    app.add_directive("chapter-map", Map)
    app.add_directive("chapter-cards", Cards)
    app.add_js_file("course-progress.js", defer="defer")
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
