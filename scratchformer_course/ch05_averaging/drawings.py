"""Drawings of chapter 05: means, the way from scores to weights, masks, where a letter looks."""

from collections.abc import Mapping, Sequence

from IPython.display import HTML

from scratchformer_course.kit.canvas import Drawing


def mean_of_the_past(words: Sequence[str]) -> HTML:
    """Four words below, four means above; the third mean takes a third of each of three."""
    drawing = Drawing(470, 226)
    left, step, width = 92, 95, 78
    drawing.text(8, 185, "vectors", "stream", anchor="start", bold=True)
    drawing.text(8, 45, "means", "value", anchor="start", bold=True)
    for i, word in enumerate(words):
        x = left + i * step
        drawing.box(x, 165, width, 40, word, "stream", size=16)
        drawing.box(x, 25, width, 40, word, "value", fill=0.35 if i == 2 else 0.08, size=16)
    for i in range(3):
        start = left + i * step + width / 2
        drawing.arrow(start, 165, left + 2 * step + width / 2 + (i - 2) * 14, 67, "value")
        drawing.text(start + (-6, -14, 16)[i], 136, "⅓", "value", size=18, bold=True)
    return drawing.show(
        "Four boxes in a row hold the vectors of the words the, old, king and sleeps. Above them "
        "are four boxes for the means. Arrows lead from the, old and king to the mean above king, "
        "each with the weight one third. No arrow comes from sleeps: a mean takes in the past and "
        "itself, never what comes later."
    )


def table_times_x(weights: Sequence, x: Sequence, marked: int = 2) -> HTML:
    """The table of weights, times the words' vectors, is the means; one mean is marked."""
    drawing = Drawing(480, 246)
    n, cell, top = len(x), 36, 60
    means = [
        [sum(w * v[c] for w, v in zip(row, x, strict=True)) for c in range(3)] for row in weights
    ]
    tables = (
        ("weights", "value", 4, weights, lambda i, j: i == marked and weights[i][j] > 0),
        ("x", "stream", 178, x, lambda i, j: j == 0 and i <= marked),
        ("means", "value", 314, means, lambda i, j: (i, j) == (marked, 0)),
    )
    for title, colour, left, table, lit in tables:
        width = len(table[0])
        drawing.text(left + width * cell / 2, 16, title, colour, bold=True)
        for place, name in zip(
            (14, 52, 93), ("royal", "aged", "asleep") * (width == 3), strict=False
        ):
            drawing.text(left + place, 44, name, "muted", 13)
        shades = [[0.35 * lit(i, j) for j in range(width)] for i in range(n)]
        drawing.grid(left, top, shades, cell, colour)
        drawing.numbers(left, top, table, cell, size=14)
    drawing.text(163, top + n * cell / 2, "@", size=18, bold=True)
    drawing.text(300, top + n * cell / 2, "=", size=18, bold=True)
    words = ["the", "old", "king", "sleeps"]
    drawing.texts(428, top + cell / 2, words, down=cell, size=13, anchor="start")
    drawing.text(
        4, 232, "royal: ⅓ · 0 + ⅓ · 0 + ⅓ · 1 + 0 · 0 = ⅓", "value", 15, "start", bold=True
    )
    return drawing.show(
        "A table of four by four weights, times a table with the three numbers royal, aged and "
        "asleep of each of four words, is a table of four means. The row of king is marked: three "
        "weights of one third and a 0 meet the royal numbers 0, 0, 1 and 0, and the sum is one "
        "third."
    )


def scores_to_weights(scores: Sequence, weights: Sequence) -> HTML:
    """Three grids with arrows: scores, the hidden ones at minus infinity, weights."""
    drawing = Drawing(470, 196)
    n, cell = len(scores), 36
    masked = [["−∞" if j > i else scores[i][j] for j in range(n)] for i in range(n)]
    grids = ("scores", scores), ("masked scores", masked), ("weights", weights)
    for k, (title, numbers) in enumerate(grids):
        left = 4 + k * 177
        drawing.text(left + n * cell / 2, 22, title, "value" if k == 2 else "ink", bold=True)
        shades = [[0.6 * weights[i][j] if k == 2 else 0 for j in range(n)] for i in range(n)]
        drawing.grid(left, 42, shades, cell, "value")
        for i in range(n):
            for j in range(n):
                number = numbers[i][j]
                words = number if isinstance(number, str) else f"{number:.2g}"
                x, y = left + (j + 0.5) * cell, 42 + (i + 0.5) * cell
                drawing.text(x, y, words, "muted" if words == "−∞" else "ink", size=14)
        if k < 2:
            drawing.arrow(left + n * cell + 8, 96, left + 170, 96)
            drawing.text(left + n * cell + 36, 78, ("mask", "softmax")[k], size=13)
    drawing.text(235, 182, "each row is one word; each row of weights sums to 1", "muted", size=15)
    return drawing.show(
        "Three tables of three by three numbers with arrows between them. The first holds scores, "
        "all 0. The arrow called mask leads to the second: above the diagonal it holds minus "
        "infinity. The arrow called softmax leads to the third, the weights: 1 in the first row, "
        "two halves in the second, three thirds in the third, and 0 above the diagonal."
    )


def staircases(masks: Mapping[str, Sequence]) -> HTML:
    """Masks as grids, coloured where a position may look."""
    drawing = Drawing(470, 186)
    cell = 15
    for k, (title, mask) in enumerate(masks.items()):
        left = 6 + k * 165
        drawing.text(left + len(mask) * cell / 2, 18, title, bold=True)
        drawing.grid(left, 36, mask, cell, "value")
    drawing.text(
        6, 170, "row: the position that looks · column: what it looks at", "muted", 15, "start"
    )
    return drawing.show(
        "Three grids of eight by eight squares, coloured where a position may look. Causal: a "
        "staircase, all squares on and below the diagonal. Window of 3: a band of three squares "
        "along the diagonal. Prefix of 3: the staircase, and in addition the first three columns "
        "in every row."
    )


def looked_at(line: str, weights: Sequence[float], word: str) -> HTML:
    """A line in two rows of letters, as dark as the weight that its last letter gives to each."""
    drawing = Drawing(480, 142)
    begin = line.index(word)  # which begins the second row
    for i, (letter, weight) in enumerate(zip(line, weights, strict=True)):
        row, place = divmod(i, begin) if i < begin else (1, i - begin)
        x, y = 4 + 18.8 * place, 8 + 46 * row
        shade = round(min(1.0, 2 * weight), 2)  # the same on every processor
        drawing.box(x, y, 18, 34, letter, "value", shade, size=16, mono=True)
    share = sum(weights[begin : begin + len(word)])
    drawing.text(4, 122, f"{share:.0%} of the weight is on {word}", "value", 15, "start", bold=True)
    drawing.text(476, 122, "the last letter looks", "muted", 14, "end")
    return drawing.show(
        f"The letters of the line {line} in two rows of boxes, shaded by the weight that the last "
        f"letter gives to them. The letters of {word} are dark, with {share:.0%} of the weight, "
        "and all others are pale."
    )
