"""A Sphinx extension: what pages say of the chapters, and the welcome page shows of a model.

Titles, minutes, needs and exercises come from the chapters at each build
(`scratchformer_course/kit/chapter_facts.py`). Directives take short texts:

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
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from jinja2 import Environment, FileSystemLoader
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxRole

from scratchformer_course.kit import chapter_facts
from scratchformer_course.kit.chapter_facts import Chapter
from scratchformer_course.kit.reading_time import EXERCISE

# the map, in units of a pixel: a phone of 390 px has room for 358
COLUMN, ROW, BOX_WIDTH, BOX_HEIGHT = 120, 76, 104, 46
MARGIN = 8  # at both sides, for arrows
TRACK = 5  # between two arrows beside each other
FOLDER = Path(__file__).resolve().parents[1] / "_templates" / "course"
TEMPLATES = Environment(
    loader=FileSystemLoader(FOLDER), autoescape=True, trim_blocks=True, lstrip_blocks=True
)


def html_of(name: str, page: str, **values: Any) -> str:
    """A template of `_templates/course` with its values; `page` is the page that holds it."""

    def address(chapter: Chapter) -> str:
        return relative(chapter.docname, page)

    return TEMPLATES.get_template(f"{name}.html").render(values, address=address, duration=duration)


def relative(docname: str, page: str) -> str:
    """The address of a page, as seen from another one."""
    return posixpath.relpath(docname, posixpath.dirname(page)) + ".html"


def duration(minutes: int) -> str:
    """Minutes as one would say them."""
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest:02} min" if minutes > 99 else f"{minutes} min"


class FromChapters(Directive):
    """What these directives share."""

    has_content = True

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        env = self.state.document.settings.env
        self.page, self.root = env.docname, Path(env.srcdir)
        self.chapters = chapter_facts.chapters(self.root)
        notebooks = [self.root / f"{chapter.docname}.ipynb" for chapter in self.chapters.values()]
        for path in (*notebooks, *FOLDER.iterdir(), self.root / "_toc.yml", *chapter_facts.SOURCES):
            env.note_dependency(str(path))

    def paragraphs(self) -> list[str]:
        return [" ".join(text.split()) for text in "\n".join(self.content).split("\n\n") if text]

    def named(self, numbers: Iterable[str]) -> list[Chapter]:
        """The chapters of these numbers."""
        if wrong := [number for number in numbers if number not in self.chapters]:
            raise self.error(f"there is no chapter {wrong[0]!r}")
        return [self.chapters[number] for number in numbers]

    def check_all(self, named: Iterable[str]) -> None:
        """Raise an error unless these are all chapters."""
        if wrong := set(named) ^ set(self.chapters):
            raise self.error(f"{self.name}: {sorted(wrong)} are missing, or no chapters")

    def show(self, template: str, **values: Any) -> list[nodes.Node]:
        return [nodes.raw("", html_of(template, self.page, **values), format="html")]


class Cards(FromChapters):
    """A card for each chapter, under the parts of the table of contents."""

    def run(self) -> list[nodes.Node]:
        texts = dict(text.split(". ", 1) for text in self.paragraphs())
        self.check_all(texts)
        parts = {
            name: self.named(numbers) for name, numbers in chapter_facts.parts(self.root).items()
        }
        return self.show("chapter-cards", parts=parts, texts=texts)


class Routes(FromChapters):
    """Lists of chapters for readers who want something else, with the sums of their minutes."""

    def run(self) -> list[nodes.Node]:
        return self.show("routes", routes=list(map(self.route, self.paragraphs())))

    def route(self, paragraph: str) -> dict[str, Any]:
        parts = re.fullmatch(r"(.+?): (all|\d\d(?: \d\d)*)\. (.+)", paragraph)
        if not parts:
            raise self.error(f"{paragraph!r}, expected “Name: 01 02. A sentence.”")
        name, listed, text = parts.groups()
        chapters = self.named(self.chapters if listed == "all" else listed.split())
        granted = taken_for_granted([chapter.number for chapter in chapters], self.chapters)
        return {
            "name": name,
            "text": text,
            "is_all": listed == "all",
            "chapters": chapters,
            "granted": self.named(granted),
        }


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
        known = chapter_facts.chapters(Path(self.env.srcdir)).values()
        chapter = next((chapter for chapter in known if self.text in chapter.exercises), None)
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
                [chapter],
                needs_of(chapter, helped=False),
                f"reading {chapter.minutes} min",
                f"{len(chapter.exercises)} exercises, {duration(chapter.exercise_minutes)}",
                f"runs {chapter.seconds} s",
            )
            for chapter in self.chapters.values()
        ]
        heads = ("Chapter", "Needs", "Reading", "Exercises", "Running")
        return self.show("rows", heads=heads, rows=rows)


class Syllabus(FromChapters):
    """A table of weeks or days, each with chapters for the lecture and exercises for the lab."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        (unit,), rows, seen = self.arguments, [], list[Chapter]()
        for place, line in enumerate(filter(str.strip, self.content), start=1):
            parts = re.fullmatch(r"(.+?): (\d\d(?: \d\d)*) \| (\d+\.\d+(?: \d+\.\d+)*)", line)
            if not parts:
                raise self.error(f"{line!r}, expected “Name: 01 02 | 1.1 2.3”")
            chapters, exercises = self.named(parts[2].split()), parts[3].split()
            seen += chapters
            known = {exercise for chapter in seen for exercise in chapter.exercises}
            if early := set(exercises) - known:
                raise self.error(f"{line!r}: {sorted(early)} are in no chapter so far")
            reading = f"reading {sum(chapter.minutes for chapter in chapters)} min"
            lab = [", ".join(exercises), duration(EXERCISE * len(exercises))]
            rows.append((f"{unit} {place}", parts[1], chapters, reading, lab))
        if needed := taken_for_granted([chapter.number for chapter in seen], self.chapters):
            raise self.error(f"a chapter is listed before those that it needs: {needed}")
        return self.show(
            "rows", heads=(unit, "Subject", "Chapters", "Reading", "Exercises"), rows=rows
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
        left_out = implied_arrows(self.chapters)
        needed = [
            (need, chapter.number, need in chapter.helped_by)
            for chapter in self.chapters.values()
            for need in (*chapter.needs, *chapter.helped_by)
            if (need, chapter.number) not in left_out
        ]
        boxes = [
            {
                "chapter": self.chapters[number],
                "x": column * COLUMN + (COLUMN - BOX_WIDTH) // 2,
                "y": row * ROW + 1,
                "lines": two_lines(f"{number} {self.chapters[number].title}"),
            }
            for number, (column, row) in places.items()
        ]
        return self.show(
            "chapter-map",
            width=COLUMN * max(map(len, rows)) + 2 * MARGIN,
            height=ROW * len(rows) - ROW + BOX_HEIGHT + 2,
            margin=MARGIN,
            box_width=BOX_WIDTH,
            box_height=BOX_HEIGHT,
            arrows=arrows(places, needed),
            boxes=boxes,
            needs_of=needs_of,
        )


def needs_of(chapter: Chapter, helped: bool = True) -> str:
    """What a chapter needs, in words, and what helps."""
    needs = f"needs {in_words(chapter.needs)}" if chapter.needs else "needs no other"
    return needs + (
        f", and {in_words(chapter.helped_by)} helps" if helped and chapter.helped_by else ""
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


def arrows(
    places: dict[str, tuple[int, int]], needed: list[tuple[str, str, bool]]
) -> Iterator[dict[str, Any]]:
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
        yield {"need": need, "number": number, "path": path, "dashed": dashed}


# ---- figures -----------------------------------------------------------------------------------


class Flow(FromChapters):
    """A prompt on its way through a shipped model, as wide as the window allows."""

    has_content = False

    def run(self) -> list[nodes.Node]:
        from scratchformer_course.pages import flow, flow_numbers, flow_words

        for module in (flow, flow_numbers, flow_words):
            self.state.document.settings.env.note_dependency(module.__file__)

        def link(number: str) -> tuple[str, str]:
            (chapter,) = self.named([number])
            return relative(chapter.docname, self.page), chapter.title

        # under a class of this name the theme folds its side bar of contents
        html = f'<div class="full-width course-flow">{flow.flow(link).placeholder()}</div>'
        return [nodes.raw("", html, format="html")]


class OpeningFilm(Directive):
    """The film of a run."""

    def run(self) -> list[nodes.Node]:
        from scratchformer_course.measurements import FOLDER
        from scratchformer_course.pages import opening_film

        for path in (opening_film.__file__, str(FOLDER / "film.json")):
            self.state.document.settings.env.note_dependency(path)
        html = opening_film.opening_film().placeholder()
        return [nodes.raw("", html, format="html")]


def add_certificate(app: Sphinx, pagename: str, _: str, context: dict, doctree: Any) -> None:
    """`html-page-context`: below the ticks, a certificate of them, with `climb`'s picture."""
    if 'id="course-progress"' not in context.get("body", ""):
        return
    from scratchformer_course.blank import certificate

    did = ("has done CHAPTERS,", "with EXERCISES.")
    picture = certificate.drawing("NAME", did, ["DAY", "COURSE", "TICKS"])
    given = {"data-course": certificate.course(), "data-picture": picture}
    app.add_js_file("sha256.js", defer="defer", priority=600)
    app.add_js_file("certificate.js", defer="defer", priority=601, **given)


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
    app.connect("html-page-context", add_certificate)
    app.add_css_file("welcome.css")
    app.add_js_file("course-progress.js", defer="defer")
    app.add_js_file("navigation.js", defer="defer", priority=600)  # after course-progress.js
    return {"version": "2", "parallel_read_safe": True, "parallel_write_safe": True}
