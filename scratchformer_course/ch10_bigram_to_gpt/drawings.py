"""Chapter 10's drawings: the whole GPT, and what Kneser–Ney does with its discount."""

from collections.abc import Mapping

from scratchformer_course.kit.canvas import Drawing


def gpt(text: str):
    """A GPT from ids to logits, with the chapter of each part in brackets."""
    d = Drawing(470, 482)
    x, right = 150, 232
    for i, letter in enumerate(text):
        shown = "␣" if letter == " " else letter
        d.box(x - 14 * len(text) + 28 * i, 14, 26, 26, shown, "token", mono=True)
    d.text(right + 44, 27, "ids (B, T)", "token", anchor="start", size=13)
    d.arrow(x, 42, x, 64, "token")
    d.box(80, 66, 140, 28, "wte", "token", fill=0.2, mono=True)
    d.text(right, 80, "a vector for each token (02)", anchor="start", size=13)
    d.arrow(x, 95, x, 112, "token")
    d.circle(x, 126, 13, "stream", fill=0.3, text="+", bold=True, size=17)
    d.box(right, 112, 58, 28, "wpe", "position", fill=0.2, mono=True)
    d.arrow(right - 1, 126, x + 15, 126, "position")
    d.text(right + 66, 126, "and for each place (03)", anchor="start", size=13)
    d.line([(x, 140), (x, 326)], "stream", width=4)
    d.text(x - 12, 155, "x (B, T, C)", "stream", anchor="end", size=13)
    d.box(76, 172, 380, 136, "", "muted", fill=0, dashed=True)
    d.text(448, 186, "a block (09), n_layers times", "muted", anchor="end", size=13)
    for top, name in ((200, "norm, attention (07)"), (254, "norm, feed-forward (09)")):
        d.arrow(x + 3, top + 10, right + 2, top + 10)
        d.box(right + 4, top, 190, 40, name, "ink", fill=0.07, size=13)
        d.arrow(right + 2, top + 30, x + 15, top + 30)
        d.circle(x, top + 30, 13, "stream", fill=0.3, text="+", bold=True, size=17)
    d.box(80, 326, 140, 28, "ln_f", "muted", fill=0.2, mono=True)
    d.text(right, 340, "the last norm (09)", anchor="start", size=13)
    d.arrow(x, 355, x, 376, "stream")
    d.box(80, 378, 140, 28, "lm_head", "token", fill=0.2, mono=True)
    d.text(right, 392, "a logit for each token (04)", anchor="start", size=13)
    d.line([(80, 80), (34, 80), (34, 392), (80, 392)], "token", dashed=True)
    d.text(20, 236, "the same weights", "token", size=13, turn=-90)
    d.arrow(x, 407, x, 430, "token")
    d.text(x, 446, "logits (B, T, V)", "token", size=13)
    d.text(x, 468, "at each place: what comes next?", size=13)
    return d.show(
        f"Read from top to bottom. The letters of {text!r} are ids of shape (B, T). wte gives a "
        "vector for each token, and wpe adds one for each place: this starts the stream x of shape "
        "(B, T, C), a thick line. The stream runs through a block, which is there n_layers times. "
        "In it attention with its norm and feed-forward with its norm read from the stream and add "
        "to it. Below the blocks stand the last norm, ln_f, and lm_head, which gives logits of "
        "shape (B, T, V). A dashed line joins lm_head to wte: they have the same weights."
    )


def discount(context: str, counts: Mapping[str, int], cut: float, lower: Mapping[str, float]):
    """Counts after a context are cut by the discount, and the shorter context shares that out.

    `lower` has the probabilities of the same characters after the shorter context.
    """
    d = Drawing(480, 304)
    unit, right, longest = 84, 456, 3.7  # units of length for 1; the end of all bars
    taken, bottom = cut * len(counts), 40 + 34 * len(counts)
    d.text(16, 18, f"after {context}", bold=True, anchor="start")
    d.text(right - unit * (cut + 1.1), 18, "kept", "token")
    d.text(right - unit * cut / 2, 18, "cut off", "stream")
    for row, (letter, count) in enumerate(counts.items()):
        y, kept = 34 + 34 * row, min(count, longest) - cut
        end = right - unit * cut
        d.text(16, y + 13, f"{letter} {count}", "token", anchor="start", mono=True)
        words = f"{count - cut:.2f}" if kept > 0.6 else ""
        d.box(end - unit * kept, y, unit * kept, 26, words, "token", fill=0.2)
        if not words:
            d.text(end - unit * kept - 8, y + 13, f"{count - cut:.2f}", anchor="end")
        if count > longest:  # a bar that is broken, since it is far longer
            x = end - unit * kept + 46
            for shift in (0, 7):
                d.line([(x + shift, y + 30), (x + shift + 8, y - 4)], "muted")
        d.box(end, y, unit * cut, 26, f"{cut:.2f}", "stream", fill=0.3, dashed=True)
    left = right - unit * taken
    d.arrow(right - unit * cut / 2, bottom - 4, right - unit * cut / 2, bottom + 20, "stream")
    words = f"{len(counts)} · {cut:.2f} = {taken:.2f}"
    d.box(left, bottom + 22, unit * taken, 26, words, "stream", fill=0.3, dashed=True)
    d.text(16, bottom + 83, f"after {context[1:]}", bold=True, anchor="start")
    d.text(left - 8, bottom + 83, "shared out", "stream", anchor="end")
    x = left
    for letter, p in lower.items():
        width = unit * taken * p
        d.arrow(x + width / 2, bottom + 50, x + width / 2, bottom + 68, "stream", width=1.2)
        words = f"{letter} {p:.2f}" if width > 50 else letter
        d.box(x, bottom + 70, width, 26, words, "token", fill=0.2)
        x += width
    d.box(x, bottom + 70, right - x, 26, "", "muted", fill=0.6)
    rest = f"all others together {1 - sum(lower.values()):.2f}"
    d.text(right, bottom + 112, rest, "muted", 13, "end")
    first, p = next(iter(lower.items()))
    sum_of_two = f"{counts[first] - cut:.2f} + {p:.2f} · {taken:.2f}"
    words = f"{first}:  ({sum_of_two}) / {sum(counts.values())} = ?"
    d.text(right, bottom + 146, words, anchor="end", size=15)
    told = ", ".join(f"{letter} {count}" for letter, count in counts.items())
    shares = ", ".join(f"{letter} gets {p:.2f}" for letter, p in lower.items())
    return d.show(
        f"The counts after {context!r} are bars, one under the other: {told}. The longest bar is "
        f"broken, because it would not fit. From the end of each bar the same piece of {cut:.2f} "
        "is cut off, so the smallest count loses most of its bar. An arrow leads from the pieces "
        f"down to one bar of length {taken:.2f}. Below it the shorter context {context[1:]!r} "
        f"shares that bar out: {shares}, and all other characters get a thin slice together. The "
        f"last line asks for the probability of {first}: what it kept, plus its share of "
        f"{taken:.2f}, divided by the sum of the counts."
    )
