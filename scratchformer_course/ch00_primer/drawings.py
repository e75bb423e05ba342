"""Drawings of chapter 00: tensors and axes, broadcasting, a matrix product."""

from collections.abc import Sequence

from scratchformer_course.kit.canvas import Drawing, drawing


@drawing(470, 184, size=13)
def tensors(d):
    """Four tensors side by side, with numbered arrows along their axes. A number has no axis and
    the shape (). A row of three numbers has the shape (3,). A table of two rows and three columns
    has the shape (2, 3): axis 0 runs down, axis 1 runs to the right. A batch of two such tables has
    the shape (2, 2, 3): axis 0 runs from the table in front to the one behind, axis 1 runs down,
    axis 2 runs to the right.
    """
    cell = (26, 26)
    table, behind = [[1, 2, 3], [4, 5, 6]], ("muted", 0.12)
    d.row(376, 38, (7, 8, 9), cell, behind)  # what the table in front leaves of it
    d.row(428, 64, (12,), cell, behind)
    for x, rows in ((22, [[7]]), (84, table[:1]), (214, table), (350, table)):
        d.cells(x, 64, rows, cell)
    for axis, x1, y1, x2, y2, x, y in (
        (0, 84, 54, 162, 54, 123, 42),
        (0, 204, 64, 204, 116, 192, 90),
        (1, 214, 54, 292, 54, 253, 42),
        (0, 342, 58, 368, 32, 345, 36),
        (1, 340, 64, 340, 116, 328, 90),
        (2, 376, 28, 454, 28, 415, 16),
    ):
        d.arrow(x1, y1, x2, y2, "muted", width=1.5)
        d.text(x, y, axis, "muted")
    names = (35, "a number", "()"), (123, "a row", "(3,)"), (253, "a table", "(2, 3)")
    for x, name, shape in (*names, (392, "a batch", "(2, 2, 3)")):
        d.text(x, 142, name, size=14)
        d.text(x, 166, shape, mono=True, size=14)


def broadcasting(column: Sequence, row: Sequence, i: int, j: int):
    """A column and a row, both repeated to a table, and their sum; entry (i, j) is marked."""
    d, cell, top = Drawing(440, 204), 34, 40
    n, m = len(column), len(row)
    width, height = cell * m, cell * n
    added = [[x + y for y in row] for x in column]
    for x, name, colour, numbers, is_given, shape in (
        (10, "column", "query", [[x] * m for x in column], lambda _, c: c == 0, f"({n}, 1) → "),
        (174, "row", "key", [row] * n, lambda r, _: r == 0, f"({m},) → "),
        (326, "sum", "ink", added, lambda *_: True, ""),
    ):

        def look(r, c, is_given=is_given, colour=colour):
            if (r, c) == (i, j):
                return colour, 0.4, not is_given(r, c)
            return (colour, 0.12) if is_given(r, c) else ("muted", 0.03, True)

        d.text(x + width / 2, 12, name, bold=True)
        d.cells(x, top, numbers, (cell, cell), look)
        d.text(x + width / 2, top + height + 20, f"{shape}({n}, {m})", mono=True, size=13)
    d.arrow(10 + cell, 30, 10 + width, 30, "muted", width=1.5)
    d.arrow(164, top + cell, 164, top + height, "muted", width=1.5)
    d.texts(138, top + height / 2, "+=", right=163, size=18)
    entry = f"{column[i]:g} + {row[j]:g} = {added[i][j]:g}"
    d.text(220, top + height + 48, f"row {i}, column {j}: {entry}", size=15)
    return d.show(
        f"A column of {n} numbers is repeated to the right until it is a table, and a row of {m} "
        "numbers is repeated downwards; the copies have dashed borders. The two tables are added "
        f"number by number, which gives a table ({n}, {m}). Row {i}, column {j} is marked: {entry}."
    )


def matrix_product(a: Sequence, b: Sequence, row: int, column: int):
    """The tables `a`, `b` and their product; the row and column that make one entry are marked."""
    d, cell = Drawing(470, 250), 38
    product = [
        [sum(x * y for x, y in zip(r, c, strict=True)) for c in zip(*b, strict=True)] for r in a
    ]
    middle = 240 + len(b[0]) * cell + 34
    for name, table, colour, x, y, name_x, name_y, is_marked in (
        ("a", a, "query", 70, 132, 34, 160, lambda i, _: i == row),
        ("b", b, "key", 240, 2, 204, 48, lambda _, j: j == column),
        ("a @ b", product, "ink", 240, 132, middle, 160, lambda *at: at == (row, column)),
    ):

        def look(i, j, colour=colour, is_marked=is_marked):
            return (colour, 0.3) if is_marked(i, j) else ("muted", 0.05)

        d.cells(x, y, table, (cell, cell), look, size=15)
        d.text(name_x, name_y, name, bold=True)
        d.text(name_x, name_y + 20, f"({len(table)}, {len(table[0])})", mono=True, size=13)
    terms = " + ".join(f"{x:g}·{numbers[column]:g}" for x, numbers in zip(a[row], b, strict=True))
    d.text(316, 230, f"{terms} = {product[row][column]:g}", size=15)
    return d.show(
        "The table a is on the left, the table b above, and their product at the corner where "
        "the rows of a meet the columns of b. One row of a and one column of b are marked, and so "
        f"is the entry where they meet: {terms} = {product[row][column]:g}."
    )
