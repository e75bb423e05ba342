"""Chapter 18's drawings: mistakes at a glance, a GPT and GPT-2's folder, padding and positions."""

from collections.abc import Sequence

from scratchformer_course.kit.canvas import Drawing

# a tensor's name, its shape in a GPT and in GPT-2's file
ROWS = (
    ("wte.weight", "(V, C)", "(V, C)"),
    ("attn.c_attn.weight", "(3C, C)", "(C, 3C)"),
    ("attn.c_proj.weight", "(C, C)", "(C, C)"),
    ("mlp.c_fc.weight", "(4C, C)", "(C, 4C)"),
    ("mlp.c_proj.weight", "(C, 4C)", "(4C, C)"),
)
SIDES = {"C": 13, "3C": 34, "4C": 44, "V": 44}  # how long a side is drawn


def _matrix(d, x, y, shape, colour):
    """A matrix around the point (x, y), as high as it has rows and as wide as it has columns."""
    height, width = (SIDES[side] for side in shape.strip("()").split(", "))
    d.box(x - width / 2, y - height / 2, width, height, "", colour, fill=0.3)


def two_ways():
    """A GPT on the left, GPT-2's folder on the right, and what happens to each tensor between."""
    d = Drawing(470, 452)
    d.text(76, 16, "your GPT", "stream", bold=True, size=15)
    d.text(390, 16, "GPT-2's folder", "value", bold=True, size=15)
    d.arrow(150, 44, 320, 44, width=3)
    d.text(235, 28, "out", bold=True)
    d.arrow(320, 74, 150, 74, width=3)
    d.text(235, 58, "in", bold=True)
    for i, (name, ours, theirs) in enumerate(ROWS):
        y = 116 + 58 * i
        turned = name != "wte.weight"
        d.text(8, y, ours, size=13, anchor="start", mono=True)
        _matrix(d, 108, y, ours, "stream")
        d.text(235, y - 14, name, size=13, mono=True)
        for end in (320, 150):
            d.arrow(235, y + 2, end, y + 2)
        d.text(235, y + 18, "transposed" if turned else "as it is", "muted", size=13)
        _matrix(d, 362, y, theirs, "value")
        d.text(462, y, theirs, size=13, anchor="end", mono=True)
    d.text(235, 400, "biases, norms, wpe: as they are", "muted", size=13)
    d.text(76, 436, "your tokenizer", "token", bold=True)
    d.arrow(150, 436, 320, 436)
    d.text(396, 428, "vocab.json", "token", size=13, mono=True)
    d.text(396, 444, "merges.txt", "token", size=13, mono=True)
    return d.show(
        "Two columns: your GPT on the left, GPT-2's folder on the right, with an arrow out and an "
        "arrow in. Each row is a tensor, drawn as a rectangle as high as it has rows. The table "
        "wte is the same on both sides. The four matrices of a block are transposed: c_attn is "
        "tall on the left, (3C, C), and wide on the right, (C, 3C); c_fc likewise; mlp.c_proj is "
        "wide on the left and tall on the right. attn.c_proj is a square on both sides, so its "
        "shape does not show that it is transposed. At the bottom, your tokenizer becomes the "
        "files vocab.json and merges.txt."
    )


def padding(tokens: Sequence[str], n_padding: int):
    """Tokens behind `n_padding` places of padding, numbered by place and as real tokens."""
    n = n_padding + len(tokens)
    d = Drawing(470, 150)
    width = 330 / n
    for i in range(n):
        x, real = 130 + width * i, i >= n_padding
        word = tokens[i - n_padding] if real else "pad"
        colour = "token" if real else "muted"
        d.box(x + 2, 14, width - 4, 30, word, colour, size=13, dashed=not real)
        d.text(x + width / 2, 76, i, "muted", size=15)
        d.text(x + width / 2, 118, max(0, i - n_padding), "position", size=15, bold=True)
    d.text(8, 76, "place in the row", "muted", anchor="start")
    d.text(8, 118, "position", "position", anchor="start", bold=True)
    return d.show(
        f"A row of {n} boxes: first {n_padding} boxes of padding, then the tokens "
        f"{', '.join(tokens)}. Below them stand the places 0 to {n - 1}. In the last line the "
        "positions: padding has 0, and the first real token has 0 too, whatever its place."
    )


def silent_mistakes(rows: Sequence[tuple[str, float, str]]):
    """For each mistake its name, the model's loss as a bar, and the line that it writes.

    The first row is the model without a mistake: its loss is marked in all rows.
    """
    d = Drawing(470, 30 + 66 * len(rows))
    unit = 210 / max(loss for _, loss, _ in rows)
    mark = 206 + round(unit * rows[0][1])
    d.text(206, 14, "loss, nats a character", "muted", anchor="start", size=13)
    for i, (name, loss, written) in enumerate(rows):
        y = 46 + 66 * i
        d.text(8, y, name, anchor="start", bold=True, size=14)
        colour = "stream" if i == 0 else "value"
        d.box(206, y - 11, max(2, round(unit * loss)), 22, "", colour, fill=0.35)
        d.line([(mark, y - 18), (mark, y + 16)], "ink", width=1.6)
        d.text(462, y, f"{loss:.2f}", anchor="end", size=14)
        d.text(8, y + 26, written, "muted", anchor="start", size=13, mono=True)
    described = "; ".join(f"{name}, {loss:.2f}, writes {written}" for name, loss, written in rows)
    return d.show(
        "A bar for the loss of one model, loaded without a mistake and with each of several, "
        f"and the line that it then writes. {described}. A line across each "
        "bar marks the loss without a mistake."
    )
