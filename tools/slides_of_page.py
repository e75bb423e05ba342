"""A chapter's built page, read into slides: what each of them shows, in HTML."""

import json
import math
import re
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from bs4 import BeautifulSoup
from docutils.utils.math.latex2mathml import tex2mathml

from book._ext.live_ext import shipped
from scratchformer_course.kit.figure.live_figure import PAGE, START, LiveFigure

ROOT = Path(__file__).resolve().parents[1]
WORDS, QUESTION = 35, 60  # of prose on a slide, unless its first sentence is longer
CODE, COLUMNS = 12, 84  # lines of a cell, and letters of a line
PROSE_COLUMNS = 75  # letters of a line of prose
LINES = 16  # of a cell and what it prints
BLANK = re.compile(r"\n\n\n+")
TABLE = 80  # words that a table may have
MOST = 25  # slides: code gives way
LEFT_OUT = ("how-we-know", "what-is-next")
# a live figure as large as its frame allows
FIT = """<script>
const fit = () => {
  let zoom = 1.7;
  do document.body.style.zoom = zoom;
  while (document.documentElement.scrollHeight > innerHeight && (zoom -= 0.1) > 0.7);
};
addEventListener("resize", fit);
new MutationObserver(fit).observe(document.querySelector(".live-figure"), { attributes: true });
</script>"""


class Slide(NamedTuple):
    """A slide: its kind, and HTML: the heading, prose, what is shown below it, and the notes."""

    kind: str
    heading: str
    prose: str = ""
    shown: str = ""
    notes: str = ""

    def html(self) -> str:
        lines = math.ceil(len(re.sub(r"<[^>]*>", "", self.prose)) / PROSE_COLUMNS)
        sizes = f"--lines: {lines_shown(self.shown)}; --prose: {lines}"
        return (
            f'<section><div class="page {self.kind}" style="{sizes}">'
            f'<h2>{self.heading}</h2><div class="prose">{self.prose}</div>{self.shown}</div>'
            f'<aside class="notes">{self.notes}</aside></section>'
        )


# ---- a page, read into slides --------------------------------------------------------------------


class Reader:
    """Reads the sections of a chapter from top to bottom."""

    def __init__(self) -> None:
        self.slides: list[Slide] = []
        self.exercises = ""
        self.heading = ""
        self.waiting: list[Any] = []  # prose, for the next slide
        self.formulas = ""  # for the next slide
        self.code = ""  # for a guess's answer
        self.guess: Any = None  # whose answer has not come yet

    def read(self, section: Any) -> None:
        """A section, and those in it."""
        heading = section.find(["h1", "h2", "h3"], recursive=False)
        self.heading, start = heading.decode_contents(), len(self.slides)
        for child in section.find_all(True, recursive=False):
            self.read_part(child)
        self.show_formulas()
        if self.waiting and len(self.slides) == start:
            self.add("prose")
        self.note_rest()

    def read_part(self, part: Any) -> None:
        """A section, a paragraph, a formula, a guess, a cell, or a table."""
        kinds = part.get("class") or []
        if part.get("id") in LEFT_OUT or part.name in ("h1", "h2", "h3", "nav"):
            return
        if "course-exercise" in kinds:
            self.show_formulas()
            self.note_rest()
            self.waiting = part.find_all("p", recursive=False)[:1]  # what comes next is about it
            task = sentences(self.waiting)
            self.exercises += f"<dt>{part.h3.decode_contents()}</dt><dd>{task}</dd>"
        elif part.name == "section":
            self.read(part)
        elif "course-guess" in kinds:
            self.ask(part)
        elif "course-guess-answer" in kinds:
            self.answer(part)
        elif "math" in kinds:
            self.formulas += str(part)
        elif "cell" in kinds:
            self.read_cell(part)
        elif part.name in ("p", "ul", "ol", "blockquote", "dl"):
            self.waiting.append(part)
        elif (table := part.find("table")) and len(table.get_text().split()) <= TABLE:
            self.add("table", str(table))

    def read_cell(self, cell: Any) -> None:
        """A short cell and what it prints, and then each of its figures on a slide of its own."""
        self.show_formulas()
        code = as_code(cell.find(class_="cell_input"))
        printed = as_output(cell.select(".cell_output pre"), max(4, LINES - lines_shown(code)))
        if lines_shown(self.code + printed) > LINES:
            self.code = ""
        if self.guess and not printed:
            self.code = code
        elif code or (lines_shown(printed) > 2 and self.waiting):
            self.add("code", code + printed)
        for output in cell.select(".output.text_html"):
            caption = output.parent.find("figcaption")
            below = f'<p class="caption">{caption.p.decode_contents()}</p>' if caption else ""
            self.code = ""
            self.add(*as_figure(output, below))

    def ask(self, guess: Any) -> None:
        """A slide with the question of a guess."""
        asked = "".join(f"<p>{escape(ask)}: …</p>" for ask in parts_of(guess, "ask"))
        choices = "".join(f"<li>{escape(choice)}</li>" for choice in parts_of(guess, "choices"))
        question = self.waiting.pop()
        self.show_formulas()
        self.waiting.append(question)
        self.add("guess", f"{asked}<ul>{choices}</ul>")
        self.guess = guess

    def answer(self, covered: Any) -> None:
        """A slide with the answer, and others if the guess covers more than one thing."""
        start, unit = len(self.slides), self.guess.get("data-unit", "")
        value = escape(f"{', '.join(parts_of(self.guess, 'answer'))} {unit}")
        for part in covered.find_all(True, recursive=False):
            self.read_part(part)
        self.guess = None
        if len(self.slides) == start:
            self.add("prose")
        slide, said = self.slides[start], sentences(covered.find_all("p", recursive=False))
        prose = f'<p class="value">{value}</p>{said}'
        self.slides[start] = slide._replace(kind=f"{slide.kind} answer", prose=prose)
        for i, slide in enumerate(self.slides[start + 1 :], start + 1):
            self.slides[i] = slide._replace(prose=slide.prose.replace(said, ""))
        self.note_rest()

    def add(self, kind: str, shown: str = "") -> None:
        """A slide with the prose that leads to it: all of it stands in the notes."""
        opens = not self.slides or self.slides[-1].heading != self.heading
        lead = self.waiting if opens and kind != "guess" else self.waiting[-1:]
        while lead and lead != self.waiting and lead[0].get_text()[:1].islower():
            lead = self.waiting[-len(lead) - 1 :]  # it goes on after a quotation
        prose = sentences(lead, QUESTION, at_end=True) if kind == "guess" else sentences(lead)
        notes, shown = "".join(map(str, self.waiting)), self.formulas + self.code + shown
        self.slides.append(Slide(kind, self.heading, prose, shown, notes))
        self.waiting, self.formulas, self.code = [], "", ""

    def show_formulas(self) -> None:
        """A slide for formulas, before anything else is shown."""
        if self.formulas:
            self.add("formula")

    def note_rest(self) -> None:
        """Prose that leads to no slide goes into the notes of the last one."""
        if self.slides:
            rest = "".join(map(str, self.waiting))
            self.slides[-1] = self.slides[-1]._replace(notes=self.slides[-1].notes + rest)
        self.waiting = []


def slides_of(page: Path, moment: str) -> list[Slide]:
    """The slides of a built page, the one with its moment before *What you know now*."""
    article: Any = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser").article
    prepare(article)
    chapter, reader = article.find("section"), Reader()
    known = chapter.find("section", id="what-you-know-now").extract()
    promise = chapter.p
    credit = '<p class="credit">{title} · {author} · prose and figures CC BY 4.0, code MIT</p>'
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    shown = credit.format(**{key: escape(config[key]) for key in ("title", "author")})
    title = Slide("title", chapter.h1.decode_contents(), str(promise.extract()), shown)
    reader.read(chapter)
    slides = [x if x.heading != title.heading else x._replace(heading="") for x in reader.slides]
    ending = [
        Slide("moment", "", f"<p>{escape(moment)}</p>"),
        Slide("known", known.h2.decode_contents(), str(known.find(["ul", "ol", "p"]))),
        Slide("exercises", "Exercises", shown=f"<dl>{reader.exercises}</dl>"),
    ]
    return [title, *without_most_code(slides, MOST - 1 - len(ending)), *ending]


def without_most_code(slides: list[Slide], most: int) -> list[Slide]:
    """So many slides, if there is code to leave out: the shortest first, and functions last."""

    def worth(slide: Slide) -> tuple[bool, bool, int]:
        return "def " in slide.shown, bool(slide.prose), len(slide.shown)

    kept = [*slides]
    for gone in sorted((x for x in slides if x.kind == "code"), key=worth):
        if len(kept) <= most:
            break
        at = kept.index(gone)
        if kept[at + 1 :] and not kept[at + 1].prose:  # it shows what the code has drawn
            kept[at + 1] = kept[at + 1]._replace(prose=gone.prose, notes=gone.notes)
        kept.remove(gone)
    return kept


def prepare(article: Any) -> None:
    """Take away folds, links and ids, which lead nowhere here, and write formulas as MathML."""
    for part in article.select(
        ".course-facts, details, script, nav, .headerlink, .course-guess-end"
    ):
        part.decompose()
    for link in article.select("a"):
        link.unwrap()
    for formula in article.select(".math"):
        mathml = as_mathml(formula.get_text().strip()[2:-2], as_block=formula.name == "div")
        formula.clear()
        formula.append(BeautifulSoup(mathml, "html.parser"))
    for part in article.find_all(id=True):
        if part.name != "section" and not part.find_parent("svg"):
            del part["id"]


def as_mathml(tex: str, as_block: bool) -> str:
    """A formula as MathML. ValueError for TeX that docutils does not know."""
    plain = re.sub(r"\\(begin|end)\{split\}|\\[bB]igg?[lr]?(?![a-z])", "", tex)
    plain = re.sub(r"\\underbrace\{([^{}]*)\}_\{(\\text\{[^{}]*\})\}", r"\\underset{\2}{\1}", plain)
    try:
        mathml = tex2mathml(plain.replace(r"\dots", r"\ldots"), as_block=as_block)
    except ValueError as error:
        raise ValueError(
            f"expected TeX that docutils turns into MathML, and got {tex}: {error}"
        ) from None
    return re.sub(r"<mi>([a-z]{2,})</mi>", "<mi>\u2009\\1\u2009</mi>", mathml)  # sin x, not sinx


def sentences(prose: Iterable[Any], limit: int = WORDS, at_end: bool = False) -> str:
    """The first sentences of paragraphs, or the last: up to so many words, but one at least."""
    found = [
        sentence
        for part in prose
        for sentence in re.split(r"(?<=[.?!])\s+(?=[A-Z*<“(])", part.decode_contents().strip())
    ]
    kept: list[str] = []
    for sentence in reversed(found) if at_end else found:
        shown = " ".join([*kept, sentence])
        words = re.sub(r"<math.*?</math>|<[^>]*>", " ", shown, flags=re.DOTALL).split()
        if kept and len(words) > limit:
            break
        kept = [sentence, *kept] if at_end else [*kept, sentence]
    return f"<p>{BeautifulSoup(' '.join(kept), 'html.parser')}</p>" if kept else ""


def parts_of(guess: Any, name: str) -> list[str]:
    """What an attribute of a guess lists."""
    return [part for part in str(guess.get(f"data-{name}", "")).split(" | ") if part]


def lines_of(text: str) -> int:
    """The lines that a text takes, long ones wrapped."""
    return sum(math.ceil(max(1, len(line)) / COLUMNS) for line in text.split("\n"))


def lines_shown(html: str) -> int:
    """The lines of the code and the output in a piece of HTML."""
    return sum(map(int, re.findall(r'data-lines="(\d+)"', html)))


def as_code(code: Any) -> str:
    """A cell's code, if it is open and short, without the choice between two answers."""
    kept, is_choice = [], False
    parts = (code.pre.decode_contents(), code.pre.get_text()) if code else ("", "")
    for line in zip(*(part.split("\n") for part in parts), strict=True):
        is_choice = is_choice or ".choose(" in line[1]
        kept += [] if is_choice else [line]
        is_choice = is_choice and not line[1].endswith(")")
    pre, text = (
        BLANK.sub("\n\n", "\n".join(part).strip("\n"))
        for part in zip(*kept or [("", "")], strict=True)
    )
    if not text or lines_of(text) > CODE:
        return ""
    return f'<div class="highlight" data-lines="{lines_of(text)}"><pre>{pre}</pre></div>'


def as_output(printed: Iterable[Any], most: int) -> str:
    """What a cell prints, or its beginning."""
    lines = "\n".join(pre.get_text().strip("\n") for pre in printed).split("\n")
    while lines_of("\n".join(lines)) > most:
        lines = [*lines[:-2], "…"]
    text = "\n".join(lines)
    return text and f'<pre class="output" data-lines="{lines_of(text)}">{escape(text)}</pre>'


def as_figure(output: Any, below: str) -> tuple[str, str]:
    """The kind of a slide, and a drawing with what is below it, or a live figure in a frame."""
    holder = output.find(class_="live-figure")
    if holder is None:
        box = re.search(r'viewbox="\S+ \S+ (\S+) (\S+)"', str(output.svg))
        kind = "figure tall" if box and float(box[2]) > 0.7 * float(box[1]) else "figure"
        return kind, f'<div class="drawn">{output.decode_contents()}</div>{below}'
    settings = json.loads(holder["data-settings"])
    figure = LiveFigure(holder["data-figure"], settings, holder.decode_contents())
    hashes = str(holder["data-models"]).split()
    models = "".join(dict.fromkeys(shipped()[each][1] for each in hashes)).replace("</", r"<\/")
    alive = figure.html().replace(START, models + START)
    alive = alive.replace('data-models=""', f'data-models="{" ".join(hashes)}"', 1)
    page = PAGE.format(title="A live figure", body=alive + FIT).replace("light dark", "light", 1)
    return "live", f'<iframe title="A live figure" srcdoc="{escape(page)}"></iframe>'
