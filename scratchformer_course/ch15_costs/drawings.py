"""Chapter 15's drawings: a GPT's parts with their counts, what a step keeps, one reading."""

from scratchformer_course.kit.canvas import Drawing


def parts(vocab_size: int, context_length: int, d_model: int, n_layers: int, counts: dict):
    """A GPT from top to bottom, each part with its shape and its number of parameters.

    `counts` holds the numbers: token table, position table, norm, attention, feed-forward (of
    one block), together.
    """
    V, T, C = vocab_size, context_length, d_model
    d = Drawing(470, 424)
    d.text(132, 14, "token ids", "token", bold=True)
    d.arrow(132, 25, 132, 40)
    d.text(458, 14, "parameters", "muted", anchor="end", size=13)
    rows = [  # y, height, name, shape, count, colour
        (42, 30, "token table", f"{V} × {C}", counts["token table"], "token"),
        (76, 30, "position table", f"{T} × {C}", counts["position table"], "position"),
        (134, 28, "norm", "weight, bias", counts["norm"], "muted"),
        (166, 36, "attention", "4 matrices, 4 biases", counts["attention"], "query"),
        (206, 28, "norm", "weight, bias", counts["norm"], "muted"),
        (238, 36, "feed-forward", "2 matrices, 2 biases", counts["feed-forward"], "value"),
        (304, 28, "last norm", "weight, bias", counts["norm"], "muted"),
        (336, 30, "output head", "the token table again", 0, "token"),
    ]
    d.box(14, 118, 446, 164, "", "stream", fill=0.06, dashed=True)
    d.text(32, 200, f"block × {n_layers}", "stream", bold=True, turn=-90)
    for y, height, name, shape, count, colour in rows:
        d.box(58, y, 148, height, name, colour, fill=0.2, size=14)
        d.text(218, y + height / 2, shape, "muted", anchor="start", size=13)
        d.text(452, y + height / 2, f"{count:,}", anchor="end", size=14)
    for top, bottom in ((107, 132), (283, 302)):
        d.arrow(132, top, 132, bottom, "stream")
    d.arrow(132, 367, 132, 388)
    d.text(132, 402, "logits", bold=True)
    d.line([(376, 376), (456, 376)], "ink", width=1.2)
    d.text(452, 396, f"{counts['together']:,}", anchor="end", bold=True)
    d.text(376, 396, f"together, with {n_layers} blocks", anchor="end", size=13)
    return d.show(
        f"A GPT from top to bottom, {C} wide, with the number of parameters of each part. Token "
        f"ids enter the token table, {counts['token table']:,}, and the position table, "
        f"{counts['position table']:,}. A dashed frame marks a block, which is repeated "
        f"{n_layers} times: a norm, {counts['norm']}; attention with 4 matrices and 4 biases, "
        f"{counts['attention']:,}; a second norm; and a feed-forward network with 2 matrices and "
        f"2 biases, {counts['feed-forward']:,}. Then come a last norm and the output head, which "
        f"is the token table again and adds 0. Together: {counts['together']:,}."
    )


def step_memory(weights: int, activations: int):
    """What a training step keeps, as bars to scale: four copies of the weights, and the rest."""
    d = Drawing(470, 196)
    unit = 440 / (4 * weights + activations)
    d.text(14, 16, "grows with the model", bold=True, anchor="start", size=14)
    d.text(456, 16, "grows with the batch", bold=True, anchor="end", size=14)
    x = 14.0
    width = weights * unit
    places = []
    for colour in ("stream", "key", "query", "query"):
        d.box(x, 32, width, 54, "", colour, fill=0.3)
        places.append(x + width / 2)
        x += width
    d.box(x, 32, activations * unit, 54, "activations", "value", fill=0.2)
    names = ("weights", "gradients", "mean of gradients", "mean of their squares")
    for i, (name, place) in enumerate(zip(names, places, strict=True)):
        y = 178 - 24 * i  # the last piece's name stands highest: no line crosses a name
        d.line([(place, 88), (place, y), (place + 10, y)], "muted", width=1.2)
        d.text(place + 16, y, name, anchor="start", size=13)
    return d.show(
        "A bar to scale. On the left are four equal pieces: weights, gradients, and the two means "
        "that AdamW keeps, of the gradients and of their squares. They grow with the model. The "
        f"rest of the bar, {activations / (4 * weights):.1f} times as long as the four together, "
        "are the activations. They grow with the batch."
    )


def reading():
    """One reading of the weights writes one token, or reads a whole prompt: two rows."""
    d = Drawing(470, 276)
    rows = (
        (28, "it writes: one reading of all weights, one token", 1),
        (184, "it reads: one reading, every token of the prompt", 6),
    )
    for y, title, tokens in rows:
        d.text(4, y - 14, title, bold=True, anchor="start")
        d.box(4, y, 132, 84, "memory\n\nall weights", "stream", fill=0.25)
        for i in range(3):
            d.arrow(140, y + 22 + 20 * i, 246, y + 22 + 20 * i, "stream", width=3)
        d.text(192, y + 8, "bandwidth", "muted", size=13)
        d.text(192, y + 78, "bytes a second", "muted", size=13)
        d.box(250, y, 110, 84, "processor\n\npeak", "value", fill=0.2)
        d.arrow(364, y + 42, 384, y + 42, "token")
        for i in range(tokens):
            across, down = divmod(i, 3) if tokens > 1 else (0, 1)
            d.box(390 + 38 * across, y + 2 + 28 * down, 32, 24, "", "token", fill=0.35)
    d.line([(406, 88), (406, 126), (70, 126)], "muted", dashed=True)
    d.arrow(70, 126, 70, 114, "muted")
    d.text(238, 140, "and all of them again, for the next token", "muted", size=13)
    return d.show(
        "Two rows. Each has a memory that holds all weights, three thick arrows called bandwidth, "
        "in bytes a second, and a processor with its peak. In the first row, where the model "
        "writes, one token comes out of it, and a dashed arrow leads back to the memory: and "
        "again, for the next token. In the second, where it reads a prompt, six tokens share one "
        "reading of the weights."
    )
