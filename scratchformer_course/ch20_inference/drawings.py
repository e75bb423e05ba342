"""Chapter 20's drawings: cache, shared keys, uses of a reading, scales, drafts and lengths."""

from collections.abc import Sequence

from scratchformer_course.kit.canvas import Drawing, drawing


@drawing(470, 238)
def recomputed(d):
    """Two tables with a row for each of 5 steps and a column for each of 5 tokens. Without a cache,
    on the left, step 1 computes the keys and values of one position, step 2 those of two, and so
    on: a dark staircase of 15 squares. With a cache, on the right, each step computes the newest
    position only: 5 dark squares on the diagonal. The pale squares to their left are kept from the
    steps before.
    """
    steps = [f"step {i}" for i in range(1, 6)]
    for left, title, before, count in (
        (72, "without a cache", 1.0, "computed: 15"),
        (302, "with a cache", 0.22, "computed: 5, kept: 10"),
    ):
        d.text(left + 75, 14, title, bold=True, size=15)
        d.texts(left + 15, 40, "the␣k", right=30, colour="token", mono=True, size=16)
        d.grid(left, 54, [[*[before] * i, 1.0, *[0] * (4 - i)] for i in range(5)], 30, "key")
        d.texts(left - 8, 69, steps, down=30, anchor="end", colour="muted", size=13)
        d.text(left + 75, 224, count)


def groups(ways: Sequence[tuple[str, int]], n_heads: int = 4):
    """Query heads and the keys and values they read: one for each head, shared, or one for all."""
    d, width, step = Drawing(470, 196, size=13), 26, 33
    for column, (name, n_groups) in enumerate(ways):
        left, share = 18 + 156 * column, n_heads // n_groups
        middle = left + (n_heads * step - 7) / 2
        d.text(middle, 14, name, bold=True, size=15)
        for g in range(n_groups):
            x = left + (g * share + (share - 1) / 2) * step
            for h in range(g * share, (g + 1) * share):
                head = left + h * step
                d.arrow(head + width / 2, 66, x + width / 2, 104, "query", width=1.4)
                d.box(head, 38, width, 26, f"q{h}", "query", 0.2)
            d.box(x, 107, width, 26, f"k{g}", "key", 0.2)
            d.box(x, 137, width, 26, f"v{g}", "value", 0.2)
        d.text(middle, 184, f"{n_groups} × keys, values", "muted")
    counts = ", ".join(f"{name}: {n_groups}" for name, n_groups in ways)
    return d.show(
        f"Three layers of {n_heads} query heads each. They differ in how many heads of keys and "
        f"values there are ({counts}). In the first, every query head reads keys of its own. In "
        "the others, neighbouring query heads point to the same keys and values."
    )


@drawing(470, 248)
def one_reading(d):
    """Three rows. Plain decode reads all weights and writes one token. A batch reads them once and
    writes a token of each of three texts. With a draft the weights are read once, and three tokens
    of one text are written.
    """
    d.text(150, 12, "the weights, read once", "muted", 13)
    d.text(392, 12, "what is written", "muted", 13)
    for y, name in ((46, "plain"), (128, "a batch"), (210, "a draft")):
        d.text_from(4, y, name, bold=True)
        d.box(90, y - 22, 126, 44, "weights", "stream", 0.25)
        d.arrow(224, y, 316, y, "muted")
    look = ("token", 0.12)
    for y, tokens in ((34, "a"), (198, "and")):
        d.row(330, y, tokens, (30, 24), look, 34, mono=True)
    d.cells(330, 98, ("a", "q", "t"), (30, 19), look, (30, 21), size=13, mono=True)
    texts = ("text 1", "text 2", "text 3")
    d.texts(368, 108, texts, down=21, colour="muted", size=13, anchor="start")


@drawing(470, 196, size=13)
def scales(d):
    """A matrix of five rows and eight columns, three times, with one outlier in the second row.
    With one scale for the matrix all 40 weights share the outlier's scale. With one scale per row,
    the eight of its row do. With groups of four, only four do.
    """
    for left, name, n, row, group, rest in (
        (10, "matrix", "1 scale", 0.45, 0.45, 0.45),
        (168, "row", "5 scales", 0.45, 0.45, 0.05),
        (326, "group of 4", "10 scales", 0.05, 0.45, 0.05),
    ):
        shades = [[rest] * 8, [row] * 4 + [group] * 4, *[[rest] * 8] * 3]
        d.text(left + 68, 14, name, size=14, bold=True)
        d.grid(left, 30, shades, 17, "key")
        d.box(left + 85, 47, 17, 17, fill=0.9)
        d.text(left + 68, 136, n, "muted")
    d.legend(10, 168, [("ink", 0.9, "the outlier")])
    d.legend(132, 168, [("key", 0.45, "weights that share its scale")])


@drawing(470, 220)
def one_pass(d):
    """The draft guesses 4 tokens, k, i, n, d. One pass of the model gives the 5 distributions p1 to
    p5, one for each guess and one for the token after. The first 3 are kept, the next is rejected
    and replaced by g, and those after it are dropped: 4 tokens are written.
    """
    cell, step = (44, 30), 58
    for y, words in ((27, "the draft guesses"), (102, "one pass reads"), (195, "written")):
        d.text_from(4, y, words)
    d.box(142, 82, 288, 40, "", "stream", 0.15)
    d.texts(172, 102, ("p1", "p2", "p3", "p4", "p5"), right=step, colour="stream", bold=True)
    verdicts = [("kept", "value")] * 3 + [("rejected", "key")]
    middles = d.row(150, 12, "kind", cell, ("token", 0.12), step, mono=True, size=15)
    for x, verdict in zip(middles, verdicts, strict=True):
        d.arrow(x, 46, x, 78, "muted")
        d.text(x, 146, *verdict, 13)
    looks = [(colour, 0.12) for _, colour in verdicts]
    d.row(150, 180, "king", cell, looks, step, mono=True, size=15)


def overlap(p: Sequence[int], q: Sequence[int]):
    """What of a draft's q is kept and rejected, and what replacements add up to p, in eighths."""
    d, unit, ground = Drawing(470, 232), 28, 132
    kept, rejected, replaced = ("value", 0.3), ("muted", 0.0, True), ("key", 0.3)
    for i, (model, draft) in enumerate(zip(p, q, strict=True)):
        x, both = 24 + 114 * i, min(model, draft)
        parts = (0, both, kept), (both, draft - both, rejected), (both, model - both, replaced)
        for low, n, look in parts:
            if n:
                d.box(x, ground - unit * (low + n), 76, unit * n, f"{n}/8", *look)
        d.text(x + 38, ground + 15, f"token {i}")
    for y, look, words in (
        (164, kept, "kept: the smaller of p and q"),
        (187, rejected, "rejected: q is larger"),
        (210, replaced, "added by the replacements: p is larger"),
    ):
        d.box(24, y, 16, 16, "", *look)
        d.text_from(50, y + 8, words)
    common = sum(min(pair) for pair in zip(p, q, strict=True))
    return d.show(
        f"Bars for {len(p)} tokens. Of the draft's q, in eighths {', '.join(map(str, q))}, the "
        f"part below the model's p, {', '.join(map(str, p))}, is kept: {common} eighths in all. "
        f"The other {sum(q) - common} are rejected, and replacements add just as many where p is "
        "larger."
    )


def lengths(per_pass: Sequence[float], formula: Sequence[float], faster: Sequence[float]):
    """Tokens per pass for each length of a draft, by the formula, too, and the gain in seconds."""
    d, left, bottom, step = Drawing(470, 312, size=13), 44, 232, 50
    unit = 190 / max(4.0, *per_pass, *formula, *faster)

    def points(numbers: Sequence[float]) -> list[tuple[float, float]]:
        return [(left + step * k, round(bottom - unit * y, 1)) for k, y in enumerate(numbers)]

    d.line([(left, bottom), (left + step * (len(formula) - 1), bottom)], "muted", width=1.2)
    for tick in range(1, 5):
        d.text_to(left - 14, bottom - unit * tick, tick, "muted")
    d.texts(left, bottom + 16, range(len(formula)), right=step, colour="muted")
    d.text(left + step * 4, bottom + 36, "guesses in a draft", "muted")
    d.line(points(formula), "muted", width=1.8, dashed=True)
    d.line(points(faster), "key", width=1.4)
    for x, y in points(per_pass):
        d.circle(x, y, 5, "value", fill=1)
    for x, y in points(faster):
        d.circle(x, y, 4, "key", fill=1)
    d.legend(4, 290, [("value", 1, "tokens per pass")])
    d.text_from(170, 298, "– – the formula", "muted")
    d.legend(318, 290, [("key", 1, "times faster")])
    rows = zip(per_pass, formula, faster, strict=True)
    told = [f"{k}: {n:.2f}, {f:.2f}, {t:.1f}" for k, (n, f, t) in enumerate(rows)]
    return d.show(
        "Dots, a dashed line and lower dots over the number of guesses in a draft: tokens per "
        "pass, the same by the formula, and how many times faster. "
        f"{'; '.join(told)}. The dots rise above the line; the lower ones soon level off."
    )
