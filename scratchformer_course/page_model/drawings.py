"""The drawing of the page on the model in JavaScript: a matrix as one row of numbers."""

from scratchformer_course.kit.canvas import drawing

T, C, H = 3, 8, 2  # tokens, channels, heads
D = C // H


def begins(t: int, h: int) -> int:
    """Where the channels of token t for head h begin in the row."""
    return t * C + h * D


@drawing(480, 318)
def matrix_in_a_row(d):
    """Above, a matrix of three rows, the tokens, and eight columns, of which the first four are
    head 0 and the last four head 1. The cells are numbered from 0 to 23, row after row. Below, the
    same 24 cells in one long row. Cells 12 to 15 are marked in both: they are what head 1 reads of
    token 1, and they lie side by side, from t times C plus h times D on.
    """
    start = begins(1, 1)
    d.text_from(3, 14, "q as a matrix, (T, C) = (3, 8)", bold=True)
    x, y, width, height = 76, 64, 48, 30
    for h in range(H):
        d.text(x + (h + 0.5) * D * width, 46, f"head {h}: D = {D} channels", "query", size=13)
    for t in range(T):
        d.text_to(x - 10, y + (t + 0.5) * height, f"token {t}", size=13)
        for c in range(C):
            place = t * C + c
            fill = 0.45 if start <= place < start + D else 0.08
            d.box(x + c * width, y + t * height, width, height, place, "query", fill, size=13)
    d.line([(x + D * width, y - 6), (x + D * width, y + T * height + 6)], "query", width=3)
    d.text_from(3, 184, "q as one Float32Array: token after token", bold=True)
    cell, x, y = 19, 12, 220
    for place in range(T * C):
        inside = start <= place < start + D
        d.box(x + place * cell, y, cell, height, colour="query", fill=0.45 if inside else 0.08)
    for t in range(T):
        left = x + t * C * cell
        d.text(left + C * cell / 2, 206, f"token {t}", size=13)
        d.line([(left, y - 6), (left, y + height + 6)], "query", width=3)
    left, right = x + start * cell, x + (start + D) * cell
    d.text_from(left + 1, 262, start, size=13)
    d.text_to(right - 1, 262, start + D - 1, size=13)
    d.text(240, 286, "token t = 1, head h = 1 begins at", size=14)
    d.text(240, 306, f"t·C + h·D = 1·{C} + 1·{D} = {start}", size=14, bold=True)
