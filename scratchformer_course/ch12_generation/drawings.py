"""Chapter 12's drawings: the loop that writes, the cache, heads that share keys."""

from collections.abc import Sequence

from scratchformer_course.kit.canvas import Drawing, drawing


@drawing(470, 190)
def loop(d):
    """A circle of three steps. A row of tokens, t h e space k, of shape (B, T), goes into a GPT. It
    predicts a probability for each token of the vocabulary, (B, V). One token, i, is picked and
    appended to the row. Then the longer row goes into the GPT again.
    """
    d.text_from(20, 16, "ids (B, T)", "muted", size=13)
    d.row(20, 32, "the␣k", (34, 34), ("token", 0.2), 40, mono=True, size=16)
    d.box(220, 32, 34, 34, "i", "token", 0, dashed=True, mono=True, size=16)
    d.arrow(117, 68, 117, 110)
    d.box(57, 112, 120, 44, "GPT", "stream", 0.2, bold=True, size=16)
    d.arrow(179, 134, 214, 134)
    d.texts(228, 101, "ine…", down=22, mono=True, size=15)
    d.box(242, 93, 84, 16, "", "token", 0.35)
    for y, width in ((115, 44), (137, 22), (159, 10)):
        d.box(242, y, width, 16, "", "muted", 0.35)
    d.text(284, 184, "probabilities (B, V)", "muted", size=13)
    d.arrow(340, 134, 404, 134)
    d.box(408, 117, 34, 34, "i", "token", 0.2, mono=True, size=16)
    d.line([(425, 115), (425, 49)])
    d.arrow(425, 49, 258, 49)
    for x, y, name in ((162, 88, "1 predict"), (370, 118, "2 pick"), (345, 34, "3 append")):
        d.text(x, y, name, bold=True)


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
