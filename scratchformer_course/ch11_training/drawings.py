"""Chapter 11's drawings: a training step, the counted rival, and the bits of numbers."""

from collections.abc import Mapping

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


UNIT, RIGHT = 84, 456  # of `discount`: how long one count is, and where all bars end
BAR, ROW, TOP = 26, 34, 34  # how high a bar is, how far the next lies below it, the first one's top
LONGEST = 3.7  # counts: a longer bar is broken


def discount(
    context: str, counts: Mapping[str, int], cut: float, lower: Mapping[str, float]
) -> HTML:
    """Counts after a context are cut by the discount, and the shorter context shares that out.

    `lower` has the probabilities of the same characters after the shorter context.
    """
    d = Drawing(480, 304)
    taken = cut * len(counts)
    d.text(16, TOP - 16, f"after {context}", bold=True, anchor="start")
    d.text(RIGHT - UNIT * (cut + 1.1), TOP - 16, "kept", "token")
    d.text(RIGHT - UNIT * cut / 2, TOP - 16, "cut off", "stream")
    for row, (letter, count) in enumerate(counts.items()):
        _cut_bar(d, TOP + ROW * row, letter, count, cut)
    below = TOP + ROW * len(counts)
    middle = RIGHT - UNIT * cut / 2
    d.arrow(middle, below + 2, middle, below + BAR, "stream")
    words = f"{len(counts)} · {cut:.2f} = {taken:.2f}"
    d.box(RIGHT - UNIT * taken, below + 28, UNIT * taken, BAR, words, "stream", 0.3, dashed=True)
    d.text(16, below + 89, f"after {context[1:]}", bold=True, anchor="start")
    d.text(RIGHT - UNIT * taken - 8, below + 89, "shared out", "stream", anchor="end")
    _shares(d, below + 76, taken, lower)
    rest = f"all others together {1 - sum(lower.values()):.2f}"
    d.text(RIGHT, below + 118, rest, "muted", 13, "end")
    first, p = next(iter(lower.items()))
    sum_of_two = f"{counts[first] - cut:.2f} + {p:.2f} · {taken:.2f}"
    words = f"{first}:  ({sum_of_two}) / {sum(counts.values())} = ?"
    d.text(RIGHT, below + 152, words, anchor="end", size=15)
    bars = ", ".join(f"{letter} {count}" for letter, count in counts.items())
    shares = ", ".join(f"{letter} gets {p:.2f}" for letter, p in lower.items())
    return d.show(
        f"The counts after {context!r} are bars, one under the other: {bars}. The longest bar is "
        f"broken, because it would not fit. From the end of each bar the same amount of {cut:.2f} "
        "is cut off, so the smallest count loses most of its bar. An arrow leads from there "
        f"down to one bar of length {taken:.2f}. Below it the shorter context {context[1:]!r} "
        f"shares that bar out: {shares}, and all other characters share a thin rest. The "
        f"last line asks for the probability of {first}: what it kept, plus its share of "
        f"{taken:.2f}, divided by the sum of the counts."
    )


def _cut_bar(d: Drawing, y: float, letter: str, count: int, cut: float) -> None:
    """The bar of one count: what it keeps, and at its end what is cut off."""
    end, kept, is_broken = RIGHT - UNIT * cut, min(count, LONGEST) - cut, count > LONGEST
    start, number, has_room = end - UNIT * kept, f"{count - cut:.2f}", kept > 0.6
    d.text(16, y + BAR / 2, f"{letter} {count}", "token", anchor="start", mono=True)
    d.box(start, y, UNIT * kept, BAR, number if has_room else "", "token", fill=0.2)
    if not has_room:
        d.text(start - 8, y + BAR / 2, number, anchor="end")
    for x in (start + 46, start + 53) if is_broken else ():
        d.line([(x, y + BAR + 4), (x + 8, y - 4)], "muted")
    d.box(end, y, UNIT * cut, BAR, f"{cut:.2f}", "stream", fill=0.3, dashed=True)


def _shares(d: Drawing, y: float, taken: float, lower: Mapping[str, float]) -> None:
    """The bar of what was cut off, in the parts that each character gets of it."""
    x = RIGHT - UNIT * taken
    for letter, p in lower.items():
        width = UNIT * taken * p
        d.arrow(x + width / 2, y - 20, x + width / 2, y - 2, "stream", width=1.2)
        words = f"{letter} {p:.2f}" if width > 50 else letter
        d.box(x, y, width, BAR, words, "token", fill=0.2)
        x += width
    d.box(x, y, RIGHT - x, BAR, "", "muted", fill=0.6)


def bits() -> HTML:
    """The bits of float32, bfloat16 and float16 under each other."""
    d = Drawing(480, 178, size=13)
    cell, left = 11.5, 96
    for row, (name, exponent, fraction) in enumerate(
        (("float32", 8, 23), ("bfloat16", 8, 7), ("float16", 5, 10))
    ):
        y = 44 + 44 * row
        d.text(left - 10, y + 12, name, anchor="end", mono=True, size=14)
        for i in range(1 + exponent + fraction):
            colour = "muted" if i == 0 else "key" if i <= exponent else "value"
            d.box(left + cell * i, y, cell - 1.5, 24, "", colour, fill=0.35)
    d.text(left + 5, 20, "sign", "muted")
    d.text(left + cell * 5, 20, "range", "key")
    d.text(left + cell * 14, 20, "mantissa", "value")
    return d.show(
        "The bits of three kinds of numbers as rows of small boxes. Each has one bit for the sign. "
        "float32 has 8 bits for the range and 23 for the mantissa. bfloat16 has the same 8 bits "
        "for the range, and only 7 for the mantissa. float16 has 5 for the range and 10 for the "
        "mantissa."
    )
