"""The drawings of the chapter on rotary positions: a table of tries, four parts, arrows, dials."""

import math
from collections.abc import Mapping, Sequence

import torch

from scratchformer_course.kit.canvas import drawing


def _tip(x, y, radius, angle) -> tuple[float, float]:
    """The point `radius` from (x, y), counter-clockwise by `angle` radians (y points down)."""
    return x + radius * math.cos(angle), y - radius * math.sin(angle)


@drawing(470, 232)
def four_parts(d, parts: Sequence[Sequence[float]]):
    """A table of two by two. The rows are the two things added in the query, the word king and its
    position m; the columns are the two added in the key, the word old and its position n. Each box
    has the same part of the score at three pairs of positions. King with old contains no position,
    and its three numbers are equal. King with n contains n alone, and m with old contains m alone:
    their numbers change. Only m with n contains both positions; its numbers change as well.
    """
    left, top, width, height = 106, 58, 176, 74
    looks = (
        ("knows no position", "token", 0.14, False),
        ("knows n alone", "muted", 0.06, True),
        ("knows m alone", "muted", 0.06, True),
        ("knows both", "position", 0.2, False),
    )
    d.text(left + width + 4, 12, "key", "key", bold=True)
    d.texts(left + width / 2, 38, ("the word old", "position n"), right=width + 8, bold=True)
    d.text(12, top + height + 4, "query", "query", turn=-90, bold=True)
    for row, lines in enumerate((("the word", "king"), ("position", "m"))):
        d.texts(64, top + height / 2 - 9 + (height + 8) * row, lines, down=18, bold=True)
    for i, ((title, colour, fill, dashed), numbers) in enumerate(
        zip(looks, zip(*parts, strict=True), strict=True)
    ):
        x, y = left + (width + 8) * (i % 2), top + (height + 8) * (i // 2)
        d.box(x, y, width, height, "", colour, fill, dashed)
        d.text(x + width / 2, y + 22, title, bold=True)
        shown = [f"{number:.2f}".replace("-", "−") for number in numbers]
        d.texts(x + width / 2 - 56, y + 50, shown, right=56)


@drawing(470, 212)
def turned_pair(d, a: float, b: float, angle: float):
    """Two coordinate systems. On the left the arrow (a, b) is a steps along the unit arrow (1, 0)
    and then b steps along the unit arrow (0, 1). On the right everything is turned by the angle
    theta: the unit arrows now end in (cos theta, sin theta) and in (minus sin theta, cos theta),
    and the arrow is still a steps along the first and b along the second. Its new numbers are asked
    for.
    """
    unit, y = 58, 178
    for x, turn, title, name in (
        (40, 0.0, "before", "(a, b)"),
        (290, angle, "after the turn", "?"),
    ):
        (x1, y1), (x2, y2) = _tip(0, 0, unit, turn), _tip(0, 0, unit, turn + math.pi / 2)

        def at(steps, more, x=x, x1=x1, y1=y1, x2=x2, y2=y2) -> tuple[float, float]:
            """The point so many steps along the first unit arrow, and more along the second."""
            return x + steps * x1 + more * x2, y + steps * y1 + more * y2

        tip = at(a, b)
        d.line([(x, y), at(a, 0), tip], "muted", dashed=True)
        d.arrow(x, y, *tip, "query", width=2.8)
        d.arrow(x, y, *at(1, 0), width=2.2)
        d.arrow(x, y, *at(0, 1), width=2.2)
        d.text(x + 60, 16, title, size=15, bold=True)
        d.text(*at(a - 0.3, -0.22), "a", size=15)
        d.text(*at(a + 0.2, b / 2), "b", size=15)
        if turn:
            d.line([_tip(x, y, 34, turn * i / 24) for i in range(25)], "position", width=2.5)
            d.text(*_tip(x, y, 48, turn / 2), "θ", "position", size=16)
            d.text_from(x + x1 + 12, y + y1 + 16, "(cos θ, sin θ)")
            d.text(x + x2 + 2, y + y2 - 14, "(−sin θ, cos θ)")
        else:
            d.text(x + unit, y + 18, "(1, 0)")
            d.text_from(x - 8, y - unit - 14, "(0, 1)")
        d.text(tip[0], tip[1] - 14, name, "query", size=16, bold=True)


@drawing(470, 288)
def dials(d, speeds: list[float], places: list[int]):
    """A table of dials. Each row is a pair of channels, each column a position. The hand of the
    first pair goes round many times, that of the second more slowly, and the hand of the last pair
    has hardly left its start at position 100. Fast hands tell near positions apart, and slow hands
    far ones.
    """
    step = 61
    times = [f"t = {place}" for place in places]
    d.texts(132, 14, times, right=step, colour="position")
    for row, speed in enumerate(speeds):
        y = 62 + 62 * row
        d.text_from(4, y - 9, f"pair {row}", bold=True)
        d.text_from(4, y + 11, f"speed {speed:g}")
        for column, place in enumerate(places):
            x = 132 + step * column
            d.circle(x, y, 26, "muted", fill=0)
            d.line([(x, y), (x + 26, y)], "muted", dashed=True, width=1.2)
            d.arrow(x, y, *_tip(x, y, 24, place * speed), "query", width=2.4)


SAME = 0.1  # scores closer than this count as the same


def verdict(scores: torch.Tensor) -> bool:
    """Whether all scores but the last are the same, and the last differs; never with a nan."""
    *moved, other = scores.tolist()
    same = max(moved) - min(moved) < SAME
    return bool(scores.isfinite().all()) and same and abs(other - moved[0]) > SAME


def show_tries(moves: Sequence[tuple[int, int]], tries: Mapping[str, torch.Tensor]) -> None:
    """Print the scores of each try, a column for each pair of positions (query, key)."""
    for word, side in (("king", 0), ("old", 1)):
        print(f"{word:6}" + "".join(f"{move[side]:9,}" for move in moves))
    for name, scores in tries.items():
        row = "".join(f"{score:9.3g}" for score in scores.tolist())
        print(f"{name:6}{row} {'holds' if verdict(scores) else 'fails'}")
