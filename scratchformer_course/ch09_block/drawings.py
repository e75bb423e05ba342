"""Chapter 9's drawings: the stream and its sublayers, the feed-forward network, the block."""

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


@drawing(470, 200, size=13)
def block(d):
    """The stream x runs from left to right. An arrow leads up from it to ln_1, from there to attn,
    and down again to a plus sign on the stream; below is written x = x + attn(ln_1(x)). Then the
    same with ln_2 and mlp, below which is written x + mlp(ln_2(x)). Both norms are in the branches,
    none is on the stream.
    """
    y = 136
    d.text_from(8, y - 20, "x", "stream", size=14, bold=True)
    d.arrow(8, y, 466, y, "stream", width=4)
    halves = (28, "ln_1", "attn", "x = x + attn(ln_1(x))"), (248, "ln_2", "mlp", "x + mlp(ln_2(x))")
    for left, norm, sublayer, line in halves:
        for x, name, colour in ((left, norm, "muted"), (left + 96, sublayer, "ink")):
            d.box(x, 30, 72, 44, "", colour, 0.1)
            d.text(x + 36, 52, name, mono=True, size=15)
        d.arrow(left + 36, y - 2, left + 36, 76)
        d.arrow(left + 73, 52, left + 94, 52)
        d.arrow(left + 132, 75, left + 132, y - 14)
        d.plus(left + 132, y)
        d.text(left + 88, y + 38, line, mono=True)
