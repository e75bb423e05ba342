"""A valley, for momentum and AdamW; and one model at many steps of its training, under one slider.

Of `time_machine` the page computes attention and text of the step that a reader chooses, by
`model.js`, from that step's weights. Weights of a step are unpacked when it is first shown.
"""

import math
import random
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import torch
from torch import nn

from scratchformer.generation import generate
from scratchformer_course.kit.canvas import Drawing
from scratchformer_course.kit.figure import LiveFigure
from scratchformer_course.kit.figure.still import plain_table
from scratchformer_course.page_model.description import describe

START, STEEP, STEPS = (10.0, 1.0), 25.0, 20  # chapter 11's valley, and the steps taken in it
LEVELS = (2, 8, 20, 40, 70)  # lines of equal loss
RATES = [5e-4, 7e-4, 0.001, 0.0015, 0.002, 0.003, 0.005, 0.007, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05]
RATES += [0.06, 0.07, 0.08, 0.09, 0.1, 0.11, 0.12, 0.13, 0.14, 0.15, 0.2, 0.3, 0.4, 0.5, 0.55]
RATES += [0.6, 0.7]
STEEPER = [25, 40, 60, 100, 150, 250, 400, 600, 1000, 1500, 2500]
FIRST = {"descent": 0.07, "adamw": 0.3}  # the rates that the figure begins with
NOISE, DRAWS = 3.0, 12  # its standard deviation, and how many runs have their own
WRITTEN, STILL_WRITTEN, STILL_ROWS = 100, 22, 6  # characters, and rows of the still table


def descend(
    rate: float,
    keep: float,
    steep: float = STEEP,
    noise: Sequence[tuple[float, float]] = (),
    falls: bool = False,
) -> list[tuple[float, float]]:
    """The places of a descent in the valley with this rate and momentum, the start among them.

    `noise` is added to the slopes, step by step. A rate that falls does so along half a cosine.
    """
    (a, b), sums = START, (0.0, 0.0)
    places = [(a, b)]
    for t in range(STEPS):
        own = rate * (1 + math.cos(math.pi * t / STEPS)) / 2 if falls else rate
        one, other = noise[t] if noise else (0.0, 0.0)
        sums = (keep * sums[0] + a + one, keep * sums[1] + steep * b + other)
        a, b = a - own * sums[0], b - own * sums[1]
        places.append((a, b))
    return places


def adamw(rate: float, steep: float = STEEP) -> list[tuple[float, float]]:
    """The places of AdamW at this rate, without decay."""
    weights = []
    for w, slope in zip(START, (1.0, steep), strict=True):
        m, v, places = 0.0, 0.0, [w]
        for t in range(1, STEPS + 1):
            m, v = 0.9 * m + 0.1 * slope * w, 0.95 * v + 0.05 * (slope * w) ** 2
            w -= rate * m / (1 - 0.9**t) / ((v / (1 - 0.95**t)) ** 0.5 + 1e-8)
            places.append(w)
        weights.append(places)
    return list(zip(*weights, strict=True))


def noises() -> list[list[tuple[float, float]]]:
    """For each of DRAWS runs, what is added to both slopes at each step."""
    draw = random.Random(0)

    def one() -> float:
        return round(draw.gauss(0, NOISE), 2)

    return [[(one(), one()) for _ in range(STEPS)] for _ in range(DRAWS)]


def valley() -> LiveFigure:
    """Rate, momentum and steepness, AdamW's switch, and the path of twenty steps with them."""
    d = Drawing(480, 596)
    runs = {
        "plain descent, rate 0.07": descend(0.07, 0.0),
        "momentum 0.5, rate 0.1": descend(0.1, 0.5),
        "AdamW, rate 0.3": adamw(0.3),
    }
    far = []
    for (name, places), top in zip(runs.items(), (0, 200, 400), strict=True):
        x, y, wide, high = 100, top + 106, 33.0, 36.0  # the lowest point, and 1 of each weight
        for level in LEVELS:
            rx, ry = wide * (2 * level) ** 0.5, high * (2 * level / STEEP) ** 0.5
            turns = [math.tau * i / 72 for i in range(73)]
            ellipse = [(x + rx * math.cos(t), y + ry * math.sin(t)) for t in turns]
            for part in _inside(ellipse):
                d.line(part, "muted", width=0.8)
        points = [(x + wide * a, y - high * b) for a, b in places]
        d.line(points, "query", width=1.2)
        for i, point in enumerate(points):
            d.circle(*point, 5 - i / 7, "query", fill=1)
        far.append(math.hypot(*places[-1]))
        d.text_from(4, top + 8, f"{name}: {far[-1]:.2f} from the lowest point (×)", bold=True)
        d.text(x, y, "×", "key", size=20)
    still = d.svg(
        "Three times the same long, narrow valley and a path of twenty steps from the right, with "
        "dots that shrink. Plain descent swings from wall to wall in shrinking jumps, then creeps "
        f"along the floor and stops {far[0]:.2f} before the lowest point. Momentum swings wider at "
        "first, soon stays on the floor and moves along it in longer steps: it ends "
        f"{far[1]:.2f} from the lowest point. AdamW takes nearly equal steps, in a wide curve "
        f"about the floor, and is still {far[2]:.2f} away."
    )
    said = (
        "<p>Where JavaScript runs, sliders and switches change all of this. Here are three "
        "settings.</p>"
    )
    settings = {"start": START, "steps": STEPS, "levels": LEVELS, "first": FIRST}
    settings |= {"rates": RATES, "steeper": STEEPER, "noises": noises()}
    return LiveFigure("valley", settings, said + still)


def _inside(points: Sequence[tuple[float, float]]) -> list[list[tuple[float, float]]]:
    """The parts of a line that are not to the left or the right of the drawing."""
    parts: list[list[tuple[float, float]]] = [[]]
    for point in points:
        if 0 < point[0] < 480:
            parts[-1].append(point)
        elif parts[-1]:
            parts.append([])
    return [part for part in parts if len(part) > 1]


def time_machine(
    checkpoints: Sequence[tuple[int, nn.Module]],
    tokenizer: Any,
    losses: Mapping[int, float],
    counted: Mapping[str, float],
    without: Sequence[Sequence[Sequence[float]]],
    prompt: str = "ROMEO:\nWhat light",
) -> LiveFigure:
    """A slider over the steps: attention of each head, text, the loss curve.

    `checkpoints` are (steps done, model), as `load_checkpoints` gives them, and `losses` their
    loss on a longer text. `counted` are losses of counts on the same text, by name, and `without`
    those without a head: for each block, each of its heads, and each step. The models read
    the `prompt`, which a reader may change, and go on with it. Raises ValueError for what
    `describe` refuses.
    """
    steps = [step for step, _ in checkpoints]
    ids = tokenizer.encode(prompt)
    curve = [round(float(losses[step]), 3) for step in steps]
    baselines = [[name, round(float(loss), 4)] for name, loss in counted.items()]
    settings = {"steps": steps, "losses": curve, "counted": baselines, "prompt": prompt}
    settings |= {"without": without, "temperature": 0.8, "seed": 1, "written": WRITTEN}
    descriptions = [describe(model, tokenizer) for _, model in checkpoints]
    rows = []
    for i in _spread(len(steps)):
        text = generate(checkpoints[i][1], torch.tensor([ids]), STILL_WRITTEN, temperature=0.0)
        rows.append((steps[i], curve[i], tokenizer.decode(text[0, len(ids) :].tolist())))
    still = _curve(steps, curve, baselines) + _table(prompt, rows)
    return LiveFigure("time_machine", settings, still, descriptions)


def _spread(n: int) -> list[int]:
    """Some places from 0 to n - 1, both ends among them."""
    return sorted({round(k * (n - 1) / (STILL_ROWS - 1)) for k in range(STILL_ROWS)})


def _curve(steps: list[int], losses: list[float], counted: list[list]) -> str:
    """The losses as a drawing, a step at each place, with the counted ones as dashed lines."""
    d = Drawing(480, 256)
    left, right, top, bottom = 34, 470, 28, 206
    highest = max(losses + [loss for _, loss in counted])
    lowest = min(losses + [loss for _, loss in counted])
    y = [bottom - 20 - (x - lowest) / (highest - lowest or 1) * (bottom - top - 24) for x in losses]
    x = [left + i * (right - left) / (len(steps) - 1) for i in range(len(steps))]
    d.line([(left, top), (left, bottom), (right, bottom)], "muted", width=1)
    for name, loss in counted:
        at = bottom - 20 - (loss - lowest) / (highest - lowest or 1) * (bottom - top - 24)
        d.line([(left, at), (right, at)], "key", width=1.2, dashed=True)
        side = -10 if losses[-1] < loss else 10
        # near its end the curve would run through a name on the right
        edge = (left + 6, "start") if losses[3 * len(losses) // 4] > loss else (right, "end")
        d.text(edge[0], at + side, f"{name} {loss:.2f}", "key", size=13, anchor=edge[1])
    d.line(list(zip(x, y, strict=True)), "query", width=2.4)
    for i in _spread(len(steps)):
        anchor = "end" if i == len(steps) - 1 else "middle"
        d.text(x[i], 222, f"{steps[i]:,}", size=13, anchor=anchor)
    d.text_from(0, 10, "loss, in nats a character", size=13)
    d.text((left + right) / 2, 244, "steps of training, a place for each snapshot", size=13)
    for at, loss in ((y[0], losses[0]), (y[-1], losses[-1])):
        d.text_to(left - 4, at, f"{loss:.1f}", size=13)
    baselines = ", ".join(f"{name} {loss:.2f}" for name, loss in counted)
    return d.svg(
        f"The loss on the validation text falls from {losses[0]:.2f} nats before the first step to "
        f"{losses[-1]:.2f} after step {steps[-1]:,}. Steps are not evenly spaced. Dashed lines: "
        f"{baselines or 'none'}."
    )


def _table(prompt: str, rows: list[tuple[int, float, str]]) -> str:
    cells = [
        (f"{step:,}", f"{loss:.3f}", f"<code>{_visible(text)}</code>") for step, loss, text in rows
    ]
    return (
        "<p>Where JavaScript runs, a slider moves through the steps. At some of them, the loss in "
        "nats, and what the model "
        f"writes after <code>{_visible(prompt)}</code> if it always takes the likeliest "
        f"character:</p>{plain_table(('step', 'loss', 'text'), cells)}"
    )


def _visible(text: str) -> str:
    """Text for a table, in which spaces and line ends can be seen."""
    return escape(text.replace(" ", "␣").replace("\n", "⏎"))
