"""Chapter 10's drawings: a GPT, the ladder to it, and the course's networks beside counts."""

from statistics import mean

from scratchformer_course.kit.canvas import Drawing, drawing
from scratchformer_course.measurements import load_measurements

WINNERS = {"network": "value", "counts": "key", "level": "muted"}  # -> colour of the line


@drawing(470, 482, size=13)
def gpt(d):
    """Read from top to bottom. The letters of 'not to b' are ids of shape (B, T). wte gives a
    vector for each token, and wpe adds one for each position: this starts the stream x of shape (B,
    T, C), a thick line. The stream runs through a block, which is there n_layers times. In it
    attention with its norm and feed-forward with its norm read from the stream and add to it. Below
    the blocks are the last norm, ln_f, and lm_head, which gives logits of shape (B, T, V). A dashed
    line joins lm_head to wte: they have the same weights.
    """
    x, right, cell = 150, 232, (26, 26)
    d.row(38, 14, "not␣to␣b", cell, ("token", 0.12), 28, size=14, mono=True)
    d.text_from(right + 44, 27, "ids (B, T)", "token")
    for y, name, colour, words in (
        (66, "wte", "token", "a vector for each token (02)"),
        (326, "ln_f", "muted", "the last norm (09)"),
        (378, "lm_head", "token", "a logit for each token (04)"),
    ):
        d.box(80, y, 140, 28, name, colour, 0.2, size=14, mono=True)
        d.text_from(right, y + 14, words)
    for top, bottom, colour in (
        (42, 64, "token"),
        (95, 112, "token"),
        (355, 376, "stream"),
        (407, 430, "token"),
    ):
        d.arrow(x, top, x, bottom, colour)
    d.plus(x, 126)
    d.box(right, 112, 58, 28, "wpe", "position", 0.2, size=14, mono=True)
    d.arrow(right - 1, 126, x + 15, 126, "position")
    d.text_from(right + 66, 126, "and for each position (03)")
    d.line([(x, 140), (x, 326)], "stream", width=4)
    d.text_to(x - 12, 155, "x (B, T, C)", "stream")
    d.box(76, 172, 380, 136, "", "muted", 0, dashed=True)
    d.text_to(448, 186, "a block (09), n_layers times", "muted")
    for top, name in ((200, "norm, attention (07)"), (254, "norm, feed-forward (09)")):
        d.arrow(x + 3, top + 10, right + 2, top + 10)
        d.box(right + 4, top, 190, 40, name, "ink", 0.07)
        d.arrow(right + 2, top + 30, x + 15, top + 30)
        d.plus(x, top + 30)
    d.line([(80, 80), (34, 80), (34, 392), (80, 392)], "token", dashed=True)
    d.text(20, 236, "the same weights", "token", turn=-90)
    d.text(x, 446, "logits (B, T, V)", "token")
    d.text(x, 468, "at each position: what comes next?")


@drawing(470, 288, size=13)
def ladder(d):
    """Seven columns, each the way of the vectors from wte down to lm_head, with what is new in
    colour. Embedding: wte and lm_head alone. Attention: one head between them. Positions: wpe is
    added above the head. Four heads: four small boxes in place of the one. Feed-forward: a box
    called mlp below the heads. Residuals: the way runs past the heads and the mlp, each of which
    reads from it, and adds its result at a plus sign. Two blocks: a dashed frame around heads, mlp
    and plus signs is marked as being there twice.
    """
    names = ["embed- ding", "attention", "positions", "four heads", "feed- forward", "residuals"]
    names += ["two blocks"]
    for i, name in enumerate(names):
        middle, adds = 34 + 66.5 * i, i >= 5
        new = [("value", 0.45) if part == i else ("muted", 0.12) for part in range(len(names))]
        x = middle - 19 if adds else middle  # of the way
        left, width = (middle - 6, 34) if adds else (middle - 30, 60)  # of heads and mlp
        stops = [32]  # of the way: where it leaves a part, and where it reaches the next
        for y, part in ((8, "wte"), (216, "lm_head")):
            d.box(middle - 30, y, 60, 24, part, *new[0], mono=True)
        if i > 1:
            d.circle(x, 54, 10, *new[2], "+", bold=True, size=15)
            if i == 2:
                d.text_from(x + 12, 54, "wpe", mono=True)
            stops += [44, 64]
        if i in (1, 2):
            d.box(left, 84, width, 22, "head", *new[1], mono=True)
        elif i > 2:
            d.row(left, 84, [""] * 4, ((width - 9) / 4, 22), new[3], (width + 3) / 4)
        if i > 3:
            d.box(left, 152, width, 22, "mlp", *new[4], mono=True)
        stops += [84, 106] if i > 0 else []
        stops += [152, 174] if i > 3 else []
        if adds:
            d.arrow(x, 65, x, 214, "stream", width=4)
            for top in (84, 152):
                d.line([(x, top - 13), (middle + 12, top - 13)], width=1.5)
                d.arrow(middle + 12, top - 13, middle + 12, top - 1, width=1.5)
                d.line([(middle + 12, top + 22), (middle + 12, top + 38)], width=1.5)
                d.arrow(middle + 12, top + 38, x + 11, top + 38, width=1.5)
                d.circle(x, top + 38, 10, *new[5], "+", bold=True, size=15)
            stops = stops[:2]
            if i == 6:
                d.box(middle - 32, 68, 64, 142, "", "value", 0, dashed=True)
                d.text(middle + 18, 201, "× 2", "value", bold=True)
        else:
            stops += [216]
        for top, bottom in zip(stops[::2], stops[1::2], strict=True):
            d.arrow(x, top + 1, x, bottom - 1, "stream")
        d.texts(middle, 256, name.split(), down=17)


@drawing(470, 326, size=13)
def climb(d):
    """Ten rows, from the table of pairs down to 64 characters in view. Each has a name, three dots
    on an axis of losses, and a line that was written. From row to row the dots move to the left,
    most of all with longer training; with 64 in view they stay where they were.
    """
    stored, after = load_measurements("climb"), load_measurements("to_gpt")
    rungs = stored["rungs"][:-2] + after["rungs"]["rungs"][:4]
    left, unit, bottom = 108, 250, 296
    for tick in (2.0, 2.2, 2.4):
        place = left + (tick - 1.93) * unit
        d.line([(place, 8), (place, bottom)], "muted", width=0.5)
        d.text(place, bottom + 14, f"{tick:.1f}")
    for i, rung in enumerate(rungs):
        y = 20 + 29 * i
        d.text_to(left - 10, y, rung["name"])
        for loss in rung["losses"]:
            d.circle(left + (loss - 1.93) * unit, y, 4, "value", fill=0.7)
        d.text_from(left + 160, y, " ".join(rung["text"].split())[:24], mono=True)


def contests():
    """The networks of the course beside counts of the same text: the page of contests."""
    stored = load_measurements("contests")["contests"]
    texts = list(dict.fromkeys(contest["text"] for contest in stored))
    scales = (1.35, 2.15, (1.4, 1.6, 1.8, 2.0)), (0.28, 0.4, (0.3, 0.35))
    left, right, apart, y = 200, 455, 23, 44
    d = Drawing(470, apart * len(stored) + 74 * len(texts) + 30, size=13)
    for x, name, fill in ((left + 6, "network", 1), (left + 106, "counts", 0)):
        d.circle(x, 14, 4.5, fill=fill)
        d.text_from(x + 12, 14, name)
    for text, (low, high, ticks) in zip(texts, scales, strict=True):
        unit = (right - left) / (high - low)
        rows = [contest for contest in stored if contest["text"] == text]
        bottom = y + apart * len(rows) + 12
        d.text_from(4, y, text, size=14, bold=True)
        for tick in ticks:
            place = left + (tick - low) * unit
            d.line([(place, y + 10), (place, bottom)], "muted", width=0.5)
            d.text(place, bottom + 12, tick)
        for contest in sorted(rows, key=lambda contest: contest["ahead"]):
            y += apart
            colour = WINNERS[contest["winner"]]
            network = left + (mean(contest["losses"]) - low) * unit
            counts = left + (contest["counted"] - low) * unit
            d.text_to(left - 10, y, _label(contest))
            d.line([(network, y), (counts, y)], colour, width=3)
            d.circle(network, y, 4.5, colour, fill=1)
            d.circle(counts, y, 4.5, colour, fill=0)
        d.text((left + right) / 2, bottom + 30, "nats a character, less is better")
        y = bottom + 62
    lost = sum(contest["winner"] == "counts" for contest in stored)
    won = [_label(contest) for contest in stored if contest["winner"] == "network"]
    return d.show(
        f"{len(stored)} lines, each from the loss of a network to that of counts. In {lost} of "
        f"them the counts are lower, by up to half a nat. The network is lower in {len(won)}: "
        f"{' and '.join(won)}. In {len(stored) - lost - len(won)} the two are level. Networks that "
        f"were trained for seconds lose by most, and those that are large and were trained for "
        f"minutes win."
    )


def _label(contest: dict) -> str:
    """A contest in a few words: its chapter, if it has one, and the network."""
    chapter = contest["page"][:2]
    return f"{chapter} {contest['name']}" if chapter.isdigit() else contest["name"]
