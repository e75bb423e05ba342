"""The drawings of the page on training in a tab: a matrix turned over, the tape."""

from collections.abc import Callable

from scratchformer_course.kit.canvas import drawing

ROWS, COLUMNS = 3, 5


@drawing(480, 300)
def turned_matrix(d):
    """Above, a matrix of three rows and five columns, its entries numbered from 0 to 14, beside its
    transpose of five rows and three columns. Below, the fifteen numbers as they lie in the memory,
    in one row. Entries 5 to 9 are marked everywhere: they are a row of the matrix and a column of
    the transpose. In the matrix the next row begins 5 places on and the next column 1 place on; in
    the transpose it is the other way round.
    """
    cell, height = 30, 28
    d.text_from(3, 14, "A, (3, 5)", bold=True)
    rows = [[i * COLUMNS + j for j in range(COLUMNS)] for i in range(ROWS)]

    def table(x: int, y: int, rows: list, is_marked: Callable[[int, int], bool]) -> None:
        def look(i: int, j: int) -> tuple:
            return "key", 0.5 if is_marked(i, j) else 0.08

        d.cells(x, y, rows, (cell, height), look, size=13)

    table(20, 28, rows, lambda i, _: i == 1)
    d.texts(20, 132, ("next row: + 5", "next column: + 1"), down=20, size=13, anchor="start")
    d.text_from(270, 14, "its transpose, (5, 3)", bold=True)
    table(280, 28, list(zip(*rows, strict=True)), lambda _, j: j == 1)
    d.texts(384, 70, ("next row: + 1", "column: + 5"), down=20, size=13, anchor="start")
    d.text_from(3, 212, "both lie in the memory as the same row", bold=True)
    table(15, 228, [range(ROWS * COLUMNS)], lambda _, n: n // COLUMNS == 1)
    d.text(240, 284, "the second row of A is the second column of its transpose", size=14)


@drawing(480, 330)
def tape(d):
    """Above, the stream x goes two ways: through a norm and a linear layer into a sum, and straight
    into the same sum. In the middle the tape: three functions, written in the order norm, linear,
    add, and read from the last to the first. Below, the gradient comes back from the sum to x on
    both ways, so x gets two gradients, which add up.
    """
    d.text_from(3, 14, "forwards: each operation writes on the tape", bold=True)
    d.box(12, 62, 60, 34, "x", "stream", 0.15)
    d.box(128, 36, 90, 34, "norm", "ink", 0.05)
    d.box(262, 36, 90, 34, "linear", "ink", 0.05)
    d.box(396, 62, 70, 34, "add", "ink", 0.05)
    d.arrow(72, 72, 126, 56)
    d.arrow(218, 53, 260, 53)
    d.arrow(352, 56, 394, 70)
    d.arrow(72, 90, 394, 88, bend=-14)
    d.text_from(3, 146, "the tape", bold=True)
    d.cells(12, 160, [("norm", "linear", "add")], (120, 32), ("value", 0.15), (130, 32))
    d.text(410, 176, "…", size=16)
    d.arrow(392, 210, 16, 210, "value")
    d.text(204, 228, "backward reads it from its end", "value", size=13)
    d.text_from(3, 262, "back: x gets two gradients, and they add up", bold=True)
    d.box(12, 284, 60, 34, "x", "stream", 0.15)
    d.box(396, 284, 70, 34, "add", "ink", 0.05)
    d.box(200, 276, 110, 28, "linear, norm", "ink", 0.05, size=13)
    d.arrow(396, 292, 312, 289, "value")
    d.arrow(200, 289, 74, 294, "value")
    d.arrow(396, 312, 74, 312, "value", bend=0)
