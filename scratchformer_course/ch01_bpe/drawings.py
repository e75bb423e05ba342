"""Drawings of chapter 1: merges as a tree, a text on its way to ids, tokens."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from scratchformer_course.kit.canvas import Drawing

LETTER = 8.6  # width of a letter of size 14, all letters being equally wide
SPACE = "·"  # stands for a space


def merge_tree(word: str, merges: Sequence[tuple[str, str]]):
    """How `word` grows together; `merges` holds (left, right) in the order of learning."""
    left_edge, step, level = 104, 43, 58
    texts, used = list(word), []
    for left, right in merges:
        at = next((i for i, pair in enumerate(pairwise(texts)) if pair == (left, right)), None)
        if at is not None:
            used.append((left, right, at))
            texts[at : at + 2] = [left + right]
    bottom = 24 + level * (len(used) + 1)
    d = Drawing(left_edge + step * len(word) + 6, bottom + 24)
    rows = ["letters", *(f"{left} + {right}" for left, right, _ in used), "tokens"]
    d.texts(8, 24, rows, down=level, anchor="start", bold=True)
    nodes = [(letter, left_edge + step * (i + 0.5), 24) for i, letter in enumerate(word)]
    for node in nodes:
        _piece(d, *node)
    for depth, (left, right, at) in enumerate(used, 1):
        y, pair = 24 + level * depth, nodes[at : at + 2]
        x = sum(node[1] for node in pair) / 2
        for _, above, height in pair:
            d.line([(above, height + 14), (x, y - 14)], "token")
        nodes[at : at + 2] = [(left + right, x, y)]
        _piece(d, left + right, x, y)
    for text, x, y in nodes:
        d.line([(x, y + 14), (x, bottom - 14)], "muted", 1.4, dashed=True)
        _piece(d, text, x, bottom, 0.45)
    names = ", ".join(f"{left} and {right} become {left + right}" for left, right, _ in used)
    return d.show(
        f"The letters of {word} stand in a row. Lines join them from above to below, one merge a "
        f"level: {names}. The last row holds the tokens {' '.join(texts)}."
    )


def pipeline(chunks: Sequence[str], pieces: Sequence[Sequence[str]], ids: Sequence[int]):
    """A text's chunks, their bytes, the tokens (`pieces` of each chunk) and the ids."""
    cell, gap, edge, rows = 33, 12, 118, range(24, 320, 68)
    d = Drawing(436, 320)
    d.texts(8, 24, ("text", "chunks", "bytes", "tokens", "ids"), down=68, anchor="start", bold=True)
    steps = ["cut with\nthe pattern", "write in\nUTF-8", "merge\nneighbours", "look up"]
    for y, words in zip(rows, steps, strict=False):
        d.arrow(14, y + 13, 14, y + 54)
        lines = words.split("\n")
        middle = y + 42 - 8 * len(lines)
        d.texts(24, middle, lines, down=16, colour="muted", size=13, anchor="start")
    text, x, left = "".join(chunks), edge, list(ids)
    length = cell * len(text.encode()) + gap * (len(chunks) - 1)
    d.box(edge, rows[0] - 14, length, 28, text.replace(" ", SPACE), "ink", 0.05, mono=True)
    for chunk, parts in zip(chunks, pieces, strict=True):
        data = chunk.encode()
        d.box(x, rows[1] - 14, cell * len(data), 28, chunk.replace(" ", SPACE), mono=True)
        d.row(x, rows[2] - 14, data, (cell, 28), ("muted", 0.1), size=13)
        for part in parts:
            width = cell * _bytes_of(part)
            shown = part.replace(" ", SPACE).strip("<>")
            d.box(x, rows[3] - 14, width, 28, shown, "token", 0.3, size=13, mono=shown == part)
            d.text(x + width / 2, rows[4], left.pop(0), size=13)
            x += width
        x += gap
    return d.show(
        f"Five rows. The text {text!r} is cut into {len(chunks)} chunks; each chunk becomes bytes; "
        f"neighbouring bytes are merged into tokens; the last row holds the ids "
        f"{', '.join(map(str, ids))}. No token reaches over the border of two chunks."
    )


def encoding(chunk: bytes, ids: Mapping[bytes, int]):
    """How `chunk`, plain letters, becomes ids: one merge a row, the lowest id first."""
    cell, edge, level = 54, 140, 62
    pieces, rows = [chunk[i : i + 1] for i in range(len(chunk))], []
    while True:
        joins = [ids.get(a + b) for a, b in pairwise(pieces)]
        lowest = min((i for i in joins if i is not None), default=None)
        rows.append((list(pieces), joins, lowest))
        if lowest is None:
            break
        at = joins.index(lowest)
        pieces[at : at + 2] = [pieces[at] + pieces[at + 1]]
    d = Drawing(edge + cell * len(chunk) + 12, level * len(rows) + 20)
    for n, (parts, joins, lowest) in enumerate(rows):
        y, x, is_last = 24 + level * n, edge, lowest is None
        d.text_from(8, y, "tokens" if is_last else f"after merge {n}" if n else "bytes", bold=True)
        for part, join in zip(parts, [*joins, None], strict=True):
            width, shade = cell * len(part), 0.45 if is_last else 0.15
            d.box(x + 3, y - 14, width - 6, 28, part.decode(), "token", shade, mono=True)
            x += width
            if join is not None:
                colour, thick = ("ink", 1.8) if join == lowest else ("muted", 1.2)
                d.line([(x, y + 4), (x, y + 19)], colour, thick)
                d.text(x, y + 28, join, colour, bold=join == lowest)
    y, x = level * len(rows), edge
    d.text_from(8, y, "ids", bold=True)
    for part in pieces:
        d.text(x + cell * len(part) / 2, y, ids[part])
        x += cell * len(part)
    cuts = "; ".join(" ".join(part.decode() for part in parts) for parts, _, _ in rows)
    return d.show(
        f"Rows of pieces, from single bytes to tokens: {cuts}. Numbers between neighbours are the "
        f"ids of what they make together, and the pair with the lowest number is merged next."
    )


def coloured(rows: Sequence[tuple[str, Sequence[tuple[str, int]]]]):
    """Texts in their tokens: each row is a heading and its (token, id) pairs, drawn in lines."""
    boxes: list[tuple] = []
    y = 16
    for heading, tokens in rows:
        boxes.append((8, y, 0, heading, None, 0))
        x, y = 8.0, y + 34
        for n, (token, i) in enumerate(tokens):
            shown = token.replace(" ", SPACE)
            width = max(LETTER * len(shown) + 8, LETTER * 0.92 * len(str(i)) + 5)
            if x + width > 412:
                x, y = 8.0, y + 54
            boxes.append((x, y, width, shown, i, n % 2))
            x += width + 3
        y += 60
    d = Drawing(420, round(y) - 16)
    for x, y, width, text, i, odd in boxes:
        if i is None:
            d.text_from(x, y, text, bold=True)
            continue
        d.box(x, y - 14, width, 28, text, "token", 0.4 if odd else 0.12, mono=True)
        d.text(x + width / 2, y + 25, i, "muted", 13)
    cuts = "; ".join(f"{heading}: {len(tokens)} tokens" for heading, tokens in rows)
    return d.show(f"Texts cut into boxes, one for each token, with the id below each. {cuts}.")


def _piece(d: Drawing, text: str, x: float, y: float, fill: float = 0.15) -> None:
    """A piece of a word in a box around (x, y)."""
    width = LETTER * len(text) + 16
    d.box(x - width / 2, y - 14, width, 28, text, "token", fill, mono=True)


def _bytes_of(part: str) -> int:
    """How many bytes a token's text stands for; a part of a character is written as a number."""
    return 1 if part.startswith("<") and part.endswith(">") else len(part.encode())
