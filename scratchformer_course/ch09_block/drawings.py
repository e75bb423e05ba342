"""Chapter 9's drawings: the stream and its sublayers, the feed-forward network, norms."""

from scratchformer_course.kit.canvas import drawing


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


@drawing(470, 300, size=13)
def feed_forward(d):
    """Three columns, one for each of the words old, king, sleeps. In each a vector of 32 numbers
    widens to 128, is bent by GELU there, and narrows to 32 again. The three columns have the same
    weights, and no arrow leads from one to another: the network works on each word alone.
    """
    for x, word in ((86, "old"), (235, "king"), (384, "sleeps")):
        d.text(x, 20, word, "token", bold=True, size=15)
        d.arrow(x, 32, x, 56, "stream")
        d.box(x - 64, 138, 128, 30, "128, bent by GELU", "ink", 0.07)
        for top, y, wide_y, matrix in ((58, 84, 136, "c_fc"), (222, 220, 168, "c_proj")):
            d.box(x - 22, top, 44, 26, 32, "stream", 0.2)
            for side in (-1, 1):
                d.line([(x + 22 * side, y), (x + 64 * side, wide_y)], "muted", width=1.2)
            d.text(x, (y + wide_y) / 2 + (2 if top < 100 else 0), matrix, mono=True)
        d.arrow(x, 250, x, 272, "stream")
    d.text(235, 288, "the same weights for every word, no arrow between words")


@drawing(470, 210, size=13)
def axes(d):
    """The same table twice, a row for each position and a column for each channel. On the left one
    row is coloured: the norm over channels takes the mean of one position, alone. On the right one
    column is coloured: the norm over time takes the mean of one channel over all positions, so the
    result of an early position depends on later ones.
    """
    cell, words = 26, ("the", "old", "king", "sleeps")
    for left, title, table, verdict in (
        (62, "norm over channels", [[t == 1] * 6 for t in range(4)], "one position, alone"),
        (296, "norm over time", [[0, 0, 1, 0, 0, 0]] * 4, "all positions, later ones too"),
    ):
        d.text(left + 78, 18, title, bold=True, size=15)
        d.text(left + 78, 44, "channels", "muted")
        d.grid(left, 58, table, cell, "stream")
        d.texts(left - 8, 71, words, down=cell, colour="token", anchor="end")
        d.text(left + 78, 186, verdict)
