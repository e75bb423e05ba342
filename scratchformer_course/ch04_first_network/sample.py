"""A network that learns to write, at a few steps of a stored run under one slider.

What it wrote, its losses and what it expects stand in `measurements/first_network.json`, which
`lab/first_network.py` writes.
"""

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from scratchformer_course.kit.canvas import Drawing
from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.kit.figure.numbers import check_finite

WIDTH, HEIGHT, LEFT, BOTTOM = 340, 190, 34, 150  # of the curve, in units of the pen
FILES = ["ch04_first_network/sample.css", "ch04_first_network/sample.js"]


def first_sample(run: Mapping[str, Any]) -> LiveFigure:
    """What a network writes and expects, and its loss, at the steps of a stored run.

    `run` holds `settings` (prompt, opening, vocab_size) and `frames`, each with step, loss, text
    and `next`, the likeliest characters with their probabilities. Raises ValueError for fewer than
    two frames, steps that do not rise, or losses that are not finite.
    """
    told, frames = run["settings"], run["frames"]
    steps = [frame["step"] for frame in frames]
    if len(steps) < 2 or steps != sorted(set(steps)):
        raise ValueError(f"frames at the steps {steps}, expected two or more that rise")
    check_finite("the losses", [frame["loss"] for frame in frames])
    settings = {
        "prompt": told["prompt"].lstrip("\n"),
        "opening": told["opening"],
        "guessing": round(math.log(told["vocab_size"]), 4),
        "frames": frames,
    }
    last = frames[-1]
    rows = "".join(
        f'<tr><th scope="row">{frame["step"]:,}</th><td>{frame["loss"]:.2f}</td>'
        f"<td>{escape(repr(frame['next'][0][0]))}, {frame['next'][0][1]:.2f}</td></tr>"
        for frame in frames
    )
    still = (
        "<p>This figure is live where JavaScript runs: there a slider goes through the steps of "
        f"training. Here is what the network writes after the last, {last['step']:,}.</p>"
        f'<p class="sx-text"><b>{escape(settings["prompt"])}</b>{escape(last["text"])}</p>'
        f'{_curve(frames)}<table><thead><tr><th scope="col">step</th><th scope="col">loss</th>'
        f'<th scope="col">expects after {escape(repr(settings["opening"]))}</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )
    return LiveFigure("first_sample", settings, still, FILES)


def _curve(frames: Sequence[Mapping[str, Any]]) -> str:
    last, highest = frames[-1]["step"], max(frame["loss"] for frame in frames)
    points = [
        (
            LEFT + (WIDTH - LEFT - 22) * math.log1p(frame["step"]) / math.log1p(last),
            BOTTOM - (BOTTOM - 14) * frame["loss"] / highest,
        )
        for frame in frames
    ]
    d = Drawing(WIDTH, HEIGHT)
    d.line([(LEFT, 8), (LEFT, BOTTOM), (WIDTH - 6, BOTTOM)], "muted", width=1)
    d.line(points, "query", width=2)
    for i, ((x, y), frame) in enumerate(zip(points, frames, strict=True)):
        d.circle(x, y, 4, "query", fill=1)
        if i not in (1, len(frames) - 2):  # too near to their neighbours
            d.text(x, BOTTOM + 15, f"{frame['step']:,}", size=13)
    d.text((LEFT + WIDTH) / 2, HEIGHT - 6, "step", size=13)
    told = ", ".join(f"{frame['loss']:.2f} at step {frame['step']:,}" for frame in frames)
    return d.svg(f"The loss on the validation text falls: {told}.")
