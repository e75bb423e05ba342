"""Chapter 11's drawings: a training step, a schedule, the runs of a trial, and sizes of slopes."""

import math
from collections.abc import Mapping, Sequence

from IPython.display import HTML

from scratchformer_course.kit.canvas import Drawing, drawing


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


def trial(rows: Mapping[str, Sequence[tuple[float, float]]], pairs: float, aside: str = "") -> HTML:
    """Runs as dots, a row for each name: farther left for a lower loss, larger for a head that
    gives the character just before more of its weight, full if that is above one half. `rows` has
    (loss, weight) of each run, and `pairs` is the loss of a table of pairs. `aside` is a second
    line for the last name.
    """
    left, right, down, low, high = 146, 470, 32, 1.9, 2.56
    bottom = 26 + down * len(rows)
    d = Drawing(480, bottom + 80, size=13)

    def x(loss: float) -> float:
        return round(left + (right - left) * (loss - low) / (high - low), 1)

    d.line([(x(pairs), 18), (x(pairs), bottom)], "key", width=1.2, dashed=True)
    d.text(x(pairs) - 20, 10, f"table of pairs: {pairs:.2f}", "key")
    for i, (name, runs) in enumerate(rows.items()):
        y = 26 + down * (i + 0.5)
        d.line([(left, 26 + down * i), (right, 26 + down * i)], "muted", width=0.4)
        second = aside if i == len(rows) - 1 else ""
        d.text_to(left - 10, y - (8 if second else 0), name)
        if second:
            d.text_to(left - 10, y + 8, second)
        for j, (loss, weight) in enumerate(runs):
            _dot(d, x(loss), y + 6 * (j - (len(runs) - 1) / 2), weight)
    d.line([(left, bottom), (right, bottom)], "muted", width=1)
    for loss in (1.9, 2.0, 2.1, 2.2, 2.3, 2.4, 2.5):
        d.line([(x(loss), bottom), (x(loss), bottom + 4)], "muted", width=1)
        d.text(x(loss), bottom + 14, f"{loss:.1f}")
    d.text((left + right) / 2, bottom + 34, "loss after 1,000 steps, in nats")
    d.text_to(left - 10, bottom + 62, "weight one back")
    for at, weight in zip((158, 228, 302, 380), (0.05, 0.3, 0.6, 0.95), strict=True):
        _dot(d, at, bottom + 62, weight)
        d.text_from(at + 18, bottom + 62, f"{weight:g}")
    said = [
        f"{name}: {', '.join(f'{loss:.2f} ({weight:.2f})' for loss, weight in runs)}"
        for name, runs in rows.items()
    ]
    return d.show(
        "A row of dots for each of several ways to train, and a dot for each run: its place is the "
        "loss, its size the largest weight that a head gives to the character just before, here "
        f"in parentheses. {'; '.join(said)}. A dashed line is the loss of a table of pairs, "
        f"{pairs:.2f}."
    )


def _dot(d: Drawing, x: float, y: float, weight: float) -> None:
    """A run, by the weight of its head that looks back most."""
    d.circle(x, y, round(14 * weight**0.5, 1), "query", fill=0.95 if weight > 0.5 else 0.3)


def usual_sizes(sizes: Mapping[str, float]) -> HTML:
    """The usual size of some slopes, by name, as bars on a logarithmic scale."""
    left, right, least, most, down = 132, 470, -6, -1, 26
    bottom = 6 + down * len(sizes)
    d = Drawing(480, bottom + 44, size=13)

    def x(power: float) -> float:
        return round(left + (right - left) * (power - least) / (most - least), 1)

    for power in range(least, most + 1):
        d.line([(x(power), 4), (x(power), bottom)], "muted", width=0.5)
    for i, (name, size) in enumerate(sizes.items()):
        d.text_to(left - 10, 16 + down * i, name)
        end = x(math.log10(size))
        d.box(left, 8 + down * i, round(end - left, 1), 16, "", "key", fill=0.7)
    for power, words in zip((-5, -3, -1), ("0.00001", "0.001", "0.1"), strict=True):
        d.text(x(power) - (16 if power == most else 0), bottom + 12, words)
    d.text((left + right) / 2, bottom + 32, "usual size: each line is ten times the last")
    said = [f"{name} {size:.1g}" for name, size in sizes.items()]
    return d.show(f"Bars on a logarithmic scale, the usual size of slopes: {', '.join(said)}.")
