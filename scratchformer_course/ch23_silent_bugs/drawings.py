"""Chapter 23's drawings: five questions, sums of rows, and positions."""

from collections.abc import Sequence

from scratchformer_course.kit.canvas import Drawing

ASKED = (
    ("text", "token", "Is the text what\nyou think it is?"),
    ("model", "query", "May a later\ntoken matter?"),
    ("training", "stream", "Do micro-batches\nequal one batch?"),
    ("use", "key", "Does a cache or\npadding matter?"),
)


def five_questions():
    """Where a fault can be, from text to use, and the question that finds it there."""
    d = Drawing(476, 226)
    for i, (place, colour, question) in enumerate(ASKED):
        x = 4 + 120 * i
        d.box(x, 12, 104, 44, place, colour, bold=True)
        if i < 3:
            d.arrow(x + 105, 34, x + 119, 34, "muted")
        d.line([(x + 52, 56), (x + 52, 82)], colour, width=1.5, dashed=True)
        d.texts(x + 52, 94, question.split("\n"), down=19, size=13)
    d.line([(4, 142), (4, 150), (468, 150), (468, 142)], "value", width=1.5)
    d.line([(236, 150), (236, 164)], "value", width=1.5)
    d.box(66, 164, 340, 44, "Does it equal a second implementation?", "value", size=14)
    questions = "; ".join(f"{place}: {asked.replace(chr(10), ' ')}" for place, _, asked in ASKED)
    return d.show(
        "Four boxes in a row: text, model, training, use. Below each is its question. "
        f"{questions} A bracket below all four asks: Does it equal a second implementation?"
    )


def rows_of_weights(maps: Sequence[tuple[str, Sequence[Sequence[float]]]]):
    """Attention maps side by side, a row for each query, with the sum of each row."""
    n = len(maps[0][1])
    cell = 150 / n
    d = Drawing(476, 236)
    parts = []
    for i, (name, rows) in enumerate(maps):
        x = 4 + 240 * i
        d.text(x + 75, 12, name, bold=True)
        d.text(x + 186, 12, "sum", "muted", size=13)
        d.grid(x, 28, rows, cell, "query")
        sums = [sum(row) for row in rows]
        for k, total in enumerate(sums):
            colour = "ink" if abs(total - 1) < 0.01 else "key"
            d.text(x + 186, 28 + (k + 0.5) * cell, f"{total:.2f}", colour, size=14)
        parts.append(f"{name}: sums from {min(sums):.2f} to {max(sums):.2f}")
    words = ("a row for each query, a column for each key", "the darker, the larger the weight")
    d.texts(238, 206, words, down=18, colour="muted", size=13)
    return d.show(
        f"Two maps of attention weights, {n} by {n}, empty above the diagonal, with the sum "
        f"of each row beside it. {'; '.join(parts)}."
    )


def positions_under_a_cache(rows: Sequence[tuple[str, Sequence[int]]], tokens: Sequence[str]):
    """The position that each token gets when a model reads one token at a time."""
    d = Drawing(476, 62 + 48 * len(rows))
    parts = []
    d.text(2, 26, "new token", anchor="start", size=13)
    for t, token in enumerate(tokens):
        d.box(166 + 78 * t, 10, 50, 32, token, "token", mono=True)
        if t:
            d.arrow(166 + 78 * t - 26, 26, 166 + 78 * t - 2, 26, "muted")
    for i, (name, places) in enumerate(rows):
        y = 58 + 48 * i
        d.text(2, y + 16, name, anchor="start", size=13)
        for t, place in enumerate(places):
            wrong = place != t
            d.box(166 + 78 * t, y, 50, 32, place, "key" if wrong else "position", dashed=wrong)
        parts.append(f"{name}: {', '.join(map(str, places))}")
    return d.show(
        f"Tokens {', '.join(tokens)} are read one at a time, with a cache. Below each is its "
        f"position. {'; '.join(parts)}. Wrong positions have a dashed frame."
    )
