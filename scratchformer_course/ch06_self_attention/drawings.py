"""The drawings of chapter 06: one word asks, another answers, and its content comes back."""

from __future__ import annotations

from collections.abc import Sequence

from IPython.display import HTML

from scratchformer_course.kit.canvas import Drawing


def idea() -> HTML:
    """The plan of self-attention on "the old king sleeps"."""
    d = Drawing(470, 226)
    places = {"the": (8, 64), "old": (108, 110), "king": (280, 90), "sleeps": (394, 68)}
    for word, (left, width) in places.items():
        important = word in ("old", "king")
        d.box(
            left, 104, width, 42, word, "token" if important else "muted", bold=important, size=16
        )
    d.text(154, 22, "1 · query", "query", bold=True)
    d.box(84, 36, 140, 34, "I look for a noun", "query")
    d.line([(163, 104), (163, 70)], "query")
    d.text(325, 22, "2 · key", "key", bold=True)
    d.box(270, 36, 110, 34, "I am a noun", "key")
    d.line([(325, 104), (325, 70)], "key")
    d.arrow(224, 53, 268, 53, "query", width=2.5)
    d.arrow(325, 150, 163, 150, "value", bend=38, width=5)
    d.text(244, 212, "3 · value: “royal” comes back", "value", bold=True)
    return d.show(
        "Four words in a row: the, old, king, sleeps. Above old stands its query, I look for a "
        "noun; above king its key, I am a noun. An arrow leads from the query to the key. A thick "
        "arrow leads back from king to old: the value, royal. So old learns from king."
    )


def design(*examples: tuple[str, Sequence[int], Sequence[Sequence[int]]]) -> HTML:
    """How x takes rows of W_q and of W_k: two examples of a word, its x, and the matrix."""
    d = Drawing(470, 318)
    features = "article adjective noun verb royal female asleep".split()
    d.texts(84, 72, features, down=28, anchor="end")
    said = []
    styles = ((92, "query", "W_q"), (296, "key", "W_k"))
    for (word, x, matrix), (left, name, title) in zip(examples, styles, strict=True):
        d.text(left + 19, 18, "x of", "stream")
        d.text(left + 19, 38, word, "stream", bold=True)
        d.text(left + 106, 18, title, name, mono=True, bold=True)
        for column, kind in enumerate(("noun", "verb")):
            d.text(left + 80 + 52 * column, 42, kind, name)
        for i, row in enumerate(matrix):
            top, taken = 58 + 28 * i, bool(x[i])
            d.box(left, top, 38, 28, x[i], "stream", fill=0.3 if taken else 0, bold=taken)
            for column, number in enumerate(row):
                fill = 0.3 if taken else 0
                d.box(left + 54 + 52 * column, top, 52, 28, number, name, fill=fill, bold=taken)
        result = tuple(
            sum(a * b for a, b in zip(x, c, strict=True)) for c in zip(*matrix, strict=True)
        )
        d.arrow(left + 106, 256, left + 106, 276, name)
        d.box(left + 46, 278, 120, 32, f"{name} {result}", name)
        rows = " and ".join(f for f, taken in zip(features, x, strict=True) if taken)
        said.append(f"The vector x of {word} takes {rows} of {title} and makes the {name} {result}")
    return d.show(
        "Two matrices of seven rows, article to asleep, and two columns, noun and verb, beside the "
        f"vector of a word. Each 1 of the vector takes a row. {'. '.join(said)}."
    )


def three_vectors(
    word: str, x: Sequence[int], q: Sequence[int], k: Sequence[int], v: Sequence[int]
) -> HTML:
    """The vector of one word, and its query, key and value, with their numbers."""
    d = Drawing(470, 232)

    def numbers(vector):
        return "(" + ", ".join(map(str, vector)) + ")"

    d.box(95, 10, 280, 56, f"x of {word}\n{numbers(x)}", "stream")
    parts = [
        (78, q, "query", "W_q", "what it looks for"),
        (235, k, "key", "W_k", "what it is found by"),
        (392, v, "value", "W_v", "what it gives"),
    ]
    for middle, vector, name, matrix, task in parts:
        start = 235 + (middle - 235) * 0.6
        d.arrow(start, 66, middle, 134, name)
        d.text((start + middle) / 2 + 12, 96, f"× {matrix}", name, anchor="start", mono=True)
        d.box(middle - 70, 136, 140, 56, f"{name}\n{numbers(vector)}", name)
        d.text(middle, 212, task)
    return d.show(
        f"One box, the vector x of {word}, {numbers(x)}. Three arrows lead from it, each through a "
        f"matrix: W_q makes the query {numbers(q)}, what the word looks for; W_k the key "
        f"{numbers(k)}, what it is found by; W_v the value {numbers(v)}, what it gives."
    )


SHADE = 0.42  # how opaque a weight of 1 is, here and in the live figure


def maps(*panels: tuple[str, Sequence[str], Sequence[str], Sequence[Sequence[float]]]) -> HTML:
    """Attention maps below each other, each with a title, its words that ask and that answer."""
    wide = min(56, 390 // max(len(answers) for _, _, answers, _ in panels))
    heights = [38 + bool(title) * 24 + 36 * len(asks) for title, asks, _, _ in panels]
    d = Drawing(470, sum(heights) + 16 * len(panels) - 8)
    top, said = 0, []
    for (title, asks, answers, weights), height in zip(panels, heights, strict=True):
        left = 270 - wide * len(answers) / 2
        if title:
            d.text(left, top + 12, title, anchor="start", bold=True)
            said.append(f"{title}:")
        start = top + height - 36 * len(asks)
        for s, word in enumerate(answers):
            d.text(left + wide * (s + 0.5), start - 14, word)
        for t, (word, row) in enumerate(zip(asks, weights, strict=True)):
            d.text(left - 10, start + 36 * t + 18, word, anchor="end", bold=True)
            for s, weight in enumerate(row):
                place = left + wide * s, start + 36 * t
                d.box(*place, wide, 36, f"{weight:.2f}", "query", fill=SHADE * float(weight))
            most = [a for a, w in zip(answers, row, strict=True) if max(row) - w < 0.005]
            said.append(f"{word} gives {float(max(row)):.2f} to {' and to '.join(most)}.")
        top += height + 16
    return d.show(
        "A table of attention weights: a row for each word that asks, a column for each word that "
        f"answers, and the larger the weight, the darker its cell. {' '.join(said)}"
    )


def learned(before: Sequence[Sequence[float]], after: Sequence[Sequence[float]]) -> HTML:
    """Weights (8, 8) of eight questions over eight keys, before and after training."""
    d = Drawing(470, 262)
    found = [float(row[i]) for i, row in enumerate(after)]
    for left, title, weights in ((46, "before", before), (276, "after training", after)):
        d.text(left + 88, 12, title, bold=True)
        shades = [[SHADE / 0.85 * float(weight) for weight in row] for row in weights]
        d.grid(left, 28, shades, cell=22, colour="query")  # 0.85 is the pen's own
        for i in range(len(weights)):
            d.text(left - 10, 39 + 22 * i, str(i))
            d.text(left + 11 + 22 * i, 220, str(i))
        d.text(left + 88, 248, "key")
    d.text(12, 116, "asked for", turn=-90)
    return d.show(
        "Two tables of weights, eight questions by eight keys. Before training the weights are "
        "spread over each row. After training the dark cells lie on the diagonal, with "
        f"{min(found):.2f} or more on the key that is asked for, and the rest is nearly empty."
    )


def pipeline() -> HTML:
    """Every step of attention, with the shape of what flows."""
    d = Drawing(470, 526)
    d.box(150, 8, 170, 40, "x  (T, C)", "stream", size=15)
    tops = {
        "q": (70, "query", "(T, D)"),
        "k": (215, "key", "(T, D)"),
        "v": (398, "value", "(T, E)"),
    }
    for name, (middle, colour, shape) in tops.items():
        d.arrow(235 + (middle - 235) * 0.35, 48, middle, 98, colour)
        d.box(middle - 55, 100, 110, 40, f"{name}  {shape}", colour, size=15)
    d.text(88, 68, "× W_q", "query", mono=True)
    d.text(258, 80, "× W_k", "key", mono=True)
    d.text(382, 68, "× W_v", "value", mono=True)
    d.arrow(70, 140, 112, 180, "query")
    d.arrow(215, 140, 174, 180, "key")
    steps = [
        ("scores = q kᵀ  (T, T)", "ink", "each with each"),
        ("÷ √D", "ink", "keeps them small"),
        ("mask (if any)", "muted", "hides words"),
        ("softmax of each row", "ink", "sum 1"),
        ("weights  (T, T)", "ink", ""),
    ]
    for i, (step, colour, why) in enumerate(steps):
        top = 182 + 58 * i
        d.box(40, top, 206, 38, step, colour, dashed=colour == "muted", size=15)
        d.text(254, top + 19, why, anchor="start")
        if i:
            d.arrow(143, top - 20, 143, top)
    d.arrow(143, 452, 143, 474)
    d.arrow(398, 140, 398, 474, "value", width=2.5)
    d.box(40, 476, 413, 42, "weights @ v = context  (T, E)", "value", size=15)
    return d.show(
        "From top to bottom: x, of shape (T, C), becomes q and k of shape (T, D) and v of shape "
        "(T, E). q and k meet in the scores, (T, T). They are divided by the root of D, masked if "
        "there is a mask, and a softmax makes weights of each row, (T, T). The weights mix v, that "
        "came down at the side, into context vectors, (T, E)."
    )


def dictionary(names: Sequence[str], weights: Sequence[float], values: Sequence[str]) -> HTML:
    """A question to all keys of a soft dictionary; arrows as thick as their weights."""
    d = Drawing(470, 28 + 58 * len(names))
    middle = 34 + 29 * len(names)
    d.text(56, 16, "question", "query", bold=True)
    d.text(234, 16, "keys", "key", bold=True)
    d.text(414, 16, "values", "value", bold=True)
    d.box(8, middle - 24, 96, 44, "king?", "query", size=16)
    for i, (name, weight, value) in enumerate(zip(names, weights, values, strict=True)):
        y = 58 + 58 * i
        d.arrow(106, middle - 2, 186, y, "query", width=1 + 7 * weight)
        d.box(188, y - 20, 92, 40, name, "key", size=15)
        d.arrow(282, y + 8, 366, y + 8, "value", width=1 + 7 * weight)
        d.text(322, y - 8, f"{weight:.0%}", "value", bold=True)
        d.box(368, y - 20, 92, 40, value, "value", size=15)
    triples = zip(names, weights, values, strict=True)
    shares = ", ".join(f"{name} {weight:.0%} of {value}" for name, weight, value in triples)
    return d.show(
        f"One question, king, and arrows to all keys, which give their values: {shares}. The "
        "better a key fits the question, the thicker its arrow, and the more of its value goes "
        "into the answer."
    )
