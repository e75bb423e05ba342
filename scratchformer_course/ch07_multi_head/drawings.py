"""The drawings of chapter 7: two pairs with one middle, heads, their split, the last matrix."""

import math

from scratchformer_course.kit.canvas import Drawing

LIGHT, DARK = 0.1, 0.45  # two heads that stand beside each other


def heads():
    """The idea: one input, three heads, their outputs side by side, one last matrix."""
    d = Drawing(420, 452)
    d.box(30, 8, 360, 34, "x  (T, C): every head reads all of it", "stream")
    asks = ("my noun,\nor my verb?", "where is\nthe verb?", "the word\nbefore me?")
    noun, verb = (0.05, 0.05, 0.85, 0.05), (0.05, 0.05, 0.05, 0.85)
    maps = (  # of the old king sleeps
        (noun, noun, verb, noun),
        [(0.01, 0.01, 0.01, 0.96)] * 4,
        ((1, 0, 0, 0), (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0)),
    )
    for i, (ask, weights) in enumerate(zip(asks, maps, strict=True)):
        x = 4 + i * 140
        d.arrow(x + 66, 42, x + 66, 72, "query")
        d.box(x, 72, 132, 160, "", "muted", fill=0.04)
        d.text(x + 66, 88, f"head {i + 1}", bold=True)
        d.texts(x + 66, 110, ask.split("\n"), down=18, colour="query")
        d.grid(x + 22, 142, weights, cell=22, colour="ink")
        d.arrow(x + 66, 232, 90 + i * 120, 278, "value")
        fill = LIGHT + 0.1 * i
        d.box(30 + i * 120, 278, 120, 34, f"(T, D) of head {i + 1}", "value", fill=fill)
    d.arrow(210, 312, 210, 344, "value")
    d.text(220, 326, "side by side: (T, C)", anchor="start")
    d.box(100, 344, 220, 34, "last matrix  W_o  (C, C)", "muted")
    d.arrow(210, 378, 210, 408, "stream")
    d.box(30, 408, 360, 34, "(T, C): every channel mixes all heads", "stream")
    return d.show(
        "From top to bottom. A bar x of shape (T, C) sends an arrow to each of three heads. Each "
        "has a question of its own and a map of four words, the old king sleeps. In the first map "
        "king is dark in every row but its own, which is dark at sleeps; in the second one every "
        "row is dark at sleeps; in the third one every row is dark at the word before. Each head "
        "gives an output of shape (T, D). The three stand side by side and make (T, C) again. A "
        "last matrix W_o mixes them."
    )


def one_middle():
    """Two pairs of words as points of the plane, with arrows to the one middle of both."""
    d = Drawing(470, 250)
    unit, x0, y0 = 50, 34, 222
    for n in range(5):
        d.line([(x0, y0 - unit * n), (x0 + 2.5 * unit, y0 - unit * n)], "muted", width=0.5)
        d.text(x0 - 14, y0 - unit * n, str(n), "muted", size=13)
    for n in range(3):
        d.line([(x0 + unit * n, y0), (x0 + unit * n, y0 - 4.2 * unit)], "muted", width=0.5)
        d.text(x0 + unit * n, y0 + 16, str(n), "muted", size=13)
    middle = (x0 + unit, y0 - 2 * unit)
    pairs = (
        (("old", 2, 0, 9, -12), ("sleeps", 0, 4, 12, -11), "value"),
        (("young", 2, 2, 10, -12), ("rules", 0, 2, 4, 16), "stream"),
    )
    for *pair, colour in pairs:
        for name, a, b, right, down in pair:
            x, y = x0 + unit * a, y0 - unit * b
            far = math.hypot(middle[0] - x, middle[1] - y)
            step = (middle[0] - x) / far, (middle[1] - y) / far
            to = far - 8  # up to the edge of the middle
            d.arrow(x, y, x + to * step[0], y + to * step[1], colour, width=2.2)
            d.circle(x, y, 5, colour, fill=1)
            d.text(x + right, y + down, name, colour, anchor="start", bold=True)
    d.circle(*middle, 8, "ink", fill=0.3)
    d.text(middle[0] + 10, middle[1] - 18, "(1, 2)", anchor="start")
    blocks = (
        (16, "one head: the middle", "½ {} + ½ {} = (1, 2)"),
        (140, "two heads: side by side", "{} and {}"),
    )
    for y, title, shown in blocks:
        d.text(228, y, title, anchor="start", bold=True)
        for i, (*pair, colour) in enumerate(pairs):
            row = shown.format(*(f"({a}, {b})" for _, a, b, *_ in pair))
            d.box(228, y + 16 + 40 * i, 238, 32, row, colour)
    return d.show(
        "A plane with four words as points. Arrows lead from old at (2, 0) and from sleeps at "
        "(0, 4) to the point halfway between them, (1, 2). Arrows from young at (2, 2) and from "
        "rules at (0, 2) lead to the same point. So one head, which returns the middle, gives "
        "(1, 2) for both pairs. Two heads set both words side by side, and the pairs differ."
    )


def last_matrix():
    """Three heads side by side meet rows of W_o, each its own; the parts are added."""
    d = Drawing(432, 176, size=13)
    d.text(77, 14, "heads side by side", bold=True)
    d.text(218, 14, "W_o  (C, C)", bold=True)
    d.text(352, 14, "sum of parts  (T, C)", bold=True)
    for h in range(3):
        fill, y = LIGHT + 0.1 * h, 36 + 46 * h
        d.box(2 + 50 * h, 82, 50, 34, f"head {h + 1}", "value", fill=fill)
        d.box(174, y, 88, 42, f"rows of {h + 1}", "muted")
        d.box(288, y, 126, 42, f"head {h + 1} @ its rows", "stream")
    d.text(163, 99, "@", size=16, bold=True)
    d.text(275, 99, "=", size=16, bold=True)
    d.texts(423, 80, "++", down=46, size=16, bold=True)
    return d.show(
        "Left: three boxes side by side, head 1, head 2 and head 3. Middle: the matrix W_o, cut "
        "into three groups of rows, one for each head. Right: three parts, each head times its own "
        "rows, with plus signs: they are added."
    )


def split_and_swap():
    """One text of three words and six channels, cut for two heads."""
    d = Drawing(414, 208)
    d.text(110, 20, "(T, C)", bold=True)
    d.text(110, 42, "3 words, 6 channels", size=13)
    d.arrow(194, 97, 274, 97)
    d.text(238, 78, "cut C in two,", size=13)
    d.text(238, 116, "swap T and H", size=13)
    d.text(367, 12, "(H, T, D)", bold=True)
    for t in range(3):
        d.text(16, 71 + 26 * t, f"t={t}", "muted", size=13)
        for c in range(6):
            h, number = c // 3, str(6 * t + c)
            fill = (LIGHT, DARK)[h]
            x, y = 328 + 26 * (c % 3), 26 + 90 * h + 26 * t
            d.box(34 + 26 * c, 58 + 26 * t, 26, 26, number, "value", fill=fill, size=13)
            d.box(x, y, 26, 26, number, "value", fill=fill, size=13)
    d.texts(301, 65, ("head 1", "head 2"), down=90, colour="muted", size=13)
    return d.show(
        "A table of three words with six channels each, numbered row by row. An arrow leads to two "
        "tables of three rows and three channels. The first one holds channels 0, 1 and 2 of every "
        "word, the second one the rest."
    )
