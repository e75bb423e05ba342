"""Chapter 12's drawings: the loop that writes, the cache, heads that share keys."""

from collections.abc import Sequence

from scratchformer_course.kit.canvas import Drawing


def loop():
    """Predict, pick, append, and again."""
    d = Drawing(470, 190)
    d.text(20, 16, "ids (B, T)", "muted", size=13, anchor="start")
    d.cells(20, 32, ["the␣k"], (34, 34), ("token", 0.2), (40, 34), mono=True, size=16)
    d.box(220, 32, 34, 34, "i", "token", dashed=True, fill=0, mono=True, size=16)
    d.arrow(117, 68, 117, 110)
    d.text(126, 88, "1 predict", anchor="start", bold=True)
    d.box(57, 112, 120, 44, "GPT", "stream", fill=0.2, bold=True, size=16)
    d.arrow(179, 134, 214, 134)
    for i, (letter, width) in enumerate((("i", 84), ("n", 44), ("e", 22), ("…", 10))):
        y = 101 + 22 * i
        d.text(228, y, letter, mono=True, size=15)
        d.box(242, y - 8, width, 16, "", "token" if i == 0 else "muted", fill=0.35)
    d.text(284, 184, "probabilities (B, V)", "muted", size=13)
    d.arrow(340, 134, 404, 134)
    d.text(370, 118, "2 pick", bold=True)
    d.box(408, 117, 34, 34, "i", "token", fill=0.2, mono=True, size=16)
    d.line([(425, 115), (425, 49)])
    d.arrow(425, 49, 258, 49)
    d.text(345, 34, "3 append", bold=True)
    return d.show(
        "A circle of three steps. A row of tokens, t h e space k, of shape (B, T), goes into a "
        "GPT. It predicts a probability for each token of the vocabulary, (B, V). One token, i, "
        "is picked and appended to the row. Then the longer row goes into the GPT again."
    )


def recomputed(letters: str):
    """Every step of writing as a row: the positions it computes, without a cache and with one."""
    n, cell = len(letters), 30
    d = Drawing(470, 88 + n * cell)
    without = [[float(j <= i) for j in range(n)] for i in range(n)]
    kept = [[1.0 if j == i else 0.22 * (j < i) for j in range(n)] for i in range(n)]
    every = n * (n + 1) // 2
    for left, title, table, count in (
        (72, "without a cache", without, f"computed: {every}"),
        (302, "with a cache", kept, f"computed: {n}, kept: {every - n}"),
    ):
        d.text(left + n * cell / 2, 14, title, bold=True, size=15)
        d.texts(left + cell / 2, 40, letters, right=cell, colour="token", mono=True, size=16)
        d.grid(left, 54, table, cell, "key")
        steps, style = [f"step {i + 1}" for i in range(n)], {"colour": "muted", "size": 13}
        d.texts(left - 8, 54 + cell / 2, steps, down=cell, anchor="end", **style)
        d.text(left + n * cell / 2, 74 + n * cell, count, size=14)
    return d.show(
        f"Two tables with a row for each of {n} steps and a column for each of {n} tokens. Without "
        "a cache, on the left, step 1 computes the keys and values of one position, step 2 those "
        f"of two, and so on: a dark staircase of {every} squares. With a cache, on the right, each "
        f"step computes the newest position only: {n} dark squares on the diagonal. The pale "
        "squares to their left are kept from the steps before."
    )


def groups(ways: Sequence[tuple[str, int]], n_heads: int = 4):
    """Query heads and the keys and values they read: one for each head, shared, or one for all."""
    d = Drawing(470, 196, size=13)
    width, gap = 26, 7
    for column, (name, n_groups) in enumerate(ways):
        left = 18 + 156 * column
        middle = left + (n_heads * (width + gap) - gap) / 2
        d.text(middle, 14, name, bold=True, size=15)
        share = n_heads // n_groups
        for g in range(n_groups):
            x = left + (g * share + (share - 1) / 2) * (width + gap)
            for h in range(g * share, (g + 1) * share):
                head = left + h * (width + gap)
                d.arrow(head + width / 2, 66, x + width / 2, 104, "query", width=1.4)
                d.box(head, 38, width, 26, f"q{h}", "query", fill=0.2)
            d.box(x, 107, width, 26, f"k{g}", "key", fill=0.2)
            d.box(x, 137, width, 26, f"v{g}", "value", fill=0.2)
        d.text(middle, 184, f"{n_groups} × keys, values", "muted")
    counts = ", ".join(f"{name}: {n_groups}" for name, n_groups in ways)
    return d.show(
        f"Three layers of {n_heads} query heads each. They differ in how many heads of keys and "
        f"values there are ({counts}). In the first, every query head reads keys of its own. In "
        "the others, neighbouring query heads point to the same keys and values."
    )
