"""The pictures of chapter 02: a table of rows, two measures, vectors pulled and pushed.

They show numbers and words that the chapter hands in, and compute nothing of their own but places.
"""

from __future__ import annotations

from collections.abc import Sequence

from IPython.display import HTML

from scratchformer_course.kit.canvas import Drawing


def idea() -> HTML:
    """A text gives pairs; a real pair is pulled together, an invented one pushed apart."""
    d = Drawing(480, 378)
    words = ["to", "my", "sovereign", "king", "and", "queen"]
    for i, word in enumerate(words):
        look = ("token", 0.3) if word == "king" else ("ink", 0.05)
        if word in ("to", "my", "and"):
            look = ("muted", 0.0)
        d.box(2 + i * 80, 8, 78, 30, word, *look, size=13)
    d.line([(164, 46), (164, 56), (474, 56), (474, 46)], "muted")
    d.text(4, 60, "a window on a text", "muted", anchor="start")
    d.arrow(280, 58, 150, 98)
    d.text(180, 78, "gives", "ink", anchor="end")
    d.box(30, 102, 190, 32, "king + queen", "ink", 0.08)
    d.text(125, 150, "real: seen in the text", "muted")
    d.box(262, 102, 190, 32, "king + sword", "ink", 0.08, dashed=True)
    d.text(357, 150, "invented: drawn at random", "muted")
    d.arrow(125, 162, 125, 196)
    d.arrow(357, 162, 357, 196)
    d.text(117, 178, "pull", anchor="end", bold=True)
    d.text(365, 178, "push", anchor="start", bold=True)
    d.box(10, 202, 460, 168, "", "muted", 0.04)
    d.circle(205, 286, 6, "token", 0.8)
    d.text(205, 266, "king", "token", bold=True)
    d.circle(80, 322, 6, "ink", 0.5)
    d.text(80, 344, "queen")
    d.circle(345, 262, 6, "ink", 0.5)
    d.text(352, 242, "sword")
    d.arrow(195, 290, 148, 304, "token", width=3)
    d.arrow(92, 318, 134, 306, "ink", width=3)
    d.arrow(357, 260, 430, 246, "ink", width=3, dashed=True)
    d.texts(326, 322, ("again and again,", "millions of times"), down=20, colour="muted")
    return d.show(
        "At the top the words to, my, sovereign, king, and, queen. A window around king gives a "
        "real pair, king and queen; beside it is an invented pair, king and sword. Below, the "
        "words are points on a plane: king and queen are pulled towards each other, and sword is "
        "pushed away."
    )


def lookup(table: Sequence[Sequence[float]], chosen: int) -> HTML:
    """A one-hot row times the table of numbers is the row `chosen` of the table."""
    n, height = len(table), 30
    d = Drawing(480, 70 + n * height + 30)
    middle = 44 + n * height / 2

    looks: list[tuple] = [("muted", 0.03)] * n
    looks[chosen] = marked = ("token", 0.35)
    one_hot = [[int(j == chosen) for j in range(n)]]
    d.cells(6, middle - 14, one_hot, (21, 28), looks, mono=True)
    d.text(6 + n * 10.5, middle - 32, f"one-hot of id {chosen}")
    d.text(6 + n * 10.5, middle + 32, f"(1, {n})", "muted", mono=True)
    d.text(6 + n * 21 + 14, middle, "@", bold=True)
    left = 6 + n * 21 + 24
    rows = [[f"{value:.1f}" for value in row] for row in table]
    d.cells(left + 6, 44, rows, (44, 28), lambda i, _: looks[i], (44, 30), size=13)
    d.text(left + 72, 26, "table: a row per id")
    d.text(left + 72, 44 + n * height + 16, f"({n}, 3)", "muted", mono=True)
    d.text(left + 152, middle, "=", bold=True)
    right = left + 162
    d.cells(right + 4, middle - 14, [rows[chosen]], (44, 28), marked, size=13)
    d.text(right + 70, middle - 32, f"row {chosen}")
    d.text(right + 70, middle + 32, "(1, 3)", "muted", mono=True)
    return d.show(
        f"A row of {n} numbers, all 0 but a 1 at place {chosen}, times a table of {n} rows and 3 "
        f"columns. The product is row {chosen} of the table, which is coloured: the 1 keeps its "
        "row and the zeros drop all others."
    )


def two_measures(a: list, b: list, c: list, measures: Sequence[tuple[float, float]]) -> HTML:
    """Three vectors; `measures` holds the dot product and the cosine with a, of b and of c."""
    d = Drawing(480, 208)
    x0, y0, scale = 34, 134, 58
    d.line([(x0 - 24, y0), (330, y0)], "muted", 1)
    for label, vector, colour, aside in (
        ("a", a, "token", (12, -8)),
        ("b", b, "ink", (-8, -14)),
        ("c", c, "ink", (14, 6)),
    ):
        x, y = x0 + scale * vector[0], y0 - scale * vector[1]
        d.arrow(x0, y0, x, y, colour, width=3 if label == "a" else 2.5)
        d.text(x + aside[0], y + aside[1], label, colour, bold=True)
    for name, left in (("dot product", 330), ("cosine", 430)):
        d.text(left, 26, name, "muted")
    d.text(200, 54, "b with a", anchor="start")
    d.text(200, 84, "c with a", anchor="start")
    for row, pair in enumerate(measures):
        other = measures[1 - row]
        for left, value, rival in zip((330, 430), pair, other, strict=True):
            d.text(left, 54 + 30 * row, f"{value:.2f}", bold=value > rival)
    return d.show(
        "Three arrows from one point: a goes up to the right, b is shorter and goes almost the "
        "same way, and c is long and goes right and a little down. Beside them are two measures: "
        "the dot product with a is larger for c, and the cosine with a is larger for b."
    )


def same_neighbour(old: list, new: list, neighbour: Sequence[float]) -> HTML:
    """Two centres before and after pulls towards one neighbour vector, and their angle."""
    d = Drawing(480, 250)
    for left, title, vectors in ((0, "before", old), (240, "after ten pulls", new)):
        d.box(left + 4, 32, 232, 212, "", "muted", 0.04)
        d.text(left + 120, 16, title, bold=True)
        x0, y0, scale = left + 110, 216, 100
        looks = (("king", "token"), ("princes", "token"), ("obey", "ink"))
        for (label, colour), vector in zip(looks, [*vectors, neighbour], strict=True):
            x, y = x0 + scale * vector[0], y0 - scale * vector[1]
            d.arrow(x0, y0, x, y, colour, width=3 if colour == "token" else 2)
            d.text(x, y - 14, label, colour, bold=colour == "token")
    return d.show(
        "Two planes. Before the pulls, the vectors of king and princes point to opposite sides, "
        "and the neighbour vector of obey points up between them. After ten pulls towards obey, "
        "both point up, so the angle between king and princes is smaller."
    )
