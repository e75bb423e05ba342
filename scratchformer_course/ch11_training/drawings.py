"""Chapter 11's drawings: a training step, and a schedule."""

import math

from IPython.display import HTML

from scratchformer_course.kit.canvas import Drawing


def step() -> HTML:
    """One training step: micro-batches, losses, one gradient, divided and clipped, a step."""
    d = Drawing(480, 282)
    d.box(8, 28, 110, 28, "micro-batch 1", "token")
    d.box(8, 64, 110, 28, "micro-batch 2", "token")
    d.arrow(120, 60, 142, 60)
    d.box(144, 34, 144, 52, "model and loss,\nonce for each", "stream")
    d.arrow(290, 60, 318, 60)
    d.box(320, 34, 152, 52, "sum of the nats,\nnumber of targets", "value")
    d.text(210, 16, "forward", "muted", size=13)
    d.arrow(396, 88, 396, 124, "key", dashed=True)
    d.text(384, 106, "backward", "muted", size=13, anchor="end")
    d.box(320, 126, 152, 50, "gradient: both\nadd up", "key")
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
        "One training step. A batch lies in two micro-batches. Each goes through model and loss, "
        "which gives a sum of nats and a number of targets. A dashed arrow leads back to the "
        "gradient, in which the two add up. It is divided by the number of all targets, then "
        "clipped to a length of at most 1, then given to the optimiser, which keeps m and v. The "
        "optimiser also gets the rate of this step, and every weight takes a step."
    )


def schedule() -> HTML:
    """The rate of each step: a straight warm-up, then half a cosine wave down to nearly 0."""
    d = Drawing(480, 112)
    left, right, top, bottom, peak = 70, 470, 12, 88, 130
    d.line([(left, top), (left, bottom), (right, bottom)], "muted", width=1)
    d.line([(peak, top), (peak, bottom)], "muted", width=1, dashed=True)
    shares = [i / 40 for i in range(41)]
    fall = [
        (peak + (right - peak) * x, bottom - (bottom - top) * (1 + math.cos(math.pi * x)) / 2)
        for x in shares
    ]
    d.line([(left, bottom - 3), *fall], "position", width=2.4)
    d.text(left - 6, top + 2, "lr", "position", anchor="end", mono=True)
    d.text(left - 6, bottom, "0", anchor="end", size=13)
    for x, name in (((left + peak) / 2, "warm-up"), ((peak + right) / 2, "half a cosine wave")):
        d.text(x, bottom + 13, name, size=13)
    return d.show(
        "The rate over the steps of a run. In the warm-up it rises straight from nearly 0 to its "
        "peak, lr. Then it falls along half a cosine wave, slowly at first, steeply in the "
        "middle, and slowly at the end, to nearly 0."
    )
