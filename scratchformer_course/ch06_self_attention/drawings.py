"""The drawings of chapter 06: one word asks, another answers, and its content comes back."""

from collections.abc import Sequence

from scratchformer_course.kit.canvas import Drawing, drawing


@drawing(470, 226)
def idea(d):
    """Four words in a row: the, old, king, sleeps. Above old stands its query, I look for a noun;
    above king its key, I am a noun. An arrow leads from the query to the key. A thick arrow leads
    back from king to old: the value, royal. So old learns from king.
    """
    for word, left, width, is_at_work in (
        ("the", 8, 64, False),
        ("old", 108, 110, True),
        ("king", 280, 90, True),
        ("sleeps", 394, 68, False),
    ):
        colour = "token" if is_at_work else "muted"
        d.box(left, 104, width, 42, word, colour, bold=is_at_work, size=16)
    d.flow(
        [(84, 36, 140, 34, "I look for a noun", "query"), (270, 36, 110, 34, "I am a noun", "key")],
        "query",
    )
    for x, name, colour in ((154, "1 · query", "query"), (325, "2 · key", "key")):
        d.text(x, 22, name, colour, bold=True)
    for x, colour in ((163, "query"), (325, "key")):
        d.line([(x, 104), (x, 70)], colour)
    d.arrow(325, 150, 163, 150, "value", bend=38, width=5)
    d.text(244, 212, "3 · value: “royal” comes back", "value", bold=True)


def design(*examples: tuple[str, Sequence[int], Sequence[Sequence[int]]]):
    """How x takes rows of W_q and of W_k: two examples of a word, its x, and the matrix."""
    d, parts = Drawing(470, 318), []
    features = "article adjective noun verb royal aged asleep".split()
    d.texts(84, 72, features, down=28, anchor="end")
    styles = ((92, "query", "W_q"), (296, "key", "W_k"))
    for (word, x, matrix), (left, name, title) in zip(examples, styles, strict=True):
        d.text(left + 19, 18, "x of", "stream")
        d.text(left + 19, 38, word, "stream", bold=True)
        d.text(left + 106, 18, title, name, mono=True, bold=True)
        d.texts(left + 80, 42, ("noun", "verb"), right=52, colour=name)
        for i, row in enumerate(matrix):
            top, fill, taken = 58 + 28 * i, 0.3 * x[i], bool(x[i])
            d.box(left, top, 38, 28, x[i], "stream", fill, bold=taken)
            d.row(left + 54, top, row, (52, 28), (name, fill), bold=taken)
        columns = zip(*matrix, strict=True)
        result = tuple(sum(a * b for a, b in zip(x, c, strict=True)) for c in columns)
        d.arrow(left + 106, 256, left + 106, 276, name)
        d.box(left + 46, 278, 120, 32, f"{name} {result}", name)
        rows = " and ".join(f for f, taken in zip(features, x, strict=True) if taken)
        parts.append(
            f"The vector x of {word} takes {rows} of {title} and makes the {name} {result}"
        )
    return d.show(
        "Two matrices of seven rows, article to asleep, and two columns, noun and verb, beside the "
        f"vector of a word. Each 1 of the vector takes a row. {'. '.join(parts)}."
    )


def updated(word: str, names: Sequence[str], before: Sequence[float], read: Sequence[float]):
    """The meaning of a word, what it has read from the others, and both together."""
    d = Drawing(470, 204)
    together = [a + b for a, b in zip(before, read, strict=True)]
    d.texts(212, 14, names, right=104)
    parts = []
    for top, label, colour, numbers, digits in (
        (30, f"{word}, alone", "stream", before, "0.0f"),
        (86, "it reads", "value", read, "0.2f"),
        (156, "together", "stream", together, "0.2f"),
    ):
        d.text_to(148, top + 21, label, bold=True)
        looks = [(colour, 0.04 + 0.4 * min(1.0, float(number))) for number in numbers]
        d.row(164, top, [f"{n:{digits}}" for n in numbers], (96, 42), looks, 104, size=16)
        parts.append(", ".join(f"{n} {v:.2f}" for n, v in zip(names, numbers, strict=True)))
    d.plus(40, 107)
    d.line([(24, 142), (460, 142)])
    return d.show(
        f"Three rows of numbers. {word} alone: {parts[0]}. It reads: {parts[1]}. Both added up: "
        f"{parts[2]}. So the vector of {word} says now what its noun is like."
    )


SHADE = 0.42  # how opaque a weight of 1 is, here and in the live figure


def maps(*panels: tuple[str, Sequence[str], Sequence[str], Sequence[Sequence[float]]]):
    """Attention maps below each other, each with a title, its words that ask and that answer."""
    wide = min(56, 390 // max(len(answers) for _, _, answers, _ in panels))
    heights = [38 + bool(title) * 24 + 36 * len(asks) for title, asks, _, _ in panels]
    d = Drawing(470, sum(heights) + 16 * len(panels) - 8)
    top, parts = 0, []
    for (title, asks, answers, weights), height in zip(panels, heights, strict=True):
        left, start = 270 - wide * len(answers) / 2, top + height - 36 * len(asks)
        if title:
            d.text_from(left, top + 12, title, bold=True)
            parts.append(f"{title}:")
        d.texts(left + wide / 2, start - 14, answers, right=wide)
        for y, word, row in zip(range(start, start + height, 36), asks, weights, strict=False):
            d.text_to(left - 10, y + 18, word, bold=True)
            looks = [("query", SHADE * float(weight)) for weight in row]
            d.row(left, y, [f"{weight:.2f}" for weight in row], (wide, 36), looks)
            most = [a for a, w in zip(answers, row, strict=True) if max(row) - w < 0.005]
            parts.append(f"{word} gives {float(max(row)):.2f} to {' and to '.join(most)}.")
        top += height + 16
    return d.show(
        "A table of attention weights: a row for each word that asks, a column for each word that "
        f"answers, and the larger the weight, the darker its cell. {' '.join(parts)}"
    )


@drawing(470, 526, size=15)
def pipeline(d):
    """From top to bottom: x, of shape (T, C), becomes q and k of shape (T, D) and v of shape (T,
    E). q and k meet in the scores, (T, T). They are divided by the root of D, masked if there is a
    mask, and a softmax makes weights of each row, (T, T). The weights mix v, that came down at the
    side, into context vectors, (T, E).
    """
    d.box(150, 8, 170, 40, "x  (T, C)", "stream")
    for name, x, colour, shape, x2, y2 in (
        ("q", 70, "query", "(T, D)", 88, 68),
        ("k", 215, "key", "(T, D)", 258, 80),
        ("v", 398, "value", "(T, E)", 382, 68),
    ):
        d.arrow(235 + (x - 235) * 0.35, 48, x, 98, colour)
        d.box(x - 55, 100, 110, 40, f"{name}  {shape}", colour)
        d.text(x2, y2, f"× W_{name}", colour, size=14, mono=True)
    d.arrow(70, 140, 112, 180, "query")
    d.arrow(215, 140, 174, 180, "key")
    steps = ("scores = q kᵀ  (T, T)", "÷ √D", "mask (if any)", "softmax of each row")
    looks = [("ink", 0.12), ("ink", 0.12), ("muted", 0.12, True), ("ink", 0.12), ("ink", 0.12)]
    boxes = [
        (40, 182 + 58 * i, 206, 38, step, *look)
        for i, (step, look) in enumerate(zip((*steps, "weights  (T, T)"), looks, strict=True))
    ]
    d.flow([*boxes, (40, 476, 413, 42, "weights @ v = context  (T, E)", "value")])
    reasons = ("each with each", "keeps them small", "hides words", "sum 1")
    d.texts(254, 201, reasons, down=58, anchor="start", size=14)
    d.arrow(398, 140, 398, 474, "value", width=2.5)
