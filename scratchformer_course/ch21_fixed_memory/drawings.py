"""Drawings of chapter 21: two ways to set one bracket, and a swap as a reflection."""

from scratchformer_course.kit.canvas import drawing


@drawing(470, 250)
def two_brackets(d):
    """Above, a cache: a query meets eight keys, and the eight scores weigh eight values. One more
    token makes the rows of keys, scores and values longer. Below, a table: each key and its value
    become one outer product, which is added to a square of four by four numbers. The query reads
    this square, and one more token leaves its size as it is.
    """
    d.text_from(4, 16, "(q Kᵀ) V: a cache, which grows", bold=True)
    d.row(8, 34, ["q"], (30, 30), ("query", 0.25))
    for y, name, colour in ((34, "k", "key"), (70, "v", "value")):
        d.row(70, y, [name] * 8, (30, 30), (colour, 0.2), 33, size=13)
        d.box(334, y, 30, 30, "+", colour, 0, size=13)
    d.arrow(40, 49, 66, 49, "query")
    d.text_from(374, 60, "one more", "muted", 13)
    d.text_from(374, 78, "token", "muted", 13)
    d.text_from(4, 132, "q (Kᵀ V): a table, which does not", bold=True)
    d.row(8, 178, ["q"], (30, 30), ("query", 0.25))
    d.arrow(40, 193, 66, 193, "query")
    shades = [[0.1 + 0.6 * ((3 * i + 5 * j) % 7) / 7 for j in range(4)] for i in range(4)]
    d.grid(72, 148, shades, 22, "stream")
    d.arrow(262, 193, 168, 193, "stream")
    d.text(215, 182, "added", "muted", 13)
    d.row(268, 160, ["k"], (30, 66), ("key", 0.2))
    d.text(312, 193, "×")
    d.row(326, 178, ["v"], (66, 30), ("value", 0.2))


@drawing(470, 250)
def swap_is_reflection(d):
    """Two axes, for cup i and cup j. A dashed line runs between them at 45 degrees: it is the
    mirror. At right angles to it is the key, which points towards i and away from j. An arrow along
    the axis of i, and its image in the mirror, an arrow along the axis of j. Twice the part along
    the key is taken out.
    """
    x, y, length = 90, 196, 150
    d.arrow(x, y, x + 1.2 * length, y, "muted", width=1.2)
    d.arrow(x, y, x, y - 1.2 * length, "muted", width=1.2)
    d.text_from(x + 1.22 * length, y + 4, "cup i", "muted")
    d.text_to(x - 8, y - 1.12 * length, "cup j", "muted")
    d.line([(x, y), (x + 1.15 * length, y - 1.15 * length)], "muted", dashed=True)
    d.text_from(x + 1.18 * length, y - 1.13 * length, "mirror", "muted")
    d.arrow(x, y, x + length, y, "value", width=3)
    d.arrow(x, y, x, y - length, "stream", width=3)
    d.arrow(x + length - 6, y - 6, x + 8, y - length + 8, "key", dashed=True)
    d.arrow(x, y, x + 0.24 * length, y + 0.24 * length, "key")
    d.text_from(x + 0.28 * length, y + 0.24 * length, "k", "key", bold=True)
    d.text_from(300, 120, "− 2 (k · x) k", "key", bold=True)
    d.text_from(x + 0.56 * length, y - 14, "before", "value")
    d.text_to(x - 8, y - 0.6 * length, "after", "stream")
