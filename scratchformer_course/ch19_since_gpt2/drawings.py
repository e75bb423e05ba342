"""Chapter 19's drawings: wrong answers, the block then and now, what a change is worth, experts."""

import textwrap
from collections.abc import Mapping

from scratchformer_course.ch19_since_gpt2.worth import Difference
from scratchformer_course.kit.canvas import Drawing, drawing

PLACES = (36, 44), (94, 28), (130, 100), (266, 28), (302, 76)  # of a block's parts: y, height
NAMES = {
    "rmsnorm": "RMSNorm",
    "rotary": "rotation",
    "swiglu": "SwiGLU",
    "grouped": "shared keys",
    "no_bias": "no biases",
}


WRONG = {  # a line -> which one it is, and whose
    "gate": ("the gate", "Gemma's"),
    "pairs": ("the rotation", "chapter 08's"),
    "keys": ("shared keys", "ONNX's, once"),
}


def wrong_answers(stored: Mapping):
    """A question, and what the model answered with each of three lines of other programs."""
    runs = {tuple(run["lines"]): run for run in (*stored["combinations"], *stored["apart"])}
    d = Drawing(470, 304)
    question = stored["settings"]["questions"][0]
    d.box(182, 6, 282, 38, question, "muted", 0.14)
    told = []
    for i, (line, (part, whose)) in enumerate(WRONG.items()):
        y, answer = 60 + 82 * i, runs[line,]["answers"][0]
        lines = [words for said in answer.splitlines() for words in textwrap.wrap(said, 39)][:3]
        d.text_from(4, y + 24, part, bold=True)
        d.text_from(4, y + 46, whose, "muted")
        d.box(138, y, 326, 70, "", "key", 0.08)
        for n, words in enumerate(lines):
            d.text_from(150, y + 35 + 20 * (n - (len(lines) - 1) / 2), words)
        told.append(f"With another line for {part}, {whose}: “{answer}”")
    return d.show(f"The question “{question}” and three answers. {'. '.join(told)}.")


def _column(d, left, title, parts, changes):
    """A stream downwards, and its parts beside it: their lines, and the number of what is new."""
    d.text(left + 102, 14, title, size=15, bold=True)
    d.arrow(left, 34, left, 446, "stream", width=4)
    for (y, height), lines, numbers in zip(PLACES, parts, changes, strict=True):
        is_norm, middle = height == 28, y + height / 2
        look = ("muted", 0.14) if is_norm else ("ink", 0.07)
        d.line([(left, middle), (left + 30, middle)], "muted", width=1.4)
        d.box(left + 30, y, 170, height, "", *look)
        for i, (line, number) in enumerate(zip(lines, numbers, strict=True)):
            at = middle + 19 * (i - (len(lines) - 1) / 2)
            d.text_from(left + 40, at, line, bold=i == 0 and not is_norm)
            if number != " ":
                d.circle(left + 184, at, 9, "key", fill=0.25, text=number, bold=True)
    for y in (240, 390):
        d.plus(left, y, 12, 16)


@drawing(470, 456, size=13)
def two_blocks(d):
    """Two blocks side by side, each a stream from top to bottom with a norm, attention, a norm and
    a feed-forward network beside it. Left, GPT-2: a table of positions is added to the tokens, the
    norms are LayerNorms, each head has a key of its own, a token looks at all of the past, the
    network uses GELU, and all layers have biases. Right, SmolLM2, with a number at each change: 1
    RMSNorm, 2 rotation instead of the table, 3 SwiGLU, 4 heads that share keys, 5 no biases. The
    stream and the two plus signs are the same.
    """
    then = (
        ("tokens", "+ a table of positions"),
        ("LayerNorm",),
        ("attention", "a key for each head", "all of the past"),
        ("LayerNorm",),
        ("feed-forward", "C → 4C, GELU, 4C → C", "biases everywhere"),
    )
    now = (
        ("tokens", "no such table"),
        ("RMSNorm",),
        ("attention", "q and k turned", "heads share keys", "all of the past"),
        ("RMSNorm",),
        ("feed-forward", "SwiGLU, 8/3 C wide", "no biases"),
    )
    _column(d, 24, "GPT-2, 2019", then, ("  ", " ", "   ", " ", "   "))
    _column(d, 262, "SmolLM2, 2025", now, (" 2", "1", " 24 ", "1", " 35"))


@drawing(470, 176)
def layouts(d):
    """The eight channels of a head, twice, and lines between those that turn together. In chapter
    08: 0 and 1, 2 and 3, 4 and 5, 6 and 7. In the file of SmolLM2: 0 and 4, 1 and 5, 2 and 6, 3 and
    7.
    """
    colours = ("token", "query", "key", "value")
    for name, y, apart, bend, order in (
        ("chapter 08", 40, 1, 14, "00112233"),
        ("SmolLM2's file", 128, 4, 26, "01230123"),
    ):
        looks = [(colours[int(pair)], 0.3) for pair in order]
        middles = d.row(126, y, range(8), (34, 30), looks, 42)
        d.text_from(4, y + 15, name)
        for pair, colour in enumerate(colours):
            x = middles[order.index(str(pair))]
            far = 42 * apart
            d.line([(x, y - 3), (x + far / 2, y - bend), (x + far, y - 3)], colour, width=1.6)


@drawing(470, 128)
def keys_of_heads(d):
    """Two rows of keys under nine query heads. Trained with: a a a b b b c c c. With repeat: a b c
    a b c a b c. They agree under the heads 1, 5 and 9.
    """
    right = "aaabbbccc"
    colours = {"a": "query", "b": "key", "c": "value"}
    d.text_from(4, 14, "query head", "muted", 13)
    d.texts(140, 14, range(1, 10), right=37)
    for name, y, order in (("trained with", 30, right), ("repeat", 82, "abcabcabc")):
        d.text_from(4, y + 16, name)
        for x, key, kept in zip(range(124, 470, 37), order, right, strict=False):
            d.box(x, y, 32, 32, key, colours[key], 0.45 if key == kept else 0.06, bold=key == kept)


def worths(differences: Mapping[str, Difference]):
    """For each change a dot with its interval: what it alone does to the loss."""
    d = Drawing(470, 82 + 34 * len(NAMES), size=13)
    shown = {NAMES[change]: differences[change] for change in NAMES}
    low = min(-0.05, *(x.mean - x.half for x in shown.values()))
    high = max(0.02, *(x.mean + x.half for x in shown.values()))
    bottom = 34 + 34 * len(NAMES)

    def at(nats):
        return 126 + 316 * (nats - low) / (high - low)

    d.text_to(at(0) - 8, 12, "better", "value")
    d.text_from(at(0) + 8, 12, "worse", "key")
    d.line([(at(0), 4), (at(0), bottom)], width=1.2)
    for tick in (-0.06, -0.04, -0.02, 0, 0.02):
        if low <= tick <= high:
            d.line([(at(tick), bottom), (at(tick), bottom + 5)], "muted", width=1.2)
            label = f"{tick:+.2f}".replace("-", "−") if tick else "0"
            d.text(at(tick), bottom + 16, label, "muted")
    d.line([(126, bottom), (442, bottom)], "muted", width=1.2)
    for i, (name, x) in enumerate(shown.items()):
        y = 40 + 34 * i
        d.text_from(4, y, name, size=14)
        d.line([(at(x.mean - x.half), y), (at(x.mean + x.half), y)], "query", width=2.2)
        d.circle(at(x.mean), y, 5, "query", fill=1)
    d.text_to(462, bottom + 36, "nats a character, against GPT-2")
    dots = [f"{name} {x.mean:+.3f} ± {x.half:.3f}" for name, x in shown.items()]
    return d.show(
        "A row for each change, with a dot and its interval: what it does to the loss alone. Left "
        f"of zero is better. {'; '.join(dots)}."
    )


@drawing(470, 296)
def router(d):
    """A token goes into a router, which gives eight experts the chances .03, .45, .05, .02, .08,
    .30, .04 and .03. Only the experts with .45 and .30 work for the token. What they say is
    multiplied by 0.6 and 0.4, which are these chances divided by their sum, and added.
    """
    d.box(4, 130, 62, 36, "token", "stream", 0.2)
    d.arrow(66, 148, 92, 148, "stream")
    d.box(92, 120, 66, 56, "router", "query", bold=True)
    d.texts(222, 12, ("chance", "experts"), right=86, colour="muted", size=13)
    for e, chance in enumerate((3, 45, 5, 2, 8, 30, 4, 3)):
        y, share = 40 + 33 * e, {1: "× 0.6", 5: "× 0.4"}.get(e, "")
        way, colour, fill, width = (
            ("query", "value", 0.3, 2.4) if share else ("muted", "muted", 0.04, 1)
        )
        d.arrow(158, 148, 202, y, way, width=width)
        d.text(222, y, f".{chance:02}", "ink" if share else "muted", bold=bool(share))
        d.box(250, y - 13, 116, 26, f"SwiGLU {e}", colour, fill, size=13)
        if share:
            is_above = y < 148
            d.arrow(366, y, 424, 136 if is_above else 160, "value", width=2.4)
            d.text_from(410, y + (10 if is_above else -4), share, size=13)
    d.plus(432, 148, size=16)
    d.arrow(445, 148, 468, 148, "stream")
