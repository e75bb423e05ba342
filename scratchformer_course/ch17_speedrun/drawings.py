"""Chapter 17's drawings: two races, the racer, Muon, smear, two bowls of losses."""

import math
from collections.abc import Mapping, Sequence

from IPython.display import HTML

from scratchformer_course.kit.canvas import Drawing, drawing

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
    """AdamW beside Muon, loss against steps: `ends` has their losses on new text, in this order."""
    d = Drawing(470, 268, size=15)
    left, right, top, bottom = 40, 452, 26, 214
    last = int(curves[list(ends)[1]]["steps"][-1])

    def at(step, loss):
        x = left + (right - left) * step / last
        return round(x, 1), round(bottom - (bottom - top) * (loss - 1.6) / 2.6, 1)

    d.text_from(4, 10, "loss while it trains, nats a character")
    for loss in (2, 3, 4):
        d.line([at(0, loss), at(last, loss)], "muted", width=0.5)
        d.text_to(left - 10, at(0, loss)[1], loss)
    for step in range(0, last + 1, 20):
        d.text(at(step, 2)[0], bottom + 16, step)
    d.text((left + right) / 2, bottom + 40, "steps")
    looks = ("AdamW", "query", 60), ("Muon", "value", 86)
    for (run, end), (name, colour, y) in zip(ends.items(), looks, strict=True):
        steps, losses = curves[run]["steps"], curves[run]["train_loss"]
        d.line([at(*point) for point in zip(steps, losses, strict=True)], colour)
        d.line([(212, y), (236, y)], colour, width=3)
        d.text_from(244, y, f"{name}: {end:.3f} on new text", colour, 14)
    rival_end, hero_end = ends.values()
    return d.show(
        f"Two curves of loss against 60 steps. Both fall from above 3.9. Muon's lies below AdamW's "
        f"all the way. On new text AdamW ends at {rival_end:.3f} nats and Muon at {hero_end:.3f}, "
        f"a difference of {rival_end - hero_end:.2f}."
    )


def bowls(sweeps: Mapping[str, Mapping[float, float]], untuned: tuple[float, float]):
    """Loss against the rate of the matrices inside: a bowl for AdamW, and one for Muon.

    `sweeps` has them in this order, as {rate: loss}, each rate twice the one before; `untuned` is
    AdamW's first rate and its loss without the second rate.
    """
    d = Drawing(470, 330, size=15)
    left, right, bottom = 48, 460, 250

    def height(loss):
        return round(bottom - (loss - 1.8) * 550, 1)

    d.text_from(4, 12, "loss, nats a character")
    for loss in (1.8, 1.9, 2.0, 2.1, 2.2):
        d.line([(left, height(loss)), (right, height(loss))], "muted", width=0.5)
        d.text_to(left - 8, height(loss), f"{loss:.1f}")
    looks = ("query", 92), ("value", 292)
    for (name, losses), (colour, start) in zip(sweeps.items(), looks, strict=True):
        points = [(start + 48 * i, height(loss)) for i, loss in enumerate(losses.values())]
        best = min(losses.values())
        d.line([(left, height(best)), (right, height(best))], colour, width=1.2, dashed=True)
        d.line(points, colour, width=2.4)
        for (x, y), rate in zip(points, losses, strict=True):
            d.circle(x, y, 4, colour, fill=0.9)
            d.text(x, bottom + 18, f"{rate:g}".lstrip("0"), colour)
        d.text(start + 72, bottom + 42, f"{name}: {best:.3f}", colour, bold=True)
    d.text((left + right) / 2, bottom + 68, "rate of the matrices inside")
    ours, theirs = (min(losses.values()) for losses in sweeps.values())
    y = height(untuned[1])
    d.circle(92, y, 6, "query", fill=0)
    d.text_from(106, y, f"untuned: {untuned[1]:.3f}", "query")
    d.text(70, height((ours + theirs) / 2), f"{ours - theirs:.2f}", bold=True)
    return d.show(
        f"Two bowls of loss against the learning rate. AdamW's lowest point is at {ours:.3f} nats "
        f"and Muon's at {theirs:.3f}, lower by {ours - theirs:.2f}. The AdamW of the first "
        f"picture, untuned, lies far above the bottom of AdamW's bowl, at {untuned[1]:.3f}."
    )


@drawing(470, 372)
def racer(d):
    """The network of the race, read from bottom to top: 64 characters; a vector for each token and
    for each pair of tokens; a layer that mixes in the three tokens before; one block of attention
    and a feed-forward network; the output head. Arrows show where the ideas of the chapter belong:
    bigrams at the vectors of pairs, smear at the mixing, rotary positions in the block.
    """
    d.text(130, 18, "the network", bold=True, size=15)
    d.text(360, 18, "the ideas", bold=True, size=15)
    d.flow(
        [
            (30, 242, 200, 36, "token + pair of tokens", "token", 0.14),
            (30, 182, 200, 36, "mix in the 3 tokens before", "stream", 0.14),
            (30, 104, 200, 54, "one block:\nattention, feed-forward", "ink", 0.14),
            (30, 44, 200, 36, "output head", "ink", 0.14),
        ],
        "stream",
    )
    for y, idea in ((131, "rotary positions"), (200, "smear"), (260, "bigrams")):
        d.box(296, y - 15, 128, 30, idea, "position", 0.1)
        d.arrow(294, y, 234, y, "position")
    d.arrow(130, 304, 130, 280, "stream")
    d.row(58, 306, "the kin", (20, 24), ("token", 0.14), 21, mono=True)
    d.text(130, 348, "64 characters", "muted", size=15)


@drawing(470, 206, size=15)
def stretches(d, lengths: tuple[float, float]):
    """Three shapes in a row. A circle stands for all directions alike. The gradient stretches it to
    a thin ellipse, long in one direction and short in the other: few directions count. Muon's step
    makes a circle of the ellipse again, with the same two axes, both equally long: all directions
    count.
    """
    y = 104

    def ellipse(x, y, a, b, colour):
        """An ellipse around (x, y) that is turned by 28 degrees, with its two half axes."""

        def at(along, across) -> tuple[float, float]:
            right, up = math.cos(math.radians(28)), math.sin(math.radians(28))
            return x + along * right - across * up, y - along * up - across * right

        turns = [2 * math.pi * i / 60 for i in range(61)]
        d.line([at(a * math.cos(t), b * math.sin(t)) for t in turns], colour, width=2.4)
        d.arrow(x, y, *at(a, 0), colour)
        d.arrow(x, y, *at(0, b), colour)

    for x, title, says in (
        (66, "directions", "all alike"),
        (232, "the gradient G", "few count"),
        (404, "Muon's step", "all count again"),
    ):
        d.text(x, 20, title, size=14, bold=True)
        d.text(x, 186, says, "muted")
    d.circle(66, y, 46, "muted", fill=0.05)
    d.arrow(122, y, 158, y)
    ellipse(232, y, 70, 70 * lengths[1] / lengths[0], "key")
    d.arrow(308, y, 344, y)
    ellipse(404, y, 52, 52, "value")


@drawing(470, 190, size=15)
def before(d):
    """A row of tokens, e, , k, i, n. Arrows lead from the 3 tokens before the last one to it, each
    with a matrix of its own, W1 to W3: this is smear. A dashed frame holds the last two tokens:
    their pair has a vector of its own.
    """
    y, looks = 116, [("muted", 0.05)] + [("token", 0.16)] * 4
    d.row(22, y, "e kin", (44, 36), looks, 96, mono=True, size=18)
    for x, end, bend, name in ((332, 432, 23, "W1"), (236, 428, 36, "W2"), (140, 424, 49, "W3")):
        d.arrow(x, y - 4, end, y - 4, "stream", bend)
        d.text_to(x - 6, y - 18, name, "stream")
    d.box(302, y - 8, 156, 52, "", "position", 0.08, dashed=True)
    d.text(380, y + 60, "the pair's own vector", "position")
