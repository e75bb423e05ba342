"""Chapter 19's drawings: the block then and now, what each change is worth, experts' work."""

from collections.abc import Mapping, Sequence

from IPython.display import HTML

from scratchformer_course.ch19_since_gpt2.worth import Difference, six, step_ratios, worth
from scratchformer_course.kit.canvas import Drawing

NAMES = {
    "rmsnorm": "RMSNorm",
    "rotary": "rotation",
    "swiglu": "SwiGLU",
    "grouped": "shared keys",
    "qk_norm": "QK norm",
    "no_bias": "no biases",
    "window": "a window",
    "experts": "8 experts",
}

PREVENTS = {
    "rmsnorm": "a mean and a bias that nobody misses; time, where it is fused",
    "rotary": "a table that ends, and places that are learned one by one",
    "swiglu": "nothing that shows here; it buys a gate for the same weights",
    "grouped": "a cache that fills the memory",
    "qk_norm": "scores that grow until training breaks",
    "no_bias": "weights without a use",
    "window": "a cache that grows with the text",
    "experts": "operations: weights that most tokens do not pass through",
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
    """GPT-2's block beside that of today, with the places that differ numbered."""
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
            ("attention", "q and k turned", "q and k normed", "heads share keys", "a window"),
            ("", "2", "5", "4", "7"),
        ),
        (266, 28, ("RMSNorm",), ("1",)),
        (302, 76, ("feed-forward", "SwiGLU, 8/3 C wide", "no biases"), ("", "3", "6")),
    ]
    _column(d, 24, "GPT-2, 2019", then)
    _column(d, 262, "since then", now)
    return d.show(
        "Two blocks side by side, each a stream from top to bottom with a norm, attention, a norm "
        "and a feed-forward network beside it. Left, GPT-2: a table of places is added to the "
        "tokens, the norms are LayerNorms, each head has a key of its own, a token looks at all of "
        "the past, the network uses GELU, and all layers have biases. Right, since then, with a "
        "number at each change: 1 RMSNorm, 2 rotation instead of the table, 3 SwiGLU, 4 heads that "
        "share keys, 5 queries and keys are normed, 6 no biases, 7 a window. The stream and the "
        "two plus signs are the same."
    )


def worths(found: Mapping[str, Mapping[str, Difference]], order: Sequence[str]):
    """For each change a dot with its interval, alone and in the company of the others."""
    d = Drawing(470, 84 + 42 * len(order), size=13)
    ends = [
        x.mean + side * x.half for own in found.values() for x in own.values() for side in (-1, 1)
    ]
    low, high = min([*ends, -0.05]), max([*ends, 0.05])
    bottom = 40 + 42 * len(order)

    def at(nats):
        return 126 + 316 * (nats - low) / (high - low)

    d.text(at(0) - 8, 12, "better", "value", anchor="end")
    d.text(at(0) + 8, 12, "worse", "key", anchor="start")
    d.line([(at(0), 4), (at(0), bottom)], "ink", width=1.2)
    step = 0.05 if high - low < 0.3 else 0.1
    ticks = [step * i if i else 0 for i in range(round(low / step) - 1, round(high / step) + 2)]
    for tick in ticks:
        if low <= tick <= high:
            d.line([(at(tick), bottom), (at(tick), bottom + 5)], "muted", width=1.2)
            d.text(
                at(tick),
                bottom + 16,
                f"{tick:+.2f}".replace("-", "−") if tick else "0",
                "muted",
            )
    d.line([(126, bottom), (442, bottom)], "muted", width=1.2)
    dots = []
    for i, change in enumerate(order):
        y = 42 + 42 * i
        d.text(4, y, NAMES[change], anchor="start", size=14)
        for group, offset, colour in (("alone", -8, "query"), ("company", 8, "stream")):
            if change not in found[group]:
                continue
            x = found[group][change]
            bar = [(at(x.mean - x.half), y + offset), (at(x.mean + x.half), y + offset)]
            d.line(bar, colour, width=2.2)
            d.circle(at(x.mean), y + offset, 5, colour, fill=1 if group == "alone" else 0.2)
            dots.append(f"{NAMES[change]} {group} {x.mean:+.3f} ± {x.half:.3f}")
    d.text(462, bottom + 36, "nats: alone (filled), with the others (open)", anchor="end")
    return d.show(
        "A row for each change, with two dots and their intervals: what it does to the loss alone "
        f"in GPT-2, and together with the other changes. Left of zero is better. {'; '.join(dots)}."
    )


def table(stored: Mapping, held: Mapping[str, str]) -> HTML:
    """The changes with their losses, times of a step, and cache, and what each is for.

    `held` says for each change, and for "six", what a token takes in the cache.
    """
    losses, ratios = worth(stored), step_ratios(stored)
    together, ratio = six(stored)

    def nats(x: Difference) -> str:
        return f"{x.mean:+.3f} ±&nbsp;{x.half:.3f}".replace("-", "−")

    head = ("change", "loss, alone", "with the others", "time of a step", "cache, bytes a token")
    rows = [
        [
            f"{i} · {NAMES[change]}",
            *(nats(losses[group][change]) for group in ("alone", "company")),
            ", ".join(f"×&nbsp;{ratios[group][change]:.2f}" for group in ("alone", "company")),
            held[change],
            PREVENTS[change],
        ]
        for i, change in enumerate(PREVENTS, 1)
    ]
    rows.append(["1 to 6 together", nats(together), "", f"×&nbsp;{ratio:.2f}", held["six"], ""])
    columns = "".join(
        f"<th scope='col'>{name}</th>" for name in (*head, "what it prevents, or buys")
    )
    body = "".join(
        f"<tr><th scope='row'>{row[0]}</th>{''.join(f'<td>{cell}</td>' for cell in row[1:])}</tr>"
        for row in rows
    )
    style = "min-width: 40em; font-size: 0.88em; text-align: left"
    return HTML(
        f"<div style='overflow-x: auto' tabindex='0'><table class='table' style='{style}'>"
        f"<thead><tr>{columns}</tr></thead><tbody>{body}</tbody></table></div>"
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


def loads(rows: Sequence[tuple[str, Sequence[float]]]):
    """For each router the shares of its experts, as bars in order of size, and the even share."""
    n = len(rows[0][1])
    d = Drawing(470, 26 + 96 * len(rows))
    unit, width = 62 / max(max(shares) for _, shares in rows), 300 / n
    for i, (name, shares) in enumerate(rows):
        bottom = 88 + 96 * i
        for line, part in enumerate(name.split("\n")):
            d.text(6, bottom - 44 + 20 * line, part, anchor="start", bold=line == 0)
        d.line([(150, bottom), (460, bottom)], "muted", width=1.2)
        for e, share in enumerate(sorted(shares, reverse=True)):
            height = max(1, unit * share)
            d.box(156 + width * e, bottom - height, width - 8, height, "", "value", fill=0.45)
        d.line([(150, bottom - unit / n), (460, bottom - unit / n)], "ink", width=1.4, dashed=True)
    d.text(305, 14, "share of the work of each expert", "muted", size=13)
    described = "; ".join(
        f"{name.splitlines()[0]}: from {max(shares):.0%} down to {min(shares):.0%}"
        for name, shares in rows
    )
    return d.show(
        f"Bars for the shares of {n} experts, the busiest first, and a dashed line at an even "
        f"share. {described}."
    )
