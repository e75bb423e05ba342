"""Chapter 3's drawings: words with places, and clock hands.

A clock's hand starts at twelve and turns clockwise, so its tip is (sin, cos): right, then up.
"""

import math
from collections.abc import Sequence

from scratchformer_course.kit.canvas import Drawing, drawing

Pair = tuple[float, float]  # the tip of a hand: how far right (sine), how far up (cosine)


@drawing(480, 226)
def words_and_places(d):
    """Two sentences side by side, dog bites man and man bites dog. Under each word is the number of
    its place, 0, 1 or 2, and under both their sum. The word dog is the same box in both sentences,
    but its sums differ: dog at 0 on the left, dog at 2 on the right. The sum of bites at 1 is the
    same in both.
    """
    for y, name, colour in (
        (60, "word", "token"),
        (118, "place", "position"),
        (186, "sum", "stream"),
    ):
        d.text_from(4, y, name, colour)
    for left, sentence in ((58, "dog bites man"), (276, "man bites dog")):
        words = sentence.split()
        fills = [0.4 if word == "dog" else 0.1 for word in words]
        d.text(left + 99, 18, sentence, bold=True)
        d.row(left, 42, words, (62, 36), [("token", fill) for fill in fills], 67)
        d.texts(left + 31, 90, "+++", right=67)
        for x in d.row(left, 102, range(3), (62, 32), ("position", 0.12), 67):
            d.arrow(x, 136, x, 160)
        sums = [f"{word}\nat {place}" for place, word in enumerate(words)]
        d.row(left, 162, sums, (62, 50), [("stream", fill) for fill in fills], 67)


@drawing(480, 300)
def order_of_work(d):
    """Two ways to read three vectors, dog at 0, bites at 1 and man at 2. On the left they are added
    first, and one matrix R and a ReLU look at the sum: the result is the same for both sentences.
    On the right R and ReLU look at each vector, and the results are added: each sentence has a
    result of its own.
    """
    words = ("dog\nat 0", "bites\nat 1", "man\nat 2")
    d.line([(240, 8), (240, 292)], "muted", width=1, dashed=True)
    d.texts(118, 16, ("the sum first", "R and ReLU first"), right=244, bold=True)
    for x in d.row(6, 38, words, (68, 46), ("stream", 0.12), 78):
        d.arrow(x, 86, 118 + (x - 118) * 0.2, 126, "stream")
    d.arrow(118, 159, 118, 196, "stream")
    d.box(84, 198, 68, 34, "R, ReLU")
    for x in d.row(250, 38, words, (68, 46), ("stream", 0.12), 78):
        d.arrow(x, 86, x, 114, "stream")
        d.arrow(x, 152, 362 + (x - 362) * 0.2, 196, "stream")
    d.row(250, 116, ["R, ReLU"] * 3, (68, 34), step=78)
    for x, y, below, result in (
        (118, 142, 234, ("the same for", "both sentences")),
        (362, 213, 230, ("one result for", "each sentence")),
    ):
        d.circle(x, y, 15, text="+", size=18)
        d.arrow(x, below, x, 252, "stream")
        d.texts(x, 264, result, down=19)


def _clock(d: Drawing, x: float, y: float, radius: float) -> None:
    """A face with a mark at twelve."""
    d.circle(x, y, radius, "muted", fill=0.05)
    d.line([(x, y - radius - 5), (x, y - radius + 5)], "muted")


def _hand(d: Drawing, x, y, length: float, tip: Pair, colour: str, width=3.0) -> None:
    """A hand with a dot at its tip."""
    right, up = tip
    end = (x + length * right, y - length * up)
    d.line([(x, y), end], colour, width=width)
    d.circle(*end, 4, colour, fill=1)


def hand(place: int, tip: Pair):
    """One hand at one place: its tip is a point, right by the sine, up by the cosine."""
    d = Drawing(440, 220)
    x, y, radius, sweep = 130, 116, 84, 34
    (right, up), angle = tip, math.atan2(*tip)
    d.text(x, 14, "place 0", "muted")
    _clock(d, x, y, radius)
    end = (x + radius * right, y - radius * up)
    d.line([(x, y), (end[0], y), end], "muted", dashed=True)
    _hand(d, x, y, radius, tip, "position")
    bend = sweep * (1 - math.cos(angle / 2))
    d.arrow(x, y - sweep, x + sweep * right, y - sweep * up, bend=bend)
    d.text(x + radius * right / 2, y + 15, "sin", "position")
    d.text_to(end[0] - 6, y - radius * up / 2 + 4, "cos", "position")
    d.text_from(end[0] + 12, end[1] - 8, f"place {place}", "position", bold=True)
    d.text_from(252, 120, f"right: sin({place}) = {right:.2f}", "position")
    d.text_from(252, 144, f"up: cos({place}) = {up:.2f}", "position")
    return d.show(
        f"""A clock face with one hand. At place 0 the hand points straight up. At place {place}
        it has turned clockwise by {place} radian. Its tip is a point: {right:.2f} to the right,
        the sine, and {up:.2f} up, the cosine."""
    )


def two_hands(clocks: Sequence[tuple[int, Pair, Pair]]):
    """A fast and a slow hand at several places: (place, fast tip, slow tip) each."""
    step = 480 // len(clocks)
    d = Drawing(step * len(clocks), 172)
    for i, (place, fast, slow) in enumerate(clocks):
        x = step * i + step / 2
        d.text(x, 14, place if i else f"place {place}", bold=True)
        _clock(d, x, 74, 40)
        _hand(d, x, 74, 25, slow, "ink", width=4.5)
        _hand(d, x, 74, 38, fast, "position", width=2.2)
    d.text_from(12, 138, "long hand: 1 radian a place", "position")
    d.text_from(12, 160, "short hand: 1/100 radian a place")
    last = clocks[-1][0]
    return d.show(
        f"""A row of clocks, for the places {", ".join(str(c[0]) for c in clocks)}. The long hand
        turns by a radian from place to place. At place {last} it points up again, as at place 0.
        The short hand has turned only a little there, and tells the two places apart."""
    )
