"""Drawings of chapter 05: means, the way from scores to weights, where a letter looks."""

from collections.abc import Sequence

from scratchformer_course.kit.canvas import Drawing, drawing

WORDS, MEANING = ("the", "old", "king", "sleeps"), ("royal", "aged", "asleep")


@drawing(470, 226)
def mean_of_the_past(d, words: Sequence[str]):
    """Four boxes in a row hold the vectors of the words the, old, king and sleeps. Above them are
    four boxes for the means. Arrows lead from the, old and king to the mean above king, each with
    the weight one third. No arrow comes from sleeps: a mean takes in the past and itself, never
    what comes later.
    """
    cell = (78, 40)
    middles = d.row(92, 165, words, cell, ("stream", 0.12), 95, size=16)
    d.row(92, 25, words, cell, [("value", f) for f in (0.08, 0.08, 0.35, 0.08)], 95, size=16)
    d.text_from(8, 185, "vectors", "stream", bold=True)
    d.text_from(8, 45, "means", "value", bold=True)
    for x, end, aside in zip(middles, (293, 307, 321), (-6, -14, 16), strict=False):
        d.arrow(x, 165, end, 67, "value")
        d.text(x + aside, 136, "⅓", "value", size=18, bold=True)


@drawing(480, 246)
def table_times_x(d, weights: Sequence, x: Sequence):
    """A table of four by four weights, times a table with the three numbers royal, aged and asleep
    of each of four words, is a table of four means. The row of king is marked: three weights of one
    third and a 0 meet the royal numbers 0, 0, 1 and 0, and the sum is one third.
    """
    cell, top, marked = 36, 60, 2  # the row of king
    means = [
        [sum(w * v[c] for w, v in zip(row, x, strict=True)) for c in range(3)] for row in weights
    ]
    for title, colour, left, table, names, is_lit in (
        ("weights", "value", 4, weights, (), lambda i, j: i == marked and weights[i][j] > 0),
        ("x", "stream", 178, x, MEANING, lambda i, j: j == 0 and i <= marked),
        ("means", "value", 314, means, MEANING, lambda i, j: (i, j) == (marked, 0)),
    ):
        width = len(table[0])
        d.text(left + width * cell / 2, 16, title, colour, bold=True)
        for place, name in zip((14, 52, 93), names, strict=False):
            d.text(left + place, 44, name, "muted", 13)
        shades = [[0.35 * is_lit(i, j) for j in range(width)] for i in range(len(x))]
        d.grid(left, top, shades, cell, colour)
        d.numbers(left, top, table, cell, size=14)
    middle = top + len(x) * cell / 2
    d.texts(163, middle, "@=", right=137, size=18, bold=True)
    d.texts(428, top + cell / 2, WORDS, down=cell, size=13, anchor="start")
    d.text_from(4, 232, "royal: ⅓ · 0 + ⅓ · 0 + ⅓ · 1 + 0 · 0 = ⅓", "value", 15, bold=True)


@drawing(470, 196)
def scores_to_weights(d, scores: Sequence, weights: Sequence):
    """Three tables of three by three numbers with arrows between them. The first holds scores, all
    0. The arrow called mask leads to the second: above the diagonal it holds minus infinity. The
    arrow called softmax leads to the third, the weights: 1 in the first row, two halves in the
    second, three thirds in the third, and 0 above the diagonal.
    """
    n, cell = len(scores), 36
    masked = [["−∞" if j > i else scores[i][j] for j in range(n)] for i in range(n)]
    empty, full = [[0] * n] * n, [[0.6 * weight for weight in row] for row in weights]
    for left, title, colour, shades, numbers, then in (
        (4, "scores", "ink", empty, scores, "mask"),
        (181, "masked scores", "ink", empty, masked, "softmax"),
        (358, "weights", "value", full, weights, ""),
    ):
        d.text(left + n * cell / 2, 22, title, colour, bold=True)
        d.grid(left, 42, shades, cell, "value")
        d.numbers(left, 42, numbers, cell, size=14)
        if then:
            d.arrow(left + n * cell + 8, 96, left + 170, 96)
            d.text(left + n * cell + 36, 78, then, size=13)
    d.text(235, 182, "each row is one word; each row of weights sums to 1", "muted", size=15)


def looked_at(line: str, weights: Sequence[float], word: str):
    """A line in two rows of letters, as dark as the weight that its last letter gives to each."""
    d, start = Drawing(480, 142), line.index(word)
    shades = [round(min(1.0, 2 * weight), 2) for weight in weights]  # alike on every processor
    for y, part in ((8, slice(start)), (54, slice(start, None))):
        looks = [("value", shade) for shade in shades[part]]
        d.row(4, y, line[part], (18, 34), looks, 18.8, size=16, mono=True)
    share = sum(weights[start : start + len(word)])
    d.text_from(4, 122, f"{share:.0%} of the weight is on {word}", "value", 15, bold=True)
    d.text_to(476, 122, "the last letter looks", "muted")
    return d.show(
        f"The letters of the line {line} in two rows of boxes, shaded by the weight that the last "
        f"letter gives to them. The letters of {word} are dark, with {share:.0%} of the weight, "
        "and all others are pale."
    )
