"""Chapter 11's drawings: a training step, and a schedule."""

import math

from scratchformer_course.kit.canvas import drawing


@drawing(480, 282)
def step(d):
    """One training step. A batch lies in two micro-batches. Each goes through model and loss, which
    gives a sum of nats and a number of targets. A dashed arrow leads back to the gradient, in which
    the two add up. It is divided by the number of all targets, then clipped to a length of at most
    1, then given to the optimiser, which keeps m and v. The optimiser also gets the rate of this
    step, and every weight takes a step.
    """
    for y, name in ((28, "micro-batch 1"), (64, "micro-batch 2")):
        d.box(8, y, 110, 28, name, "token")
    d.arrow(120, 60, 142, 60)
    losses = (320, 34, 152, 52, "sum of the nats,\nnumber of targets", "value")
    d.flow([(144, 34, 144, 52, "model and loss,\nonce for each", "stream"), losses])
    d.text(210, 16, "forward", "muted", size=13)
    d.arrow(396, 88, 396, 124, "key", dashed=True)
    d.text_to(384, 106, "backward", "muted", size=13)
    d.flow(
        [
            (320, 126, 152, 50, "gradient: both\nadd up", "key"),
            (170, 126, 112, 50, "divide by\nall targets", "key"),
            (8, 126, 124, 50, "clip: at most\nas long as 1", "key"),
            (8, 216, 124, 50, "optimiser:\nm and v", "stream"),
            (170, 216, 112, 50, "every weight\ntakes a step", "stream"),
        ],
        "key",
    )
    d.box(340, 216, 132, 50, "the rate of\nthis step", "position")
    d.line([(406, 214), (406, 196), (104, 196)], "position")
    d.arrow(104, 196, 104, 214, "position")


@drawing(480, 112, size=13)
def schedule(d):
    """The rate over the steps of a run. In the warm-up it rises straight from nearly 0 to its peak,
    lr. Then it falls along half a cosine wave, slowly at first, steeply in the middle, and slowly
    at the end, to nearly 0.
    """
    left, right, top, bottom, peak = 70, 470, 12, 88, 130
    d.line([(left, top), (left, bottom), (right, bottom)], "muted", width=1)
    d.line([(peak, top), (peak, bottom)], "muted", width=1, dashed=True)
    rates = [(1 + math.cos(math.pi * i / 40)) / 2 for i in range(41)]
    fall = [
        (peak + (right - peak) * i / 40, bottom - (bottom - top) * rate)
        for i, rate in enumerate(rates)
    ]
    d.line([(left, bottom - 3), *fall], "position", width=2.4)
    d.text_to(left - 6, top + 2, "lr", "position", size=14, mono=True)
    d.text_to(left - 6, bottom, "0")
    d.texts(100, bottom + 13, ("warm-up", "half a cosine wave"), right=200)
