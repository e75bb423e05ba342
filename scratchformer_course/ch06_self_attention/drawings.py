"""The drawings of chapter 06: one word asks, another answers, and its content comes back."""

from __future__ import annotations

from collections.abc import Sequence

from IPython.display import HTML

from scratchformer_course.kit.canvas import COLOURS, Drawing


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
    features = "article adjective noun verb royal aged asleep".split()
    d.texts(84, 72, features, down=28, anchor="end")
    parts = []
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
        parts.append(
            f"The vector x of {word} takes {rows} of {title} and makes the {name} {result}"
        )
    return d.show(
        "Two matrices of seven rows, article to asleep, and two columns, noun and verb, beside the "
        f"vector of a word. Each 1 of the vector takes a row. {'. '.join(parts)}."
    )


def updated(
    word: str, names: Sequence[str], before: Sequence[float], read: Sequence[float]
) -> HTML:
    """The meaning of a word, what it has read from the others, and both together."""
    d = Drawing(470, 204)
    together = [a + b for a, b in zip(before, read, strict=True)]
    rows = (
        (30, f"{word}, alone", "stream", before, "0.0f"),
        (86, "it reads", "value", read, "0.2f"),
        (156, "together", "stream", together, "0.2f"),
    )
    d.texts(212, 14, names, right=104)
    for top, label, colour, numbers, digits in rows:
        d.text(148, top + 21, label, anchor="end", bold=True)
        for i, number in enumerate(numbers):
            shade = 0.04 + 0.4 * min(1.0, float(number))
            d.box(164 + 104 * i, top, 96, 42, f"{number:{digits}}", colour, fill=shade, size=16)
    d.plus(40, 107)
    d.line([(24, 142), (460, 142)])
    parts = [", ".join(f"{n} {v:.2f}" for n, v in zip(names, r, strict=True)) for *_, r, _ in rows]
    return d.show(
        f"Three rows of numbers. {word} alone: {parts[0]}. It reads: {parts[1]}. Both added up: "
        f"{parts[2]}. So the vector of {word} says now what its noun is like."
    )


SHADE = 0.42  # how opaque a weight of 1 is, here and in the live figure


def maps(*panels: tuple[str, Sequence[str], Sequence[str], Sequence[Sequence[float]]]) -> HTML:
    """Attention maps below each other, each with a title, its words that ask and that answer."""
    wide = min(56, 390 // max(len(answers) for _, _, answers, _ in panels))
    heights = [38 + bool(title) * 24 + 36 * len(asks) for title, asks, _, _ in panels]
    d = Drawing(470, sum(heights) + 16 * len(panels) - 8)
    top, parts = 0, []
    for (title, asks, answers, weights), height in zip(panels, heights, strict=True):
        left = 270 - wide * len(answers) / 2
        if title:
            d.text(left, top + 12, title, anchor="start", bold=True)
            parts.append(f"{title}:")
        start = top + height - 36 * len(asks)
        for s, word in enumerate(answers):
            d.text(left + wide * (s + 0.5), start - 14, word)
        for t, (word, row) in enumerate(zip(asks, weights, strict=True)):
            d.text(left - 10, start + 36 * t + 18, word, anchor="end", bold=True)
            for s, weight in enumerate(row):
                place = left + wide * s, start + 36 * t
                d.box(*place, wide, 36, f"{weight:.2f}", "query", fill=SHADE * float(weight))
            most = [a for a, w in zip(answers, row, strict=True) if max(row) - w < 0.005]
            parts.append(f"{word} gives {float(max(row)):.2f} to {' and to '.join(most)}.")
        top += height + 16
    return d.show(
        "A table of attention weights: a row for each word that asks, a column for each word that "
        f"answers, and the larger the weight, the darker its cell. {' '.join(parts)}"
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


def reading(tokens: Sequence[str], asks: Sequence[int], weights: Sequence[Sequence[float]]) -> HTML:
    """Rows of a map as lines of text: the darker a word, the more of its attention is there."""
    wide, high, gap = 470, 30, 26
    boxes: list[tuple] = []
    sentences: list[str] = []
    x = y = lowest = 0.0
    for t in asks:
        for s, token in enumerate(tokens[: t + 1]):
            word = token.strip()
            width = 7 + sum(5 if c in "fijlt,." else 12 if c in "mwMW" else 8.8 for c in word)
            space = 4 if token.startswith(" ") and x else 0
            if x + space + width > wide:
                x, y, space = 0.0, y + high + 4, 0
            boxes.append((x + space, y, width, word, float(weights[t][s]), s == t))
            x += space + width
        share, most = max((float(weights[t][s]), s) for s in range(t + 1))
        sentences.append(
            f"In row {len(sentences) + 1} it is {tokens[most].strip()}, with {share:.2f}."
        )
        lowest, x, y = y + high, 0.0, y + high + gap
    d = Drawing(wide + 4, int(lowest) + 4)
    for x, y, width, word, weight, is_last in boxes:
        if is_last:
            d.box(x + 2, y + 2, width, high, word, "query", fill=0, bold=True, size=15)
            continue
        d.parts.append(
            f'<rect x="{x + 2:g}" y="{y + 2:g}" width="{width:g}" height="{high}" rx="5" '
            f'fill="{COLOURS["query"]}" fill-opacity="{SHADE / 0.85 * weight:.3g}"/>'
        )
        d.text(x + 2 + width / 2, y + 2 + high / 2, word, bold=weight > 0.5, size=15)
    return d.show(
        "The same sentence three times, up to its first, its second and its third word is. The "
        f"stronger the colour of a word, the more attention the last is gives it. "
        f"{' '.join(sentences)}"
    )
