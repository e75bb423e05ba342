"""Chapter 9's drawings: the stream and its sublayers, the feed-forward network, norms, masks."""

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


def _plane(d, left, points, labels, signs, axes, unit, origin):
    """Axes, and a circle with + or − for each phrase; equal points share one circle."""
    x0, y0 = left + origin[0], origin[1]
    gap = 12 if (0, 0) in [tuple(p) for p in points] else 0  # a sign there must not be crossed
    for start, end in ((left + 6, x0 - gap), (x0 + gap, left + 212)):
        d.line([(start, y0), (end, y0)], "muted", width=1)
    d.line([(x0, 40), (x0, y0 - gap)], "muted", width=1)
    if not gap:
        d.line([(x0, y0), (x0, y0 + 98)], "muted", width=1)
    d.text(left + 212, y0 + 24, axes[0], "muted", anchor="end", size=13)
    d.text(x0, 27, axes[1], "muted", size=13)
    seen: dict[tuple, int] = {}
    for (px, py), label, sign in zip(points, labels, signs, strict=True):
        x, y = x0 + unit * px, y0 - unit * py
        place = (round(x), round(y))
        below = seen.get(place, 0)
        seen[place] = below + 1
        colour = "value" if sign > 0 else "key"
        if not below:
            d.circle(x, y, 12, colour, fill=0.25, text="+" if sign > 0 else "−", bold=True)
        high = y - 24 if (px, py) == (1, 0) else y + 24 + 18 * below
        side = 50 if (px, py) == (0, 1) else 0
        d.text(x + side, y if side else high, label, colour, size=13)


def fold(
    before: Sequence[Sequence[float]],
    after: Sequence[Sequence[float]],
    phrases: Sequence[str],
    wanted: Sequence[float],
):
    """The four phrases as points, before the bend (left) and after it (right)."""
    d = Drawing(470, 262)
    _plane(d, 0, before, phrases, wanted, ("turn", "mood"), 110, (106, 124))
    _plane(d, 252, after, phrases, wanted, ("hidden 1", "hidden 2"), 112, (52, 172))
    d.line([(284, 96), (388, 200)], "ink", dashed=True)
    d.arrow(214, 100, 250, 100)
    d.text(232, 84, "bend", size=13)
    d.text(106, 252, "no straight line", size=13)
    d.text(352, 252, "one straight line", size=13)
    return d.show(
        "Two planes with the four phrases as points. On the left they are the corners of a square, "
        "very good and not bad (plus) on one diagonal, not good and very bad (minus) on the other: "
        "no straight line parts plus from minus. On the right, after the bend, the two minus "
        "phrases lie together at the origin, very good lies to the right and not bad above: one "
        "dashed straight line parts them."
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


def _branch(d, x, y, name, norm_before):
    """A branch that leaves the stream at (x, y), passes its boxes and comes back to a plus."""
    d.line([(x, y), (x + 122, y)], "ink")
    top = y + 12
    if norm_before:
        d.arrow(x + 122, y, x + 122, top)
        d.box(x + 82, top, 80, 28, "norm", "muted", fill=0.2)
        d.arrow(x + 122, top + 28, x + 122, top + 44)
        top += 44
    else:
        d.arrow(x + 122, y, x + 122, top + 14)
        top += 14
    d.box(x + 66, top, 112, 30, name, "ink", fill=0.07)
    plus = y + 106
    d.line([(x + 122, top + 30), (x + 122, plus)], "ink")
    d.arrow(x + 122, plus, x + 13, plus)


def pre_and_post():
    """Pre-norm and post-norm side by side, read from top to bottom."""
    d = Drawing(470, 436)
    for left, title, pre in ((38, "pre-norm", True), (276, "post-norm", False)):
        d.text(left + 80, 16, title, bold=True, size=15)
        d.text(left, 44, "x", "stream", bold=True)
        ways = [(58, 400)] if pre else [(58, 202), (226, 368), (392, 404)]
        for top, bottom in ways:
            d.line([(left, top), (left, bottom)], "stream", width=4)
        d.arrow(left, 400, left, 430, "stream", width=4)
        for y, name in ((76, "attention"), (242, "feed-forward")):
            _branch(d, left, y, name, pre)
            d.plus(left, y + 106)
            if not pre:
                d.box(left - 32, y + 126, 64, 24, "norm", "muted", fill=0.2)
    return d.show(
        "Two blocks side by side, read from top to bottom, each a thick stream with two branches, "
        "attention and feed-forward, that come back to a plus sign on the stream. In the pre-norm "
        "block a norm stands at the beginning of each branch, and the stream itself runs from top "
        "to bottom without meeting one. In the post-norm block the norms stand on the stream, one "
        "after each plus sign."
    )


def _mask(d, x, y, causal, colour):
    """Four rows of squares: coloured where the position of a row may look."""
    d.grid(x, y, [[float(j <= i or not causal) for j in range(4)] for i in range(4)], 9, colour)


def _sublayer(d, left, y, name, pre, causal=None, colour="query"):
    """A sublayer and its plus from height `y` on, with its mask; returns where the next begins."""
    stream, middle, height = left + 26, left + 92, 30 if causal is None else 46
    top = y + (42 if pre else 16)
    plus = top + height + 16
    d.line([(stream, y), (middle, y), (middle, y + 9)], "ink")
    if pre:
        d.box(middle - 30, y + 9, 60, 22, "norm", "muted", fill=0.2, size=13)
    d.arrow(middle, top - (11 if pre else 8), middle, top)
    d.box(left + 38, top, 108, height, "", "ink", fill=0.07)
    words = middle if causal is None else left + 72
    lines = name.split("\n")
    d.texts(words, top + height / 2 - 8.5 * (len(lines) - 1), lines, down=17, size=13)
    if causal is not None:
        _mask(d, left + 105, top + 5, causal, colour)
    d.line([(middle, top + height), (middle, plus)], "ink")
    d.arrow(middle, plus, stream + 12, plus)
    d.plus(stream, plus, 11, 16)
    if pre:
        return plus + 24
    d.box(left + 2, plus + 16, 48, 22, "norm", "muted", fill=0.2, size=13)
    return plus + 52


def three_blocks():
    """The blocks of a decoder, an encoder, and a decoder that looks across at an encoder."""
    d = Drawing(470, 462)
    attention, cross, network = "attention", "cross-\nattention", "feed-forward"
    for left, name, kind, pre, layers in (
        (2, "GPT-2", "a decoder", True, [(attention, True), (network, None)]),
        (160, "BERT", "an encoder", False, [(attention, False), (network, None)]),
        (
            318,
            "translator",
            "a decoder that reads",
            False,
            [(attention, True), (cross, False), (network, None)],
        ),
    ):
        d.text(left + 76, 14, name, bold=True, size=15)
        d.text(left + 76, 36, kind, "muted", size=13)
        d.text(left + 8, 62, "x", "stream", bold=True)
        y, gaps = 72, []
        for sublayer, causal in layers:
            colour = "key" if sublayer == cross else "query"
            end = _sublayer(d, left, y, sublayer, pre, causal, colour)
            plus = end - (24 if pre else 52)
            gaps += (
                [(plus - 11, plus + 11)]
                if pre
                else [(plus - 11, plus + 11), (plus + 16, plus + 38)]
            )
            y = end
        start = 54
        for above, below in gaps:
            d.line([(left + 26, start), (left + 26, above)], "stream", width=4)
            start = below
        d.arrow(left + 26, start, left + 26, y + 18, "stream", width=4)
    return d.show(
        "Three blocks side by side, read from top to bottom, each a thick stream whose branches "
        "come back to a plus sign. GPT-2, a decoder: norms stand at the beginning of the branches, "
        "and the mask of attention is a staircase, so that each position looks at itself and its "
        "past. BERT, an encoder: norms stand on the stream after each plus, and all squares of "
        "the mask are coloured, so that every position looks everywhere. The translator's decoder: "
        "norms on the stream, a staircase, and between attention and feed-forward a third "
        "sublayer, cross-attention, whose squares are all coloured: it looks at the whole text "
        "that is read."
    )


def axes(words: Sequence[str], n_channels: int):
    """A table of positions and channels twice: one row shares a mean, or one column does."""
    d = Drawing(470, 236, size=13)
    cell, n_words = 26, len(words)
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
