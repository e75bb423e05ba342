"""Chapter 9's drawings: the stream and its sublayers, the feed-forward network, norms."""

from collections.abc import Sequence

from scratchformer_course.kit.canvas import Drawing, drawing


@drawing(470, 232, size=13)
def road(d):
    """A thick line, the stream x of shape (T, C), runs from left to right past two sublayers. An
    arrow leads from the line up to attention, which collects from other positions, and an arrow
    leads down again to a plus sign on the line. Then the same with the feed-forward network, which
    computes on each position alone. The line itself is never interrupted: each sublayer only adds
    to it.
    """
    y = 178
    d.text_from(14, y - 22, "x", "stream", size=14, bold=True)
    d.text_from(14, y + 24, "(T, C)", "stream")
    d.arrow(14, y, 466, y, "stream", width=4)
    for left, name, does in (
        (62, "attention", ("collects from", "other positions")),
        (262, "feed-forward", ("computes on each", "position alone")),
    ):
        d.box(left, 22, 150, 84, "", "ink", 0.07)
        d.text(left + 75, 42, name, bold=True, size=15)
        d.texts(left + 75, 66, does, down=20)
        d.arrow(left + 14, y - 2, left + 14, 107)
        d.text_from(left + 22, 142, "reads", "muted")
        d.arrow(left + 136, 107, left + 136, y - 14)
        d.text_to(left + 128, 142, "writes", "muted")
        d.plus(left + 136, y)
    d.texts(198, y + 38, ("x + attention(x)", "x + both"), right=192, colour="stream")


def rule(looks: Sequence[tuple[str, float]], bias: float, writes: tuple[str, float]):
    """One hidden number of a feed-forward network: what it looks for, its bend, what it writes."""
    d, middle = Drawing(470, 176, size=13), 96
    for x, title in ((60, "the word"), (216, "hidden number"), (404, "the stream")):
        d.text(x, 18, title, bold=True, size=15)
    for i, (name, weight) in enumerate(looks):
        y = 52 + 88 * i / max(1, len(looks) - 1)
        d.box(14, y - 14, 92, 28, name, "stream", 0.2)
        d.arrow(106, y, 160, middle + (y - middle) / 3)
        d.text(130, y + (-12 if y < middle else 22), f"× {weight:g}", mono=True)
    d.box(162, middle - 26, 108, 52, "", "ink", 0.07)
    d.text(216, middle - 9, f"sum − {-bias:g}", mono=True)
    d.line([(184, middle + 17), (216, middle + 17), (238, middle + 1)], "ink", width=2.5)
    d.text(216, middle + 44, "the bend", "muted")
    name, weight = writes
    d.arrow(270, middle, 350, middle)
    d.text(308, middle - 12, f"× {weight:g}", mono=True)
    d.box(352, middle - 14, 104, 28, f"adds to {name}", "stream", 0.2)
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
        for top, end, name, name_y in ((58, 84, "c_fc", 112), (222, 220, "c_proj", 194)):
            d.box(x - 22, top, 44, 26, d_model, "stream", 0.2)
            for side in (-1, 1):
                wide_end = 136 if top < 100 else 168
                d.line([(x + 22 * side, end), (x + 64 * side, wide_end)], "muted", width=1.2)
            d.text(x, name_y, name, mono=True)
        d.box(x - 64, 138, 128, 30, f"{d_ff}, bent by GELU", "ink", 0.07)
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
    height, middle = cell * n_words, cell * n_channels / 2
    one_row = [[t == 1] * n_channels for t in range(n_words)]
    one_column = [[c == 2 for c in range(n_channels)]] * n_words
    for left, title, table, verdict in (
        (62, "norm over channels", one_row, "one position, alone"),
        (296, "norm over time", one_column, "all positions, later ones too"),
    ):
        d.text(left + middle, 18, title, bold=True, size=15)
        d.text(left + middle, 44, "channels", "muted")
        d.grid(left, 58, table, cell, "stream")
        d.texts(left - 8, 58 + cell / 2, words, down=cell, colour="token", anchor="end")
        d.text(left + middle, 82 + height, verdict)
    return d.show(
        "The same table twice, a row for each position and a column for each channel. On the left "
        "one row is coloured: the norm over channels takes the mean of one position, alone. On the "
        "right one column is coloured: the norm over time takes the mean of one channel over all "
        "positions, so the result of an early position depends on later ones."
    )
