"""Chapter 13's drawings: a gap, an input, what is kept, three orders of words."""

from collections.abc import Sequence

from scratchformer_course.kit.canvas import Drawing


def _row(d, x, y, words, colours, width, height=28):
    """Boxes with words in a row; the middle of each."""
    middles = []
    for i, (word, colour) in enumerate(zip(words, colours, strict=True)):
        left = x + i * width
        d.box(left + 2, y, width - 4, height, word, colour, size=13, dashed=word == "?")
        middles.append(left + width / 2)
    return middles


def gap(first: Sequence[str], second: Sequence[str], place: int):
    """The same gap in the first text, read by a GPT and by a BERT."""
    d = Drawing(476, 300)
    shown = ["?" if i == place else word for i, word in enumerate(first)]
    colours = ["key" if i == place else "token" for i in range(len(first))]
    width = 300 / len(first)
    for top, name in ((34, "GPT reads what is on the left"), (150, "BERT reads everything")):
        d.text(2, top - 18, name, bold=True, size=15, anchor="start")
        middles = _row(d, 0, top + 38, shown, colours, width)
        for i, x in enumerate(middles):
            if i < place:
                d.arrow(x, top + 36, middles[place], top + 36, "query", bend=6 * (place - i))
            elif i > place and name.startswith("BERT"):
                d.arrow(x, top + 36, middles[place], top + 36, "query", bend=-6 * (i - place))
    wide = 472 / len(second)
    below = _row(d, 0, 252, second, ["value"] * len(second), wide)
    for x in below:
        d.arrow(x, 250, middles[place], 218, "query", width=1.2)
    d.text(2, 290, "the second text", "value", size=13, anchor="start")
    return d.show(
        f"Twice the text {' '.join(shown)}, where the question mark is a gap. Above, for a GPT, "
        f"arrows lead to the gap only from the words before it: {' '.join(first[:place])}. Below, "
        "for a BERT, arrows lead to the gap from the words on both sides of it, and from every "
        f"word of a second text beside it: {' '.join(second)}."
    )


def three_rows(first: Sequence[str], second: Sequence[str]):
    """An input of two texts: each place adds up a word, a segment and a position."""
    tokens = ["[CLS]", *first, "[SEP]", *second, "[SEP]"]
    cut = len(first) + 2
    width = 472 / len(tokens)
    d = Drawing(478, 232)
    special = {"[CLS]", "[SEP]"}
    rows = (
        (34, "word", tokens, ["muted" if t in special else "token" for t in tokens]),
        (
            98,
            "+ segment",
            [0] * cut + [1] * (len(tokens) - cut),
            ["query"] * cut + ["value"] * (len(tokens) - cut),
        ),
        (162, "+ position", range(len(tokens)), ["position"] * len(tokens)),
    )
    for y, name, entries, colours in rows:
        d.text(2, y - 16, name, bold=True, size=14, anchor="start")
        for i, (entry, colour) in enumerate(zip(entries, colours, strict=True)):
            d.box(2 + i * width, y, width - 4, 26, str(entry), colour, size=13)
    for i in range(len(tokens)):
        x = 2 + i * width + width / 2 - 2
        d.arrow(x, 190, x, 216, "stream")
    return d.show(
        f"The input {' '.join(tokens)} in three rows. First the words. Then the segments: 0 for "
        "everything up to the first [SEP], 1 for what follows. Then the positions, counted from 0 "
        "without a break. At each place the three vectors are added, and an arrow leads on."
    )


def kept(layers: int):
    """Pretraining and the task after it: the stack is kept, the top is new."""
    d = Drawing(478, 268, size=13)
    for left, title, top, colour, below in (
        (0, "1. pretraining", "which word was hidden?", "key", "texts with gaps"),
        (258, "2. fine-tuning", "same meaning: yes or no?", "query", "judged pairs"),
    ):
        d.text(left + 110, 16, title, bold=True, size=15)
        d.box(left + 2, 38, 216, 34, top, colour, fill=0.25)
        d.arrow(left + 110, 104, left + 110, 76, "stream")
        d.box(left + 2, 106, 216, 58, f"{layers} blocks", "stream", fill=0.25, size=14)
        d.arrow(left + 110, 194, left + 110, 168, "stream")
        d.box(left + 2, 196, 216, 30, "three embeddings", "token", fill=0.25)
        d.text(left + 110, 248, below, "muted")
    d.arrow(222, 135, 256, 135, width=2.6)
    d.text(239, 118, "kept")
    d.arrow(222, 211, 256, 211, width=2.6)
    return d.show(
        f"Two stacks side by side. Left, pretraining: three embeddings, {layers} blocks, and on "
        "top a layer that says which word was hidden; what comes in is texts with gaps. Right, "
        "fine-tuning: arrows say that embeddings and blocks are kept; on top is a new layer that "
        "says whether two texts mean the same; what comes in is judged pairs."
    )


def orders():
    """German in two orders with one meaning, and in the order of the first with another."""
    rows = (
        (("der Hund", "sees"), ("jede Katze", "is seen"), "the dog sees every cat"),
        (("jede Katze", "is seen"), ("der Hund", "sees"), "the dog sees every cat"),
        (("den Hund", "is seen"), ("jede Katze", "sees"), "every cat sees the dog"),
    )
    d = Drawing(478, 228)
    for i, (first, second, english) in enumerate(rows):
        y = 4 + 76 * i
        for x, (words, role) in ((2, first), (176, second)):
            colour = "query" if role == "sees" else "value"
            d.box(x, y, 100, 30, words, colour)
            d.text(x + 50, y + 43, role, colour, size=13)
        d.text(139, y + 15, "sieht")
        d.text(290, y + 15, english, anchor="start")
    return d.show(
        "Three German sentences. Der Hund sieht jede Katze: der Hund sees, jede Katze is seen, so "
        "the dog sees every cat. Jede Katze sieht der Hund: still der Hund sees and jede Katze is "
        "seen, and the dog sees every cat. Den Hund sieht jede Katze: den Hund is seen and jede "
        "Katze sees, so every cat sees the dog."
    )
