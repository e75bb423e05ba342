"""Chapter 13's drawings: a gap, an input, what is kept, and what one head looks at."""

from collections.abc import Sequence

from scratchformer_course.kit.canvas import Drawing, drawing


def gap(first: Sequence[str], second: Sequence[str], position: int):
    """The same gap in the first text, read by a GPT and by a BERT."""
    d = Drawing(476, 300, size=13)
    shown = ["?" if i == position else word for i, word in enumerate(first)]
    looks = [("key", 0.12, True) if word == "?" else ("token", 0.12) for word in shown]
    width, second_width = 300 / len(first), 472 / len(second)
    for top, name, n_read in (
        (34, "GPT reads what is on the left", position),
        (150, "BERT reads everything", len(first)),
    ):
        d.text_from(2, top - 18, name, bold=True, size=15)
        middles = d.row(2, top + 38, shown, (width - 4, 28), looks, width)
        for i, x in enumerate(middles[:n_read]):
            if i != position:
                d.arrow(x, top + 36, middles[position], top + 36, "query", bend=6 * (position - i))
    for x in d.row(2, 252, second, (second_width - 4, 28), ("value", 0.12), second_width):
        d.arrow(x, 250, middles[position], 218, "query", width=1.2)
    d.text_from(2, 290, "the second text", "value")
    return d.show(
        f"Twice the text {' '.join(shown)}, where the question mark is a gap. Above, for a GPT, "
        f"arrows lead to the gap only from the words before it: {' '.join(first[:position])}. "
        "Below, for a BERT, arrows lead to the gap from the words on both sides of it, and from "
        f"every word of a second text beside it: {' '.join(second)}."
    )


def hidden(words: Sequence[str], read: Sequence[str], asked: Sequence[str]):
    """Words, what a model reads of them, and what it is asked for: "" where it is not."""
    d = Drawing(478, 204, size=13)
    step = 478 / len(words)
    cell = step - 6, 28
    read = ["?" if word == "[MASK]" else word for word in read]
    is_plain = [("token", 0.12)] * len(words)
    reads = [
        ("key", 0.25, True) if now == "?" else ("value", 0.25) if now != old else ("token", 0.12)
        for old, now in zip(words, read, strict=True)
    ]
    wanted = [("query", 0.25) if word else ("muted", 0.04, True) for word in asked]
    for y, name, entries, looks in (
        (34, "the text", words, is_plain),
        (104, "the model reads", read, reads),
        (174, "it is asked for", asked, wanted),
    ):
        d.text_from(2, y - 16, name, bold=True, size=15)
        d.row(2, y, entries, cell, looks, step)
    told = ", ".join(
        f"{i + 1} {word!r}, where it reads {read[i]!r}" for i, word in enumerate(asked) if word
    )
    return d.show(
        f"Three rows. The text: {' '.join(words)}. What the model reads: {' '.join(read)}, where "
        f"the question mark is a gap. What it is asked for: at position {told}."
    )


def three_rows(first: Sequence[str], second: Sequence[str]):
    """An input of two texts: each position adds up a word, a segment and a position."""
    tokens = ["[CLS]", *first, "[SEP]", *second, "[SEP]"]
    first_length, n = len(first) + 2, len(tokens)
    width = 472 / n
    d = Drawing(478, 232, size=13)
    words = [("muted" if token in ("[CLS]", "[SEP]") else "token", 0.12) for token in tokens]
    segments = [("query", 0.12)] * first_length + [("value", 0.12)] * (n - first_length)
    for y, name, entries, looks in (
        (34, "word", tokens, words),
        (98, "+ segment", [0] * first_length + [1] * (n - first_length), segments),
        (162, "+ position", range(n), ("position", 0.12)),
    ):
        d.text_from(2, y - 16, name, bold=True, size=14)
        middles = d.row(2, y, entries, (width - 4, 26), looks, width)
    for x in middles:
        d.arrow(x, 190, x, 216, "stream")
    return d.show(
        f"The input {' '.join(tokens)} in three rows. First the words. Then the segments: 0 for "
        "everything up to the first [SEP], 1 for what follows. Then the positions, counted from 0 "
        "without a break. At each position the three vectors are added, and an arrow leads on."
    )


@drawing(478, 268, size=13)
def kept(d):
    """Two stacks side by side. Left, pretraining: three embeddings, 2 blocks, and on top a layer
    that says which word was hidden; what comes in is texts with gaps. Right, fine-tuning: arrows
    say that embeddings and blocks are kept; on top is a new layer that says whether two texts mean
    the same; what comes in is judged pairs.
    """
    for left, title, top, colour, below in (
        (2, "1. pretraining", "which word was hidden?", "key", "texts with gaps"),
        (260, "2. fine-tuning", "same meaning: yes or no?", "query", "judged pairs"),
    ):
        d.text(left + 108, 16, title, bold=True, size=15)
        d.flow(
            [
                (left, 196, 216, 30, "three embeddings", "token", 0.25),
                (left, 106, 216, 58, "2 blocks", "stream", 0.25),
                (left, 38, 216, 34, top, colour, 0.25),
            ],
            "stream",
        )
        d.text(left + 108, 248, below, "muted")
    for y in (135, 211):
        d.arrow(222, y, 256, y, width=2.6)
    d.text(239, 118, "kept")


@drawing(478, 96, size=14)
def articles(d):
    """A table of articles. A dog that sees is der Hund, and a dog that is seen is den Hund. The cat
    is die Katze and the child das Kind in both rows.
    """
    for y, role, article, colour in (
        (4, "sees", "der", "query"),
        (50, "is seen", "den", "value"),
    ):
        d.text_from(2, y + 19, role, colour, bold=True)
        words = f"{article} Hund", "die Katze", "das Kind"
        d.row(100, y, words, (118, 38), [(colour, 0.25), *[("muted", 0.08)] * 2], 126)


def looks(english: Sequence[str], german: Sequence[str], shares: Sequence[float], roles):
    """What one head at the gap, ?, of an English text looks at, in a German text beside it.

    `shares` has the head's weights on the German words. Each of the `roles` is what a phrase of
    German says of its noun, the position of the phrase's first word, and a colour.
    """
    d = Drawing(478, 170, size=13)
    gap = english.index("?")
    step = 478 / max(len(english), len(german))
    width = step - 4
    middles = d.row(2, 90, german, (width, 28), ("value", 0.12), step)
    at_gap = d.row(2, 2, english, (width, 28), ("token", 0.12), step)[gap]
    for x, share in zip(middles, shares, strict=True):
        if share > 0.02:
            d.arrow(x, 88, at_gap, 34, "query", width=round(1 + 7 * share, 1))
        d.text(x, 132, f"{share:.0%}", "query" if share > 0.5 else "muted")
    for role, first, colour in roles:
        d.text((middles[first] + middles[first + 1]) / 2, 158, role, colour, bold=True)
    each = ", ".join(f"{word} {share:.0%}" for word, share in zip(german, shares, strict=True))
    told = ", ".join(f"{' '.join(german[i : i + 2])} {role}" for role, i, _ in roles)
    return d.show(
        f"What a head at the gap of {' '.join(english)} looks at in {' '.join(german)}: {each}. An "
        f"arrow leads to the gap from each word that has weight. In this sentence {told}."
    )
