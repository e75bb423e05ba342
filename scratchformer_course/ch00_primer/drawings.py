"""Drawings of chapter 00: tensors and axes, broadcasting, a matrix product."""

from collections.abc import Sequence
from itertools import product

from IPython.display import HTML

from scratchformer_course.kit.canvas import Drawing


def _table(drawing: Drawing, x: float, y: float, rows: Sequence, cell=26, fill=0.12) -> None:
    """A table of numbers with its upper left corner at (x, y)."""
    drawing.cells(x, y, rows, (cell, cell), ("ink", fill), size=13)


def _axis(drawing: Drawing, start: tuple, end: tuple, number: int, place: tuple) -> None:
    """An arrow along an axis, with the axis' number at `place`."""
    (x1, y1), (x2, y2), (x, y) = start, end, place
    drawing.arrow(x1, y1, x2, y2, "muted", width=1.5)
    drawing.text(x, y, number, "muted", size=13)


def tensors() -> HTML:
    """A number, a row, a table and a batch of tables, each with its axes and its shape."""
    drawing = Drawing(470, 184)
    _table(drawing, 22, 64, [[7]])
    _table(drawing, 84, 64, [[1, 2, 3]])
    _axis(drawing, (84, 54), (162, 54), 0, (123, 42))
    _table(drawing, 214, 64, [[1, 2, 3], [4, 5, 6]])
    _axis(drawing, (204, 64), (204, 116), 0, (192, 90))
    _axis(drawing, (214, 54), (292, 54), 1, (253, 42))
    for j, number in enumerate((7, 8, 9)):  # of the table behind, what the one in front leaves
        drawing.box(376 + 26 * j, 38, 26, 26, f"{number}", "muted", size=13)
    drawing.box(428, 64, 26, 26, "12", "muted", size=13)
    _table(drawing, 350, 64, [[1, 2, 3], [4, 5, 6]])
    _axis(drawing, (342, 58), (368, 32), 0, (345, 36))
    _axis(drawing, (340, 64), (340, 116), 1, (328, 90))
    _axis(drawing, (376, 28), (454, 28), 2, (415, 16))
    names = (35, "a number", "()"), (123, "a row", "(3,)"), (253, "a table", "(2, 3)")
    for x, name, shape in (*names, (392, "a batch", "(2, 2, 3)")):
        drawing.text(x, 142, name)
        drawing.text(x, 166, shape, mono=True, size=14)
    return drawing.show(
        "Four tensors side by side, with numbered arrows along their axes. A number has no axis "
        "and the shape (). A row of three numbers has the shape (3,). A table of two rows and "
        "three columns has the shape (2, 3): axis 0 runs down, axis 1 runs to the right. A batch "
        "of two such tables has the shape (2, 2, 3): axis 0 runs from the table in front to the "
        "one behind, axis 1 runs down, axis 2 runs to the right."
    )


def broadcasting(column: Sequence, row: Sequence, i: int, j: int) -> HTML:
    """A column and a row, both repeated to a table, and their sum; entry (i, j) is marked."""
    drawing = Drawing(440, 204)
    cell, top = 34, 40
    width, height = cell * len(row), cell * len(column)
    tables = (
        (10, "column", "query", [[x] * len(row) for x in column]),
        (174, "row", "key", [row] * len(column)),
        (326, "sum", "ink", [[x + y for y in row] for x in column]),
    )
    for x, name, colour, numbers in tables:
        drawing.text(x + width / 2, 12, name, bold=True)
        for r, c in product(range(len(column)), range(len(row))):
            is_marked = (r, c) == (i, j)
            is_given = {"column": c == 0, "row": r == 0, "sum": True}[name]
            paint = colour if is_given or is_marked else "muted"
            fill = 0.4 if is_marked else 0.12 if is_given else 0.03
            at, dashed = (x + c * cell, top + r * cell, cell, cell), not is_given
            drawing.box(*at, f"{numbers[r][c]:g}", paint, fill, dashed, size=14)
    drawing.arrow(10 + cell, 30, 10 + width, 30, "muted", width=1.5)
    drawing.arrow(164, top + cell, 164, top + height, "muted", width=1.5)
    for x, sign in ((138, "+"), (301, "=")):
        drawing.text(x, top + height / 2, sign, size=18)
    n, m = len(column), len(row)
    shapes = f"({n}, 1) → ({n}, {m})", f"({m},) → ({n}, {m})", f"({n}, {m})"
    for (x, *_), shape in zip(tables, shapes, strict=True):
        drawing.text(x + width / 2, top + height + 20, shape, mono=True, size=13)
    entry = f"{column[i]:g} + {row[j]:g} = {column[i] + row[j]:g}"
    drawing.text(220, top + height + 48, f"row {i}, column {j}: {entry}", size=15)
    return drawing.show(
        f"A column of {n} numbers is repeated to the right until it is a table, and a row of {m} "
        "numbers is repeated downwards; the copies have dashed borders. The two tables are added "
        f"number by number, which gives a table ({n}, {m}). Row {i}, column {j} is marked: {entry}."
    )


def matrix_product(a: Sequence, b: Sequence, row: int, column: int) -> HTML:
    """The tables `a`, `b` and their product; the row and column that make one entry are marked."""
    drawing = Drawing(470, 250)
    cell, inner = 38, len(b)
    product = [
        [sum(x * y for x, y in zip(r, c, strict=True)) for c in zip(*b, strict=True)] for r in a
    ]
    marks = {
        "a": (70, 132, a, "query", lambda i, j: i == row),
        "b": (240, 2, b, "key", lambda i, j: j == column),
        "a @ b": (240, 132, product, "ink", lambda i, j: (i, j) == (row, column)),
    }
    for x, y, table, colour, is_marked in marks.values():
        for i, numbers in enumerate(table):
            for j, number in enumerate(numbers):
                paint, fill = (colour, 0.3) if is_marked(i, j) else ("muted", 0.05)
                drawing.box(
                    x + j * cell, y + i * cell, cell, cell, f"{number:g}", paint, fill, size=15
                )
    middle = 240 + len(b[0]) * cell + 34
    for name, x, y, table in (
        ("a", 34, 170, a),
        ("b", 204, 58, b),
        ("a @ b", middle, 170, product),
    ):
        drawing.text(x, y - 10, name, bold=True)
        drawing.text(x, y + 10, f"({len(table)}, {len(table[0])})", mono=True, size=13)
    terms = " + ".join(f"{a[row][k]:g}·{b[k][column]:g}" for k in range(inner))
    drawing.text(316, 230, f"{terms} = {product[row][column]:g}", size=15)
    return drawing.show(
        "The table a is on the left, the table b above, and their product at the corner where "
        "the rows of a meet the columns of b. One row of a and one column of b are marked, and so "
        f"is the entry where they meet: {terms} = {product[row][column]:g}."
    )
