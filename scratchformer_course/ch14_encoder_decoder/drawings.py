"""Chapter 14's drawings: both stacks, growing masks, cross-attention, the block, maps, sound."""

from base64 import b64encode
from collections.abc import Sequence
from io import BytesIO

from matplotlib.image import imsave
from torch import Tensor

from scratchformer_course.kit.canvas import Drawing, drawing


@drawing(480, 372, size=13)
def whole(d):
    """Two stacks. Left, the encoder: the source the dog can see the cat ⊣ goes up through
    self-attention over all words and feed-forward, and becomes the memory of shape (S, C), one
    vector for each source word and one for the end. Right, the decoder: the words written so far go
    up through self-attention over the past, cross-attention and feed-forward, and give the next
    words der Hund kann die. One arrow joins the stacks: keys and values come from the memory into
    the cross-attention, where the decoder's queries meet them.
    """
    token, block = ("token", 0.12), ("ink", 0.07)
    for x, y, words, colour in (
        (125, 358, "source", "muted"),
        (125, 156, "memory (S, C)", "stream"),
        (269, 172, "k, v", "value"),
        (383, 46, "next words", "muted"),
        (383, 358, "written so far", "muted"),
    ):
        d.text(x, y, words, colour)
    d.texts(125, 18, ("encoder", "decoder"), right=258, size=15, bold=True)

    step, source = 250 / 7, ("the", "dog", "can", "see", "the", "cat", "⊣")
    for x in d.row(2, 318, source, (step - 4, 28), token, step):
        d.arrow(x, 316, x, 292, "stream")
        d.arrow(x, 230, x, 206, "stream")
    d.row(4, 176, [""] * 7, (step - 8, 28), ("stream", 0.3), step)
    d.box(2, 232, 246, 58, "self-attention: all words\nfeed-forward", *block)
    d.arrow(252, 190, 286, 190, "value", width=2.4)

    cell, target = (43.5, 28), ("der", "Hund", "kann", "die")
    d.row(290, 62, target, cell, token, 47.5)
    looks = [("muted", 0.12), token, token, token]
    for x in d.row(290, 318, ("⊢", *target[:3]), cell, looks, 47.5):
        d.arrow(x, 316, x, 276, "stream")
        d.arrow(x, 240, x, 214, "query" if x > 440 else "stream")
        d.arrow(x, 172, x, 150, "stream")
        d.arrow(x, 114, x, 92, "stream")
    d.text_to(446.25, 227, "q", "query")
    d.box(290, 242, 186, 32, "self-attention: the past", *block)
    d.box(290, 174, 186, 38, "cross-attention", "query", 0.2, bold=True, size=14)
    d.box(290, 116, 186, 32, "feed-forward", *block)


def _headings(d, x, y, words, step, anchor, **lettering):
    """Column names, turned by 90 degrees, but for the signs, which keep their shape."""
    for i, word in enumerate(words):
        if len(word) > 1:
            d.text(x + step * i, y, word, turn=-90, anchor=anchor, **lettering)
        else:
            d.text(x + step * i, y + (7 if anchor == "end" else -7), word, **lettering)


def grows(
    decoder: Sequence[Sequence[float]],
    cross: Sequence[float],
    source: Sequence[str],
    target: Sequence[str],
):
    """A target that grows word by word, over the two masks of the decoder.

    `target` begins with the begin token. Row t of `decoder` says what the row may look at in the
    target, `cross` what every row may look at in the source.
    """
    cell, top, style = 17, 28, {"colour": "token", "size": 13}
    d, left = Drawing(478, 132), 40
    for n in range(1, len(target)):
        right = left + cell * n + 6
        says, reads = target[1 : n + 1], target[:n]
        d.grid(left, top, [row[:n] for row in decoder[:n]], cell, "query")
        d.grid(right, top, [cross] * n, cell, "key")
        d.texts(left - 5, top + cell / 2, says, down=cell, anchor="end", **style)
        low = top + cell * n + 6
        _headings(d, left + cell / 2, low, reads, cell, "end", **style)
        _headings(d, right + cell / 2, low, source, cell, "end", **style)
        d.text((left + right + cell * len(source)) / 2, 12, f"word {n}", bold=True)
        left = right + cell * len(source) + 42
    return d.show(
        f"The decoder writes {' '.join(target[1:])} in {len(target) - 1} steps, and each adds a "
        "row. On the left of each step is a staircase: a row may look at the words up to the one "
        "that it has read last. On the right is a rectangle: every row may look at the "
        f"whole source {' '.join(source)}, but for its padding."
    )


@drawing(478, 250, size=15)
def block(d):
    """A thick line, the target's stream x of shape (T, C), runs from left to right. Three sublayers
    are above it: masked self-attention, which reads the past of the target; cross-attention; and
    the feed-forward network, which works on each position alone. Each reads from the line and comes
    back to a plus sign on it, and a norm follows each plus. Only cross-attention has a second
    input: keys and values come down from the memory of shape (S, C). Its queries come from the
    line.
    """
    y = 206
    d.text_from(4, y - 26, "x", "stream", size=14, bold=True)
    d.text_from(4, y + 30, "(T, C)", "stream")
    for start, left, name, colour, fill in (
        (4, 22, "masked\nself-attention", "ink", 0.07),
        (170, 170, "cross-\nattention", "query", 0.2),
        (318, 318, "feed-\nforward", "ink", 0.07),
    ):
        d.line([(start, y), (left + 76, y)], "stream", width=4)
        d.line([(left + 100, y), (left + 110, y)], "stream", width=4)
        d.box(left, 92, 106, 54, name, colour, fill)
        d.arrow(left + 16, y - 2, left + 16, 148, colour)
        d.arrow(left + 88, 146, left + 88, y - 14)
        d.plus(left + 88, y, 12)
        d.box(left + 110, y - 13, 38, 26, "norm", "muted", 0.2, size=13)
    d.arrow(466, y, 478, y, "stream", width=4)
    d.box(163, 12, 120, 30, "memory (S, C)", "stream", 0.3)
    d.arrow(223, 44, 223, 90, "value", width=2.4)
    d.text_from(232, 66, "k, v", "value")
    d.text_from(194, 176, "q", "query")
    d.texts(75, 60, ("reads the past", "of the target"), down=18, colour="muted", size=13)
    d.text(371, 78, "each position alone", "muted", size=13)


@drawing(478, 278, size=15)
def across(d):
    """Cross-attention in shapes. The target's stream x, (4, C), gives queries of shape (T, D). The
    memory, (7, C), gives keys and values of shape (S, D). Queries and keys meet in the weights, a
    table of T rows and S columns that is not square. The weights mix the values to one vector for
    each target position.
    """
    cell, top, low = 14, 34, 150
    shades, faint = (0.5, 0.3, 0.6), (0.08, 0.85)
    for left, y, n, m, colour, name, below in (
        (20, top, 4, 4, "stream", "x", "(T, C)"),
        (128, top, 4, 2, "query", "q", "(T, D)"),
        (20, low, 7, 4, "stream", "memory", "(S, C)"),
        (128, low, 7, 2, "key", "k", ""),
        (164, low, 7, 2, "value", "v", ""),
        (268, top, 4, 7, "query", "weights", "(T, S)"),
        (420, top, 4, 2, "value", "mixed", "(T, D)"),
    ):
        rows = [[shades[(2 * i + j) % 3] for j in range(m)] for i in range(n)]
        if name == "weights":
            rows = [[faint[j == (5 * i + 1) % m] for j in range(m)] for i in range(n)]
        d.grid(left, y, rows, cell, colour)
        d.text(left + cell * m / 2, y - 12, name, colour, bold=True)
        d.text(left + cell * m / 2, y + cell * n + 14, below, "muted")
    d.text(160, 262, "(S, D) each", "muted")
    for x1, y1, x2, y2, colour, bend in (
        (82, 62, 122, 62, "ink", 0),
        (82, 192, 122, 192, "ink", 0),
        (162, 62, 262, 62, "query", 0),
        (144, 128, 264, 78, "key", 0),
        (368, 62, 414, 62, "query", 0),
        (198, 192, 418, 86, "value", -26),
    ):
        d.arrow(x1, y1, x2, y2, colour, bend)


def reads(columns: Sequence[str], panels: Sequence[tuple]):
    """Maps above one another over the same columns: which words each row reads.

    A panel is (rows, weights) or (rows, weights, first, traced): its weights begin at the column
    `first`, and from the row `traced` on a line joins the largest of each row.
    """
    cell, left, top = 27, 74, 60
    height = sum(top + cell * len(rows) + 8 for rows, *_ in panels)
    d = Drawing(left + cell * len(columns) + 8, height)
    y, parts = 0, []
    for rows, weights, *more in panels:
        first, traced = more or (0, len(rows))
        x, y = left + cell * first, y + top
        _headings(d, x + cell / 2, y - 6, columns[first:], cell, "start")
        d.texts(left - 8, y + cell / 2, rows, down=cell, colour="token", anchor="end")
        d.grid(x, y, weights, cell, "key")
        most = enumerate(row.index(max(row)) for row in weights)
        way = [(x + cell * (s + 0.5), y + cell * (t + 0.5)) for t, s in most][traced:]
        if way:
            d.line(way, "query", width=3)
        for dot in way:
            d.circle(*dot, 4, "query", fill=1)
        for row, shares in zip(rows, weights, strict=True):
            tops = [s for s, w in enumerate(shares, first) if w > 0.99 * max(shares)]
            parts.append(f"{row} {' and '.join(columns[s] for s in tops)}")
        y += cell * len(rows) + 8
    return d.show(
        "A map with a row for each German word and a column for each English one, dark where the "
        "row reads the column. Each German word and what it reads most: " + ", ".join(parts)
    )


def spectrogram(mel: Tensor, seconds: float):
    """The part of a spectrogram (bands, columns) in which something is said: dark where it is loud.

    It is a mask for the page's own ink.
    """
    shown = mel[:, : round(100 * seconds)].flip(0)
    shown = (shown - shown.min()) / (shown.max() - shown.min())
    file = BytesIO()
    imsave(file, shown.numpy(), cmap="gray", vmin=0, vmax=1, format="png")
    address = f"data:image/png;base64,{b64encode(file.getvalue()).decode()}"
    d, width, height = Drawing(478, 166, size=13), 440, 128
    d.parts.append(
        f'<mask id="sound-14"><image href="{address}" x="34" y="4" width="{width}" '
        f'height="{height}" preserveAspectRatio="none"/></mask>'
        f'<rect x="34" y="4" width="{width}" height="{height}" fill="currentColor" '
        'mask="url(#sound-14)"/>'
    )
    d.texts(28, 12, ("high", "low"), down=height - 16, anchor="end", colour="muted")
    for second in range(int(seconds)):
        d.text(34 + width * second / seconds, 146, f"{second} s", "muted")
    return d.show(
        f"A spectrogram of {seconds} seconds of speech, {len(mel)} rows of frequencies, low ones "
        "at the bottom, and a column for each hundredth of a second. Stripes and blots follow one "
        "another, with short pauses between them."
    )


def clock(words: Sequence[str], panels: Sequence[tuple[str, Tensor]], seconds: float):
    """Maps side by side, a row for each word over the time of a recording, dark where it reads.

    A panel is (title, rows), with rows (words, steps); a line joins the largest of each row.
    """
    row, left, top, width = 15, 78, 24, 196
    d = Drawing(left + 2 * width + 6, top + row * len(words) + 22, size=13)
    d.texts(left - 6, top + row / 2, words, down=row, anchor="end", colour="token")
    for start, (title, rows) in zip((left, left + width + 6), panels, strict=True):
        n, height = rows.shape[1], row * len(words)
        d.text(start + width / 2, 10, title, bold=True)
        d.box(start, top, width, height, fill=0)
        for i, weights in enumerate(rows.tolist()):
            y = top + row * (i + 0.5)
            for s in (s for s, w in enumerate(weights) if w > 0.05):
                d.line([(start + width * at / n, y) for at in (s, s + 1)], "key", width=row - 4)
        middles = ((rows.argmax(dim=1) + 0.5) * width / n).tolist()
        way = [(start + x, top + row * (i + 0.5)) for i, x in enumerate(middles)]
        d.line(way, "query", width=1.5)
        for second in range(0, int(seconds), 2):
            d.text(start + width * second / seconds + 8, top + height + 12, f"{second} s", "muted")
    return d.show(
        "Two maps, with a row for each word and the time of the recording from left to right. As "
        "recorded, the line that joins the peaks goes steadily from the upper left to the lower "
        "right. With the halves swapped it begins in the middle, reaches the right edge, jumps "
        "back to the left one and goes on from there."
    )
