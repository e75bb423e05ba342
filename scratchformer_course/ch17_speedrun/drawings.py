"""Chapter 17's drawings: two races, the racer, Muon, smear, two bowls of losses."""

import math
from collections.abc import Mapping, Sequence

from IPython.display import HTML

from scratchformer_course.kit.canvas import Drawing

# Two bars that fill in the seconds that they stand for, once the box is checked.
CLOCK = """<style>
.course-clock label { display: inline-flex; gap: 0.6em; align-items: center; min-height: 44px;
  padding: 0 0.8em; border: 1px solid currentColor; border-radius: 6px; cursor: pointer; }
.course-clock input { width: 20px; height: 20px; margin: 0; }
.course-clock div div { height: 26px; margin: 0.2em 0 0.8em; border: 1px solid currentColor;
  border-radius: 4px; overflow: hidden; }
.course-clock span { display: block; height: 100%; }
.course-clock:has(:checked) .course-clock-still { visibility: hidden; }
.course-clock:has(:checked) span { animation: course-clock linear both; }
@keyframes course-clock { from { width: 0; } to { width: 100%; } }
</style>"""


def clock(fast: tuple[str, float], slow: tuple[str, float]):
    """Two trainings, (name, seconds) each, as bars that fill in real time if a box is checked.

    Before that they are shown as they are when the fast one arrives.
    """
    bars = "".join(
        f"{name}: {seconds:.{0 if seconds > 10 else 1}f} seconds"
        f'<div><span style="width: {100 * fast[1] / seconds:.1f}%; '
        f"animation-duration: {seconds:.2f}s; background: var(--course-{colour}, {code})"
        f'"></span></div>'
        for (name, seconds), colour, code in (
            (fast, "value", "#0e9468"),
            (slow, "query", "#1f83c4"),
        )
    )
    return HTML(
        f'{CLOCK}<div class="course-clock"><p><label><input type="checkbox"> Start the race'
        f'</label></p><p class="course-clock-still">After {fast[1]:.1f} seconds:</p>'
        f"<div>{bars}</div></div>"
    )


Curves = Mapping[str, Mapping[str, Sequence[int] | Sequence[float]]]


def lead(curves: Curves, ends: Mapping[str, float]):
    """AdamW beside Muon: `ends` has their losses on new text, in this order."""
    rival, hero = ends
    return HTML(_race(curves[rival], curves[hero], ends[rival], ends[hero]))


def bowls(sweeps: Mapping[str, Mapping[float, float]], untuned: tuple[float, float]):
    """Loss against the rate of the matrices inside: a bowl for AdamW, and one for Muon.

    `sweeps` has them in this order, as {rate: loss}, each rate twice the one before; `untuned` is
    AdamW's first rate and its loss without the second rate.
    """
    d = Drawing(470, 330)
    left, right, bottom = 48, 460, 250

    def height(loss):
        return round(bottom - (loss - 1.8) * 550, 1)

    d.text(4, 12, "loss, nats a character", size=15, anchor="start")
    for loss in (1.8, 1.9, 2.0, 2.1, 2.2):
        d.line([(left, height(loss)), (right, height(loss))], "muted", width=0.5)
        d.text(left - 8, height(loss), f"{loss:.1f}", size=15, anchor="end")
    for (name, losses), colour, start in zip(
        sweeps.items(), ("query", "value"), (92, 292), strict=True
    ):
        points = [(start + 48 * i, height(loss)) for i, loss in enumerate(losses.values())]
        best = min(losses.values())
        d.line([(left, height(best)), (right, height(best))], colour, width=1.2, dashed=True)
        d.line(points, colour, width=2.4)
        for (x, y), rate in zip(points, losses, strict=True):
            d.circle(x, y, 4, colour, fill=0.9)
            d.text(x, bottom + 18, f"{rate:g}".lstrip("0"), colour, size=15)
        d.text(start + 72, bottom + 42, f"{name}: {best:.3f}", colour, size=15, bold=True)
    d.text((left + right) / 2, bottom + 68, "rate of the matrices inside", size=15)
    ours, theirs = (min(losses.values()) for losses in sweeps.values())
    d.circle(92, height(untuned[1]), 6, "query", fill=0)
    d.text(106, height(untuned[1]), f"untuned: {untuned[1]:.3f}", "query", size=15, anchor="start")
    d.text(70, height((ours + theirs) / 2), f"{ours - theirs:.2f}", size=15, bold=True)
    return d.show(
        f"Two bowls of loss against the learning rate. AdamW's lowest point is at {ours:.3f} nats "
        f"and Muon's at {theirs:.3f}, lower by {ours - theirs:.2f}. The AdamW of the first "
        f"picture, untuned, lies far above the bottom of AdamW's bowl, at {untuned[1]:.3f}."
    )


def _race(rival, hero, rival_end: float, hero_end: float) -> str:
    """AdamW's curve and Muon's, loss against steps, as SVG."""
    d = Drawing(470, 268)
    left, right, top, bottom = 40, 452, 26, 214
    last = hero["steps"][-1]

    def at(step, loss):
        x = left + (right - left) * step / last
        return round(x, 1), round(bottom - (bottom - top) * (loss - 1.6) / 2.6, 1)

    d.text(4, 10, "loss while it trains, nats a character", size=15, anchor="start")
    for loss in (2, 3, 4):
        d.line([at(0, loss), at(last, loss)], "muted", width=0.5)
        d.text(left - 10, at(0, loss)[1], loss, size=15, anchor="end")
    for step in range(0, last + 1, 20):
        d.text(at(step, 2)[0], bottom + 16, step, size=15)
    d.text((left + right) / 2, bottom + 40, "steps", size=15)
    for name, curve, end, colour, y in (
        ("AdamW", rival, rival_end, "query", 60),
        ("Muon", hero, hero_end, "value", 86),
    ):
        d.line(
            [at(*point) for point in zip(curve["steps"], curve["train_loss"], strict=True)], colour
        )
        d.line([(212, y), (236, y)], colour, width=3)
        d.text(244, y, f"{name}: {end:.3f} on new text", colour, anchor="start")
    return d.svg(
        f"Two curves of loss against 60 steps. Both fall from above 3.9. Muon's lies below AdamW's "
        f"all the way. On new text AdamW ends at {rival_end:.3f} nats and Muon at {hero_end:.3f}, "
        f"a difference of {rival_end - hero_end:.2f}."
    )


def racer():
    """The network of the race from bottom to top, with the place of each idea."""
    d = Drawing(470, 372)
    d.text(130, 18, "the network", bold=True, size=15)
    d.text(360, 18, "the ideas", bold=True, size=15)
    rows = (
        (44, "output head", "ink", ""),
        (104, "one block:\nattention, feed-forward", "ink", "rotary positions"),
        (182, "mix in the 3 tokens before", "stream", "smear"),
        (242, "token + pair of tokens", "token", "bigrams"),
    )
    for y, name, colour, idea in rows:
        height = 54 if "\n" in name else 36
        d.box(30, y, 200, height, name, colour, fill=0.14)
        if idea:
            d.box(296, y + height / 2 - 15, 128, 30, idea, "position", fill=0.1)
            d.arrow(294, y + height / 2, 234, y + height / 2, "position")
    for start, end in ((104, 82), (182, 160), (242, 220), (304, 280)):
        d.arrow(130, start, 130, end, "stream")
    d.cells(58, 306, ["the kin"], (20, 24), ("token", 0.14), (21, 24), mono=True)
    d.text(130, 348, "64 characters", "muted", size=15)
    return d.show(
        "The network of the race, read from bottom to top: 64 characters; a vector for each token "
        "and for each pair of tokens; a layer that mixes in the three tokens before; one block of "
        "attention and a feed-forward network; the output head. Arrows show where the ideas of the "
        "chapter belong: bigrams at the vectors of pairs, smear at the mixing, rotary positions in "
        "the block."
    )


def stretches(lengths: tuple[float, float]):
    """A circle that a gradient stretches to a thin ellipse, and Muon to a circle."""
    d = Drawing(470, 206)
    angle = math.radians(28)

    def ellipse(x, y, a, b, colour):
        turns = [2 * math.pi * i / 60 for i in range(61)]
        pairs = [(a * math.cos(t), b * math.sin(t)) for t in turns]
        right, up = math.cos(angle), math.sin(angle)
        points = [(x + u * right - v * up, y - u * up - v * right) for u, v in pairs]
        d.line(points, colour, width=2.4)
        for length, turn in ((a, 0), (b, math.pi / 2)):
            end_x = x + length * math.cos(angle + turn)
            d.arrow(x, y, end_x, y - length * math.sin(angle + turn), colour)

    y = 104
    d.circle(66, y, 46, "muted", fill=0.05)
    d.text(66, 20, "directions", bold=True)
    d.text(66, 186, "all alike", "muted", size=15)
    d.arrow(122, y, 158, y)
    ellipse(232, y, 70, 70 * lengths[1] / lengths[0], "key")
    d.text(232, 20, "the gradient G", bold=True)
    d.text(232, 186, "few count", "muted", size=15)
    d.arrow(308, y, 344, y)
    ellipse(404, y, 52, 52, "value")
    d.text(404, 20, "Muon's step", bold=True)
    d.text(404, 186, "all count again", "muted", size=15)
    return d.show(
        "Three shapes in a row. A circle stands for all directions alike. The gradient stretches "
        "it to a thin ellipse, long in one direction and short in the other: few directions count. "
        "Muon's step makes a circle of the ellipse again, with the same two axes, both equally "
        "long: all directions count."
    )


def before(tokens: str, n: int):
    """What the last of the tokens reads before any attention: n vectors, and its pair's."""
    d = Drawing(470, 190)
    step, y = 96, 116
    x = [44 + step * i for i in range(len(tokens))]
    for i, token in enumerate(tokens):
        mixed = len(tokens) - 1 - n <= i
        colour = "token" if mixed else "muted"
        d.box(x[i] - 22, y, 44, 36, token, colour, fill=0.16 if mixed else 0.05, mono=True, size=18)
    for k in range(1, n + 1):
        start = x[-1 - k]
        d.arrow(start, y - 4, x[-1] - 4 * k + 8, y - 4, "stream", bend=10 + 13 * k)
        d.text(start - 6, y - 18, f"W{k}", "stream", size=15, anchor="end")
    d.box(x[-2] - 30, y - 8, step + 60, 52, "", "position", fill=0.08, dashed=True)
    d.text((x[-2] + x[-1]) / 2, y + 60, "the pair's own vector", "position", size=15)
    return d.show(
        f"A row of tokens, {', '.join(tokens)}. Arrows lead from the {n} tokens before the last "
        f"one to it, each with a matrix of its own, W1 to W{n}: this is smear. A dashed frame "
        "holds the last two tokens: their pair has a vector of its own."
    )
