"""A network that learns to write, at a few steps of a stored run under one slider.

What it wrote and its losses are in `measurements/first_network.json`, which
`lab/first_network.py` writes.
"""

import math
from collections.abc import Mapping
from typing import Any

from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.kit.figure.text_slider import Frame, text_slider


def first_sample(run: Mapping[str, Any]) -> LiveFigure:
    """What a network writes, and its loss, at the steps of a stored run.

    `run` holds `settings` (prompt, vocab_size) of its part "run", and there `frames`, each with
    step, loss and text. Raises ValueError for fewer than two frames, and steps that do not rise.
    """
    settings, stored = run["settings"]["run"], run["run"]["frames"]
    last = len(stored) - 1
    frames = [
        Frame(
            label=f"{frame['step']:,}",
            told=f"After {frame['step']:,} step{'s' * (frame['step'] != 1)}",
            # the first steps need more room than the last
            at=math.log1p(frame["step"]) / math.log1p(stored[last]["step"] or 1),
            tick="" if i in (1, last - 1) else f"{frame['step']:,}",  # too near to a neighbour
            loss=frame["loss"],
            text=frame["text"],
        )
        for i, frame in enumerate(stored)
    ]
    return text_slider(
        "first_sample",
        frames,
        prompt=settings["prompt"],
        slider="Steps of training",
        writer="the network",
        axis="step",
        line=("knows nothing", round(math.log(settings["vocab_size"]), 4)),
        marks=(1.0, 2.0, 3.0, 4.0),
        plays=True,
    )
