"""Chapter 10's rungs, which write: what stands in `measurements/climb.json`, under one slider.

`lab/climb.py` trains the rungs and writes the file.
"""

from collections.abc import Mapping
from typing import Any

from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.kit.figure.text_slider import Frame, text_slider

# a rung's name in the file -> what is told of it
TOLD = {
    "table of pairs": "It counts which character follows which, and looks at one character.",
    "attention": "One head looks at eight characters.",
    "positions": "The head knows where each of the eight is.",
    "four heads": "Four heads look at the eight at once.",
    "feed-forward": "A small network computes with what the heads bring.",
    "residuals": "Heads and network add to what is there, and replace nothing.",
    "your GPT": "Two blocks look at 64 characters. It has learned for some 20 seconds.",
    "trained for longer": "The same class, with four blocks. It has learned for 45 minutes.",
}


def rungs_write(climb: Mapping[str, Any]) -> LiveFigure:
    """What each of chapter 10's rungs writes.

    `climb` holds `settings` (prompt) and `rungs`, each with name and text. Raises ValueError for
    fewer than two rungs.
    """
    last = max(len(climb["rungs"]) - 1, 1)
    frames = [
        Frame(rung["name"], TOLD[rung["name"]], rung["text"], at=i / last)
        for i, rung in enumerate(climb["rungs"])
    ]
    prompt = climb["settings"]["prompt"]
    return text_slider("rungs_write", frames, prompt=prompt, slider="Model", writer="the model")
