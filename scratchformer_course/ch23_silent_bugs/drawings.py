"""Chapter 23's drawings: five questions, sums of rows, positions, merged heads, and prices."""

from collections.abc import Mapping, Sequence
from math import copysign, log10

from scratchformer_course.kit.canvas import Drawing

ASKED = (
    ("text", "token", "Is the text what\nyou think it is?"),
    ("model", "query", "May a later\ntoken matter?"),
    ("training", "stream", "Is a step that of\none large batch?"),
    ("use", "key", "Does a cache or\npadding matter?"),
)


def five_questions():
    """Where a fault can stand, from text to use, and the question that finds it there."""
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
    questions = "; ".join(f"{place}: {said.replace(chr(10), ' ')}" for place, _, said in ASKED)
    return d.show(
        "Four boxes in a row: text, model, training, use. Below each stands a question. "
        f"{questions} A bracket below all four asks: Does it equal a second implementation?"
    )


def rows_of_weights(maps: Sequence[tuple[str, Sequence[Sequence[float]]]]):
    """Attention maps side by side, a row for each query, with the sum of each row."""
    n = len(maps[0][1])
    cell = 150 / n
    d = Drawing(476, 236)
    said = []
    for i, (name, rows) in enumerate(maps):
        x = 4 + 240 * i
        d.text(x + 75, 12, name, bold=True)
        d.text(x + 186, 12, "sum", "muted", size=13)
        d.grid(x, 28, rows, cell, "query")
        sums = [sum(row) for row in rows]
        for k, total in enumerate(sums):
            colour = "ink" if abs(total - 1) < 0.01 else "key"
            d.text(x + 186, 28 + (k + 0.5) * cell, f"{total:.2f}", colour, size=14)
        said.append(f"{name}: sums from {min(sums):.2f} to {max(sums):.2f}")
    words = ("a row for each query, a column for each key", "the darker, the larger the weight")
    d.texts(238, 206, words, down=18, colour="muted", size=13)
    return d.show(
        f"Two maps of attention weights, {n} by {n}, empty above the diagonal, with the sum "
        f"of each row beside it. {'; '.join(said)}."
    )


def positions_under_a_cache(rows: Sequence[tuple[str, Sequence[int]]], tokens: Sequence[str]):
    """The position that each token gets when a model reads one token at a time."""
    d = Drawing(476, 62 + 48 * len(rows))
    said = []
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
        said.append(f"{name}: {', '.join(map(str, places))}")
    return d.show(
        f"Tokens {', '.join(tokens)} are read one at a time, with a cache. Below each stands its "
        f"position. {'; '.join(said)}. Wrong positions have a dashed frame."
    )


def merged_heads(heads: int, T: int, ways: Sequence[tuple[str, Sequence[Sequence[int]]]]):
    """What stands in each position's row, where heads are merged in several ways.

    A row holds numbers h * T + t, for the head h at the position t.
    """
    d = Drawing(476, 76 + 36 * T)
    said = []

    def name(i: int) -> str:
        return f"{'ABCD'[i // T]}{i % T}"

    def cell(x, y, i, row=None):
        later = row is not None and i % T > row
        colour = "key" if later else ("query", "value")[i // T % 2]
        d.box(x, y, 42, 28, name(i), colour, dashed=later, bold=later)

    d.text(64, 14, "heads A and B", bold=True)
    for h in range(heads):
        for t in range(T):
            cell(20 + 46 * h, 32 + 36 * t, h * T + t)
    for w, (way, rows) in enumerate(ways):
        x = 202 + 152 * w
        d.text(x + 44, 14, way, bold=True)
        later = []
        for t, row in enumerate(rows):
            d.text(x - 12, 46 + 36 * t, t, "muted", size=13)
            for k, i in enumerate(row):
                cell(x + 46 * k, 32 + 36 * t, i, t)
                if i % T > t:
                    later.append(f"{name(i)} at position {t}")
        read = "; ".join(" ".join(map(name, row)) for row in rows)
        said.append(f"{way}, by position: {read}. Later ones: {', '.join(later) or 'none'}")
    d.text(238, 48 + 36 * T, "a letter for the head, a number for the position", "muted", size=13)
    return d.show(f"Outputs of {heads} heads at {T} positions, merged. {'. '.join(said)}.")


def costs(rows: Sequence[Mapping]):
    """For each fault what its program reports and what it costs, a dot for each of its seeds.

    A row has `title`, `reported` and `right`, differences from the healthy twin in nats. They are
    drawn on a scale that is even up to 0.1 and logarithmic beyond.
    """
    d = Drawing(476, 96 + 26 * len(rows), size=13)
    bottom = 44 + 26 * len(rows)

    def at(nats: float) -> float:
        return 304 + 62 * _bent(nats)

    for tick in (-1, -0.1, 0, 0.1, 1, 10):
        d.line([(at(tick), 30), (at(tick), bottom)], "muted", width=1.6 if tick == 0 else 0.5)
        d.text(at(tick), bottom + 13, f"{tick:g}".replace("-", "−"), "muted")
    d.circle(14, 13, 4.5, "query", fill=0)
    d.text(26, 13, "reported", anchor="start")
    d.circle(104, 13, 4.5, "key", fill=0.8)
    d.text(116, 13, "what it costs", anchor="start")
    said = []
    for i, row in enumerate(rows):
        y = 44 + 26 * i
        d.text(2, y, row["title"], anchor="start")
        for nats in row["reported"]:
            d.circle(at(nats), y - 4, 4, "query", fill=0)
        for nats in row["right"]:
            d.circle(at(nats), y + 4, 4, "key", fill=0.8)
        means = [sum(row[key]) / len(row[key]) for key in ("reported", "right")]
        said.append(f"{row['title']} {means[0]:+.2f} and {means[1]:+.2f}")
    d.text(472, bottom + 34, "nats a token more than the healthy twin", anchor="end")
    return d.show(
        "A row for each fault, with open dots for what its program reports and filled ones for "
        f"what it costs, in nats above the healthy twin. Means: {'; '.join(said)}."
    )


def _bent(nats: float) -> float:
    """Even between -0.1 and 0.1, logarithmic beyond: 0.1 lies at 0.5, 1 at 1.5, 10 at 2.5."""
    size = abs(nats)
    return copysign(5 * size if size <= 0.1 else 1.5 + log10(size), nats)
