"""Chapter 18's drawings: mistakes at a glance and by position, a folder, and its tensors."""

import math
from collections.abc import Sequence

from scratchformer_course.kit.canvas import Drawing, drawing

# a tensor's name, its shape in a GPT and in GPT-2's file
ROWS = (
    ("wte.weight", "(V, C)", "(V, C)"),
    ("attn.c_attn.weight", "(3C, C)", "(C, 3C)"),
    ("attn.c_proj.weight", "(C, C)", "(C, C)"),
    ("mlp.c_fc.weight", "(4C, C)", "(C, 4C)"),
    ("mlp.c_proj.weight", "(C, 4C)", "(4C, C)"),
)
FILES = (
    ("config.json", "the sizes", "position"),
    ("model.safetensors", "the weights, each with its name", "value"),
    ("vocab.json", "an id for every token", "token"),
    ("merges.txt", "which tokens are joined", "token"),
    ("tokenizer_config.json", "its special tokens", "token"),
)
SIDES = {"C": 13, "3C": 34, "4C": 44, "V": 44}  # how long a side is drawn


def _matrix(d, x, y, shape, colour):
    """A matrix around the point (x, y), as high as it has rows and as wide as it has columns."""
    height, width = (SIDES[side] for side in shape.strip("()").split(", "))
    d.box(x - width / 2, y - height / 2, width, height, "", colour, fill=0.3)


@drawing(470, 340, size=13)
def folder(d):
    """Your program, with your class GPT, writes a folder. The program transformers, with its own
    class for GPT-2, reads it. The folder has five files: config.json, the sizes; model.safetensors,
    the weights by name; vocab.json, an id for each token; merges.txt, what the tokenizer joins;
    tokenizer_config.json, its special tokens. Nothing but these files passes from one program to
    the other.
    """
    for x, name, program, colour in (
        (8, "your program", "your class GPT", "stream"),
        (292, "transformers", "their class for GPT-2", "value"),
    ):
        d.box(x, 8, 170, 56, "", colour, 0.2)
        d.text(x + 85, 26, name, colour, bold=True, size=15)
        d.text(x + 85, 48, program)
    d.arrow(93, 68, 93, 112, width=3)
    d.text_from(106, 90, "writes", size=14)
    d.arrow(377, 112, 377, 68, width=3)
    d.text_to(364, 90, "reads", size=14)
    d.box(8, 116, 454, 218, "", "muted", 0.08)
    d.text_from(20, 136, "a folder", bold=True, size=15)
    for i, (name, what, colour) in enumerate(FILES):
        d.text_from(20, 168 + 34 * i, name, colour, 14, mono=True)
        d.text_from(212, 168 + 34 * i, what)


@drawing(470, 396, size=13)
def two_ways(d):
    """Two columns: your GPT on the left, GPT-2's file on the right, with an arrow out and an arrow
    in. Each row is a tensor, drawn as a rectangle as high as it has rows. The table wte is the same
    on both sides. The four matrices of a block are transposed: c_attn is tall on the left, (3C, C),
    and wide on the right, (C, 3C); c_fc likewise; mlp.c_proj is wide on the left and tall on the
    right. attn.c_proj is a square on both sides, so its shape does not show that it is transposed.
    Everything else is copied.
    """
    d.text(76, 16, "your GPT", "stream", bold=True, size=15)
    d.text(390, 16, "GPT-2's file", "value", bold=True, size=15)
    for y, start, end, name in ((44, 150, 320, "out"), (74, 320, 150, "in")):
        d.arrow(start, y, end, y, width=3)
        d.text(235, y - 16, name, size=14, bold=True)
    for i, (name, ours, theirs) in enumerate(ROWS):
        y = 116 + 58 * i
        d.text_from(8, y, ours, mono=True)
        _matrix(d, 108, y, ours, "stream")
        d.text(235, y - 14, name, mono=True)
        d.arrow(235, y + 2, 320, y + 2)
        d.arrow(235, y + 2, 150, y + 2)
        d.text(235, y + 18, "copied" if name == "wte.weight" else "transposed", "muted")
        _matrix(d, 362, y, theirs, "value")
        d.text_to(462, y, theirs, mono=True)
    d.text(235, 386, "biases, norms, wpe: copied", "muted")


def silent_mistakes(rows: Sequence[tuple[str, float, str]]):
    """For each mistake its name, the model's loss as a bar, and the line that it writes.

    The first row is the model without a mistake: its loss is marked in all rows.
    """
    d = Drawing(470, 30 + 66 * len(rows))
    unit = 210 / max(loss for _, loss, _ in rows)
    mark = 206 + round(unit * rows[0][1])
    d.text_from(206, 14, "loss, nats a character", "muted", 13)
    for i, (name, loss, written) in enumerate(rows):
        y, width = 46 + 66 * i, max(2, round(unit * loss))
        d.text_from(8, y, name, bold=True)
        d.box(206, y - 11, width, 22, "", "value" if i else "stream", 0.35)
        d.line([(mark, y - 18), (mark, y + 16)], width=1.6)
        d.text_to(462, y, f"{loss:.2f}")
        d.text_from(8, y + 26, written, size=15, mono=True)
    described = "; ".join(f"{name}, {loss:.2f}, writes {written}" for name, loss, written in rows)
    return d.show(
        "A bar for the loss of one model, loaded without a mistake and with each of several, "
        f"and the line that it then writes. {described}. A line across each "
        "bar marks the loss without a mistake."
    )


MISTAKES = ("exact GELU", "positions from 1", "lost biases", "one head", "not transposed")
LEAST, MOST = 1e-4, 30  # of the scale of errors


def by_position(errors: Sequence[Sequence[float]], allowed: float):
    """For each mistake a line: how far a logit is off at most, at each position."""
    d = Drawing(470, 40 + 76 * len(errors), size=13)
    left, right, high = 150, 426, 60
    described = []

    def up(error: float) -> float:
        share = math.log(max(error, LEAST) / LEAST) / math.log(MOST / LEAST)
        return round(high * share, 1)

    for i, (name, row) in enumerate(zip(MISTAKES, errors, strict=True)):
        bottom, far = 70 + 76 * i, [float(error) for error in row]
        d.text_from(4, bottom - 42, f"{i + 1}", bold=True, size=15)
        d.text_from(20, bottom - 42, name)
        d.box(left, bottom - high, right - left, high, "", "muted", 0.07)
        y = bottom - up(allowed)
        d.line([(left, y), (right, y)], width=1.2, dashed=True)
        step = (right - left) / (len(far) - 1)
        points = [(round(left + step * t, 1), bottom - up(error)) for t, error in enumerate(far)]
        d.line(points, "value", width=1.8)
        d.circle(*points[0], 4, "key", fill=1)
        for tick, label in ((1e-2, ".01"), (1, "1"), (10, "10")) if i == 0 else ():
            d.text_from(right + 6, bottom - up(tick), label, "muted")
        described.append(f"{name}: first {far[0]:.3f}, most {max(far):.2f}")
    d.text_from(left, 82 + 76 * len(errors) - 58, "first character", "key")
    d.text_to(right, 82 + 76 * len(errors) - 58, f"position {len(errors[0])}", "muted")
    return d.show(
        "A row for each of five mistakes, with a line from the first position to the last: how far "
        "a logit is off. A dashed line is what rounding is allowed; all lines lie above it, but "
        f"for one head, whose line begins at the bottom. {'; '.join(described)}."
    )
