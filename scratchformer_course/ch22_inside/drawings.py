"""Chapter 22's drawings: where one can act on a model, and why a probe can be a poor lever."""

import itertools
import math

import torch

from scratchformer_course.kit.canvas import Drawing

WORDS = ("yonder", "moon", ",", "⏎", "my", "elbow", "asks", "for", "half", "a")
ROWS = ("embedding", "block 1", "block 2")


def stream():
    """Places by blocks, and three things to do with one vector: read, erase, replace it."""
    d = Drawing(480, 330)
    xs = [108 + 40 * i for i in range(len(WORDS))]
    ys = dict(zip(ROWS, (200, 130, 60), strict=True))
    for name, y in ys.items():
        d.text(4, y, name, "stream", anchor="start", size=14)
    for i, (x, word) in enumerate(zip(xs, WORDS, strict=True)):
        turned = word not in (",", "⏎")
        d.text(x, 232, word, size=13, bold=i in (1, 9), turn=-35 if turned else 0)
        for low, high in itertools.pairwise(ROWS):
            d.arrow(x, ys[low] - 11, x, ys[high] + 12, "stream", width=1.2)
        for y in ys.values():
            d.circle(x, y, 10, "stream", fill=0.12)
    d.arrow(xs[9], ys["block 2"] - 11, xs[9], 26, "stream", width=1.2)
    d.text(xs[9] + 8, 14, "spoon", "value", bold=True, size=14, anchor="end")
    d.text(xs[9] - 56, 14, "what follows?", "muted", size=13, anchor="end")
    for i, colour in ((3, "query"), (5, "key"), (7, "position")):
        d.circle(xs[i], ys["block 1"], 10, colour, fill=0.6)
        d.circle(xs[i], ys["block 1"], 14, colour, fill=0)
    for i, number, colour in ((3, "1", "query"), (5, "2", "key"), (7, "3", "position")):
        d.text(xs[i] + 18, ys["block 1"] + 22, number, colour, bold=True, size=15)
    questions = (
        ("1 read: can a probe tell the rhyme from this vector?", "query"),
        ("2 erase: does the answer change if it is gone from here?", "key"),
        ("3 patch: and if the vector comes from another text?", "position"),
    )
    for i, (words, colour) in enumerate(questions):
        d.text(24, 272 + 22 * i, words, colour, size=15, anchor="start")
    return d.show(
        "A grid of circles with three rows, the embedding and what follows block 1 and block 2, "
        f"over the words {' '.join(WORDS)}. Arrows lead upwards in each column, and from the last "
        "one to the answer, spoon. Three circles after block 1 are marked: at the first a probe "
        "reads, at the second what it reads is erased, at the third the vector is replaced by "
        "that of another text."
    )


def clouds():
    """Two long clouds: the difference of their means, and the direction in which a probe reads."""
    d = Drawing(476, 250)
    draws = torch.Generator().manual_seed(5)
    turn = math.radians(40)
    long, short = (math.cos(turn), math.sin(turn)), (-math.sin(turn), math.cos(turn))
    axes = torch.tensor([[45 * each for each in long], [9 * each for each in short]])
    old, new = torch.tensor([130.0, 165.0]), torch.tensor([270.0, 165.0])
    for mean, colour in ((old, "token"), (new, "stream")):
        for x, y in (mean + torch.randn(60, 2, generator=draws) @ axes).tolist():
            d.circle(round(x, 1), round(y, 1), 3, colour, fill=0.5)
    between = new - old
    probe = torch.linalg.solve(axes.T @ axes, between)  # where classes are told apart most sharply
    probe = probe / probe.norm() * between.norm()
    for push, colour in ((between, "value"), (probe, "key")):
        x, y = (round(each, 1) for each in (old + push).tolist())
        d.arrow(old[0].item(), old[1].item(), x, y, colour, width=2.6)
    x, y = (old + probe).tolist()
    d.text(x + 10, y, "the probe's direction", "key", anchor="start", bold=True)
    d.text(306, 150, "difference of means", "value", anchor="start", bold=True)
    d.text(92, 222, "old rhyme", "token", bold=True)
    d.text(350, 222, "new rhyme", "stream", anchor="start", bold=True)
    return d.show(
        "Two long, narrow clouds of points that lie side by side and slant in the same way. An "
        "arrow of the difference of means leads from the middle of the one to the middle of the "
        "other. The arrow of the probe's direction starts in the same place and is as long, but "
        "it leads across the narrow side of the clouds, and ends where no point is."
    )
