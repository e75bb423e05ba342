"""Chapter 9's drawings: the stream and its sublayers, the feed-forward network, norms."""

from collections.abc import Sequence

from scratchformer_course.kit.canvas import Drawing


def road():
    """The residual stream of a block: two sublayers read from it and add to it."""
    d = Drawing(470, 232)
    y = 178
    d.text(14, y - 22, "x", "stream", bold=True, anchor="start")
    d.text(14, y + 24, "(T, C)", "stream", anchor="start", size=13)
    d.line([(14, y), (440, y)], "stream", width=4)
    d.arrow(440, y, 466, y, "stream", width=4)
    for left, name, does in (
        (62, "attention", "collects from\nother positions"),
        (262, "feed-forward", "computes on each\nposition alone"),
    ):
        d.box(left, 22, 150, 84, "", "ink", fill=0.07)
        d.text(left + 75, 42, name, bold=True, size=15)
        d.texts(left + 75, 66, does.split("\n"), down=20, size=13)
        d.arrow(left + 14, y - 2, left + 14, 107)
        d.text(left + 22, 142, "reads", "muted", anchor="start", size=13)
        d.arrow(left + 136, 107, left + 136, y - 14)
        d.text(left + 128, 142, "writes", "muted", anchor="end", size=13)
        d.plus(left + 136, y)
    d.text(198, y + 38, "x + attention(x)", "stream", size=13)
    d.text(390, y + 38, "x + both", "stream", size=13)
    return d.show(
        "A thick line, the stream x of shape (T, C), runs from left to right past two sublayers. "
        "An arrow leads from the line up to attention, which collects from other positions, and an "
        "arrow leads down again to a plus sign on the line. Then the same with the feed-forward "
        "network, which computes on each position alone. The line itself is never interrupted: "
        "each sublayer only adds to it."
    )


def rule(looks: Sequence[tuple[str, float]], bias: float, writes: tuple[str, float]):
    """One hidden number of a feed-forward network: what it looks for, its bend, what it writes."""
    d = Drawing(470, 176, size=13)
    d.text(60, 18, "the word", bold=True, size=15)
    d.text(216, 18, "hidden number", bold=True, size=15)
    d.text(404, 18, "the stream", bold=True, size=15)
    y0, middle = 52, 96
    for i, (name, weight) in enumerate(looks):
        y = y0 + 88 * i / max(1, len(looks) - 1)
        d.box(14, y - 14, 92, 28, name, "stream", fill=0.2)
        d.arrow(106, y, 160, middle + (y - middle) / 3)
        d.text(130, y + (-12 if y < middle else 22), f"× {weight:g}", mono=True)
    d.box(162, middle - 26, 108, 52, "", "ink", fill=0.07)
    d.text(216, middle - 9, f"sum − {-bias:g}", mono=True)
    d.line([(184, middle + 17), (216, middle + 17), (238, middle + 1)], "ink", width=2.5)
    d.text(216, middle + 44, "the bend", "muted")
    name, weight = writes
    d.arrow(270, middle, 350, middle)
    d.text(308, middle - 12, f"× {weight:g}", mono=True)
    d.box(352, middle - 14, 104, 28, f"adds to {name}", "stream", fill=0.2)
    names = " and ".join(f"{name} times {weight:g}" for name, weight in looks)
    return d.show(
        f"One hidden number, from left to right. It reads {names}, subtracts {-bias:g} from the "
        f"sum, and bends the result, so that nothing below 0 passes. What is left, times "
        f"{weight:g}, is added to {name}. It is a rule: what it looks for, and what it writes."
    )


def feed_forward(words: Sequence[str], d_model: int, d_ff: int):
    """The same small network above each word: wide in the middle, and no line between words."""
    d = Drawing(470, 300, size=13)
    for i, word in enumerate(words):
        x = 86 + 149 * i
        d.text(x, 20, word, "token", bold=True, size=15)
        d.arrow(x, 32, x, 56, "stream")
        d.box(x - 22, 58, 44, 26, d_model, "stream", fill=0.2)
        d.line([(x - 22, 84), (x - 64, 136)], "muted", width=1.2)
        d.line([(x + 22, 84), (x + 64, 136)], "muted", width=1.2)
        d.text(x, 112, "c_fc", mono=True)
        d.box(x - 64, 138, 128, 30, f"{d_ff}, bent by GELU", "ink", fill=0.07)
        d.line([(x - 64, 168), (x - 22, 220)], "muted", width=1.2)
        d.line([(x + 64, 168), (x + 22, 220)], "muted", width=1.2)
        d.text(x, 194, "c_proj", mono=True)
        d.box(x - 22, 222, 44, 26, d_model, "stream", fill=0.2)
        d.arrow(x, 250, x, 272, "stream")
    d.text(235, 288, "the same weights for every word, no arrow between words")
    return d.show(
        f"Three columns, one for each of the words {', '.join(words)}. In each a vector of "
        f"{d_model} numbers widens to {d_ff}, is bent by GELU there, and narrows to {d_model} "
        "again. The three columns have the same weights, and no arrow leads from one to "
        "another: the network works on each word alone."
    )


def axes(words: Sequence[str], n_channels: int):
    """A table of positions and channels twice: one row shares a mean, or one column does."""
    cell, n_words = 26, len(words)
    d = Drawing(470, 106 + cell * n_words, size=13)
    row, column = 1, 2
    by_row = [[float(t == row) for _ in range(n_channels)] for t in range(n_words)]
    by_column = [[float(c == column) for c in range(n_channels)] for _ in range(n_words)]
    width, height = cell * n_channels, cell * n_words
    for left, title, table, verdict in (
        (62, "norm over channels", by_row, "one position, alone"),
        (296, "norm over time", by_column, "all positions, later ones too"),
    ):
        middle = left + width / 2
        d.text(middle, 18, title, bold=True, size=15)
        d.text(middle, 44, "channels", "muted")
        d.grid(left, 58, table, cell, "stream")
        d.texts(left - 8, 58 + cell / 2, words, down=cell, colour="token", anchor="end")
        d.text(middle, 58 + height + 24, verdict)
    return d.show(
        "The same table twice, a row for each position and a column for each channel. On the left "
        "one row is coloured: the norm over channels takes the mean of one position, alone. On the "
        "right one column is coloured: the norm over time takes the mean of one channel over all "
        "positions, so the result of an early position depends on later ones."
    )
