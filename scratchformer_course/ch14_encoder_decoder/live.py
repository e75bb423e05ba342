"""A recording, what one head of Whisper reads of it, and the same with its halves swapped."""

import base64
from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np

from scratchformer_course.ch14_encoder_decoder.hearing import alignment, read_wav
from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.kit.figure.still import table

BARS, START = 355, 2  # bars of loudness, one for each step of the map; "John" is shown first


def spoken_words(stored: Mapping[str, Any]) -> LiveFigure:
    """The figure of lab.heard's maps: press a word and hear where it is read, swap the halves."""
    said, samples = alignment(), read_wav().numpy()
    loud = np.sqrt([np.mean(part**2) for part in np.array_split(samples, BARS)])
    after, seconds = stored["after"], stored["seconds"]
    moved = [
        [round(edge + (-after if begin >= after else seconds - after), 2) for edge in (begin, end)]
        for begin, end in said["times"]
    ]
    settings = {
        "said": said["words"],
        "times": [said["times"], moved],
        "loud": np.rint(100 * loud / loud.max()).astype(int).tolist(),
        "sound": base64.b64encode(mu_law(samples)).decode(),
        "start": START,
    }
    settings |= {name: stored[name] for name in ("instants", "maps", "seconds", "after")}
    return LiveFigure("spoken_words", settings, _still(settings))


def mu_law(samples: np.ndarray) -> bytes:
    """Samples in [-1, 1] in 8 bits each: G.711's µ-law, which browsers play from a .wav file."""
    size = np.minimum(np.abs(samples) * 32768, 32635).astype(int) + 132
    exponent = np.log2(size).astype(int) - 7
    mantissa = (size >> (exponent + 3)) & 15
    sign = np.where(samples < 0, 128, 0)
    return (~(sign | exponent << 4 | mantissa) & 255).astype(np.uint8).tobytes()


def _still(settings: Mapping[str, Any]) -> str:
    """Each word with its time, and the instants of both maps."""
    columns = zip(settings["said"], settings["times"][0], *settings["instants"], strict=True)
    rows = [
        (escape(word), f"{begin:.2f} to {end:.2f} s", f"{plain:.2f} s", f"{swapped:.2f} s")
        for word, (begin, end), plain, swapped in columns
    ]
    head = ("word", "is spoken from", "is read at", "halves swapped, at")
    return (
        "<p>This figure is live where JavaScript runs: there you press a word and hear the "
        "recording at the instant that the head reads. The recording has "
        f"{settings['seconds']} s; its halves are swapped at {settings['after']} s.</p>"
        f"{table(head, rows)}"
    )
