"""Chapter 22's drawings of songs: the two steps of a copy, and where heads attend to in a loop."""

from collections.abc import Sequence

from scratchformer_course.kit.canvas import Drawing

SONG = "IXFRYI"


def two_steps():
    """A head of block 1 tells each place the note before it; one of block 2 finds it by its key."""
    d = Drawing(476, 276)
    xs = [134 + 60 * i for i in range(len(SONG))]
    for y, name in ((232, "notes"), (146, "after block 1"), (54, "after block 2")):
        d.text(4, y, name, "stream", anchor="start", size=14)
    for i, (x, note) in enumerate(zip(xs, SONG, strict=True)):
        d.box(x - 24, 218, 48, 28, note, "token", mono=True, bold=True)
        before = SONG[i - 1] if i else "–"
        d.box(x - 28, 126, 56, 40, f"{note}\nafter {before}", "stream", size=13)
        d.arrow(x, 216, x, 169, "stream", width=1.2)
        if i:
            d.arrow(xs[i - 1] + 8, 216, x - 14, 169, "query", width=1.6)
    d.text(284, 264, "1 each place gets the note before it", "query", bold=True, size=14)
    d.box(xs[5] - 29, 38, 58, 32, "X next", "value", bold=True, size=14)
    d.arrow(xs[5], 123, xs[5], 73, "stream", width=1.2)
    d.arrow(xs[1] + 4, 123, xs[5] - 32, 58, "key", bend=18, width=2.4)
    d.text(264, 20, "2 which note stands after an I? X", "key", bold=True, size=14)
    return d.show(
        "The song I X F R Y I. Step 1, in block 1: an arrow leads to each place from the note "
        "before it, so that the X there is now an X after I. Step 2, in block 2: the last I "
        "attends to the place that stands after an I, which is that X, and expects X next."
    )


def around_the_loop(rows: Sequence[tuple[str, str, Sequence[float]]]):
    """For each model the weight of block 2 on the present note, the next in the loop, and so on."""
    d = Drawing(476, 46 + 146 * len(rows))
    described = []
    for k, (name, colour, weights) in enumerate(rows):
        bottom = 128 + 146 * k
        d.text(8, bottom - 110, name, colour, anchor="start", bold=True)
        for i, weight in enumerate(weights):
            x = 40 + 57 * i
            if weight > 0.004:
                d.box(x - 20, bottom - 80 * weight, 40, 80 * weight, "", colour, fill=0.5)
            d.text(x, bottom - 80 * weight - 11, f"{weight:.2f}", size=13)
            d.text(x, bottom + 14, "now" if i == 0 else f"+{i}", "muted", size=13)
        d.line([(8, bottom), (468, bottom)], "muted", width=1.2)
        described.append(f"{name} " + ", ".join(f"{weight:.2f}" for weight in weights))
    y = 164 + 146 * (len(rows) - 1)
    d.text(238, y, "place in the loop, counted from the present note", size=14)
    return d.show(
        "Bars for eight places of a loop: the present note, the note after it, and so on to the "
        "seventh after it. Mean weights of the heads of block 2: " + "; ".join(described) + "."
    )
