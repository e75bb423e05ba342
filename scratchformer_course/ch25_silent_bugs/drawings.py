"""Chapter 25's drawings: five questions, sums of rows, and positions."""

from collections.abc import Sequence

from scratchformer_course.kit.canvas import Drawing, drawing

ASKED = (
    ("text", "token", "Is the text what\nyou think it is?"),
    ("model", "query", "May a later\ntoken matter?"),
    ("training", "stream", "Do micro-batches\nequal one batch?"),
    ("use", "key", "Does a cache or\npadding matter?"),
)


@drawing(476, 226)
def five_questions(d):
    """Four boxes in a row: text, model, training, use. Below each is its question. text: Is the
    text what you think it is?; model: May a later token matter?; training: Do micro-batches equal
    one batch?; use: Does a cache or padding matter? A bracket below all four asks: Does it equal a
    second implementation?
    """
    for i, (place, colour, question) in enumerate(ASKED):
        x = 4 + 120 * i
        d.box(x, 12, 104, 44, place, colour, bold=True)
        if i < 3:
            d.arrow(x + 105, 34, x + 119, 34, "muted")
        d.line([(x + 52, 56), (x + 52, 82)], colour, width=1.5, dashed=True)
        d.texts(x + 52, 94, question.split("\n"), down=19, size=13)
    d.line([(4, 142), (4, 150), (468, 150), (468, 142)], "value", width=1.5)
    d.line([(236, 150), (236, 164)], "value", width=1.5)
    d.box(66, 164, 340, 44, "Does it equal a second implementation?", "value")


def rows_of_weights(maps: Sequence[tuple[str, Sequence[Sequence[float]]]]):
    """Attention maps side by side, a row for each query, with the sum of each row."""
    n, parts = len(maps[0][1]), []
    d, cell = Drawing(476, 236), 150 / n
    for x, (name, rows) in zip((4, 244), maps, strict=True):
        d.text(x + 75, 12, name, bold=True)
        d.text(x + 186, 12, "sum", "muted", 13)
        d.grid(x, 28, rows, cell, "query")
        sums = [sum(row) for row in rows]
        for k, total in enumerate(sums):
            colour = "ink" if abs(total - 1) < 0.01 else "key"
            d.text(x + 186, 28 + (k + 0.5) * cell, f"{total:.2f}", colour)
        parts.append(f"{name}: sums from {min(sums):.2f} to {max(sums):.2f}")
    words = ("a row for each query, a column for each key", "the darker, the larger the weight")
    d.texts(238, 206, words, down=18, colour="muted", size=13)
    return d.show(
        f"Two maps of attention weights, {n} by {n}, empty above the diagonal, with the sum "
        f"of each row beside it. {'; '.join(parts)}."
    )


def positions_under_a_cache(rows: Sequence[tuple[str, Sequence[int]]], tokens: Sequence[str]):
    """The position that each token gets when a model reads one token at a time."""
    d, cell, step = Drawing(476, 62 + 48 * len(rows)), (50, 32), 78
    names = ["new token", *(name for name, _ in rows)]
    for x in d.row(166, 10, tokens, cell, ("token", 0.12), step, mono=True)[1:]:
        d.arrow(x - 51, 26, x - 27, 26, "muted")
    for i, (_, places) in enumerate(rows):
        looks = [
            ("position", 0.12) if p == t else ("key", 0.12, True) for t, p in enumerate(places)
        ]
        d.row(166, 58 + 48 * i, places, cell, looks, step)
    d.texts(2, 26, names, down=48, size=13, anchor="start")
    parts = [f"{name}: {', '.join(map(str, places))}" for name, places in rows]
    return d.show(
        f"Tokens {', '.join(tokens)} are read one at a time, with a cache. Below each is its "
        f"position. {'; '.join(parts)}. Wrong positions have a dashed frame."
    )
