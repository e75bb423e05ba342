"""A Sphinx extension: what the welcome page shows of the chapters and of the model.

Its directives take short texts from the page, and everything else from where it is true: titles,
minutes, needs and exercises from the chapters (facts.py), numbers and pictures from the model.

    :::{way} tiny-shakespeare       six steps from text to prediction, with the model's own numbers
    :::{routes}                     "Name: 01 02 04. A sentence." in paragraphs of their own
    :::{chapter-map}                chapters in rows as they shall stand, "." for an empty place
    :::{chapter-cards}              "01. A sentence." in paragraphs of their own
"""

import posixpath
import re
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any, ClassVar

import facts
from docutils import nodes
from docutils.parsers.rst import Directive, directives
from facts import Chapter, chapters
from sphinx.application import Sphinx

# the map, in units of a pixel: a phone of 390 px has room for 358
COLUMN, ROW, BOX_WIDTH, BOX_HEIGHT = 120, 68, 106, 46
CELL = 16  # of the pictures on the way


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
        for name, numbers in facts.parts().items():
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
            if granted := facts.taken_for_granted(numbers):
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
        left_out = facts.missing_arrows()
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


# ---- the way from text to prediction -----------------------------------------------------------


class Way(FromChapters):
    """Six steps from a text to its next token, drawn with the numbers of a shipped model."""

    required_arguments = 1
    option_spec: ClassVar[dict] = {"prompt": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        name, prompt = self.arguments[0], self.options["prompt"]
        pictures = way_pictures(name, prompt)
        steps = re.findall(r"(?m)^([\w ]+): ((?:\d\d ?)+)\. (.+)$", "\n".join(self.paragraphs()))
        if len(steps) != len(pictures):
            raise self.error(f"{len(steps)} steps, expected {len(pictures)}")
        items = ""
        for (step, numbers, text), picture in zip(steps, pictures, strict=True):
            links = "".join(f"<li>{self.link(number)}</li>" for number in numbers.split())
            items += (
                f'<li><p class="course-step">{escape(step)}</p>{picture}'
                f"<p>{escape(text)}</p><ul>{links}</ul></li>"
            )
        return self.raw(f'<ol class="course-way">{items}</ol>')


def way_pictures(name: str, prompt: str) -> list[str]:
    """Tokens, vectors, attention, blocks, probabilities, the longer text: as SVG."""
    import torch

    from scratchformer.attention import recorded_attention
    from scratchformer.models import GPT
    from scratchformer.tokenizers import CharTokenizer

    model, tokenizer = GPT.pretrained(name).eval(), CharTokenizer.pretrained(name)
    ids = tokenizer.encode(prompt)
    taken: dict[str, Any] = {}
    hook = model.h[0].register_forward_pre_hook(lambda _, args: taken.update(x=args[0][0]))
    with torch.no_grad(), recorded_attention(model) as weights:
        p = model(torch.tensor([ids]))[0, -1].softmax(dim=-1)
    hook.remove()
    letters = [tokenizer.decode([i]).replace(" ", "␣") for i in ids]
    heads = [head for block in range(len(model.h)) for head in weights[f"h.{block}.attn"][0]]
    before, spread = max(heads, key=on_the_one_before), max(heads, key=entropy)
    values, best = (t.tolist() for t in p.topk(5))
    likeliest = [(tokenizer.decode([i]), value) for i, value in zip(best, values, strict=True)]
    return [
        draw_tokens(letters, ids),
        draw_vectors(taken["x"][:, :6].T.tolist()),
        draw_attention([before.tolist(), spread.tolist()]),
        draw_blocks(len(model.h)),
        draw_probabilities(likeliest),
        draw_longer(prompt, likeliest[0][0]),
    ]


def on_the_one_before(weights: Any) -> float:
    """How much a head's positions look at the position before them."""
    return weights.diagonal(offset=-1).mean().item()


def entropy(weights: Any) -> float:
    """How widely a head's positions look."""
    return -weights.clamp(min=1e-9).log().mul(weights).sum().item()


def picture(width: float, height: float, shapes: str, label: str) -> str:
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" '
        f'role="img" aria-label="{escape(label)}">{shapes}</svg>'
    )


def word(x: float, y: float, text: str, anchor: str = "middle", kind: str = "") -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" dy=".35em" text-anchor="{anchor}" class="{kind}">'
        f"{escape(text)}</text>"
    )


def cell(x: float, y: float, size: float, colour: str, opacity: float) -> str:
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{size:g}" height="{size:g}" '
        f'fill="var(--course-{colour})" fill-opacity="{opacity:.2f}"/>'
    )


def draw_tokens(letters: list[str], ids: list[int]) -> str:
    shapes, in_a_row = "", 8
    top = 0 if len(ids) > in_a_row else 22
    for i, (letter, number) in enumerate(zip(letters, ids, strict=True)):
        row, column = divmod(i, in_a_row)
        x, y = 27 * column + 13, top + 50 * row
        shapes += (
            f'<rect x="{x - 10:g}" y="{y}" width="20" height="24" rx="3" '
            'class="course-token-box"/>' + word(x, y + 12, letter, kind="course-mono")
        )
        shapes += word(x, y + 35, str(number))
    label = "the tokens " + ", ".join(f"{a} is {b}" for a, b in zip(letters, ids, strict=True))
    return picture(220, 96, shapes, label)


def draw_vectors(rows: list[list[float]]) -> str:
    largest, step = max(abs(number) for row in rows for number in row), 220 / len(rows[0])
    size = min(step, CELL) - 1
    shapes = "".join(
        cell(step * j, CELL * i, size, "stream" if number > 0 else "key", abs(number) / largest)
        for i, row in enumerate(rows)
        for j, number in enumerate(row)
    )
    label = f"the first {len(rows)} numbers of each token's vector, as squares of two colours"
    return picture(220, CELL * len(rows), shapes, label)


def draw_attention(heads: list[list[list[float]]]) -> str:
    size = 96 / len(heads[0])
    shapes = "".join(
        cell(size * j + 120 * k, size * i, size - 1, "query", max(weight, 0.04))
        for k, weights in enumerate(heads)
        for i, row in enumerate(weights)
        for j, weight in enumerate(row[: i + 1])
    )
    label = "the weights of two heads, two triangles of squares: one bright below its diagonal"
    return picture(220, 96, shapes, label)


def draw_blocks(n_blocks: int) -> str:
    step = 220 / n_blocks
    shapes = '<path class="course-arrow" d="M0 48H220"/>'
    for i in range(n_blocks):
        for y, colour in ((22, "query"), (52, "value")):
            shapes += (
                f'<rect x="{step * i + 6:g}" y="{y}" width="{step - 12:g}" height="22" rx="4" '
                f'class="course-part-box" style="--colour: var(--course-{colour})"/>'
            )
        shapes += word(step * (i + 0.5), 86, str(i + 1))
    label = f"{n_blocks} blocks in a row, each with attention and a feed-forward network"
    return picture(220, 96, shapes, label)


def draw_probabilities(likeliest: list[tuple[str, float]]) -> str:
    shapes, largest = "", likeliest[0][1]
    for i, (token, p) in enumerate(likeliest):
        y = 10 + 19 * i
        shapes += word(14, y, visible(token), kind="course-mono")
        shapes += (
            f'<rect x="30" y="{y - 7}" width="{124 * p / largest:.1f}" height="14" rx="2" '
            'fill="var(--course-query)"/>'
        )
        shapes += word(162, y, f"{100 * p:.1f} %", "start")
    label = "the likeliest next tokens: " + ", ".join(
        f"{visible(token)} {100 * p:.1f} %" for token, p in likeliest
    )
    return picture(220, 96, shapes, label)


def draw_longer(prompt: str, token: str) -> str:
    shapes = word(4, 36, prompt.replace(" ", "␣"), "start", "course-mono course-large")
    x = 4 + 9.7 * len(prompt)
    shapes += (
        f'<rect x="{x + 2:g}" y="22" width="18" height="28" rx="3" class="course-token-box"/>'
        + word(x + 11, 36, visible(token), kind="course-mono course-large")
    )
    shapes += (
        f'<path class="course-arrow" d="M{x + 11:g} 54V74Q{x + 11:g} 82 {x:g} 82H20'
        'Q12 82 12 74V55M7 62L12 54L17 62"/>'
    )
    label = f"the text {prompt!r} with {visible(token)} behind it, and an arrow back to its start"
    return picture(220, 96, shapes, label)


def visible(token: str) -> str:
    return token.replace(" ", "␣").replace("\n", "⏎")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives, and the files of the welcome page and of the readers' ticks."""
    directives_by_name = {
        "way": Way,
        "routes": Routes,
        "chapter-map": Map,
        "chapter-cards": Cards,
    }
    for name, directive in directives_by_name.items():
        app.add_directive(name, directive)
    app.add_css_file("welcome.css")
    app.add_js_file("course-progress.js", defer="defer")
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
