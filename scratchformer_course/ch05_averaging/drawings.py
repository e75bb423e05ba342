"""Drawings of chapter 05: the mean of the past, the way from scores to weights, masks."""

from collections.abc import Mapping, Sequence

from IPython.display import HTML

from scratchformer_course.kit.canvas import Drawing


def mean_of_the_past(letters: str = "thou") -> HTML:
    """Four positions below, four means above; the third mean takes a third of each of three."""
    drawing = Drawing(460, 250)
    left, step, width = 108, 92, 66
    drawing.text(8, 205, "vectors", "stream", anchor="start", bold=True)
    drawing.text(8, 45, "means", "value", anchor="start", bold=True)
    for i, letter in enumerate(letters):
        x = left + i * step
        drawing.box(x, 185, width, 40, f"{letter}", "stream", size=17, mono=True)
        strong = i == 2
        drawing.box(x, 25, width, 40, f"0 … {i}", "value", fill=0.35 if strong else 0.08)
        drawing.text(x + width / 2, 240, f"position {i}", "muted", size=13)
    for i in range(3):
        start = left + i * step + width / 2
        drawing.arrow(start, 185, left + 2 * step + width / 2 + (i - 2) * 14, 67, "value")
        drawing.text(start + (-6, -14, 16)[i], 152, "⅓", "value", size=18, bold=True)
    return drawing.show(
        "Four boxes in a row hold the vectors at positions 0 to 3. Above them stand four boxes for "
        "the means. Arrows lead from positions 0, 1 and 2 to the mean of position 2, each with the "
        "weight one third. No arrow comes from position 3: a mean takes in the past and itself, "
        "never what comes later."
    )


def table_times_x(weights: Sequence, x: Sequence, marked: int = 2) -> HTML:
    """The table of weights, times the column of x, is the column of means; one row is marked."""
    drawing = Drawing(440, 226)
    n, cell = len(x), 38
    means = [sum(w * value for w, value in zip(row, x, strict=True)) for row in weights]
    columns = (
        ("weights", "value", 8, weights),
        ("x", "stream", 220, [[value] for value in x]),
        ("means", "value", 318, [[mean] for mean in means]),
    )
    for title, colour, left, table in columns:
        width = len(table[0])
        drawing.text(left + width * cell / 2, 22, title, colour, bold=True)
        lit = [i <= marked if title == "x" else i == marked for i in range(n)]
        shades = [[0.35 * (lit[i] and table[i][j] > 0) for j in range(width)] for i in range(n)]
        drawing.grid(left, 42, shades, cell, colour)
        drawing.numbers(left, 42, table, cell, size=14)
    drawing.text(190, 42 + n * cell / 2, "@", size=18, bold=True)
    drawing.text(288, 42 + n * cell / 2, "=", size=18, bold=True)
    drawing.text(8, 214, "⅓ · 6 + ⅓ · 2 + ⅓ · 1 + 0 · 3 = 3", "value", 15, "start", bold=True)
    return drawing.show(
        "A table of four by four weights, times a column with the four numbers 6, 2, 1 and 3, is a "
        "column with the four means 6, 4, 3 and 3. The third row is marked: three weights of one "
        "third and a 0 meet the numbers 6, 2, 1 and 3, and the sum is 3."
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
    drawing.text(
        235, 182, "each row is one position; each row of weights sums to 1", "muted", size=15
    )
    return drawing.show(
        "Three tables of three by three numbers with arrows between them. The first holds scores, "
        "all 0. The arrow called mask leads to the second: above the diagonal it holds minus "
        "infinity. The arrow called softmax leads to the third, the weights: 1 in the first row, "
        "two halves in the second, three thirds in the third, and 0 above the diagonal."
    )


def zero_or_infinity(powers: Sequence, weights: Sequence) -> HTML:
    """One row of scores with its last place hidden by minus infinity, and by 0."""
    drawing = Drawing(470, 226)
    cell = 38
    for i, score in enumerate(("−∞", "0")):
        top = 48 + i * 100
        tables = ("0", "0", score), powers[i], weights[i]
        for k, numbers in enumerate(tables):
            left = 4 + k * 174
            title = ("scores", "e to the score", "weights")[k]
            if i == 0:
                drawing.text(left + 1.5 * cell, 22, title, "value" if k == 2 else "ink", bold=True)
            shades = [[0.6 * number if k == 2 else 0 for number in numbers]]
            drawing.grid(left, top, shades, cell, "value")
            drawing.numbers(left, top, [numbers], cell, size=14)
            if k < 2:
                drawing.arrow(left + 3 * cell + 8, top + cell / 2, left + 166, top + cell / 2)
        words = ("hidden: the weight is 0", "not hidden: the weight is ⅓")[i]
        drawing.text(466, top + cell + 18, words, "muted", 14, "end")
    return drawing.show(
        "Two rows of three scores. Above, the scores 0, 0 and minus infinity become the powers 1, "
        "1 and 0 and the weights 0.5, 0.5 and 0: the third position is hidden. Below, three "
        "scores of 0 become three powers of 1 and three weights of 0.33: nothing is hidden."
    )


def staircases(masks: Mapping[str, Sequence]) -> HTML:
    """Masks as grids, coloured where a position may look."""
    drawing = Drawing(470, 178)
    cell = 13
    for k, (title, mask) in enumerate(masks.items()):
        left = 6 + k * 119
        drawing.text(left + len(mask) * cell / 2, 18, title, bold=True)
        drawing.grid(left, 36, mask, cell, "value")
    drawing.text(
        6, 160, "row: the position that looks · column: what it looks at", "muted", 15, "start"
    )
    return drawing.show(
        "Four grids of eight by eight squares, coloured where a position may look. Causal: a "
        "staircase, all squares on and below the diagonal. Window of 3: a band of three squares "
        "along the diagonal. Prefix of 3: the staircase, and in addition the first three columns "
        "in every row. Two texts: two small staircases, and nothing between them."
    )
