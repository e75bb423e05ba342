"""Chapter 10's rungs, which write: what stands in `measurements/climb.json`, under one slider.

`lab/climb.py` trains the rungs and writes the file.
"""

from collections.abc import Mapping
from typing import Any

from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.kit.figure.text_slider import Frame, text_slider

# a rung's name in the file -> how a sentence about it begins
TOLD = {
    "table of pairs": "For the table of pairs",
    "attention": "With attention",
    "positions": "With positions",
    "four heads": "With four heads",
    "feed-forward": "With a feed-forward network",
    "residuals": "With residuals",
    "GPT, 48 wide": "For a GPT that is 48 wide",
    "GPT, 128 wide": "For the GPT of this course",
}


def rungs_write(climb: Mapping[str, Any], counted: float) -> LiveFigure:
    """What each of chapter 10's rungs writes and expects, and its loss, beside that of the counts.

    `climb` holds `settings` (prompt, opening) and `rungs`, each with name, losses of some seeds,
    text, and `next`, the likeliest characters with their probabilities. A loss is the mean of the
    seeds. `counted` is the loss of the best table of counts. Raises ValueError for fewer than two
    rungs, and losses that are not finite.
    """
    rungs = climb["rungs"]
    last = max(len(rungs) - 1, 1)
    frames = [
        Frame(
            label=rung["name"],
            told=TOLD[rung["name"]],
            at=i / last,
            tick=f"{i + 1}",
            loss=round(sum(rung["losses"]) / len(rung["losses"]), 4),
            text=rung["text"],
            next=rung["next"],
        )
        for i, rung in enumerate(rungs)
    ]
    return text_slider(
        "rungs_write",
        frames,
        prompt=climb["settings"]["prompt"],
        opening=climb["settings"]["opening"],
        slider="Rung",
        writer="the rung",
        axis="rung",
        line=("the best table of counts", counted),
        marks=(1.5, 2.0, 2.5),
        lowest=1.3,
        digits=3,
    )
