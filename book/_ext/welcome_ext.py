"""A Sphinx extension: what pages say of the chapters, and the welcome page shows of a model.

Titles, minutes, needs and exercises come from the chapters at each build
(`scratchformer_course/kit/facts.py`). Directives take short texts:

    :::{opening-film}               a small GPT learning to write
    :::{flow}                       a prompt on its way to the next character
    :::{routes}                     "Name: 01 02 04. A sentence." in paragraphs of their own
    :::{chapter-map}                chapters in rows as they shall stand, "." for an empty place
    :::{chapter-cards}              "01. A sentence." in paragraphs of their own
    :::{chapter-facts}              a table: what each chapter needs and takes
    {exercise}`6.2`                 an exercise by its name, with a link
    :::{syllabus} Week              a line each week: "Name: 01 02 | 1.1 2.3", with its exercises
"""

import posixpath
import re
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxRole

from scratchformer_course.kit import facts
from scratchformer_course.kit.facts import Chapter

# the map, in units of a pixel: a phone of 390 px has room for 358
COLUMN, ROW, BOX_WIDTH, BOX_HEIGHT = 120, 76, 104, 46
MARGIN = 8  # at both sides, for arrows
TRACK = 5  # between two arrows beside each other


class FromChapters(Directive):
    """What these directives share."""

    has_content = True

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        env = self.state.document.settings.env
        self.page, self.root = env.docname, Path(env.srcdir)
        self.chapters = facts.chapters(self.root)
        for chapter in self.chapters.values():
            env.note_dependency(str(self.root / f"{chapter.docname}.ipynb"))
        for path in (str(self.root / "_toc.yml"), facts.__file__):
            env.note_dependency(path)

    def paragraphs(self) -> list[str]:
        return [" ".join(text.split()) for text in "\n".join(self.content).split("\n\n") if text]

    def chapter(self, number: str) -> Chapter:
        if number not in self.chapters:
            raise self.error(f"there is no chapter {number!r}")
        return self.chapters[number]

    def check_all(self, named: Iterable[str]) -> None:
        """Raise an error unless these are all chapters."""
        if wrong := set(named) ^ set(self.chapters):
            raise self.error(f"{self.name}: {sorted(wrong)} are missing, or no chapters")

    def link(self, number: str, text: str = "") -> str:
        chapter = self.chapter(number)
        title = text or f"{number} · {chapter.title}"
        return f'<a href="{relative(chapter.docname, self.page)}">{escape(title)}</a>'


def raw(html: str) -> list[nodes.Node]:
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
        self.check_all(texts)
        html = ""
        for name, numbers in facts.parts(self.root).items():
            minutes = duration(sum(self.chapter(number).minutes for number in numbers))
            cards = "".join(self.card(self.chapter(n), texts[n]) for n in numbers)
            html += f'<h3 class="course-part">{escape(name)} <span>{minutes}</span></h3>'
            html += f'<ol class="course-cards">{cards}</ol>'
        return raw(html)

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
        return raw(
            f'<div class="course-routes">{"".join(map(self.route, self.paragraphs()))}</div>'
        )

    def route(self, paragraph: str) -> str:
        found = re.fullmatch(r"(.+?): (all|\d\d(?: \d\d)*)\. (.+)", paragraph)
        if not found:
            raise self.error(f"{paragraph!r}, expected “Name: 01 02. A sentence.”")
        name, listed, text = found.groups()
        numbers = list(self.chapters) if listed == "all" else listed.split()
        minutes = sum(self.chapter(number).minutes for number in numbers)
        steps = f"<p>All {len(numbers)} chapters, in the order of the cards below.</p>"
        if listed != "all":
            items = "".join(f"<li>{self.link(number)}</li>" for number in numbers)
            steps = f"<ol>{items}</ol>"
            if granted := taken_for_granted(numbers, self.chapters):
                links = [self.link(number, number) for number in granted]
                steps += f'<p class="course-granted">It takes for granted: {in_words(links)}.</p>'
        return (
            f'<section class="course-route" data-route="{" ".join(numbers)}">'
            f"<h3>{escape(name)} <span>{duration(minutes)}</span></h3>"
            f"<p>{escape(text)}</p>{steps}</section>"
        )


def taken_for_granted(route: list[str], known: dict[str, Chapter]) -> list[str]:
    """What the chapters of a route need, and the route does not hold before them."""
    return sorted(
        {
            need
            for i, number in enumerate(route)
            for need in known[number].needs
            if need not in route[:i]
        }
    )


def in_words(names: Iterable[str]) -> str:
    """`a, b and c`"""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


# ---- for teachers ------------------------------------------------------------------------------


class ExerciseRole(SphinxRole):
    """`{exercise}`6.2``: an exercise by its name, with a link to it."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        known = facts.chapters(Path(self.env.srcdir)).values()
        chapter = next((each for each in known if self.text in each.exercises), None)
        if chapter is None:
            message = self.inliner.reporter.error(f"there is no exercise {self.text!r}")
            return [], [message]
        source = Path(self.env.srcdir, f"{chapter.docname}.ipynb")
        self.env.note_dependency(str(source))
        (heading,) = re.findall(
            rf"### (Exercise {self.text} · [^\\\n]+)", source.read_text("utf-8")
        )
        href = f"{relative(chapter.docname, self.env.docname)}#{nodes.make_id(heading)}"
        name = heading.removeprefix("Exercise ")
        return [nodes.reference("", name, refuri=href, internal=True)], []


class Facts(FromChapters):
    """A table of all chapters: what each needs, and how long it takes."""

    def run(self) -> list[nodes.Node]:
        rows = [
            (
                self.link(chapter.number),
                f"needs {in_words(chapter.needs)}" if chapter.needs else "needs no other",
                f"reading {chapter.minutes} min",
                f"{len(chapter.exercises)} exercises, {duration(chapter.exercise_minutes)}",
                f"runs {chapter.seconds} s",
            )
            for chapter in self.chapters.values()
        ]
        return table(("Chapter", "Needs", "Reading", "Exercises", "Running"), rows)


class Syllabus(FromChapters):
    """A table of weeks or days, each with chapters for the lecture and exercises for the lab."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        rows, seen = [], list[str]()
        for place, line in enumerate(filter(str.strip, self.content), start=1):
            found = re.fullmatch(r"(.+?): (\d\d(?: \d\d)*) \| (\d+\.\d+(?: \d+\.\d+)*)", line)
            if not found:
                raise self.error(f"{line!r}, expected “Name: 01 02 | 1.1 2.3”")
            numbers, exercises = found[2].split(), found[3].split()
            minutes = sum(self.chapter(number).minutes for number in numbers)
            seen += numbers
            known = {each for number in seen for each in self.chapters[number].exercises}
            if early := set(exercises) - known:
                raise self.error(f"{line!r}: {sorted(early)} are in no chapter so far")
            links = "<br>".join(map(self.link, numbers))
            lab = f"{', '.join(exercises)}<br>{duration(facts.EXERCISE * len(exercises))}"
            rows.append(
                (
                    f"{self.arguments[0]} {place}",
                    escape(found[1]),
                    links,
                    f"reading {minutes} min",
                    lab,
                )
            )
        if needed := taken_for_granted(seen, self.chapters):
            raise self.error(f"a chapter is listed before those that it needs: {needed}")
        return table((self.arguments[0], "Subject", "Chapters", "Reading", "Exercises"), rows)


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> list[nodes.Node]:
    """A table of HTML; on a phone each row is a paragraph."""
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return raw(
        f'<table class="table course-rows"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table>"
    )


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
        self.check_all(places)
        width = COLUMN * max(map(len, rows)) + 2 * MARGIN
        height = ROW * len(rows) - ROW + BOX_HEIGHT + 2
        left_out = implied_arrows(self.chapters)
        arrows = draw_arrows(
            places,
            [
                (need, chapter.number, need in chapter.helped_by)
                for chapter in self.chapters.values()
                for need in (*chapter.needs, *chapter.helped_by)
                if (need, chapter.number) not in left_out
            ],
        )
        boxes = "".join(self.box(self.chapters[n], *place) for n, place in places.items())
        return raw(
            f'<svg class="course-map" viewBox="{-MARGIN} 0 {width} {height}" role="group" '
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
        href = relative(chapter.docname, self.page)
        return (
            f'<a href="{href}" data-needs="{" ".join(chapter.needs)}" '
            f'data-helped-by="{" ".join(chapter.helped_by)}" '
            f'aria-label="{escape(f"{chapter.number} {chapter.title}: {needs}")}">'
            f'<rect x="{x:g}" y="{y:g}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="6"/>'
            f"{text}</a>"
        )


def implied_arrows(known: dict[str, Chapter]) -> set[tuple[str, str]]:
    """Needs that other needs imply, as (needed, chapter): the map leaves these arrows out."""

    def before(number: str) -> set[str]:
        return {p for need in known[number].needs for p in {need, *before(need)}}

    return {
        (need, chapter.number)
        for chapter in known.values()
        for need in chapter.needs
        if any(need in before(other) for other in chapter.needs if other != need)
    }


def two_lines(text: str) -> list[str]:
    """The text on one line if it is short, or cut at the place that leaves the shortest lines."""
    if len(text) <= 13:
        return [text]
    cuts = [m.end() for m in re.finditer(r"[ –-]", text)]
    cut = min(cuts, key=lambda i: max(len(text[:i].strip()), len(text[i:])))
    return [text[:cut].strip(), text[cut:]]


def draw_arrows(places: dict[str, tuple[int, int]], needed: list[tuple[str, str, bool]]) -> str:
    """Arrows that go around boxes: below its own box, each chapter has a track in the gaps between
    rows and, where its arrow is longer than a row, in those between columns. Two chapters share no
    track, so no arrow seems to come from another chapter.
    """
    last = max(column for column, _ in places.values())
    tracks: dict[tuple[str, int], list[str]] = {}
    ports: dict[tuple[str, int], int] = {}

    def track(gap: str, place: int, chapter: str) -> int:
        users = tracks.setdefault((gap, place), [])
        if chapter not in users:
            users.append(chapter)
        return users.index(chapter) * TRACK

    drawn = ""
    for need, number, dashed in needed:
        (column, row), (to_column, to_row) = places[need], places[number]
        x, y = (column + 0.5) * COLUMN, row * ROW + 1 + BOX_HEIGHT
        to_x, to_y = (to_column + 0.5) * COLUMN, to_row * ROW
        if row == to_row:
            way = 1 if to_column > column else -1
            middle = y - BOX_HEIGHT / 2
            path = f"M{x + way * BOX_WIDTH / 2:g} {middle:g}H{to_x - way * (BOX_WIDTH / 2 + 1):g}"
        elif to_row == row + 1 and column == to_column:
            path = f"M{x:g} {y:g}V{to_y:g}"
        else:
            path = f"M{x:g} {y:g}V{y + 5 + track('row', row, need):g}"
            if to_row > row + 1:
                lane = max(column, to_column) + (column == to_column == last)
                x = lane * COLUMN - TRACK / 2 + track("column", lane, need)
                path += f"H{x:g}V{to_y - ROW + BOX_HEIGHT + 6 + track('row', to_row - 1, need):g}"
            side = 1 if x > to_x else -1
            ports[number, side] = ports.get((number, side), 0) + 1
            path += f"H{to_x + side * 14 * ports[number, side]:g}V{to_y:g}"
        dashes = ' stroke-dasharray="4 3"' if dashed else ""
        drawn += (
            f'<path class="course-arrow" data-from="{need}" data-to="{number}" '
            f'marker-end="url(#course-map-head)" d="{path}"{dashes}/>'
        )
    return drawn


# ---- figures -----------------------------------------------------------------------------------


class Flow(FromChapters):
    """A prompt on its way through a shipped model, as wide as the window allows."""

    has_content = False

    def run(self) -> list[nodes.Node]:
        from scratchformer_course.pages import flow, flow_numbers

        for module in (flow, flow_numbers):
            self.state.document.settings.env.note_dependency(module.__file__)

        def link(number: str) -> tuple[str, str]:
            chapter = self.chapter(number)
            return relative(chapter.docname, self.page), chapter.title

        # under a class of this name the theme folds its side bar of contents
        return raw(f'<div class="full-width course-flow">{flow.flow(link).placeholder()}</div>')


class OpeningFilm(Directive):
    """The film of a run."""

    def run(self) -> list[nodes.Node]:
        from scratchformer_course.measurements import FOLDER
        from scratchformer_course.pages import opening_film

        for path in (opening_film.__file__, str(FOLDER / "film.json")):
            self.state.document.settings.env.note_dependency(path)
        return raw(opening_film.opening_film().placeholder())


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives, the styles of the page, and the scripts of ticks and of routes."""
    app.add_directive("opening-film", OpeningFilm)
    app.add_directive("flow", Flow)
    app.add_directive("routes", Routes)
    app.add_directive("chapter-map", Map)
    app.add_directive("chapter-cards", Cards)
    app.add_role("exercise", ExerciseRole())
    app.add_directive("chapter-facts", Facts)
    app.add_directive("syllabus", Syllabus)
    app.add_css_file("welcome.css")
    app.add_js_file("course-progress.js", defer="defer")
    app.add_js_file("ticks-and-routes.js", defer="defer", priority=600)  # after course-progress.js
    return {"version": "2", "parallel_read_safe": True, "parallel_write_safe": True}
