"""The drawings of chapter 7: two pairs with one middle, heads, their split, and their worth."""

import math
from collections.abc import Mapping, Sequence

from scratchformer_course.kit.canvas import Drawing, drawing

LIGHT, DARK = 0.1, 0.45  # two heads side by side


@drawing(420, 420)
def heads(d):
    """From top to bottom. A bar x of shape (T, C) sends an arrow to each of three heads. Each has a
    question of its own and a map of four words, the old king sleeps. In the first map every row is
    dark at king, in the second one at sleeps, and in the third one at the word before. Each head
    gives an output of shape (T, D). The three are put side by side and make (T, C) again. A last
    matrix W_o mixes them.
    """
    d.box(30, 8, 360, 34, "x  (T, C): every head reads all of it", "stream")
    for i, (asks, weights) in enumerate(  # weights of the old king sleeps
        (
            (("who is", "meant?"), [(0.01, 0.01, 0.96, 0.01)] * 4),
            (("what is", "done?"), [(0.01, 0.01, 0.01, 0.96)] * 4),
            (("the word", "before me?"), ((1, 0, 0, 0), (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0))),
        )
    ):
        x, head = 4 + i * 140, f"head {i + 1}"
        d.arrow(x + 66, 42, x + 66, 66, "query")
        d.box(x, 66, 132, 156, "", "muted", 0.04)
        d.text(x + 66, 82, head, bold=True)
        d.texts(x + 66, 103, asks, down=18, colour="query")
        d.grid(x + 22, 133, weights, cell=21)
        d.arrow(x + 66, 222, 90 + i * 120, 258, "value")
        d.box(30 + i * 120, 258, 120, 34, f"(T, D) of {head}", "value", LIGHT + 0.1 * i)
    d.box(100, 320, 220, 34, "last matrix  W_o  (C, C)", "muted")
    d.box(30, 380, 360, 34, "(T, C): every channel mixes all heads", "stream")
    d.arrow(210, 292, 210, 320, "value")
    d.arrow(210, 354, 210, 380, "stream")
    d.text_from(220, 305, "side by side: (T, C)")


@drawing(470, 250)
def one_middle(d):
    """A plane with four words as points. Arrows lead from old at (2, 0) and from sleeps at (0, 4)
    to the point halfway between them, (1, 2). Arrows from young at (2, 2) and from rules at (0, 2)
    lead to the same point. So one head, which returns the middle, gives (1, 2) for both pairs. Two
    heads set both words side by side, and the pairs differ.
    """
    unit, x0, y0 = 50, 34, 222
    for n in range(5):
        y = y0 - unit * n
        d.line([(x0, y), (x0 + 2.5 * unit, y)], "muted", width=0.5)
        d.text(x0 - 14, y, n, "muted", size=13)
    for n in range(3):
        x = x0 + unit * n
        d.line([(x, y0), (x, y0 - 4.2 * unit)], "muted", width=0.5)
        d.text(x, y0 + 16, n, "muted", size=13)
    for name, a, b, right, down, colour in (
        ("old", 2, 0, 9, -12, "value"),
        ("sleeps", 0, 4, 12, -11, "value"),
        ("young", 2, 2, 10, -12, "stream"),
        ("rules", 0, 2, 4, 16, "stream"),
    ):
        x, y, far = x0 + unit * a, y0 - unit * b, math.hypot(1 - a, 2 - b)
        to = unit - 8 / far  # the arrow ends at the edge of the middle
        d.arrow(x, y, x + to * (1 - a), y - to * (2 - b), colour, width=2.2)
        d.circle(x, y, 5, colour, fill=1)
        d.text_from(x + right, y + down, name, colour, bold=True)
    d.circle(x0 + unit, y0 - 2 * unit, 8, fill=0.3)
    d.text_from(x0 + unit + 10, y0 - 2 * unit - 18, "(1, 2)")
    d.text_from(228, 16, "one head: the middle", bold=True)
    d.text_from(228, 140, "two heads: side by side", bold=True)
    for y, words, colour in (
        (32, "½ (2, 0) + ½ (0, 4) = (1, 2)", "value"),
        (72, "½ (2, 2) + ½ (0, 2) = (1, 2)", "stream"),
        (156, "(2, 0) and (0, 4)", "value"),
        (196, "(2, 2) and (0, 2)", "stream"),
    ):
        d.box(228, y, 238, 32, words, colour)


@drawing(414, 208, size=13)
def split_and_swap(d):
    """A table of three words with six channels each, numbered row by row. An arrow leads to two
    tables of three rows and three channels. The first one holds channels 0, 1 and 2 of every word,
    the second one the rest.
    """
    table = [range(6 * t, 6 * t + 6) for t in range(3)]
    halves = [("value", fill) for fill in [LIGHT] * 3 + [DARK] * 3]
    d.text(110, 20, "(T, C)", size=14, bold=True)
    d.text(110, 42, "3 words, 6 channels")
    d.texts(16, 71, ("t=0", "t=1", "t=2"), down=26, colour="muted")
    d.cells(34, 58, table, (26, 26), halves)
    d.arrow(194, 97, 274, 97)
    d.texts(238, 78, ("cut C in two,", "swap T and H"), down=38)
    d.text(367, 12, "(H, T, D)", size=14, bold=True)
    for h in (0, 1):
        part = slice(3 * h, 3 * h + 3)
        d.cells(328, 26 + 90 * h, [row[part] for row in table], (26, 26), halves[part])
    d.texts(301, 65, ("head 1", "head 2"), down=90, colour="muted")


def worth(rises: Mapping[tuple[int, int], float], apart: Sequence[tuple[int, int]]):
    """How far the loss rises without each head of `apart`, and without the others, end to end."""
    d, left, unit = Drawing(420, 104, size=14), 100, 235
    others = {head: max(0.0, rise) for head, rise in rises.items() if head not in apart}
    told = []
    for i, head in enumerate(apart):
        name, y = f"head {head[0]}.{head[1]}", 4 + 34 * i
        d.text_to(left - 10, y + 13, name, bold=True)
        d.box(left, y, round(unit * rises[head]), 26, "", "stream", DARK)
        d.text_from(left + round(unit * rises[head]) + 8, y + 13, f"{rises[head]:.2f}")
        told.append(f"{name} {rises[head]:.2f}")
    x, y = float(left), 4 + 34 * len(apart)
    d.text_to(left - 10, y + 13, "the others", bold=True)
    for rise in sorted(others.values(), reverse=True):
        d.box(round(x), y, max(1, round(unit * rise)), 26, "", "value", LIGHT + 0.1)
        x += unit * rise
    total = sum(rises[head] for head in others)
    d.text_from(round(x) + 10, y + 13, f"{total:.2f}")
    return d.show(
        f"Bars for the rise of the loss, in nats: {', '.join(told)}, and {len(others)} short ones "
        f"for the other heads, end to end, which together reach {total:.2f}."
    )
