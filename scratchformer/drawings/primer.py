"""Drawings of chapter 00: tensors of four ranks, one entry of a matrix product."""

from collections.abc import Sequence

from IPython.display import HTML

from scratchformer.drawings.canvas import Drawing


def _table(drawing: Drawing, x: float, y: float, rows: Sequence, cell=26, colour="ink") -> None:
    """A table of numbers with its upper left corner at (x, y)."""
    for i, row in enumerate(rows):
        for j, number in enumerate(row):
            drawing.box(x + j * cell, y + i * cell, cell, cell, f"{number:g}", colour, size=13)


def tensors() -> HTML:
    """A number, a row, a table and a batch of tables, each with its shape."""
    drawing = Drawing(470, 190)
    _table(drawing, 31, 60, [[7]])
    _table(drawing, 97, 60, [[1, 2, 3]])
    _table(drawing, 206, 47, [[1, 2, 3], [4, 5, 6]])
    for i in range(3):  # the table behind: only what the one in front leaves to be seen
        drawing.box(362 + 26 * i, 20, 26, 26, ("7", "8", "9")[i], "muted", size=13)
    drawing.box(440, 46, 26, 26, "", "muted")
    _table(drawing, 336, 47, [[1, 2, 3], [4, 5, 6]])
    names = (44, "a number", "()"), (136, "a row", "(3,)"), (245, "a table", "(2, 3)")
    for x, name, shape in (*names, (390, "a batch", "(2, 2, 3)")):
        drawing.text(x, 138, name)
        drawing.text(x, 164, shape, "query", mono=True, size=13)
    return drawing.show(
        "Four tensors side by side. A number has the shape (). A row of three numbers has the "
        "shape (3,). A table of two rows and three columns has the shape (2, 3). A batch of two "
        "such tables, one behind the other, has the shape (2, 2, 3)."
    )


def matrix_product(a: Sequence, b: Sequence, row: int, column: int) -> HTML:
    """The tables `a`, `b` and their product; the row and column that make one entry are marked."""
    drawing = Drawing(460, 236)
    cell, inner = 38, len(b)
    for name, (x, y), table in (("a", (70, 132), a), ("b", (240, 2), b)):
        for i, numbers in enumerate(table):
            for j, number in enumerate(numbers):
                marked = i == row if name == "a" else j == column
                colour = ("query" if name == "a" else "key") if marked else "muted"
                fill = 0.3 if marked else 0.05
                place = (x + j * cell, y + i * cell, cell, cell)
                drawing.box(*place, f"{number:g}", colour, fill, size=15)
    for i in range(len(a)):
        for j in range(len(b[0])):
            total = sum(a[i][k] * b[k][j] for k in range(inner))
            marked = (i, j) == (row, column)
            place = (240 + j * cell, 132 + i * cell, cell, cell)
            colour, fill = ("value", 0.3) if marked else ("muted", 0.05)
            drawing.box(*place, f"{total:g}", colour, fill, size=15)
    drawing.text(56, 170, "a", bold=True)
    drawing.text(226, 58, "b", bold=True)
    terms = " + ".join(f"{a[row][k]:g}·{b[k][column]:g}" for k in range(inner))
    total = sum(a[row][k] * b[k][column] for k in range(inner))
    drawing.text(230, 224, f"{terms} = {total:g}", "value", size=15)
    return drawing.show(
        "The table a stands on the left, the table b above, and their product at the corner where "
        "the rows of a meet the columns of b. One row of a and one column of b are marked, and so "
        f"is the entry where they meet: {terms} = {total:g}."
    )
