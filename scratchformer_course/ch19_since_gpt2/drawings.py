"""Chapter 19's drawings: the block then and now, what each change is worth, a token's experts."""

from collections.abc import Mapping

from scratchformer_course.ch19_since_gpt2.worth import Difference
from scratchformer_course.kit.canvas import Drawing

NAMES = {
    "rmsnorm": "RMSNorm",
    "rotary": "rotation",
    "swiglu": "SwiGLU",
    "grouped": "shared keys",
    "no_bias": "no biases",
}


def _column(d, left, title, parts):
    """A stream downwards, with boxes beside it: (y, height, lines, the numbers of changes)."""
    d.text(left + 102, 14, title, bold=True, size=15)
    d.line([(left, 34), (left, 422)], "stream", width=4)
    d.arrow(left, 422, left, 446, "stream", width=4)
    for y, height, lines, numbers in parts:
        is_norm = height < 40
        colour = "muted" if is_norm else "ink"
        d.line([(left, y + height / 2), (left + 30, y + height / 2)], "muted", width=1.4)
        d.box(left + 30, y, 170, height, "", colour, fill=0.14 if is_norm else 0.07)
        for i, line in enumerate(lines):
            at = y + height / 2 + 19 * (i - (len(lines) - 1) / 2)
            d.text(left + 40, at, line, size=13, anchor="start", bold=i == 0 and not is_norm)
            if numbers[i]:
                d.circle(left + 184, at, 9, "key", fill=0.25, text=numbers[i], size=13, bold=True)
    for y in (240, 390):
        d.plus(left, y, 12, 16)


def two_blocks():
    """GPT-2's block beside SmolLM2's, with the places that differ numbered."""
    d = Drawing(470, 456)
    then = [
        (36, 44, ("tokens", "+ a table of places"), ("", "")),
        (94, 28, ("LayerNorm",), ("",)),
        (130, 100, ("attention", "a key for each head", "all of the past"), ("", "", "")),
        (266, 28, ("LayerNorm",), ("",)),
        (302, 76, ("feed-forward", "C → 4C, GELU, 4C → C", "biases everywhere"), ("", "", "")),
    ]
    now = [
        (36, 44, ("tokens", "no table of places"), ("", "2")),
        (94, 28, ("RMSNorm",), ("1",)),
        (
            130,
            100,
            ("attention", "q and k turned", "heads share keys", "all of the past"),
            ("", "2", "4", ""),
        ),
        (266, 28, ("RMSNorm",), ("1",)),
        (302, 76, ("feed-forward", "SwiGLU, 8/3 C wide", "no biases"), ("", "3", "5")),
    ]
    _column(d, 24, "GPT-2, 2019", then)
    _column(d, 262, "SmolLM2, 2025", now)
    return d.show(
        "Two blocks side by side, each a stream from top to bottom with a norm, attention, a norm "
        "and a feed-forward network beside it. Left, GPT-2: a table of places is added to the "
        "tokens, the norms are LayerNorms, each head has a key of its own, a token looks at all of "
        "the past, the network uses GELU, and all layers have biases. Right, SmolLM2, with a "
        "number at each change: 1 RMSNorm, 2 rotation instead of the table, 3 SwiGLU, 4 heads that "
        "share keys, 5 no biases. The stream and the two plus signs are the same."
    )


def layouts():
    """Eight channels twice: neighbours that turn together, and channels half a head apart."""
    d = Drawing(470, 176)
    colours = ("token", "query", "key", "value")
    for name, top, pair_of in (
        ("chapter 08", 40, lambda c: c // 2),
        ("SmolLM2's file", 128, lambda c: c % 4),
    ):
        d.text(4, top + 15, name, anchor="start", size=14)
        for c in range(8):
            x = 126 + 42 * c
            d.box(x, top, 34, 30, str(c), colours[pair_of(c)], fill=0.3)
            if (partner := next((o for o in range(c + 1, 8) if pair_of(o) == pair_of(c)), 0)) > c:
                x2, bend = 126 + 42 * partner + 17, 14 if partner - c == 1 else 26
                middle = (x + 17 + x2) / 2
                points = [(x + 17, top - 3), (middle, top - bend), (x2, top - 3)]
                d.line(points, colours[pair_of(c)], width=1.6)
    return d.show(
        "The eight channels of a head, twice, and lines between those that turn together. In "
        "chapter 08: 0 and 1, 2 and 3, 4 and 5, 6 and 7. In the file of SmolLM2: 0 and 4, 1 and 5, "
        "2 and 6, 3 and 7."
    )


def keys_of_heads():
    """Nine query heads over the keys that they were trained with, and over those in wrong order."""
    d = Drawing(470, 128)
    colours = {"a": "query", "b": "key", "c": "value"}
    d.text(4, 14, "query head", "muted", anchor="start", size=13)
    for head in range(9):
        d.text(140 + 37 * head, 14, str(head + 1), size=14)
    for name, top, order in (("trained with", 30, "aaabbbccc"), ("repeat", 82, "abcabcabc")):
        d.text(4, top + 16, name, anchor="start", size=14)
        for head, key in enumerate(order):
            kept = key == "aaabbbccc"[head]
            fill = 0.45 if kept else 0.06
            d.box(124 + 37 * head, top, 32, 32, key, colours[key], fill=fill, bold=kept)
    return d.show(
        "Two rows of keys under nine query heads. Trained with: a a a b b b c c c. With repeat: "
        "a b c a b c a b c. They agree under the heads 1, 5 and 9."
    )


def worths(differences: Mapping[str, Difference]):
    """For each change a dot with its interval: what it alone does to the loss."""
    d = Drawing(470, 82 + 34 * len(NAMES), size=13)
    ends = [
        differences[change].mean + side * differences[change].half
        for change in NAMES
        for side in (-1, 1)
    ]
    low, high = min([*ends, -0.05]), max([*ends, 0.02])
    bottom = 34 + 34 * len(NAMES)

    def at(nats):
        return 126 + 316 * (nats - low) / (high - low)

    d.text(at(0) - 8, 12, "better", "value", anchor="end")
    d.text(at(0) + 8, 12, "worse", "key", anchor="start")
    d.line([(at(0), 4), (at(0), bottom)], "ink", width=1.2)
    for tick in (-0.06, -0.04, -0.02, 0, 0.02):
        if low <= tick <= high:
            d.line([(at(tick), bottom), (at(tick), bottom + 5)], "muted", width=1.2)
            label = f"{tick:+.2f}".replace("-", "−") if tick else "0"
            d.text(at(tick), bottom + 16, label, "muted")
    d.line([(126, bottom), (442, bottom)], "muted", width=1.2)
    dots = []
    for i, change in enumerate(NAMES):
        y, x = 40 + 34 * i, differences[change]
        d.text(4, y, NAMES[change], anchor="start", size=14)
        d.line([(at(x.mean - x.half), y), (at(x.mean + x.half), y)], "query", width=2.2)
        d.circle(at(x.mean), y, 5, "query", fill=1)
        dots.append(f"{NAMES[change]} {x.mean:+.3f} ± {x.half:.3f}")
    d.text(462, bottom + 36, "nats a character, against GPT-2", anchor="end")
    return d.show(
        "A row for each change, with a dot and its interval: what it does to the loss alone. Left "
        f"of zero is better. {'; '.join(dots)}."
    )


def router():
    """A token's way through eight experts, of which two work for it."""
    d = Drawing(470, 296)
    chances = (0.03, 0.45, 0.05, 0.02, 0.08, 0.30, 0.04, 0.03)
    chosen = {1: "0.6", 5: "0.4"}
    d.box(4, 130, 62, 36, "token", "stream", fill=0.2)
    d.arrow(66, 148, 92, 148, "stream")
    d.box(92, 120, 66, 56, "router", "query", bold=True)
    d.text(222, 12, "chance", "muted", size=13)
    d.text(308, 12, "experts", "muted", size=13)
    for e, chance in enumerate(chances):
        y = 40 + 33 * e
        at_work = e in chosen
        d.arrow(158, 148, 202, y, "query" if at_work else "muted", width=2.4 if at_work else 1)
        d.text(222, y, f".{100 * chance:02.0f}", "ink" if at_work else "muted", bold=at_work)
        colour = "value" if at_work else "muted"
        d.box(250, y - 13, 116, 26, f"SwiGLU {e}", colour, fill=0.3 if at_work else 0.04, size=13)
        if at_work:
            d.arrow(366, y, 424, 148 + (-12 if y < 148 else 12), "value", width=2.4)
            d.text(410, y + (10 if y < 148 else -4), f"× {chosen[e]}", size=13, anchor="start")
    d.plus(432, 148, size=16)
    d.arrow(445, 148, 468, 148, "stream")
    return d.show(
        "A token goes into a router, which gives eight experts the chances .03, .45, .05, .02, "
        ".08, .30, .04 and .03. Only the experts with .45 and .30 work for the token. What they "
        "say is multiplied by 0.6 and 0.4, which are these chances divided by their sum, and added."
    )
