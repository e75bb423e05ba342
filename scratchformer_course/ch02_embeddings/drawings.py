"""The pictures of chapter 02: a table of rows, two measures, vectors pulled and pushed.

They show numbers and words that the chapter hands in, and compute nothing of their own but places.
"""

from collections.abc import Sequence

from scratchformer_course.kit.canvas import Drawing, drawing


@drawing(480, 378)
def idea(d):
    """At the top the words to, my, sovereign, king, and, queen. A window around king gives a real
    pair, king and queen; beside it is an invented pair, king and sword. Below, the words are points
    on a plane: king and queen are pulled towards each other, and sword is pushed away.
    """
    words = ("to", "my", "sovereign", "king", "and", "queen")
    pale, other = ("muted", 0.0), ("ink", 0.05)
    looks = [pale, pale, other, ("token", 0.3), pale, other]
    d.row(2, 8, words, (78, 30), looks, 80, size=13)
    d.line([(164, 46), (164, 56), (474, 56), (474, 46)], "muted")
    d.text_from(4, 60, "a window on a text", "muted")
    d.arrow(280, 58, 150, 98)
    d.text_to(180, 78, "gives")
    pairs, frames = ("king + queen", "king + sword"), [("ink", 0.08, False), ("ink", 0.08, True)]
    for x in d.row(30, 102, pairs, (190, 32), frames, 232):
        d.arrow(x, 162, x, 196)
    kinds = ("real: seen in the text", "invented: drawn at random")
    d.texts(125, 150, kinds, right=232, colour="muted")
    d.text_to(117, 178, "pull", bold=True)
    d.text_from(365, 178, "push", bold=True)
    d.box(10, 202, 460, 168, "", "muted", 0.04)
    d.circle(205, 286, 6, "token", 0.8)
    d.text(205, 266, "king", "token", bold=True)
    for x, y, word, above in ((80, 322, "queen", -22), (345, 262, "sword", 20)):
        d.circle(x, y, 6, "ink", 0.5)
        d.text(x, y - above, word)
    d.arrow(195, 290, 148, 304, "token", width=3)
    d.arrow(92, 318, 134, 306, width=3)
    d.arrow(357, 260, 430, 246, width=3, dashed=True)
    d.texts(326, 322, ("again and again,", "millions of times"), down=20, colour="muted")


def lookup(table: Sequence[Sequence[float]], chosen: int):
    """A one-hot row times the table of numbers is the row `chosen` of the table."""
    n, height = len(table), 30
    d, middle, left = Drawing(480, 70 + n * height + 30), 44 + n * height / 2, 30 + n * 21
    looks: list[tuple] = [("muted", 0.03)] * n
    looks[chosen] = marked = ("token", 0.35)
    rows = [[f"{value:.1f}" for value in row] for row in table]
    d.row(6, middle - 14, [int(j == chosen) for j in range(n)], (21, 28), looks, mono=True)
    d.cells(left + 6, 44, rows, (44, 28), lambda i, _: looks[i], (44, 30), size=13)
    d.row(left + 166, middle - 14, rows[chosen], (44, 28), marked, size=13)
    for x, title, title_y, shape, shape_y in (
        (6 + n * 10.5, f"one-hot of id {chosen}", middle - 32, f"(1, {n})", middle + 32),
        (left + 72, "table: a row per id", 26, f"({n}, 3)", 60 + n * height),
        (left + 232, f"row {chosen}", middle - 32, "(1, 3)", middle + 32),
    ):
        d.text(x, title_y, title)
        d.text(x, shape_y, shape, "muted", mono=True)
    d.texts(left - 10, middle, "@=", right=162, bold=True)
    return d.show(
        f"A row of {n} numbers, all 0 but a 1 at place {chosen}, times a table of {n} rows and 3 "
        f"columns. The product is row {chosen} of the table, which is coloured: the 1 keeps its "
        "row and the zeros drop all others."
    )


@drawing(480, 208)
def two_measures(d, a: list, b: list, c: list, measures: Sequence[tuple[float, float]]):
    """Three arrows from one point: a goes up to the right, b is shorter and goes almost the same
    way, and c is long and goes right and a little down. Beside them are two measures: the dot
    product with a is larger for c, and the cosine with a is larger for b.
    """
    # `measures` has the dot product and the cosine with a, first those of b
    x0, y0, scale = 34, 134, 58
    d.line([(x0 - 24, y0), (330, y0)], "muted", 1)
    for label, vector, colour, width, right, down in (
        ("a", a, "token", 3, 12, -8),
        ("b", b, "ink", 2.5, -8, -14),
        ("c", c, "ink", 2.5, 14, 6),
    ):
        x, y = x0 + scale * vector[0], y0 - scale * vector[1]
        d.arrow(x0, y0, x, y, colour, width=width)
        d.text(x + right, y + down, label, colour, bold=True)
    d.texts(330, 26, ("dot product", "cosine"), right=100, colour="muted")
    d.texts(200, 54, ("b with a", "c with a"), down=30, anchor="start")
    for row, pair in enumerate(measures):
        for left, value, rival in zip((330, 430), pair, measures[1 - row], strict=True):
            d.text(left, 54 + 30 * row, f"{value:.2f}", bold=value > rival)


@drawing(480, 250)
def same_neighbour(d, old: list, new: list, neighbour: Sequence[float]):
    """Two planes. Before the pulls, the vectors of king and princes point to opposite sides, and
    the neighbour vector of obey points up between them. After ten pulls towards obey, both point
    up, so the angle between king and princes is smaller.
    """
    scale = 100
    for left, title, vectors in ((0, "before", old), (240, "after ten pulls", new)):
        d.box(left + 4, 32, 232, 212, "", "muted", 0.04)
        d.text(left + 120, 16, title, bold=True)
        x0, y0 = left + 110, 216
        looks = (("king", "token", 3), ("princes", "token", 3), ("obey", "ink", 2))
        for (label, colour, width), vector in zip(looks, [*vectors, neighbour], strict=True):
            x, y = x0 + scale * vector[0], y0 - scale * vector[1]
            d.arrow(x0, y0, x, y, colour, width=width)
            d.text(x, y - 14, label, colour, bold=width == 3)
