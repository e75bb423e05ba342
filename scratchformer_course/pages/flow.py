"""`flow()`: a prompt on its way through a shipped model to the next character, and the small strip.

All that is drawn is computed from the model: the tokens' ids, the beginning of each vector, the
weights of two heads, the length of each vector after each block, what the last one would guess
there, and the chances of the next character. The same drawing is laid out from left to right, from
top to bottom for a phone, and without words for the head of each chapter. `flow_drawing.js` draws
the same of what a reader has typed: a test holds the two together.
"""

import json
from collections.abc import Callable
from html import escape
from itertools import pairwise
from typing import NamedTuple

from scratchformer_course.kit.canvas import COLOURS
from scratchformer_course.kit.figure import LiveFigure
from scratchformer_course.pages.flow_numbers import CELLS, PROMPT, Numbers, measure, measure_end
from scratchformer_course.pages.flow_words import LEFT_OUT, OPENING, SENTENCES, sentences

PAGE = "var(--pst-color-background, Canvas)"
STAGES = {  # a name, and the chapters about it
    "Tokens": ("01",),
    "Vectors": ("02", "03"),
    "Heads": ("05", "06", "07", "08"),
    "Blocks": ("09", "10"),
    "Chances": ("04", "11", "12"),
}
EXERCISES = {  # whoever has written it has written the stage
    "Tokens": "1.4",
    "Vectors": "3.2",
    "Heads": "6.3",
    "Blocks": "9.3",
    "Chances": "12.1",
}
BESIDE = {  # a name, and its chapters: what is no part of the way from a prompt to its next token
    "tensors": ("00",),
    "BERT": ("13",),
    "translation": ("14",),
    "scale": ("15", "16", "17"),
    "today": ("18", "19", "20", "21", "22", "23"),
    "craft": ("24", "25", "26"),
}

Link = Callable[[str], tuple[str, str]]  # a chapter's number -> its address and its title


# ---- the drawing -------------------------------------------------------------------------------


class Layout(NamedTuple):
    """Where things are: along the flow, and across it, where each token has a lane of its own."""

    edges: tuple[int, ...]  # along: where stages begin, and the last one ends
    lane: float  # across
    margin: float  # across, before the first lane: for the names of the stages
    lanes: int = len(PROMPT)  # of a prompt that fills the drawing
    is_vertical: bool = False  # from top to bottom
    has_words: bool = True
    number: tuple[int, int] = (5, 58)  # along: from a bar's end to its chance, and the room for it

    def across(self, i) -> float:
        """The middle of a token's lane; `i` counts from 0 and may lie between two."""
        return self.margin + self.lane * (i + 0.5)


WIDE = Layout((0, 84, 240, 500, 712, 1000), lane=23, margin=50)
TALL = Layout((0, 60, 150, 306, 458, 618), lane=19.5, margin=84, is_vertical=True, number=(12, 15))
IN_STRIP = 7  # tokens, the last ones
STRIP = Layout((0, 140, 292, 580, 755, 1000), lane=10, margin=2, lanes=IN_STRIP, has_words=False)


class Pen:
    """Lines, boxes and words, along the flow and across it. Shapes of one look are one path."""

    def __init__(self, is_vertical: bool):
        self.is_vertical, self.paths, self.words = is_vertical, dict[str, str](), ""

    def at(self, along, across) -> tuple:
        """The x and y of a point, in units of the drawing."""
        x, y = (across, along) if self.is_vertical else (along, across)
        return round(x, 1), round(y, 1)

    def path(self, look: str, command: str, *points: tuple) -> None:
        """A curve (C) or straight lines (L) through the points."""
        first, *rest = (f"{x:g} {y:g}" for x, y in (self.at(*point) for point in points))
        self.paths[look] = self.paths.get(look, "") + f"M{first}{command}{' '.join(rest)}"

    def curve(self, look: str, a, c, to_a, to_c) -> None:
        """A curve from (a, c) to (to_a, to_c), level along the flow at both ends."""
        middle = (a + to_a) / 2
        self.path(look, "C", (a, c), (middle, c), (middle, to_c), (to_a, to_c))

    def box(self, look: str, a, c, length, breadth) -> None:
        """A box that begins at `a` and has its middle on `c`."""
        low, high = c - breadth / 2, c + breadth / 2
        self.path(look, "L", (a, low), (a + length, low), (a + length, high), (a, high), (a, low))

    def word(self, a, c, text: str, kind: str = "") -> None:
        """A word with its middle on (a, c); `kind` is its CSS class."""
        x, y = self.at(a, c)
        kind = kind and f' class="{kind}"'
        self.words += f'<text x="{x:g}" y="{y:g}" dy=".35em"{kind}>{escape(text)}</text>'

    def drawn(self) -> str:
        """SVG of all that was drawn since the last call."""
        shapes = "".join(f'<path {look} d="{d}"/>' for look, d in self.paths.items())
        shapes, self.paths, self.words = shapes + self.words, {}, ""
        return shapes


def stroke(colour: str, width=1.0, opacity=1.0) -> str:
    """The look of a line."""
    return (
        f'fill="none" stroke="{COLOURS[colour]}" stroke-width="{width:g}" '
        f'stroke-opacity="{opacity:g}"'
    )


def filled(colour: str, opacity, line=0.0) -> str:
    """The look of an area, whose border is `line` wide."""
    return (
        f'fill="{COLOURS[colour]}" fill-opacity="{opacity:g}" stroke="{COLOURS[colour]}" '
        f'stroke-width="{line:g}"'
    )


def strand(n: Numbers, i: int) -> str:
    """The look of a token's lane; the last one's, which becomes the next token, is in full."""
    return stroke("stream", 2) if i == len(n.ids) - 1 else stroke("stream", 1, 0.5)


def draw(n: Numbers, layout: Layout) -> list[str]:
    """The shapes of each stage."""
    pen = Pen(layout.is_vertical)
    parts = [draw_tokens, draw_vectors, draw_heads, draw_blocks, draw_chances]
    drawn = []
    for part, (start, end) in zip(parts, pairwise(layout.edges), strict=True):
        part(pen, n, layout, start, end)
        if not layout.has_words:
            pen.words = ""
        drawn.append(pen.drawn())
    return drawn


def draw_tokens(pen: Pen, n: Numbers, layout: Layout, start, end) -> None:
    """The letters and their ids, and a place for the next one."""
    letters = [*n.letters, n.chances[0][0]]
    for i, letter in enumerate(letters):
        c = layout.across(i)
        look = filled("token", 0.16, 1.3)
        if i == len(n.letters):  # the next one, which is not there yet
            look += ' class="flow-slot" stroke-dasharray="3 2"'
        pen.box(look, start + 4, c, 20, layout.lane - 4)
        pen.word(start + 14, c, letter, "flow-letter" + " flow-next" * (i == len(n.ids)))
        if i < len(n.letters):
            pen.word(start + 42, c, str(n.ids[i]))
            pen.path(strand(n, i), "L", (start + (56 if layout.has_words else 26), c), (end, c))


def draw_vectors(pen: Pen, n: Numbers, layout: Layout, start, end) -> None:
    """The first numbers of each token's vector, as squares of two colours."""
    largest = max(abs(number) for vector in n.vectors for number in vector)
    size = (end - start - 16) / CELLS
    for i, vector in enumerate(n.vectors):
        for j, number in enumerate(vector):
            shade = max(0.1, round(abs(number) / largest, 1))
            look = filled("stream" if number > 0 else "key", shade)
            pen.box(look, start + size * j, layout.across(i), size - 1, layout.lane - 3)
        pen.path(strand(n, i), "L", (end - 16, layout.across(i)), (end, layout.across(i)))


def draw_heads(pen: Pen, n: Numbers, layout: Layout, start, end) -> None:
    """Two heads: each line is a weight of attention."""
    half = (end - start) / 2
    for i in range(len(n.ids)):
        pen.path(strand(n, i), "L", (start, layout.across(i)), (end, layout.across(i)))
    for k, weights in enumerate(n.heads):
        begin = start + half * k + 8
        for i, row in enumerate(weights):
            for j, weight in enumerate(row):
                if weight >= 0.03:
                    strength = weight**0.5 * (1 if i == len(weights) - 1 else 0.6)
                    look = stroke("query", 1.8, round(strength, 1))  # the last one reads in full
                    pen.curve(look, begin, layout.across(j), begin + half - 16, layout.across(i))


def draw_blocks(pen: Pen, n: Numbers, layout: Layout, start, end) -> None:
    """The blocks, the vectors' lengths, and what the last one would guess after each."""
    step, last = (end - start) / len(n.guesses), layout.across(len(n.ids) - 1)
    middle, high = layout.across((len(n.ids) - 1) / 2), layout.lane * (len(n.ids) + 0.2)
    guessed = f'fill="{PAGE}" stroke="{COLOURS["stream"]}" stroke-width="1.5"'
    for k in range(len(n.guesses)):
        a = start + step * k
        pen.box(filled("query", 0.3, 1.3), a + 0.1 * step, middle, 0.2 * step, high)
        pen.box(filled("value", 0.3, 1.3), a + 0.31 * step, middle, 0.2 * step, high)
        for i in range(len(n.ids)):  # the longer a vector, the thicker its line
            ends = (0, 0.3, n.lengths[k][i]), (0.3, 1, n.lengths[k + 1][i])
            for begin, until, length in ends:
                look, c = stroke("stream", round(length / 2.5, 1), 0.8), layout.across(i)
                pen.path(look, "L", (a + begin * step, c), (a + until * step, c))
    for k, (guess, _) in enumerate(n.guesses):
        pen.box(guessed, start + step * (k + 0.57), last, 0.38 * step, layout.lane - 3)
        pen.word(start + step * (k + 0.76), last, guess, "flow-letter")


def draw_chances(pen: Pen, n: Numbers, layout: Layout, start, end) -> None:
    """The likeliest next characters, and the way back of the first."""
    T, largest = len(n.ids), n.chances[0][1]
    begin, space = start + 0.2 * (end - start), layout.lanes / len(n.chances)
    gap, room = layout.number
    longest = end - begin - gap - room - 42
    for k, (letter, p) in enumerate(n.chances):
        c, bar = layout.across(space * (k + 0.5) - 0.5), longest * p / largest
        pen.curve(stroke("query", 1 + 12 * p, 0.6), start, layout.across(T - 1), begin, c)
        pen.word(begin + 14, c, letter, "flow-large")
        pen.box(filled("query", 0.85), begin + 28, c, max(bar, 1), layout.lane)
        pen.word(begin + 28 + bar + gap, c, f"{100 * p:.1f} %", "flow-chance")
    c, back, far = layout.across(space / 2 - 0.5), layout.across(layout.lanes), end - 6
    out = begin + 28 + longest + gap + room
    pen.path(stroke("token", 1.8), "L", (out, c), (far, c), (far, back), (30, back))
    pen.path(stroke("token", 1.8), "L", (38, back - 5), (30, back), (38, back + 5))


# ---- as a page has it --------------------------------------------------------------------------


def strip(number: str) -> str:
    """The drawing without words for a chapter, whose stage alone is in full colour."""
    shapes = draw(measure_end(IN_STRIP), STRIP)
    is_in_one = any(number in chapters for chapters in STAGES.values())
    groups = "".join(
        f"<g{' class=faint' if is_in_one and number not in chapters else ''}>{shape}</g>"
        for chapters, shape in zip(STAGES.values(), shapes, strict=True)
    )
    return (
        f'<svg viewBox="0 0 {STRIP.edges[-1]} {STRIP.across(IN_STRIP + 0.5):g}" '
        f'preserveAspectRatio="none" aria-hidden="true">{groups}</svg>'
    )


def strip_columns() -> str:
    """The widths of its stages, as columns of a grid."""
    return " ".join(f"{end - start}fr" for start, end in pairwise(STRIP.edges))


def picture(n: Numbers, layout: Layout, link: Link) -> str:
    """The drawing with words, each stage and each number of a chapter a link."""
    lanes = layout.across(len(n.ids) + 0.5)
    size = (lanes, layout.edges[-1]) if layout.is_vertical else (layout.edges[-1], lanes)
    groups = ""
    stages = zip(STAGES.items(), draw(n, layout), pairwise(layout.edges), strict=True)
    for (name, chapters), shapes, (start, end) in stages:
        band = Pen(layout.is_vertical)
        band.box('class="flow-band"', start, lanes / 2, end - start, lanes)
        # names are above the drawing, or to its left
        x, y, step = (2, start + 14, 20) if layout.is_vertical else (start + 4, 14, 28)
        mark = (x, y + 44) if layout.is_vertical else (x + step * len(chapters), y + 24)
        numbers = [
            f'<text class="flow-number" x="{x + step * k}" y="{y + 24}">{number}</text>'
            for k, number in enumerate(chapters)
        ]
        shapes = (
            f'{band.drawn()}<g class="flow-drawn">{shapes}</g>'
            f'<text class="flow-name" x="{x}" y="{y}" dy=".35em">{name}</text>'
            f'<text class="flow-mark" x="{mark[0]}" y="{mark[1]}">yours</text>'
        )
        for number, shown in zip(chapters, numbers, strict=True):
            address, title = link(number)
            label = escape(f"{name}: chapter {number}, {title}")
            groups += (
                f'<a href="{address}" aria-label="{label}"><title>{label}</title>'
                f'<g aria-hidden="true">{shapes}{shown}</g></a>'
            )
            shapes = ""
    kind = "tall" if layout.is_vertical else "wide"
    return (
        f'<svg class="flow-{kind}" viewBox="0 0 {size[0]:g} {size[1]:g}" role="group" '
        f'data-layout="{escape(json.dumps(layout._asdict()))}" '
        f'aria-label="From the text {escape(PROMPT)} to its next character: '
        'a line for each character runs through five stages, and the last one ends in bars">'
        f"{groups}</svg>"
    )


def flow(link: Link) -> LiveFigure:
    """The figure, whose chapters are where `link` says."""
    n = measure()
    sentence_items = "".join(
        f"<li><b>{name}.</b> {escape(text)}<span></span></li>"
        for name, text in zip(STAGES, sentences(n), strict=True)
    )
    pictures = "".join(picture(n, at, link) for at in (WIDE, TALL))
    still = (
        f'<div class="flow">{pictures}<div class="flow-told"><div class="flow-controls">'
        "<p>With JavaScript, your own text goes through the picture.</p></div>"
        f'<div class="flow-said"><ol>{sentence_items}</ol></div></div></div>'
    )
    settings = {
        "prompt": PROMPT,
        "heads": n.which,
        "opening": OPENING,
        "sentences": SENTENCES,
        "left_out": LEFT_OUT,
        "exercises": list(EXERCISES.values()),
        "colours": COLOURS,
    }
    return LiveFigure("flow", settings, still)
