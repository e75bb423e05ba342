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


@drawing(470, 186, size=13)
def feed_forward(d):
    """Two kings have two numbers, royal and asleep. Below stands a row of weights, 8 and 8, and a
    bias, minus 10. The sleeping king, 1 and 1, gets the sum 6, which ReLU leaves at 6; the waking
    king, 1 and 0, gets minus 2, which becomes 0. On the right stands a column with 0.25: it writes
    1.5 times hush for the sleeping king, and 0 times hush for the waking one.
    """
    d.texts(132, 12, ("royal", "asleep"), right=52, colour="muted")
    d.texts(272, 12, ("sum", "ReLU"), right=68, colour="muted")
    kings = ("sleeping king", (1, 1), "6", "6", "1.5"), ("waking king", (1, 0), "−2", "0", "0")
    for y, (name, numbers, total, bent, wrote) in zip((38, 76), kings, strict=True):
        d.text_to(100, y, name, "token", bold=True)
        d.cells(108, y - 14, [numbers], (48, 28), ("stream", 0.2), step=(52, 40))
        d.flow([(256, y - 14, 32, 28, total), (324, y - 14, 32, 28, bent)], fill=0.07)
        d.arrow(210, y, 254, y)
        d.arrow(358, y, 374, y)
        d.text_from(378, y, f"+ {wrote} · hush", "stream")
    d.cells(108, 110, [("8", "8")], (48, 28), ("ink", 0.07), step=(52, 40))
    d.box(216, 110, 36, 28, "−10", "ink", 0.07, dashed=True)
    d.text_from(258, 124, "bias", "muted")
    d.text_to(100, 124, "hush")
    d.box(392, 110, 48, 28, "0.25", "ink", 0.07)
    for x, matrix, does in ((158, "c_fc", "a row asks"), (416, "c_proj", "a column writes")):
        d.text(x, 157, matrix, mono=True)
        d.text(x, 174, does, "muted")


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
