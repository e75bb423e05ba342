"""The drawing of chapter 06: one head on one sentence, which gains a part at every stage."""

import math
from collections.abc import Sequence
from typing import Any

from scratchformer_course.kit.canvas import Drawing

STAGES = "vectors", "queries and keys", "scores", "weights", "values", "head"
FEATURES = "article adjective noun verb royal aged asleep".split()
SHADE = 0.42  # how opaque a weight of 1 is, here and in the live figure

# Each word has a column. To the left are names, to the right the two matrices and, below them, what
# comes back.
LEFT, WIDE, RIGHT, WIDTH = 76, 48, 274, 422  # so narrow that a phone shows letters of 11 pixels
SMALL, ROW = 16, 22  # the height of a number, and of a row of the map
X, Q, K, MAP, V = 30, 150, 174, 206, 302  # where each part begins
ENDS = (146, 200, 300, 300, 354, 354)  # where the drawing ends at each stage

Table = Sequence[Sequence[Any]]


def head(stage: str, words: Sequence[str], asks: int = 1, **parts: Table):
    """The head up to this stage, with the row of the word `asks` in bold.

    `parts` are its tables so far: x, then W_q, W_k, q and k, then scores, weights, v and context.
    In the last stage their shapes take the place of the features' names.
    """
    n = STAGES.index(stage)
    tables = {name: [[*map(float, row)] for row in table] for name, table in parts.items()}
    d = Drawing(WIDTH, ENDS[n], size=13)
    d.row(LEFT, 2, words, (WIDE, 24), [("token", 0.12)] * len(words), bold=True)
    told = [_vectors(d, words, tables["x"], stage)]
    for needed, part in enumerate((_queries_and_keys, _map, _values)):
        if n >= (1, 2, 4)[needed]:
            told.append(part(d, words, tables, asks, stage))
    if stage == "scores":
        told[-1] += _arrows(d, words, tables, asks)
    if stage == "weights":
        _by_hand(d, words[asks], tables["scores"][asks], len(tables["q"][0]))
    return d.show(f"{'The drawing before, with one part more. ' if n else ''}{told[-1]}")


def _vectors(d, words, x, stage) -> str:
    """The vector of each word, in its column."""
    if stage == "head":
        d.text_to(LEFT - 6, X + 3.5 * SMALL, "x  (T, C)", "stream", bold=True)
    else:
        d.texts(LEFT - 6, X + SMALL / 2, FEATURES, down=SMALL, anchor="end")
    _columns(d, X, x, "stream")
    told = []
    for word, vector in zip(words, x, strict=True):
        ones = [name for name, number in zip(FEATURES, vector, strict=True) if number]
        told.append(f"{word} is {' and '.join(ones)}")
    return f"Each word has a column with the seven numbers of its vector: {', '.join(told)}."


def _columns(d, top, vectors, colour) -> None:
    rows = [*zip(*vectors, strict=True)]
    d.cells(LEFT, top, rows, (WIDE, SMALL), lambda i, j: (colour, 0.04 + 0.3 * rows[i][j]))


def _vector(numbers: Sequence[float]) -> str:
    return f"({', '.join(f'{number:g}' for number in numbers)})"


def _queries_and_keys(d, words, tables, asks, stage) -> str:
    """A matrix each to the right of the vectors, and what it makes of them below."""
    for left, top, letter, name in ((RIGHT, Q, "q", "query"), (RIGHT + 76, K, "k", "key")):
        matrix, made = tables[f"W_{letter}"], tables[letter]
        d.text(left + 35, 6, f"W_{letter}", name, mono=True, bold=True)
        d.texts(left + 17.5, 21, ("noun", "verb"), right=35, colour=name)
        looks = [[(name, 0.3 if number else 0.04) for number in row] for row in matrix]
        for i, row in enumerate(matrix):
            d.row(left, X + SMALL * i, row, (35, SMALL), looks[i])
        label = f"{letter}  (T, D)" if stage == "head" else name
        d.text_to(LEFT - 6, top + 11, label, name, bold=True)
        looks_of = [(name, 0.3 if any(vector) else 0.04) for vector in made]
        d.row(LEFT, top, [*map(_vector, made)], (WIDE, ROW), looks_of)
        if stage == "queries and keys":
            d.text_from(RIGHT, top + 11, f"{letter} = x @ W_{letter}", name, mono=True)
    told = (
        f"{word} has the query {_vector(q)} and the key {_vector(k)}"
        for word, q, k in zip(words, tables["q"], tables["k"], strict=True)
    )
    return f"The matrices W_q and W_k make of each vector a query and a key: {', '.join(told)}."


def _map(d, words, tables, asks, stage) -> str:
    """Scores, or weights: a row for each word that asks, a column for each that answers."""
    name = "scores" if stage == "scores" else "weights"
    digits, largest = (0, 4) if name == "scores" else (2, 1)
    told = []
    for t, (word, row) in enumerate(zip(words, tables[name], strict=True)):
        top, is_asking = MAP + ROW * t, t == asks
        d.text_to(LEFT - 6, top + 11, word, "query", bold=is_asking)
        texts = [f"{number:.{digits}f}" for number in row]
        looks: list[tuple] = [("query", SHADE * number / largest) for number in row]
        if stage == "head":  # which has a mask
            texts[t + 1 :] = [""] * (len(row) - t - 1)
            looks[t + 1 :] = [("muted", 0.04, True)] * (len(row) - t - 1)
        d.row(LEFT, top, texts, (WIDE, ROW), looks, bold=is_asking)
        most = [w for w, number in zip(words, row, strict=True) if max(row) - number < 0.005]
        told.append(f"{word} gives {max(row):.{digits}f} to {' and '.join(most)}")
    return f"A table of {name}, a row for each word that asks: {', '.join(told)}."


def _arrows(d, words, tables, asks) -> str:
    """The query of the word that asks, and the keys that are not zero, in one plane."""
    x0, y0, unit = RIGHT + 8, MAP + 62, 33
    d.line([(x0, y0 - 54), (x0, y0), (x0 + 138, y0)], "muted", width=1)
    d.text_to(x0 + 138, y0 + 12, "noun", "muted")
    d.text_from(x0 + 8, y0 - 50, "verb", "muted")
    q = tables["q"][asks]
    d.arrow(x0, y0 - 4, x0 + unit * q[0], y0 - 4 - unit * q[1], "query", width=2.5)
    d.text_from(x0 + 40, y0 - 16, f"query of {words[asks]}", "query")
    told = ""
    for word, key in zip(words, tables["k"], strict=True):
        if any(key):
            x, y = x0 + unit * key[0], y0 + 3 * key[0] - unit * key[1]
            d.arrow(x0, y0 + 3 * key[0], x, y, "key", width=2.5)
            d.text_from(x0 + 8 if key[1] else x0, y if key[1] else y0 + 14, f"key of {word}", "key")
            told += f" The key of {word} points to {_vector(key)}."
    return f" Beside it, arrows: the query of {words[asks]} points to {_vector(q)}.{told}"


def _by_hand(d, word, scores, width) -> None:
    """From the scores of one word to its weights, step by step."""
    divided = [score / math.sqrt(width) for score in scores]
    grown = [math.exp(number) for number in divided]
    for i, (label, numbers, digits) in enumerate(
        ((f"{word}: scores ÷ √{width}", divided, 2), ("exponentials", grown, 1))
    ):
        d.text_from(RIGHT, MAP + 40 * i + 2, label, "query")
        texts = [f"{n:.{digits}f}" if n % 1 else f"{n:g}" for n in numbers]
        d.texts(RIGHT + 16, MAP + 40 * i + 20, texts, right=36)
    d.text_from(RIGHT, MAP + 82, f"their sum: {sum(grown):.1f}", "query")


def _values(d, words, tables, asks, stage) -> str:
    """The values below their columns, and to the right of the map what the weights make of them."""
    v, context, names = tables["v"], tables["context"], FEATURES[4:]
    _columns(d, V, v, "value")
    for t, row in enumerate(context):
        looks = [("value", 0.04 + SHADE * number) for number in row]
        texts = [f"{number:.2f}" for number in row]
        d.row(RIGHT, MAP + ROW * t, texts, (48, ROW), looks, bold=t == asks)
    if stage == "head":
        d.text_to(LEFT - 6, V + 1.5 * SMALL, "v  (T, E)", "value", bold=True)
        d.text_from(RIGHT, Q + 8, "weights  (T, T)", "query", bold=True)
        d.text_from(RIGHT, Q + 28, "= softmax(q kᵀ / √D)", "query")
        d.text_from(RIGHT, V + 10, "context  (T, E)", "value", bold=True)
        d.text_from(RIGHT, V + 30, "= weights @ v", "value")
    else:
        d.texts(LEFT - 6, V + SMALL / 2, names, down=SMALL, anchor="end", colour="value")
        d.text_from(RIGHT, Q + 20, "context", "value", bold=True)
        d.texts(RIGHT + 24, MAP - 12, names, right=48, colour="value")
    got = ", ".join(f"{n} {number:.2f}" for n, number in zip(names, context[asks], strict=True))
    hidden = "The mask hides later words. " if stage == "head" else ""
    return f"{hidden}The weights mix the values, three numbers a word: {words[asks]} gets {got}."
