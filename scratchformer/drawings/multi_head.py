"""The drawings of chapter 7: heads side by side, the split into heads, two masks and their meet."""

from scratchformer.drawings.canvas import Drawing

LIGHT, DARK = 0.1, 0.45  # two heads that stand beside each other


def heads():
    """The idea: one input, three heads, their outputs side by side, one last matrix."""
    d = Drawing(480, 452)
    d.box(60, 8, 360, 34, "x  (T, C): every head reads all of it", "stream")
    asks = ("noun\nbefore me?", "noun\nafter me?", "word\nbefore me?")
    even = (0.25, 0.25, 0.25, 0.25)
    maps = (  # of four words, the second and the last one nouns
        (even, even, (0, 1, 0, 0), (0, 1, 0, 0)),
        ((0, 0.5, 0, 0.5), (0, 0, 0, 1), (0, 0, 0, 1), even),
        ((1, 0, 0, 0), (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0)),
    )
    for i, (ask, weights) in enumerate(zip(asks, maps, strict=True)):
        x = 20 + i * 152
        d.arrow(x + 68, 42, x + 68, 72, "query")
        d.box(x, 72, 136, 160, "", "muted", fill=0.04)
        d.text(x + 68, 88, f"head {i}", bold=True)
        for line, words in enumerate(ask.split("\n")):
            d.text(x + 68, 110 + 18 * line, words, "query")
        d.grid(x + 24, 142, weights, cell=22, colour="ink")
        d.arrow(x + 68, 232, 120 + i * 120, 278, "value")
        d.box(60 + i * 120, 278, 120, 34, f"(T, D) of head {i}", "value", fill=LIGHT + 0.1 * i)
    d.text(428, 295, "(T, C)", anchor="start", size=13)
    d.arrow(240, 312, 240, 344, "value")
    d.box(130, 344, 220, 34, "last matrix  W_o  (C, C)", "muted")
    d.arrow(240, 378, 240, 408, "stream")
    d.box(60, 408, 360, 34, "(T, C): every channel mixes all heads", "stream")
    return d.show(
        "From top to bottom. A bar x of shape (T, C) sends an arrow to each of three heads. Each "
        "head asks a question of its own, such as: a noun before me? Each has its own map. "
        "The maps differ. Each head gives a piece of shape (T, D). The three pieces stand side "
        "by side and make (T, C) again. A last matrix W_o mixes them."
    )


def last_matrix():
    """Three heads side by side meet three blocks of rows of W_o; the parts are added."""
    d = Drawing(480, 176)
    d.text(96, 14, "heads side by side", bold=True, size=13)
    d.text(255, 14, "W_o  (C, C)", bold=True, size=13)
    d.text(401, 14, "sum of parts  (T, C)", bold=True, size=13)
    for h in range(3):
        fill, y = LIGHT + 0.1 * h, 36 + 46 * h
        d.box(12 + 56 * h, 82, 56, 34, f"head {h}", "value", fill=fill, size=13)
        d.box(205, y, 100, 42, f"block {h}", "muted", size=13)
        d.box(338, y, 126, 42, f"head {h} @ block {h}", "stream", size=13)
    d.text(193, 99, "@", size=16, bold=True)
    d.text(322, 99, "=", size=16, bold=True)
    for y in (80, 126):
        d.text(473, y, "+", size=16, bold=True)
    return d.show(
        "Left: three boxes side by side, head 0, head 1 and head 2. Middle: the matrix W_o, cut "
        "into three blocks of rows, block 0 to block 2. Right: three parts, head 0 times block 0, "
        "head 1 times block 1, head 2 times block 2, with plus signs: they are added."
    )


def split_and_swap(wrong=False):
    """One text of three words and six channels, cut for two heads; or cut by `view` alone."""
    d = Drawing(414, 208)
    numbers = [list(range(6 * t, 6 * t + 6)) for t in range(3)]

    def cell(x, y, number, fill):
        d.box(x, y, 26, 26, str(number), "value", fill=fill, size=13)

    for t, row in enumerate(numbers):
        d.text(16, 71 + 26 * t, f"t={t}", "muted", size=13)
        for c, number in enumerate(row):
            cell(34 + 26 * c, 58 + 26 * t, number, LIGHT if c < 3 else DARK)
    d.text(110, 20, "(T, C)", bold=True)
    d.text(110, 42, "3 words, 6 channels", size=13)
    d.arrow(194, 97, 284, 97)
    if wrong:
        d.text(238, 78, "view alone", size=13)
        flat = [number for row in numbers for number in row]
        groups = [[flat[9 * h + 3 * t : 9 * h + 3 * t + 3] for t in range(3)] for h in range(2)]
    else:
        d.text(238, 60, "cut C in two,", size=13)
        d.text(238, 78, "then swap", size=13)
        d.text(238, 116, "T and H", size=13)
        groups = [[row[3 * h : 3 * h + 3] for row in numbers] for h in range(2)]
    d.text(367, 12, "(H, T, D)", bold=True)
    for h, group in enumerate(groups):
        d.text(306, 65 + 90 * h, f"h={h}", "muted", size=13)
        for t, row in enumerate(group):
            for c, number in enumerate(row):
                fill = LIGHT if number % 6 < 3 else DARK
                cell(328 + 26 * c, 26 + 90 * h + 26 * t, number, fill)
    return d.show(
        "A table of three words with six channels each, numbered row by row. An arrow leads to two "
        "tables of three rows and three channels. "
        + (
            "The first one holds all channels of word 0 and half of word 1: numbers of different "
            "words stand in one head."
            if wrong
            else "The first one holds channels 0, 1 and 2 of every word, the second one the rest."
        )
    )


def masks(causal, padding, words):
    """The two masks of one text, (T, T) each, and where both are open."""
    d = Drawing(480, 216)
    both = [
        [a and b for a, b in zip(*rows, strict=True)] for rows in zip(causal, padding, strict=True)
    ]
    panels = (("causal", causal), ("padding", padding), ("both", both))
    for i, (name, mask) in enumerate(panels):
        x = 62 + i * 142
        d.text(x + 57, 14, name, bold=True)
        d.grid(x, 28, mask, cell=19)
        for j, word in enumerate(words):
            d.text(x + 9.5 + 19 * j, 150, word, "key", size=13, anchor="end", turn=-90)
            if i == 0:
                d.text(x - 6, 37.5 + 19 * j, word, "query", size=13, anchor="end")
    d.text(190, 85, "&", size=18, bold=True)
    d.text(332, 85, "=", size=18, bold=True)
    return d.show(
        "Three squares with the six tokens of a padded text as rows and as columns; filled is "
        "open. In the causal one the lower triangle is filled. In the padding one the columns of "
        "the three words are filled from top to bottom. In the third one a place is filled if it "
        "is filled in both."
    )
