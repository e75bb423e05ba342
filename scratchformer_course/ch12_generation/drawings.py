"""Chapter 12's drawings: the loop that writes, the cache and its end, heads that share keys."""

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


def one_step(letters: str):
    """One step of a head with a cache: the new query meets the keys that were kept."""
    d = Drawing(470, 236)
    n = len(letters)
    lefts = [104 + 70 * i for i in range(n)]
    d.box(94, 40, 70 * (n - 1) + 4, 88, "", "muted", fill=0.06, dashed=True)
    d.text(84, 62, "values", "value", anchor="end")
    d.text(84, 106, "keys", "key", anchor="end")
    for i, (letter, x) in enumerate(zip(letters, lefts, strict=True)):
        new = i == n - 1
        d.text(x + 28, 22, letter, "token", mono=True, bold=new, size=17)
        d.box(x, 48, 56, 28, f"v{i}", "value", fill=0.5 if new else 0.14, bold=new)
        d.box(x, 92, 56, 28, f"k{i}", "key", fill=0.5 if new else 0.14, bold=new)
    x = lefts[-1] + 28
    d.box(x - 28, 182, 56, 28, f"q{n - 1}", "query", fill=0.5, bold=True)
    for left in lefts:
        d.arrow(x, 180, left + 28, 123, "query", width=1.4)
    middle = 94 + 35 * (n - 1)
    d.text(middle - 40, 176, "kept in the cache", "muted")
    d.text(x, 226, "computed now", size=13)
    return d.show(
        f"The tokens {', '.join(letters)} in a row, with a value and a key below each. Those of "
        "the old tokens are pale and lie in a dashed box, kept in the cache. The newest token has "
        "a key, a value and a query of its own, dark, computed now. Arrows lead from its query to "
        "all keys, the old and the new one."
    )


def moved_window(letters: str, new: str):
    """A full context, and the next one: the oldest token leaves, and every place has changed."""
    d = Drawing(470, 262)
    n = len(letters)
    middles = [142 + 62 * i for i in range(n)]
    for top, shown, name, fill in (
        (0, letters, "k", 0.14),
        (150, letters[1:] + new, "new", 0.5),
    ):
        for y, word, colour in (
            (14, "place", "position"),
            (41, "token", "token"),
            (77, "key", "key"),
        ):
            d.text(98, top + y, word, colour, anchor="end")
        for i, (letter, x) in enumerate(zip(shown, middles, strict=True)):
            comes = top > 0 and i == n - 1
            d.text(x, top + 14, i, "position", bold=True)
            d.box(x - 17, top + 26, 34, 30, letter, "token", fill=0.3, mono=True, dashed=comes)
            word = name if top else f"k{i}"
            d.box(x - 22, top + 64, 44, 26, word, "key", fill=fill, dashed=not top)
    for i, x in enumerate(middles[1:]):
        d.arrow(x, 94, middles[i], 152, "token", width=1.4)
    d.arrow(middles[0], 94, middles[0] - 48, 124, "token", width=1.4, dashed=True)
    d.text(86, 130, f"{letters[0]} leaves", "muted", anchor="end")
    d.arrow(middles[-1] + 52, 191, middles[-1] + 20, 191, "token", width=1.4)
    d.text(middles[-1] + 46, 168, f"{new} comes", "muted")
    d.text(middles[n // 2], 254, "no kept key fits: all are computed anew", size=13)
    return d.show(
        f"Above, a full context: the tokens {', '.join(letters)} on the places 0 to {n - 1}, each "
        f"with a pale key that was kept. Below, one token later: {letters[0]} has left, {new} has "
        "come, and an arrow leads from every other token to a place one further to the left. "
        "There each of them has another place, so all keys in the lower row are dark and new."
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
    each = ", ".join(f"{name}: {n_groups}" for name, n_groups in ways)
    return d.show(
        f"Three layers of {n_heads} query heads each. They differ in how many heads of keys and "
        f"values there are ({each}). In the first, every query head reads keys of its own. In the "
        "others, neighbouring query heads point to the same keys and values."
    )
