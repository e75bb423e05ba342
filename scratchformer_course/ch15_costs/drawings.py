"""Chapter 15's drawings: one reading, a roofline, the account of a token; and those of training's
page: a GPT, the memory of a step, and the roofline with what was measured."""

import math
from collections.abc import Callable
from statistics import median
from typing import NamedTuple

from scratchformer_course.kit.canvas import Drawing, drawing
from scratchformer_course.measurements import load_measurements

COUNTS = {  # of parts() as it is shown
    "token table": 3120,
    "position table": 3072,
    "norm": 96,
    "attention": 9408,
    "feed-forward": 18_672,
    "together": 91_104,
}

(LEFT, RIGHT), (BOTTOM, TOP) = (54, 440), (258, 16)  # of 1 and 128 texts; of 10 and 2,000


def parts():
    """A GPT from top to bottom, each part with its shape and its number of parameters."""
    V, T, C, n_layers = 65, 64, 48, 3
    counts = COUNTS
    d = Drawing(470, 424)
    for y, height, name, shape, count, colour in (
        (42, 30, "token table", f"{V} × {C}", counts["token table"], "token"),
        (76, 30, "position table", f"{T} × {C}", counts["position table"], "position"),
        (134, 28, "norm", "weight, bias", counts["norm"], "muted"),
        (166, 36, "attention", "4 matrices, 4 biases", counts["attention"], "query"),
        (206, 28, "norm", "weight, bias", counts["norm"], "muted"),
        (238, 36, "feed-forward", "2 matrices, 2 biases", counts["feed-forward"], "value"),
        (304, 28, "last norm", "weight, bias", counts["norm"], "muted"),
        (336, 30, "output head", "the token table again", 0, "token"),
    ):
        d.box(58, y, 148, height, name, colour, 0.2)
        d.text_from(218, y + height / 2, shape, "muted", 13)
        d.text_to(452, y + height / 2, f"{count:,}")
    d.box(14, 118, 446, 164, "", "stream", 0.06, dashed=True)
    d.text(32, 200, f"block × {n_layers}", "stream", bold=True, turn=-90)
    for top, bottom, colour in (
        (25, 40, "ink"),
        (107, 132, "stream"),
        (283, 302, "stream"),
        (367, 388, "ink"),
    ):
        d.arrow(132, top, 132, bottom, colour)
    d.text(132, 14, "token ids", "token", bold=True)
    d.text_to(458, 14, "parameters", "muted", 13)
    d.text(132, 402, "logits", bold=True)
    d.line([(376, 376), (456, 376)], width=1.2)
    d.text_to(452, 396, f"{counts['together']:,}", bold=True)
    d.text_to(376, 396, f"together, with {n_layers} blocks", size=13)
    return d.show(
        f"A GPT from top to bottom, {C} wide, with the number of parameters of each part. Token "
        f"ids enter the token table, {counts['token table']:,}, and the position table, "
        f"{counts['position table']:,}. A dashed frame marks a block, which is repeated "
        f"{n_layers} times: a norm, {counts['norm']}; attention with 4 matrices and 4 biases, "
        f"{counts['attention']:,}; a second norm; and a feed-forward network with 2 matrices and "
        f"2 biases, {counts['feed-forward']:,}. Then come a last norm and the output head, which "
        f"is the token table again and adds 0. Together: {counts['together']:,}."
    )


def step_memory(weights: int = 364_416, activations: int = 5_110_276):
    """What a training step keeps, as bars to scale: four copies of the weights, and the rest."""
    d = Drawing(470, 196)
    unit = 440 / (4 * weights + activations)
    width = weights * unit
    d.text_from(14, 16, "grows with the model", bold=True)
    d.text_to(456, 16, "grows with the batch", bold=True)
    looks = [(colour, 0.3) for colour in ("stream", "key", "query", "query")]
    places = d.row(14, 32, [""] * 4, (width, 54), looks)
    d.box(14 + 4 * width, 32, activations * unit, 54, "activations", "value", 0.2)
    names = ("weights", "gradients", "mean of gradients", "mean of their squares")
    for i, (name, place) in enumerate(zip(names, places, strict=True)):
        y = 178 - 24 * i  # the last piece's name stands highest: no line crosses a name
        d.line([(place, 88), (place, y), (place + 10, y)], "muted", width=1.2)
        d.text_from(place + 16, y, name, size=13)
    return d.show(
        "A bar to scale. On the left are four equal pieces: weights, gradients, and the two means "
        "that AdamW keeps, of the gradients and of their squares. They grow with the model. The "
        f"rest of the bar, {activations / (4 * weights):.1f} times as long as the four together, "
        "are the activations. They grow with the batch."
    )


@drawing(470, 276)
def reading(d):
    """Two rows. Each has a memory that holds all weights, three thick arrows called bandwidth, in
    bytes a second, and a processor with its peak. In the first row, where the model writes, one
    token comes out of it, and a dashed arrow leads back to the memory: and again, for the next
    token. In the second, where it reads a prompt, six tokens share one reading of the weights.
    """
    for y, title, tokens in (
        (28, "it writes: one reading of all weights, one token", ((390, 58),)),
        (
            184,
            "it reads: one reading, every token of the prompt",
            [(x, y) for x in (390, 428) for y in (186, 214, 242)],
        ),
    ):
        d.text_from(4, y - 14, title, bold=True)
        d.box(4, y, 132, 84, "memory\n\nall weights", "stream", 0.25)
        for down in (22, 42, 62):
            d.arrow(140, y + down, 246, y + down, "stream", width=3)
        d.texts(192, y + 8, ("bandwidth", "bytes a second"), down=70, colour="muted", size=13)
        d.box(250, y, 110, 84, "processor\n\npeak", "value", 0.2)
        d.arrow(364, y + 42, 384, y + 42, "token")
        for place in tokens:
            d.box(*place, 32, 24, "", "token", 0.35)
    d.line([(406, 88), (406, 126), (70, 126)], "muted", dashed=True)
    d.arrow(70, 126, 70, 114, "muted")
    d.text(238, 140, "and all of them again, for the next token", "muted", size=13)


class _Roof(NamedTuple):
    """Axes with both limits: the places of so many texts and of a rate, and the limits in words."""

    drawing: Drawing
    x: Callable[[float], float]
    y: Callable[[float], float]
    meet: float  # texts
    by_peak: float  # tokens a second
    words: str


def roofline():
    """Tokens a second against texts at once: both limits as lines, of a core of the lab."""
    d, x, y, meet, by_peak, words = _limits()
    d.line([(x(meet), y(by_peak)), (x(meet), BOTTOM)], "muted", 1, dashed=True)
    d.text_to(x(meet) - 8, BOTTOM - 53, "reading takes longer", "stream", 13)
    names = ("arithmetic", "takes longer")
    d.texts(x(meet) + 66, BOTTOM - 62, names, down=18, colour="value", size=13)
    return d.show(f"{words} Left of there, reading takes longer, and right of it arithmetic.")


def roofline_measured():
    """The roofline with what `lab.real_speed` has measured as points."""
    found = load_measurements("real_speed")
    d, x, y, *_, words = _limits()
    steps, products = (
        {k: 1000 * k / median(found["texts"][f"{what} {k}"]) for k in found["settings"]["texts"]}
        for what in ("step", "products")
    )
    for points, fill in ((products, 0.0), (steps, 0.9)):
        d.line([(x(k), y(rate)) for k, rate in points.items()], "token", 1.2, dashed=fill == 0)
        for k, rate in points.items():
            d.circle(x(k), y(rate), 4.5, "token", fill)
    for down, fill, name in ((34, 0.9, "measured"), (14, 0.0, "its products alone")):
        d.circle(RIGHT - 138, BOTTOM - down, 4.5, "token", fill)
        d.text_from(RIGHT - 126, BOTTOM - down, name, size=13)
    of = ", ".join(f"{rate:.0f} for {k}" for k, rate in steps.items())
    alone = ", ".join(f"{rate:.0f} for {k}" for k, rate in products.items())
    return d.show(
        f"{words} Below both lines are the measured points: {of}; and between these and the "
        f"lines, what the products alone would allow: {alone}."
    )


def _limits() -> _Roof:
    found = load_measurements("real_speed")
    by_bandwidth = 1000 / median(found["texts"]["summed"])
    by_peak = 1e9 * median(found["peak"]) / (2 * found["weights_bytes"] / 4)
    meet = by_peak / by_bandwidth
    d = Drawing(470, 316)
    most_texts, least, most = 128, 10, 2000

    def x(texts: float) -> float:
        return LEFT + (RIGHT - LEFT) * math.log(texts) / math.log(most_texts)

    def y(rate: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * math.log(rate / least) / math.log(most / least)

    for rate in (10, 20, 50, 100, 200, 500, 1000, 2000):
        d.line([(LEFT, y(rate)), (RIGHT, y(rate))], "muted", width=0.4)
        d.text_to(LEFT - 6, y(rate), f"{rate:,}", size=13)
    for texts in found["settings"]["texts"]:
        d.line([(x(texts), BOTTOM), (x(texts), BOTTOM + 5)], "muted", width=1.2)
        d.text(x(texts), BOTTOM + 16, f"{texts}", size=13)
    d.line([(LEFT, BOTTOM), (RIGHT, BOTTOM)], "muted", width=1.2)
    d.text(x(8), BOTTOM + 38, "texts at once", size=13)
    d.text_from(LEFT + 6, TOP + 13, "tokens a second", size=13)
    d.line([(x(1), y(by_bandwidth)), (x(meet), y(by_peak))], "stream", width=2.6)
    d.line([(x(meet), y(by_peak)), (RIGHT, y(by_peak))], "value", width=2.6)
    turn = math.degrees(math.atan2(y(by_peak) - y(by_bandwidth), x(meet) - x(1)))
    d.text(x(5) - 4, y(5 * by_bandwidth) - 14, "bandwidth", "stream", 13, turn=round(turn))
    d.text_to(RIGHT, y(by_peak) - 12, "peak", "value", 13)
    words = (
        "Tokens a second, all texts together, against the number of texts, both on logarithmic "
        f"scales. A rising line is the limit of bandwidth: {by_bandwidth:.0f} for one text, and "
        f"each further one as many again. A level line is the limit of the peak, {by_peak:.0f}. "
        f"They meet at {meet:.0f} texts."
    )
    return _Roof(d, x, y, meet, by_peak, words)


def account(spent: dict[str, list[float]]):
    """Where the milliseconds of a token go: as it is, and with parts of its work taken away.

    `spent` has those of each round of `lab.token_apart`.
    """
    took = {name: median(of) for name, of in spent.items()}
    token, products, read = took["token"], took["products"], took["read"]
    rest, between, summed = took["nothing"], token - products, took["summed"]
    d = Drawing(470, 354)
    left, unit, high = 8, 400 / max(token, read), 28
    at = left + unit * products

    def bar(row, name, milliseconds, pieces, start=left):
        y = 12 + 58 * row
        d.text_from(left, y, name, bold=True, size=14)
        for words, width, colour, fill in pieces:
            d.box(start, y + 14, unit * width, high, words, colour, fill, size=13)
            start += unit * width
        d.text_from(start + 6, y + 14 + high / 2, f"{milliseconds:.0f} ms", size=13)

    reading, multiplying, small = ("stream", 0.3), ("value", 0.5), ("muted", 0.2)
    bar(0, "The forecast: one sum over all weights", summed, [("", summed, *reading)])
    of_token = [("products", products, *multiplying), ("between them", between, *small)]
    bar(1, "A token as it is", token, of_token)
    bar(2, "Sums in place of its products", read, [("only reads", read, *reading)])
    bar(3, "Its products alone", products, [("", products, *multiplying)])
    one_by_one = took["sums"]
    bar(4, "211 sums alone, one by one", one_by_one, [("", one_by_one, *reading)])
    bar(5, "Neither sums nor products", rest, [("", rest, *small)], at)
    d.line([(at, 70), (at, 344)], "muted", 1, dashed=True)
    return d.show(
        "Bars of milliseconds, to scale. The forecast, one sum over all weights: "
        f"{summed:.0f}. A token as it is: {token:.0f}, of which the products take "
        f"{products:.0f} and what is between them the rest. With sums in place of the products it "
        f"takes {read:.0f}. The products alone take {products:.0f}, and a sum of each of the 211 "
        f"matrices, one by one, {one_by_one:.0f}. With neither sums nor products "
        f"it takes {rest:.0f}, about half of what lies between the products of the whole token."
    )
