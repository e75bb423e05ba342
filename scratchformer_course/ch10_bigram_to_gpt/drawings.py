"""Chapter 10's drawings: the whole GPT, and all networks of the course beside counts."""

from statistics import mean

from scratchformer_course.kit.canvas import Drawing
from scratchformer_course.measurements import load_measurements

WINNERS = {"network": "value", "counts": "key", "level": "muted"}  # -> colour of the line


def gpt(text: str):
    """A GPT from ids to logits, with the chapter of each part in brackets."""
    d = Drawing(470, 482)
    x, right = 150, 232
    shown, look = text.replace(" ", "␣"), ("token", 0.12)
    d.cells(x - 14 * len(text), 14, [shown], (26, 26), look, (28, 26), mono=True)
    d.text(right + 44, 27, "ids (B, T)", "token", anchor="start", size=13)
    d.arrow(x, 42, x, 64, "token")
    d.box(80, 66, 140, 28, "wte", "token", fill=0.2, mono=True)
    d.text(right, 80, "a vector for each token (02)", anchor="start", size=13)
    d.arrow(x, 95, x, 112, "token")
    d.plus(x, 126)
    d.box(right, 112, 58, 28, "wpe", "position", fill=0.2, mono=True)
    d.arrow(right - 1, 126, x + 15, 126, "position")
    d.text(right + 66, 126, "and for each position (03)", anchor="start", size=13)
    d.line([(x, 140), (x, 326)], "stream", width=4)
    d.text(x - 12, 155, "x (B, T, C)", "stream", anchor="end", size=13)
    d.box(76, 172, 380, 136, "", "muted", fill=0, dashed=True)
    d.text(448, 186, "a block (09), n_layers times", "muted", anchor="end", size=13)
    for top, name in ((200, "norm, attention (07)"), (254, "norm, feed-forward (09)")):
        d.arrow(x + 3, top + 10, right + 2, top + 10)
        d.box(right + 4, top, 190, 40, name, "ink", fill=0.07, size=13)
        d.arrow(right + 2, top + 30, x + 15, top + 30)
        d.plus(x, top + 30)
    d.box(80, 326, 140, 28, "ln_f", "muted", fill=0.2, mono=True)
    d.text(right, 340, "the last norm (09)", anchor="start", size=13)
    d.arrow(x, 355, x, 376, "stream")
    d.box(80, 378, 140, 28, "lm_head", "token", fill=0.2, mono=True)
    d.text(right, 392, "a logit for each token (04)", anchor="start", size=13)
    d.line([(80, 80), (34, 80), (34, 392), (80, 392)], "token", dashed=True)
    d.text(20, 236, "the same weights", "token", size=13, turn=-90)
    d.arrow(x, 407, x, 430, "token")
    d.text(x, 446, "logits (B, T, V)", "token", size=13)
    d.text(x, 468, "at each position: what comes next?", size=13)
    return d.show(
        f"Read from top to bottom. The letters of {text!r} are ids of shape (B, T). wte gives a "
        "vector for each token, and wpe adds one for each position: this starts the stream x of "
        "shape (B, T, C), a thick line. The stream runs through a block, which is there n_layers "
        "times. In it attention with its norm and feed-forward with its norm read from the stream "
        "and add to it. Below the blocks are the last norm, ln_f, and lm_head, which gives "
        "logits of shape (B, T, V). A dashed line joins lm_head to wte: they have the same weights."
    )


def contests():
    """The networks of the course beside counts of the same text: the page of contests."""
    stored = load_measurements("contests")["contests"]
    texts = list(dict.fromkeys(contest["text"] for contest in stored))
    scales = {texts[0]: (1.35, 2.15, (1.4, 1.6, 1.8, 2.0)), texts[1]: (0.28, 0.4, (0.3, 0.35))}
    left, right, apart = 200, 455, 23
    d = Drawing(470, apart * len(stored) + 74 * len(texts) + 30, size=13)
    d.circle(left + 6, 14, 4.5, fill=1)
    d.text(left + 18, 14, "network", anchor="start")
    d.circle(left + 106, 14, 4.5, fill=0)
    d.text(left + 118, 14, "counts", anchor="start")
    y = 44
    for text in texts:
        low, high, ticks = scales[text]
        rows = sorted(
            (contest for contest in stored if contest["text"] == text),
            key=lambda contest: contest["ahead"],
        )
        scale = (right - left) / (high - low)
        d.text(4, y, text, size=14, anchor="start", bold=True)
        bottom = y + apart * len(rows) + 12
        for tick in ticks:
            x = left + (tick - low) * scale
            d.line([(x, y + 10), (x, bottom)], "muted", width=0.5)
            d.text(x, bottom + 12, tick)
        for contest in rows:
            y += apart
            ends = [
                left + (loss - low) * scale
                for loss in (mean(contest["losses"]), contest["counted"])
            ]
            colour = WINNERS[contest["winner"]]
            d.text(left - 10, y, _label(contest), anchor="end")
            d.line([(x, y) for x in ends], colour, width=3)
            d.circle(ends[0], y, 4.5, colour, fill=1)
            d.circle(ends[1], y, 4.5, colour, fill=0)
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
    return (
        f"{contest['page'][:2]} {contest['name']}"
        if contest["page"][:2].isdigit()
        else contest["name"]
    )
