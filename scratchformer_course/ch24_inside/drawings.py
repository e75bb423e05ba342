"""Chapter 24's drawing: where one can act on a model."""

from scratchformer_course.kit.canvas import drawing

WORDS = ("yonder", "moon", ",", "⏎", "my", "elbow", "asks", "for", "half", "a")


@drawing(480, 330)
def stream(d):
    """A grid of circles with three rows, the embedding and what follows block 1 and block 2, over
    the words yonder moon , ⏎ my elbow asks for half a. Arrows lead upwards in each column, and from
    the last one to the answer, spoon. Three circles after block 1 are marked: at the first a probe
    reads, at the second what it reads is erased, at the third the vector is replaced by that of
    another text.
    """
    xs, middle = range(108, 480, 40), 130
    d.texts(4, 60, ("block 2", "block 1", "embedding"), down=70, colour="stream", anchor="start")
    for i, (x, word) in enumerate(zip(xs, WORDS, strict=True)):
        turn = 0 if word in (",", "⏎") else -35
        d.text(x, 232, word, size=13, bold=i in (1, 9), turn=turn)
        for y in (60, middle, 200):
            d.circle(x, y, 10, "stream")
            if y != 60 or i == 9:
                d.arrow(x, y - 11, x, 26 if y == 60 else y - 58, "stream", width=1.2)
    d.text_to(xs[9] + 8, 14, "spoon", "value", bold=True)
    d.text_to(xs[9] - 56, 14, "what follows?", "muted", 13)
    for n, i, colour, asks in (
        (1, 3, "query", "read: can a probe tell the rhyme from this vector?"),
        (2, 5, "key", "erase: does the answer change if it is gone from here?"),
        (3, 7, "position", "patch: and if the vector comes from another text?"),
    ):
        d.circle(xs[i], middle, 10, colour, fill=0.6)
        d.circle(xs[i], middle, 14, colour, fill=0)
        d.text(xs[i] + 18, middle + 22, n, colour, 15, bold=True)
        d.text_from(24, 250 + 22 * n, f"{n} {asks}", colour, 15)
