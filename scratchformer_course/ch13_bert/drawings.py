"""Chapter 13's drawings: a gap, an input, what is kept, three orders of words."""

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


@drawing(478, 228)
def orders(d):
    """Three German sentences. Der Hund sieht jede Katze: der Hund sees, jede Katze is seen, so the
    dog sees every cat. Jede Katze sieht der Hund: still der Hund sees and jede Katze is seen, and
    the dog sees every cat. Den Hund sieht jede Katze: den Hund is seen and jede Katze sees, so
    every cat sees the dog.
    """
    sees, seen = ("sees", "query"), ("is seen", "value")
    for y, first, (role, colour), second, (other_role, other_colour), english in (
        (4, "der Hund", sees, "jede Katze", seen, "the dog sees every cat"),
        (80, "jede Katze", seen, "der Hund", sees, "the dog sees every cat"),
        (156, "den Hund", seen, "jede Katze", sees, "every cat sees the dog"),
    ):
        d.row(2, y, (first, second), (100, 30), [(colour, 0.12), (other_colour, 0.12)], 174)
        d.text(52, y + 43, role, colour, size=13)
        d.text(226, y + 43, other_role, other_colour, size=13)
        d.text(139, y + 15, "sieht")
        d.text_from(290, y + 15, english)


def looks(orders: Sequence[Sequence[str]], shares: Sequence[Sequence[float]]):
    """One head at the gap of *the ? sees every cat*, beside German texts of five words.

    `shares` has for each text the weights of its words.
    """
    d, told = Drawing(478, 316, size=13), []
    for top, words, weights in zip((4, 166), orders, shares, strict=True):
        middles = d.row(2, top + 86, words, (90, 28), ("value", 0.12), 96)
        for x, share in zip(middles, weights, strict=True):
            if share > 0.02:
                width = round(1 + 7 * share, 1)
                d.arrow(x, top + 84, 143, top + 32, "query", width=width)
            d.text(x, top + 128, f"{share:.0%}", "query" if share > 0.5 else "muted")
        d.row(2, top, ("the", "?", "sees", "every", "cat"), (90, 28), ("token", 0.12), 96)
        each = (f"{word} {share:.0%}" for word, share in zip(words, weights, strict=True))
        told.append(f"{' '.join(words)}: {', '.join(each)}")
    return d.show(
        "What a head at the gap of the ? sees every cat looks at, in two German texts. An arrow "
        f"leads to the gap from each word that has weight. {'. '.join(told)}."
    )
