"""Chapter 15's drawings: a GPT's parts with their counts, what a step keeps, checkpoints."""

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


def checkpoints(n_blocks: int, now: int):
    """What is kept: by the plain loop, with a checkpoint for each block, and on the way back."""
    d, step = Drawing(478, 322), 114
    rows = (
        (40, "plain loop: every activation is kept", n_blocks),
        (146, "checkpoints: only what enters a block is kept", 0),
        (252, f"the way back, at block {now}: it is computed again", now),
    )
    for top, title, kept in rows:
        d.text(4, top - 22, title, bold=True, size=14, anchor="start")
        for i in range(n_blocks):
            left = 4 + step * i
            is_done = top > 200 and i + 1 > now
            d.box(left, top + 8, 22, 30, "x", "muted" if is_done else "stream", 0.3, is_done)
            held = i < kept if kept == n_blocks else i + 1 == kept
            colour = "key" if held and kept < n_blocks else "stream" if held else "muted"
            d.arrow(left + 24, top + 23, left + 36, top + 23, "muted")
            shade = 0.35 if held else 0.0
            style = {"fill": shade, "dashed": not held, "size": 13}
            words = "done" if is_done else f"block {i + 1}"
            d.box(left + 38, top, 68, 46, words, colour, **style)
    ends = n_blocks * step
    d.arrow(ends - 12, 312, 12, 312, "key")
    return d.show(
        f"Three rows of {n_blocks} blocks, each block behind its input x. Plain loop: all inputs "
        "and the insides of all blocks are filled, which means kept. With checkpoints: only the "
        "inputs are filled, the blocks are empty. On the way back, from right to left: the last "
        f"block is done and dropped, block {now} is filled again because it is computed a second "
        "time from its input, and the blocks before it are still empty, with their inputs kept."
    )
