"""Chapter 20's drawings: uses of a reading, scales, a pass with a draft."""

from collections.abc import Sequence

from scratchformer_course.kit.canvas import Drawing, drawing


@drawing(470, 330)
def three_ways(d):
    """Four rows. Plain decode reads all weights and writes one token. A batch reads them once and
    writes a token of each of three texts. With few bits the box of weights is a third as wide, and
    one token is written. With a draft the weights are read once, and three tokens of one text are
    written.
    """
    d.text(150, 12, "the weights, read once", "muted", 13)
    d.text(392, 12, "what is written", "muted", 13)
    for y, name, shown, width in (
        (46, "plain", "weights", 126),
        (128, "a batch", "weights", 126),
        (210, "few bits", "W", 46),
        (292, "a draft", "weights", 126),
    ):
        d.text_from(4, y, name, bold=True)
        d.box(90, y - 22, width, 44, shown, "stream", 0.25)
        d.arrow(98 + width, y, 316, y, "muted")
    look = ("token", 0.12)
    for y, tokens in ((34, "a"), (198, "a"), (280, "and")):
        d.row(330, y, tokens, (30, 24), look, 34, mono=True)
    d.cells(330, 98, ("a", "q", "t"), (30, 19), look, (30, 21), size=13, mono=True)
    texts = ("text 1", "text 2", "text 3")
    d.texts(368, 108, texts, down=21, colour="muted", size=13, anchor="start")


@drawing(470, 196, size=13)
def scales(d):
    """A matrix of five rows and eight columns, three times, with one outlier in the second row.
    With one scale for the matrix all 40 weights share the outlier's scale. With one scale per row,
    the eight of its row do. With groups of four, only four do.
    """
    for left, name, n, row, group, rest in (
        (10, "matrix", "1 scale", 0.45, 0.45, 0.45),
        (168, "row", "5 scales", 0.45, 0.45, 0.05),
        (326, "group of 4", "10 scales", 0.05, 0.45, 0.05),
    ):
        shades = [[rest] * 8, [row] * 4 + [group] * 4, *[[rest] * 8] * 3]
        d.text(left + 68, 14, name, size=14, bold=True)
        d.grid(left, 30, shades, 17, "key")
        d.box(left + 85, 47, 17, 17, fill=0.9)
        d.text(left + 68, 136, n, "muted")
    d.legend(10, 168, [("ink", 0.9, "the outlier")])
    d.legend(132, 168, [("key", 0.45, "weights that share its scale")])


@drawing(470, 220)
def one_pass(d):
    """The draft guesses 4 tokens, k, i, n, d. One pass of the model gives the 5 distributions p1 to
    p5, one for each guess and one for the token after. The first 3 are kept, the next is rejected
    and replaced by g, and those after it are dropped: 4 tokens are written.
    """
    cell, step = (44, 30), 58
    for y, words in ((27, "the draft guesses"), (102, "one pass reads"), (195, "written")):
        d.text_from(4, y, words)
    d.box(142, 82, 288, 40, "", "stream", 0.15)
    d.texts(172, 102, ("p1", "p2", "p3", "p4", "p5"), right=step, colour="stream", bold=True)
    verdicts = [("kept", "value")] * 3 + [("rejected", "key")]
    middles = d.row(150, 12, "kind", cell, ("token", 0.12), step, mono=True, size=15)
    for x, verdict in zip(middles, verdicts, strict=True):
        d.arrow(x, 46, x, 78, "muted")
        d.text(x, 146, *verdict, 13)
    looks = [(colour, 0.12) for _, colour in verdicts]
    d.row(150, 180, "king", cell, looks, step, mono=True, size=15)


def overlap(p: Sequence[int], q: Sequence[int]):
    """What of a draft's q is kept and rejected, and what replacements add up to p, in eighths."""
    d, unit, ground = Drawing(470, 232), 28, 132
    kept, rejected, replaced = ("value", 0.3), ("muted", 0.0, True), ("key", 0.3)
    for i, (model, draft) in enumerate(zip(p, q, strict=True)):
        x, both = 24 + 114 * i, min(model, draft)
        parts = (0, both, kept), (both, draft - both, rejected), (both, model - both, replaced)
        for low, n, look in parts:
            if n:
                d.box(x, ground - unit * (low + n), 76, unit * n, f"{n}/8", *look)
        d.text(x + 38, ground + 15, f"token {i}")
    for y, look, words in (
        (164, kept, "kept: the smaller of p and q"),
        (187, rejected, "rejected: q is larger"),
        (210, replaced, "added by the replacements: p is larger"),
    ):
        d.box(24, y, 16, 16, "", *look)
        d.text_from(50, y + 8, words)
    common = sum(min(pair) for pair in zip(p, q, strict=True))
    return d.show(
        f"Bars for {len(p)} tokens. Of the draft's q, in eighths {', '.join(map(str, q))}, the "
        f"part below the model's p, {', '.join(map(str, p))}, is kept: {common} eighths in all. "
        f"The other {sum(q) - common} are rejected, and replacements add just as many where p is "
        "larger."
    )
