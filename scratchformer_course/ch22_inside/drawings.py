"""Chapter 22's drawing: where one can act on a model."""

import itertools

from scratchformer_course.kit.canvas import Drawing

WORDS = ("yonder", "moon", ",", "⏎", "my", "elbow", "asks", "for", "half", "a")
ROWS = ("embedding", "block 1", "block 2")


def stream():
    """Places by blocks, and three things to do with one vector: read, erase, replace it."""
    d = Drawing(480, 330)
    xs = [108 + 40 * i for i in range(len(WORDS))]
    ys = dict(zip(ROWS, (200, 130, 60), strict=True))
    for name, y in ys.items():
        d.text(4, y, name, "stream", anchor="start", size=14)
    for i, (x, word) in enumerate(zip(xs, WORDS, strict=True)):
        turned = word not in (",", "⏎")
        d.text(x, 232, word, size=13, bold=i in (1, 9), turn=-35 if turned else 0)
        for low, high in itertools.pairwise(ROWS):
            d.arrow(x, ys[low] - 11, x, ys[high] + 12, "stream", width=1.2)
        for y in ys.values():
            d.circle(x, y, 10, "stream", fill=0.12)
    d.arrow(xs[9], ys["block 2"] - 11, xs[9], 26, "stream", width=1.2)
    d.text(xs[9] + 8, 14, "spoon", "value", bold=True, size=14, anchor="end")
    d.text(xs[9] - 56, 14, "what follows?", "muted", size=13, anchor="end")
    for i, colour in ((3, "query"), (5, "key"), (7, "position")):
        d.circle(xs[i], ys["block 1"], 10, colour, fill=0.6)
        d.circle(xs[i], ys["block 1"], 14, colour, fill=0)
    for i, number, colour in ((3, "1", "query"), (5, "2", "key"), (7, "3", "position")):
        d.text(xs[i] + 18, ys["block 1"] + 22, number, colour, bold=True, size=15)
    questions = (
        ("1 read: can a probe tell the rhyme from this vector?", "query"),
        ("2 erase: does the answer change if it is gone from here?", "key"),
        ("3 patch: and if the vector comes from another text?", "position"),
    )
    for i, (words, colour) in enumerate(questions):
        d.text(24, 272 + 22 * i, words, colour, size=15, anchor="start")
    return d.show(
        "A grid of circles with three rows, the embedding and what follows block 1 and block 2, "
        f"over the words {' '.join(WORDS)}. Arrows lead upwards in each column, and from the last "
        "one to the answer, spoon. Three circles after block 1 are marked: at the first a probe "
        "reads, at the second what it reads is erased, at the third the vector is replaced by "
        "that of another text."
    )
