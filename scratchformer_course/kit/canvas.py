"""The pen: boxes, arrows and words in SVG, light or dark as the page is, described in words.

It knows no transformer. A drawing is at most 480 units wide, with letters of 13 units or more, so
that it can be read on a phone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from html import escape
from itertools import pairwise
from typing import Concatenate, ParamSpec

from IPython.display import HTML

WIDEST, SMALLEST_LETTERS = 480, 13
ENLARGED = 1.35  # how much larger than its units a drawing may be shown

# One colour for one thing, in every chapter. The site sets lighter and darker forms of them in
# book/_assets/course.css; the values below are for notebooks, whose background nobody knows.
COLOURS = {
    "ink": "currentColor",
    "muted": "var(--course-muted, #808080)",
    "token": "var(--course-token, #97851a)",
    "position": "var(--course-position, #c0609b)",
    "query": "var(--course-query, #1f83c4)",
    "key": "var(--course-key, #d1621c)",
    "value": "var(--course-value, #0e9468)",
    "stream": "var(--course-stream, #7f70d8)",
}


P = ParamSpec("P")
Look = tuple | list[tuple] | Callable[[int, int], tuple]  # colour, opacity, whether dashed


class Drawing:
    """A picture of `width` × `height` units. Later shapes cover earlier ones; `show` ends it.

    Letters have the `size` of the drawing, if nothing else is said. Every method takes `colour`, a
    name in `COLOURS`, and raises ValueError for any other.
    """

    def __init__(self, width: int, height: int, size: int = 14):
        if width > WIDEST:
            raise ValueError(f"a drawing of width {width}; at most {WIDEST} can be read on a phone")
        self.width, self.height, self.size = width, height, size
        self.parts: list[str] = []

    def text(
        self, x, y, text, colour="ink", size=None, anchor="middle", bold=False, mono=False, turn=0
    ) -> None:
        """Words around the point (x, y), on the vertical middle; `turn` in degrees.

        `anchor` is start, middle or end. Raises ValueError for letters smaller than 13 units.
        """
        size = size or self.size
        if size < SMALLEST_LETTERS:
            raise ValueError(f"letters of size {size}; at least {SMALLEST_LETTERS} can be read")
        family = "ui-monospace, monospace" if mono else "system-ui, sans-serif"
        style = ' font-weight="600"' if bold else ""
        style += f' transform="rotate({turn} {x:g} {y:g})"' if turn else ""
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" dy=".35em" fill="{_colour(colour)}" font-size="{size:g}" '
            f'font-family="{family}" text-anchor="{anchor}"{style}>{escape(str(text))}</text>'
        )

    def text_from(self, x, y, text, colour="ink", size=None, **lettering) -> None:
        """Words that begin at x."""
        self.text(x, y, text, colour, size, "start", **lettering)

    def text_to(self, x, y, text, colour="ink", size=None, **lettering) -> None:
        """Words that end at x."""
        self.text(x, y, text, colour, size, "end", **lettering)

    def texts(self, x, y, lines: Sequence, right=0.0, down=0.0, **lettering) -> None:
        """Words in a row or a column, each so far to the right of the one before, and below it."""
        for i, line in enumerate(lines):
            self.text(x + right * i, y + down * i, line, **lettering)

    def cells(
        self,
        x,
        y,
        rows: Sequence[Sequence],
        cell,
        look: Look = ("ink", 0.12),
        step=None,
        **lettering,
    ) -> None:
        """A table of boxes of one size, (width, height), with its upper left corner at (x, y).

        `look` is their colour and how opaque they are (and whether dashed), a list of these for
        the columns, or a function of row and column. A box begins a `step` after its neighbour:
        its own size, if not given.
        """
        width, height = cell
        right, down = step or cell
        for i, row in enumerate(rows):
            for j, entry in enumerate(row):
                text = entry if isinstance(entry, str) else f"{entry:g}"
                paint = look(i, j) if callable(look) else look[j] if type(look) is list else look
                self.box(x + right * j, y + down * i, width, height, text, *paint, **lettering)

    def row(
        self, x, y, words: Sequence, cell, look: Look = ("ink", 0.12), step=None, **lettering
    ) -> list[float]:
        """One row of `cells`, which begin a `step` after their neighbours: the middle of each."""
        width, height = cell
        step = step or width
        self.cells(x, y, [words], cell, look, (step, height), **lettering)
        return [x + step * j + width / 2 for j in range(len(words))]

    def flow(self, boxes: Sequence[tuple], colour="ink", **lettering) -> None:
        """Boxes, each what `box` takes, and an arrow from each to the next.

        An arrow is level, or upright where one box is above the other, and 2 units from both.
        """
        for box in boxes:
            self.box(*box, **lettering)
        for (x1, y1, width1, height1, *_), (x2, y2, width2, height2, *_) in pairwise(boxes):
            x, end_x = _between(x1, width1, x2, width2)
            y, end_y = _between(y1, height1, y2, height2)
            self.arrow(x, y, end_x, end_y, colour)

    def numbers(self, x, y, rows: Sequence[Sequence], cell, **lettering) -> None:
        """Two digits of each number, or muted words, in the middle of a square of a `grid`."""
        for i, row in enumerate(rows):
            for j, entry in enumerate(row):
                is_word = isinstance(entry, str)
                text, colour = (entry, "muted") if is_word else (f"{entry:.2g}", "ink")
                self.text(x + (j + 0.5) * cell, y + (i + 0.5) * cell, text, colour, **lettering)

    def box(
        self, x, y, width, height, text="", colour="ink", fill=0.12, dashed=False, **lettering
    ) -> None:
        """A rectangle with its upper left corner at (x, y), and words in its middle.

        `fill` is how opaque its colour is inside, from 0 to 1; `lettering` goes to `text`.
        """
        paint, dashes = _colour(colour), ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="5" '
            f'fill="{paint}" fill-opacity="{fill:g}" stroke="{paint}" stroke-width="1.5"{dashes}/>'
        )
        lines = [] if text == "" else str(text).split("\n")
        self.texts(
            x + width / 2, y + height / 2 - (len(lines) - 1) * 9, lines, down=18, **lettering
        )

    def line(self, points: Sequence[tuple], colour="ink", width=1.8, dashed=False) -> None:
        """A line through the points, straight from each to the next."""
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        dashes = ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(
            f'<polyline points="{path}" fill="none" stroke="{_colour(colour)}" '
            f'stroke-width="{width:g}" stroke-linejoin="round"{dashes}/>'
        )

    def area(self, corners: Sequence[tuple], colour="ink", fill=0.12, dashed=False) -> None:
        """A shape with straight sides; `fill` is how opaque its colour is inside, from 0 to 1."""
        paint, dashes = _colour(colour), ' stroke-dasharray="5 4"' if dashed else ""
        path = " ".join(f"{x:g},{y:g}" for x, y in corners)
        self.parts.append(
            f'<polygon points="{path}" fill="{paint}" fill-opacity="{fill:g}" stroke="{paint}" '
            f'stroke-width="1.2" stroke-linejoin="round"{dashes}/>'
        )

    def arrow(self, x1, y1, x2, y2, colour="ink", bend=0, width=1.8, dashed=False) -> None:
        """An arrow from (x1, y1) to (x2, y2).

        `bend` moves its middle to the left of its way by so many units (to the right if negative).
        """
        length = math.hypot(x2 - x1, y2 - y1) or 1.0
        side_x, side_y = (y2 - y1) / length, (x1 - x2) / length
        mid_x, mid_y = (x1 + x2) / 2 + 2 * bend * side_x, (y1 + y2) / 2 + 2 * bend * side_y
        angle = math.atan2(y2 - mid_y, x2 - mid_x)
        stem_x, stem_y = x2 - 7 * math.cos(angle), y2 - 7 * math.sin(angle)
        corners = [(x2, y2)] + [
            (x2 - 10 * math.cos(angle + turn), y2 - 10 * math.sin(angle + turn))
            for turn in (-0.45, 0.45)
        ]
        paint, dashes = _colour(colour), ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(
            f'<path d="M{x1:.4g} {y1:.4g} Q{mid_x:.4g} {mid_y:.4g} {stem_x:.4g} {stem_y:.4g}" '
            f'fill="none" stroke="{paint}" stroke-width="{width:g}"{dashes}/>'
            f'<polygon points="{" ".join(f"{x:.4g},{y:.4g}" for x, y in corners)}" fill="{paint}"/>'
        )

    def circle(self, x, y, radius, colour="ink", fill=0.12, text="", **lettering) -> None:
        """A circle around (x, y), with words in its middle."""
        paint = _colour(colour)
        self.parts.append(
            f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="{paint}" fill-opacity="{fill:g}" '
            f'stroke="{paint}" stroke-width="1.5"/>'
        )
        if text != "":
            self.text(x, y, text, **lettering)

    def legend(self, x, y, entries: Sequence[tuple], down=24, **lettering) -> None:
        """Small boxes below one another, with words: an entry is (colour, fill, words)."""
        for i, (colour, fill, words) in enumerate(entries):
            self.box(x, y + down * i, 16, 16, "", colour, fill)
            self.text_from(x + 24, y + down * i + 8, words, **lettering)

    def plus(self, x, y, radius=13, size=17) -> None:
        """A plus sign in a circle, where something is added to the stream."""
        self.circle(x, y, radius, "stream", fill=0.3, text="+", bold=True, size=size)

    def grid(self, x, y, rows: Sequence[Sequence[float | int]], cell=24, colour="ink") -> None:
        """A matrix of shades, 0 to 1 each, with its upper left corner at (x, y)."""
        paint = _colour(colour)
        for i, row in enumerate(rows):
            for j, shade in enumerate(row):
                self.parts.append(
                    f'<rect x="{x + j * cell:g}" y="{y + i * cell:g}" width="{cell:g}" '
                    f'height="{cell:g}" fill="{paint}" fill-opacity="{0.85 * float(shade):.3g}" '
                    f'stroke="{_colour("muted")}" stroke-width="1"/>'
                )

    def svg(self, description: str) -> str:
        """The picture as text; `description` says in words what one sees and what follows.

        Raises ValueError if it is shorter than 40 characters: no picture is told in less.
        """
        if len(description) < 40:
            raise ValueError(f"the description {description!r} is too short to stand for a picture")
        described = escape(" ".join(description.split()))
        return (
            f'<svg class="course-drawing" viewBox="0 0 {self.width} {self.height}" role="img" '
            f'aria-label="{described}" xmlns="http://www.w3.org/2000/svg" style="width: 100%; '
            f"max-width: {self.width * ENLARGED:.0f}px; height: auto; display: block; "
            f'margin: 0 auto">{"".join(self.parts)}</svg>'
        )

    def show(self, description: str) -> HTML:
        """The picture as a cell's output."""
        return HTML(self.svg(description))


def drawing(
    width: int, height: int, size: int = 14
) -> Callable[[Callable[Concatenate[Drawing, P], None]], Callable[P, HTML]]:
    """Makes a cell's output of a function that draws on a `Drawing` of this size.

    Its docstring is the description of the picture.
    """

    def on_paper(draw: Callable[Concatenate[Drawing, P], None]) -> Callable[P, HTML]:
        @wraps(draw)
        def show(*args: P.args, **kwargs: P.kwargs) -> HTML:
            paper = Drawing(width, height, size)
            draw(paper, *args, **kwargs)
            return paper.show(draw.__doc__ or "")

        return show

    return on_paper


def _colour(name: str) -> str:
    if name not in COLOURS:
        raise ValueError(f"no colour called {name!r}; expected one of {', '.join(COLOURS)}")
    return COLOURS[name]


def _between(start, size, other, other_size) -> tuple:
    """From where to where an arrow leads along an axis, from one stretch of it to another."""
    if start + size <= other:
        return start + size + 2, other - 2
    if other + other_size <= start:
        return start - 2, other + other_size + 2
    middle = (max(start, other) + min(start + size, other + other_size)) / 2
    return middle, middle
