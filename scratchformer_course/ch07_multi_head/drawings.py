"""The drawings of chapter 7: two pairs with one middle, heads, their split, kinds of heads."""

import math

from scratchformer_course.kit.canvas import Drawing

LIGHT, DARK = 0.1, 0.45  # two heads side by side


def heads():
    """The idea: one input, three heads, their outputs side by side, one last matrix."""
    d = Drawing(420, 420)
    d.box(30, 8, 360, 34, "x  (T, C): every head reads all of it", "stream")
    asks = ("who is\nmeant?", "what is\ndone?", "the word\nbefore me?")
    maps = (  # of the old king sleeps
        [(0.01, 0.01, 0.96, 0.01)] * 4,
        [(0.01, 0.01, 0.01, 0.96)] * 4,
        ((1, 0, 0, 0), (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0)),
    )
    for i, (ask, weights) in enumerate(zip(asks, maps, strict=True)):
        x = 4 + i * 140
        d.arrow(x + 66, 42, x + 66, 66, "query")
        d.box(x, 66, 132, 156, "", "muted", fill=0.04)
        d.text(x + 66, 82, f"head {i + 1}", bold=True)
        d.texts(x + 66, 103, ask.split("\n"), down=18, colour="query")
        d.grid(x + 22, 133, weights, cell=21, colour="ink")
        d.arrow(x + 66, 222, 90 + i * 120, 258, "value")
        fill = LIGHT + 0.1 * i
        d.box(30 + i * 120, 258, 120, 34, f"(T, D) of head {i + 1}", "value", fill=fill)
    d.arrow(210, 292, 210, 320, "value")
    d.text(220, 305, "side by side: (T, C)", anchor="start")
    d.box(100, 320, 220, 34, "last matrix  W_o  (C, C)", "muted")
    d.arrow(210, 354, 210, 380, "stream")
    d.box(30, 380, 360, 34, "(T, C): every channel mixes all heads", "stream")
    return d.show(
        "From top to bottom. A bar x of shape (T, C) sends an arrow to each of three heads. Each "
        "has a question of its own and a map of four words, the old king sleeps. In the first map "
        "every row is dark at king, in the second one at sleeps, and in the third one at the word "
        "before. Each head gives an output of shape (T, D). The three are put side by side and "
        "make (T, C) again. A last matrix W_o mixes them."
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


KINDS = (  # what the heads of a real model look at: a letter, a colour, how opaque, and the words
    ("b", "key", 0.9, "the token before"),
    ("i", "token", 0.9, "itself"),
    ("n", "query", 0.9, "what came next last time"),
    ("s", "position", 0.9, "the same token earlier"),
    ("", "muted", 0.35, "the first token"),
    ("", "muted", 0.0, "none of these"),
)


def kinds(kind):
    """Heads of a model in a grid, coloured by what they look at. kind: (L, H), a place in KINDS."""
    rows = [[int(n) for n in row] for row in kind.T.tolist()]
    n_blocks, cell = len(rows[0]), 14.6
    d = Drawing(470, 288, size=13)
    for block in range(1, n_blocks + 1):
        if block == 1 or block % 5 == 0:
            d.text(30 + cell * (block - 0.5), 12, str(block))
    for head, row in enumerate(rows):
        y = 24 + cell * head
        d.text(16, y + cell / 2, str(head + 1))
        for block, n in enumerate(row):
            letter, colour, fill, _ = KINDS[n]
            d.grid(30 + cell * block, y, [[fill]], cell, colour)
            d.text(30 + cell * (block + 0.5), y + cell / 2, letter, bold=True)
    counts = [sum(row.count(n) for row in rows) for n in range(len(KINDS))]
    for n, (letter, colour, fill, words) in enumerate(KINDS):
        x, y = 30 + 230 * (n // 3), 186 + 34 * (n % 3)
        d.box(x, y, 26, 26, letter, colour, fill=fill)
        d.text(x + 36, y + 13, f"{words}: {counts[n]}", anchor="start")
    counted = ", ".join(f"{words} {n}" for (*_, words), n in zip(KINDS, counts, strict=True))
    return d.show(
        f"A grid of {n_blocks} columns, the blocks, and {len(rows)} rows, the heads. Each square "
        f"is coloured by what its head looks at: {counted}."
    )
