"""Chapter 11's drawings: the parts of a training step, and the bits of three kinds of numbers."""

from IPython.display import HTML

from scratchformer_course.kit.canvas import Drawing


def step() -> HTML:
    """One training step: pieces, losses, one gradient, divided, clipped, used by the optimiser."""
    d = Drawing(480, 282)
    d.box(8, 28, 92, 28, "piece 1", "token")
    d.box(8, 64, 92, 28, "piece 2", "token")
    d.arrow(102, 60, 138, 60)
    d.box(140, 34, 140, 52, "model and loss,\nonce for each", "stream")
    d.arrow(282, 60, 318, 60)
    d.box(320, 34, 152, 52, "sum of the nats,\nnumber of targets", "value")
    d.text(210, 16, "forward", "muted", size=13)
    d.arrow(396, 88, 396, 124, "key", dashed=True)
    d.text(384, 106, "backward", "muted", size=13, anchor="end")
    d.box(320, 126, 152, 50, "gradient: the\npieces add up", "key")
    d.arrow(318, 151, 284, 151, "key")
    d.box(170, 126, 112, 50, "divide by\nall targets", "key")
    d.arrow(168, 151, 134, 151, "key")
    d.box(8, 126, 124, 50, "clip: at most\nas long as 1", "key")
    d.arrow(70, 178, 70, 214, "key")
    d.box(8, 216, 124, 50, "optimiser:\nm and v", "stream")
    d.arrow(134, 241, 168, 241, "stream")
    d.box(170, 216, 112, 50, "every weight\ntakes a step", "stream")
    d.box(340, 216, 132, 50, "the rate of\nthis step", "position")
    d.line([(406, 214), (406, 196), (104, 196)], "position")
    d.arrow(104, 196, 104, 214, "position")
    return d.show(
        "One training step. A batch lies in two pieces. Each goes through the model and its loss, "
        "which gives a sum of nats and a number of targets. A dashed arrow leads back to the "
        "gradient, in which the pieces add up. It is divided by the number of all targets, then "
        "clipped to a length of at most 1, then given to the optimiser, which keeps m and v. The "
        "optimiser also gets the rate of this step, and every weight takes a step."
    )


def bits() -> HTML:
    """The bits of float32, bfloat16 and float16 under each other."""
    d = Drawing(480, 178)
    cell, left = 11.5, 96
    for row, (name, exponent, fraction) in enumerate(
        (("float32", 8, 23), ("bfloat16", 8, 7), ("float16", 5, 10))
    ):
        y = 44 + 44 * row
        d.text(left - 10, y + 12, name, anchor="end", mono=True, size=14)
        for i in range(1 + exponent + fraction):
            colour = "muted" if i == 0 else "key" if i <= exponent else "value"
            d.box(left + cell * i, y, cell - 1.5, 24, "", colour, fill=0.35)
    d.text(left + 5, 20, "sign", "muted", size=13)
    d.text(left + cell * 5, 20, "range", "key", size=13)
    d.text(left + cell * 14, 20, "fineness", "value", size=13)
    return d.show(
        "The bits of three kinds of numbers as rows of small boxes. Each has one bit for the sign. "
        "float32 has 8 bits for the range and 23 for the fineness. bfloat16 has the same 8 bits "
        "for the range, and only 7 for the fineness. float16 has 5 for the range and 10 for the "
        "fineness."
    )
