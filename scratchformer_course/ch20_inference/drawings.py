"""Chapter 20's drawings: uses of a reading, scales, a pass with a draft."""

from collections.abc import Sequence

from scratchformer_course.kit.canvas import Drawing


def three_ways():
    """Plain decode, and three ways to get more from one reading of the weights."""
    d = Drawing(470, 330)
    rows = [
        (46, "plain", 126, [("a", "token")]),
        (128, "a batch", 126, [("a", "token"), ("q", "token"), ("t", "token")]),
        (210, "few bits", 46, [("a", "token")]),
        (292, "a draft", 126, [("a", "token"), ("n", "token"), ("d", "token")]),
    ]
    d.text(150, 12, "the weights, read once", "muted", size=13)
    d.text(392, 12, "what is written", "muted", size=13)
    for y, name, width, tokens in rows:
        d.text(4, y, name, anchor="start", bold=True)
        d.box(90, y - 22, width, 44, "W" if width < 60 else "weights", "stream", fill=0.25)
        d.arrow(90 + width + 8, y, 316, y, "muted")
        for i, (token, colour) in enumerate(tokens):
            if name == "a batch":
                d.box(330, y - 30 + 21 * i, 30, 19, token, colour, size=13, mono=True)
                d.text(368, y - 20 + 21 * i, f"text {i + 1}", "muted", size=13, anchor="start")
            else:
                d.box(330 + 34 * i, y - 12, 30, 24, token, colour, size=14, mono=True)
    return d.show(
        "Four rows. Plain decode reads all weights and writes one token. A batch reads them once "
        "and writes a token of each of three texts. With few bits the box of weights is a third as "
        "wide, and one token is written. With a draft the weights are read once, and three tokens "
        "of one text are written."
    )


def scales():
    """One outlier in a matrix, and which weights share its scale."""
    d = Drawing(470, 196)
    for k, (name, shared) in enumerate((("matrix", None), ("row", 1), ("group of 4", 1))):
        left = 10 + 158 * k
        shades = [[0.45 if shared in (None, r) else 0.05 for _ in range(8)] for r in range(5)]
        if name == "group of 4":
            shades[1][:4] = [0.05] * 4
        d.text(left + 68, 14, name, bold=True)
        d.grid(left, 30, shades, cell=17, colour="key")
        d.box(left + 5 * 17, 30 + 17, 17, 17, "", "ink", fill=0.9)
        n = {"matrix": 1, "row": 5, "group of 4": 10}[name]
        d.text(left + 68, 136, f"{n} scale{'s' * (n > 1)}", "muted", size=13)
    d.box(10, 168, 15, 15, "", "ink", fill=0.9)
    d.text(32, 176, "the outlier", anchor="start", size=13)
    d.box(132, 168, 15, 15, "", "key", fill=0.45)
    d.text(154, 176, "weights that share its scale", anchor="start", size=13)
    return d.show(
        "A matrix of five rows and eight columns, three times, with one outlier in the second row. "
        "With one scale for the matrix all 40 weights share the outlier's scale. With one scale "
        "per row, the eight of its row do. With groups of four, only four do."
    )


def one_pass(drafted: Sequence[str], kept: int, new: str):
    """A draft of several tokens, the model's reading of all of them, and what is written."""
    d = Drawing(470, 220)
    n = len(drafted)

    def cells(y, tokens, colours):
        for i, (token, colour) in enumerate(zip(tokens, colours, strict=True)):
            if token:
                d.box(150 + 58 * i, y, 44, 30, token, colour, mono=True, size=15)

    d.text(4, 27, "the draft guesses", anchor="start", size=14)
    cells(12, drafted, ["token"] * n)
    d.text(4, 102, "one pass reads", anchor="start", size=14)
    d.box(142, 82, 58 * n + 56, 40, "", "stream", fill=0.15)
    for i in range(n + 1):
        x = 172 + 58 * i
        d.text(x, 102, f"p{i + 1}", "stream", size=14, bold=True)
        if i < n:
            d.arrow(x, 46, x, 78, "muted")
    d.text(4, 195, "written", anchor="start", size=14)
    for i in range(n):
        word, colour = ("kept", "value") if i < kept else ("dropped", "muted")
        if i == kept:
            word, colour = "rejected", "key"
        d.text(172 + 58 * i, 146, word, colour, size=13)
    written = [*drafted[:kept], new]
    cells(180, written, ["value"] * kept + ["key"])
    return d.show(
        f"The draft guesses {n} tokens, {', '.join(drafted)}. One pass of the model gives the "
        f"{n + 1} distributions p1 to p{n + 1}, one for each guess and one for the token after. "
        f"The first {kept} are kept, the next is rejected and replaced by {new}, and those after "
        f"it are dropped: {kept + 1} tokens are written."
    )


def overlap(p: Sequence[int], q: Sequence[int]):
    """What of a draft's q is kept and rejected, and what replacements add up to p, in eighths."""
    d = Drawing(470, 232)
    unit, ground = 28, 132
    colours = {"kept": "value", "rejected": "muted", "replaced": "key"}

    def part(x, low, n, kind):
        if n:
            y, height = ground - unit * (low + n), unit * n
            dashed = kind == "rejected"
            fill = 0.0 if dashed else 0.3
            d.box(x, y, 76, height, f"{n}/8", colours[kind], fill=fill, dashed=dashed, size=14)

    for i, (model, draft) in enumerate(zip(p, q, strict=True)):
        x, both = 24 + 114 * i, min(model, draft)
        part(x, 0, both, "kept")
        part(x, both, draft - both, "rejected")
        part(x, both, model - both, "replaced")
        d.text(x + 38, ground + 15, f"token {i}", size=14)
    legend = [
        ("kept", "kept: the smaller of p and q"),
        ("rejected", "rejected: q is larger"),
        ("replaced", "added by the replacements: p is larger"),
    ]
    for i, (kind, words) in enumerate(legend):
        y, dashed = 164 + 23 * i, kind == "rejected"
        d.box(24, y, 16, 16, "", colours[kind], fill=0.0 if dashed else 0.3, dashed=dashed)
        d.text(50, y + 8, words, anchor="start", size=14)
    kept = sum(min(pair) for pair in zip(p, q, strict=True))
    return d.show(
        f"Bars for {len(p)} tokens. Of the draft's q, in eighths {', '.join(map(str, q))}, the "
        f"part below the model's p, {', '.join(map(str, p))}, is kept: {kept} eighths in all. The "
        f"other {sum(q) - kept} are rejected, and replacements add just as many where p is larger."
    )
