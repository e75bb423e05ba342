"""Chapter 14's drawings: both stacks, three masks, cross-attention, the block, maps, teachers."""

from collections.abc import Sequence

from scratchformer_course.kit.canvas import Drawing


def _words(d, left, step, y, words, colours):
    """A row of boxes with words; returns the middle of each."""
    middles = [left + step * (i + 0.5) for i in range(len(words))]
    for x, word, colour in zip(middles, words, colours, strict=True):
        d.box(x - step / 2 + 2, y, step - 4, 28, word, colour, size=13)
    return middles


def whole(source: Sequence[str], target: Sequence[str]):
    """Both stacks: the source is read on the left, the target written on the right."""
    d = Drawing(480, 372, size=13)
    left, right, wide = 250, 288, 190  # the encoder's width; the decoder's start and width
    d.text(left / 2, 18, "encoder", bold=True, size=15)
    d.text(right + wide / 2, 18, "decoder", bold=True, size=15)

    step = left / len(source)
    middles = _words(d, 0, step, 318, source, ["token"] * len(source))
    for x in middles:
        d.arrow(x, 316, x, 292, "stream")
        d.arrow(x, 230, x, 206, "stream")
        d.box(x - step / 2 + 4, 176, step - 8, 28, "", "stream", fill=0.3)
    d.box(2, 232, left - 4, 58, "self-attention: all words\nfeed-forward", fill=0.07)
    d.text(left / 2, 358, "source", "muted")
    d.text(left / 2, 156, "memory (S, C)", "stream")
    d.arrow(left + 2, 190, right - 2, 190, "value", width=2.4)
    d.text((left + right) / 2, 172, "k, v", "value")

    step = wide / len(target)
    written = ["⊢", *target[:-1]]
    middles = _words(d, right, step, 318, written, ["muted", *["token"] * (len(target) - 1)])
    nexts = _words(d, right, step, 62, target, ["token"] * len(target))
    for x, up in zip(middles, nexts, strict=True):
        d.arrow(x, 316, x, 276, "stream")
        d.arrow(x, 240, x, 214, "query" if x == middles[-1] else "stream")
        d.arrow(x, 172, x, 150, "stream")
        d.arrow(up, 114, up, 92, "stream")
    d.box(right + 2, 242, wide - 4, 32, "self-attention: the past", fill=0.07)
    d.box(right + 2, 174, wide - 4, 38, "cross-attention", "query", fill=0.2, bold=True, size=14)
    d.box(right + 2, 116, wide - 4, 32, "feed-forward", fill=0.07)
    d.text(middles[-1] - 8, 227, "q", "query", anchor="end")
    d.text(right + wide / 2, 46, "next words", "muted")
    d.text(right + wide / 2, 358, "written so far", "muted")
    return d.show(
        f"Two stacks. Left, the encoder: the source {' '.join(source)} goes up through "
        "self-attention over all words and feed-forward, and becomes the memory of shape (S, C), "
        "one vector for each source word and one for the end. Right, the decoder: the words "
        "written so far go up through self-attention over the past, cross-attention and "
        f"feed-forward, and give the next words {' '.join(target)}. One arrow joins the stacks: "
        "keys and values come from the memory into the cross-attention, where the decoder's "
        "queries meet them."
    )


def _headings(d, x, y, words, step, anchor, **lettering):
    """Column names, turned by 90 degrees, but for the signs, which keep their shape."""
    for i, word in enumerate(words):
        if len(word) > 1:
            d.text(x + step * i, y, word, turn=-90, anchor=anchor, **lettering)
        else:
            d.text(x + step * i, y + (7 if anchor == "end" else -7), word, **lettering)


def _mask(d, left, top, table, rows, columns, title, colour, cell):
    height = cell * len(table)
    d.text(left + cell * len(table[0]) / 2, 16, title, bold=True, size=14)
    d.grid(left, top, table, cell, colour)
    style = {"colour": "token", "size": 15}
    d.texts(left - 6, top + cell / 2, rows, down=cell, anchor="end", **style)
    _headings(d, left + cell / 2, top + height + 6, columns, cell, "end", **style)


def masks(
    encoder: Sequence[Sequence[float]],
    decoder: Sequence[Sequence[float]],
    cross: Sequence[Sequence[float]],
    source: Sequence[str],
    target: Sequence[str],
):
    """The three masks of one pair side by side; a coloured square may be looked at."""
    d = Drawing(478, 196)
    cell = 22
    _mask(d, 40, 32, encoder, source, source, "encoder", "query", cell)
    _mask(d, 194, 32, decoder, target, target, "decoder", "query", cell)
    _mask(d, 376, 32, cross, target, source, "cross", "key", cell)
    return d.show(
        "Three grids, coloured where a row may look at a column. Encoder: rows and columns are "
        f"the source {' '.join(source)}; every row is coloured up to the padding. Decoder: rows "
        f"and columns are the target {' '.join(target)}; a staircase, without the padding. Cross: "
        f"a rectangle. Its {len(target)} rows are the target, its {len(source)} columns the "
        "source; every row is coloured up to the padding of the source, and there is no staircase."
    )


def block():
    """The decoder block: three sublayers add to the stream, the second reads the memory."""
    d = Drawing(478, 250)
    y, start = 206, 4
    d.text(4, y - 26, "x", "stream", bold=True, anchor="start")
    d.text(4, y + 30, "(T, C)", "stream", anchor="start", size=15)
    for left, name, colour in (
        (22, "masked\nself-attention", "ink"),
        (170, "cross-\nattention", "query"),
        (318, "feed-\nforward", "ink"),
    ):
        plus = left + 88
        d.line([(start, y), (plus - 12, y)], "stream", width=4)
        d.line([(plus + 12, y), (plus + 22, y)], "stream", width=4)
        fill = 0.2 if colour == "query" else 0.07
        d.box(left, 92, 106, 54, name, colour, fill=fill, size=15)
        d.arrow(left + 16, y - 2, left + 16, 148, colour)
        d.arrow(plus, 146, plus, y - 14)
        d.plus(plus, y, 12)
        d.box(plus + 22, y - 13, 38, 26, "norm", "muted", fill=0.2, size=13)
        start = plus + 60
    d.arrow(start, y, 478, y, "stream", width=4)
    d.box(163, 12, 120, 30, "memory (S, C)", "stream", fill=0.3, size=15)
    d.arrow(223, 44, 223, 90, "value", width=2.4)
    d.text(232, 66, "k, v", "value", anchor="start", size=15)
    d.text(194, 176, "q", "query", anchor="start", size=15)
    d.texts(75, 60, ("reads the past", "of the target"), down=18, colour="muted", size=13)
    d.text(371, 78, "each position alone", "muted", size=13)
    return d.show(
        "A thick line, the target's stream x of shape (T, C), runs from left to right. Three "
        "sublayers are above it: masked self-attention, which reads the past of the target; "
        "cross-attention; and the feed-forward network, which works on each position alone. Each "
        "reads from the line and comes back to a plus sign on it, and a norm follows each plus. "
        "Only cross-attention has a second input: keys and values come down from the memory of "
        "shape (S, C). Its queries come from the line."
    )


def across(T: int, S: int):
    """Cross-attention of one head in shapes: queries from the target, the rest from the memory."""
    d = Drawing(478, 278)
    cell, x_top, memory_top = 14, 34, 150
    shade = [0.5, 0.3, 0.6]

    def table(left, top, n, m, colour, name, below):
        rows = [[shade[(2 * i + j) % 3] for j in range(m)] for i in range(n)]
        d.grid(left, top, rows, cell, colour)
        d.text(left + cell * m / 2, top - 12, name, colour, bold=True, size=15)
        d.text(left + cell * m / 2, top + cell * n + 14, below, "muted", size=15)

    table(20, x_top, T, 4, "stream", "x", "(T, C)")
    table(128, x_top, T, 2, "query", "q", "(T, D)")
    table(20, memory_top, S, 4, "stream", "memory", "(S, C)")
    table(128, memory_top, S, 2, "key", "k", "")
    table(164, memory_top, S, 2, "value", "v", "")
    d.text(160, memory_top + cell * S + 14, "(S, D) each", "muted", size=15)
    weights = [[0.85 if j == (5 * i + 1) % S else 0.08 for j in range(S)] for i in range(T)]
    d.grid(268, x_top, weights, cell, "query")
    d.text(268 + cell * S / 2, x_top - 12, "weights", "query", bold=True, size=15)
    d.text(268 + cell * S / 2, x_top + cell * T + 14, "(T, S)", "muted", size=15)
    table(420, x_top, T, 2, "value", "mixed", "(T, D)")
    middle = x_top + cell * T / 2
    d.arrow(82, middle, 122, middle)
    d.arrow(82, memory_top + 42, 122, memory_top + 42)
    d.arrow(162, middle, 262, middle, "query")
    d.arrow(144, memory_top - 22, 264, middle + 16, "key")
    d.arrow(270 + cell * S, middle, 414, middle, "query")
    d.arrow(198, memory_top + 42, 418, middle + 24, "value", bend=-26)
    return d.show(
        f"Cross-attention in shapes. The target's stream x, ({T}, C), gives queries of shape (T, "
        f"D). The memory, ({S}, C), gives keys and values of shape (S, D). Queries and keys meet "
        "in the weights, a table of T rows and S columns that is not square. The weights mix the "
        "values to one vector for each target position."
    )


def reads(columns: Sequence[str], panels: Sequence[tuple]):
    """Maps above one another over the same columns: which words each row reads.

    A panel is (rows, weights) or (rows, weights, first, traced): its weights begin at the column
    `first`, and from the row `traced` on a line joins the largest of each row.
    """
    cell, left, top = 27, 74, 60
    height = sum(top + cell * len(rows) + 8 for rows, *_ in panels)
    d = Drawing(left + cell * len(columns) + 8, height)
    y, parts = 0, []
    for rows, weights, *more in panels:
        first, traced = more or (0, len(rows))
        x, y = left + cell * first, y + top
        _headings(d, x + cell / 2, y - 6, columns[first:], cell, "start")
        d.texts(left - 8, y + cell / 2, rows, down=cell, colour="token", anchor="end")
        d.grid(x, y, weights, cell, "key")
        most = [row.index(max(row)) for row in weights]
        way = [(x + cell * (s + 0.5), y + cell * (t + 0.5)) for t, s in enumerate(most)][traced:]
        if way:
            d.line(way, "query", width=3)
        for dot in way:
            d.circle(*dot, 4, "query", fill=1)
        for row, shares in zip(rows, weights, strict=True):
            tops = [s for s, w in enumerate(shares, first) if w > 0.99 * max(shares)]
            parts.append(f"{row} {' and '.join(columns[s] for s in tops)}")
        y += cell * len(rows) + 8
    return d.show(
        "A map with a row for each German word and a column for each English one, dark where the "
        "row reads the column. Each German word and what it reads most: " + ", ".join(parts)
    )


def two_ways(right: Sequence[str], taught: Sequence[str], alone: Sequence[str]):
    """What a decoder reads and says with a teacher, and alone; wrong words are dashed."""
    d = Drawing(480, 226, size=13)
    left, tall = 42, 28
    step = (d.width - left) / len(right)
    for top, title, says in (
        (0, "With a teacher it reads the correct words.", taught),
        (122, "Alone it reads what it has written.", alone),
    ):
        reads = ["⊢", *(right if says is taught else says)][: len(right)]
        d.text(0, top + 8, title, anchor="start", bold=True)
        upper, lower = top + 22, top + 74
        d.text(0, upper + tall / 2, "says", "muted", anchor="start")
        d.text(0, lower + tall / 2, "reads", "muted", anchor="start")
        for t, (read, spoken, word) in enumerate(zip(reads, says, right, strict=True)):
            x, is_wrong = left + step * (t + 0.5), spoken != word
            d.box(x - step / 2 + 2, lower, step - 4, tall, read, "token")
            colour = "key" if is_wrong else "token"
            d.box(x - step / 2 + 2, upper, step - 4, tall, spoken, colour, dashed=is_wrong)
            d.arrow(x - 8, lower - 2, x - 8, upper + tall + 2, "stream")
            if says is alone and t + 1 < len(right):
                d.arrow(x + 8, upper + tall + 2, x + step - 18, lower - 2, "query")
    return d.show(
        f"Two decoders that have to say {' '.join(right)}. With a teacher it reads the correct "
        f"words and says {' '.join(taught)}. Alone it reads what it has written, and says "
        f"{' '.join(alone)}. Words that differ from the correct one at their position are dashed."
    )
