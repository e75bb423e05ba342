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


@drawing(474, 206, size=13)
def feed_forward(d):
    """A young sleeping king has three numbers: royal 1, aged 0, asleep 1. Below them are the two
    rows of c_fc: 1, 0, 1 with the bias minus 1, and 1, minus 1, 0 with the bias 0. Each row gives a
    sum of 1, which ReLU leaves at 1. On the right are the two columns of c_proj, one below each of
    the two hidden numbers, 1 and 1: the first writes hush, 1 and 0, the second bow, 0 and 1.
    Together they add 1 to hush and 1 to bow.
    """
    d.texts(122, 12, ("royal", "aged", "asleep"), right=46, colour="muted")
    d.text_to(94, 42, "young king,", "token", bold=True)
    d.text_to(94, 59, "asleep", "token", bold=True)
    d.cells(102, 36, [("1", "0", "1")], (40, 28), ("stream", 0.2), step=(46, 40))
    d.text(258, 84, "bias", "muted")
    d.cells(102, 96, [("1", "0", "1"), ("1", "−1", "0")], (40, 28), ("ink", 0.07), step=(46, 44))
    for y, rule, bias in ((110, "rule 0", "−1"), (154, "rule 1", "0")):
        d.text_to(94, y, rule, "muted")
        d.box(242, y - 14, 32, 28, bias, "ink", 0.07, dashed=True)
        d.arrow(276, y, 292, y)
    d.cells(296, 96, [("1",), ("1",)], (32, 28), ("ink", 0.12), step=(40, 44))
    d.text(312, 84, "ReLU", "muted")
    d.texts(373, 84, ("0", "1"), right=40, colour="muted")
    d.text(393, 64, "rule", "muted")
    d.arrow(332, 132, 350, 132)
    d.cells(356, 96, [("1", "0"), ("0", "1")], (34, 28), ("ink", 0.07), step=(40, 44))
    d.text_from(436, 110, "hush", "stream")
    d.text_from(436, 154, "bow", "stream")
    for x, matrix, does in ((168, "c_fc", "a row asks"), (393, "c_proj", "a column writes")):
        d.text(x, 182, matrix, mono=True)
        d.text(x, 198, does, "muted")


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
