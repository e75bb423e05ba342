"""The drawings of the chapter on rotary positions: a table of tries, arrows, dials, heads."""

import math
from collections.abc import Mapping, Sequence

import torch

from scratchformer_course.kit.canvas import drawing


def _tip(x, y, radius, angle) -> tuple[float, float]:
    """The point `radius` from (x, y), counter-clockwise by `angle` radians (y points down)."""
    return x + radius * math.cos(angle), y - radius * math.sin(angle)


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


@drawing(470, 330)
def heads(d):
    """A chart of attention. From x come query, key and value, each of shape B, H, T, D. The query
    and the key pass through a box called turn by position, and meet in the scores. The value goes
    past that box, straight to the last step, where the weights mix the values. So positions change
    the weights and nothing else.
    """
    d.box(175, 6, 120, 34, "x  (B, T, C)", "stream")
    for x, name in ((76, "query"), (235, "key"), (394, "value")):
        d.arrow(235, 40, x, 76)
        d.box(x - 56, 78, 112, 40, f"{name}\n(B, H, T, D)", name)
    for x, name, end in ((76, "query", 135), (235, "key", 180)):
        d.arrow(x, 118, x, 148, name)
        d.box(x - 56, 150, 112, 34, "turn by\nposition", "position")
        d.arrow(x, 184, end, 220, name)
    d.flow(
        [
            (76, 222, 160, 34, "scores (B, H, T, T)"),
            (76, 286, 374, 36, "weights @ values  (B, H, T, D)", "value"),
        ]
    )
    d.arrow(394, 118, 394, 284, "value")
    d.text_to(386, 200, "not turned", "value")
    d.text_from(164, 270, "softmax")


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
