"""Chapter 3's drawings: words with places, and clock hands.

A clock's hand starts at twelve and turns clockwise, so its tip is (sin, cos): right, then up.
"""

import math
from collections.abc import Sequence

from scratchformer_course.kit.canvas import Drawing

Pair = tuple[float, float]  # the tip of a hand: how far right (sine), how far up (cosine)


def words_and_places():
    """Two sentences of the same words: word vector plus place vector, place by place."""
    d = Drawing(480, 226)
    for y, name, colour in ((60, "word", "token"), (118, "place", "position")):
        d.text(4, y, name, colour, anchor="start")
    d.text(4, 186, "sum", "stream", anchor="start")
    for left, sentence in ((58, "dog bites man"), (276, "man bites dog")):
        d.text(left + 99, 18, sentence, bold=True)
        for place, word in enumerate(sentence.split()):
            x, strength = left + 67 * place, 0.4 if word == "dog" else 0.1
            d.box(x, 42, 62, 36, word, "token", fill=strength)
            d.text(x + 31, 90, "+")
            d.box(x, 102, 62, 32, str(place), "position")
            d.arrow(x + 31, 136, x + 31, 160)
            d.box(x, 162, 62, 50, f"{word}\nat {place}", "stream", fill=strength)
    return d.show(
        """Two sentences side by side, dog bites man and man bites dog. Under each word is the
        number of its place, 0, 1 or 2, and under both their sum. The word dog is the same box in
        both sentences, but its sums differ: dog at 0 on the left, dog at 2 on the right. The sum
        of bites at 1 is the same in both."""
    )


def order_of_work():
    """A matrix and ReLU after the sum, and before it."""
    d = Drawing(480, 300)
    d.line([(240, 8), (240, 292)], "muted", width=1, dashed=True)
    for left, title in ((6, "the sum first"), (250, "R and ReLU first")):
        d.text(left + 112, 16, title, bold=True)
        for place, word in enumerate(("dog", "bites", "man")):
            d.box(left + 78 * place, 38, 68, 46, f"{word}\nat {place}", "stream")
    for x in (40, 118, 196):
        d.arrow(x, 86, 118 + (x - 118) * 0.2, 126, "stream")
    d.circle(118, 142, 15, text="+", size=18)
    d.arrow(118, 159, 118, 196, "stream")
    d.box(84, 198, 68, 34, "R, ReLU")
    for x in (284, 362, 440):
        d.arrow(x, 86, x, 114, "stream")
        d.box(x - 34, 116, 68, 34, "R, ReLU")
        d.arrow(x, 152, 362 + (x - 362) * 0.2, 196, "stream")
    d.circle(362, 213, 15, text="+", size=18)
    for x, words in ((118, "the same for\nboth sentences"), (362, "one result for\neach sentence")):
        d.texts(x, 264, words.split("\n"), down=19)
        d.arrow(x, 234 if x < 240 else 230, x, 252, "stream")
    return d.show(
        """Two ways to read three vectors, dog at 0, bites at 1 and man at 2. On the left they are
        added first, and one matrix R and a ReLU look at the sum: the result is the same for both
        sentences. On the right R and ReLU look at each vector, and the results are added: each
        sentence has a result of its own."""
    )


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
    x, y, radius = 130, 116, 84
    (right, up), angle = tip, math.atan2(*tip)
    _clock(d, x, y, radius)
    d.text(x, 14, "place 0", "muted")
    end = (x + radius * right, y - radius * up)
    d.line([(x, y), (end[0], y), end], "muted", dashed=True)
    _hand(d, x, y, radius, tip, "position")
    sweep, half = 34, angle / 2
    bend = sweep * (1 - math.cos(half))
    d.arrow(x, y - sweep, x + sweep * math.sin(angle), y - sweep * math.cos(angle), bend=bend)
    d.text(x + radius * right / 2, y + 15, "sin", "position")
    d.text(end[0] - 6, y - radius * up / 2 + 4, "cos", "position", anchor="end")
    d.text(end[0] + 12, end[1] - 8, f"place {place}", "position", anchor="start", bold=True)
    d.text(252, 120, f"right: sin({place}) = {right:.2f}", "position", anchor="start")
    d.text(252, 144, f"up: cos({place}) = {up:.2f}", "position", anchor="start")
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
        d.text(x, 14, f"place {place}" if i == 0 else place, bold=True)
        _clock(d, x, 74, 40)
        _hand(d, x, 74, 25, slow, "ink", width=4.5)
        _hand(d, x, 74, 38, fast, "position", width=2.2)
    d.text(12, 138, "long hand: 1 radian a place", "position", anchor="start")
    d.text(12, 160, "short hand: 1/100 radian a place", anchor="start")
    last = clocks[-1][0]
    return d.show(
        f"""A row of clocks, for the places {", ".join(str(c[0]) for c in clocks)}. The long hand
        turns by a radian from place to place. At place {last} it points up again, as at place 0.
        The short hand has turned only a little there, and tells the two places apart."""
    )
