"""A translation whose source can be hidden, and a recording, with what a head of Whisper reads."""

import base64
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from torch import Tensor

from scratchformer_course.ch14_encoder_decoder.hearing import alignment, read_wav
from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.kit.figure.still import table

BARS, START = 355, 2  # bars of loudness, one for each step of the map; "John" is shown first


def hidden_source(
    words: Sequence[str], states: Sequence[tuple[Sequence[str], Tensor]]
) -> LiveFigure:
    """A translation and what each of its words reads, with each of the source's `words` hidden.

    A state is what is written, and a row of weights (S,) for each of its words: the first with
    nothing hidden, and one for each of `words`.
    """
    shown = [
        {"said": list(said), "rows": (100 * rows).round().int().tolist()} for said, rows in states
    ]
    still = "<p>This figure is live where JavaScript runs: there a press hides an English word.</p>"
    reads = zip(map(escape, shown[0]["said"]), shown[0]["rows"], strict=True)
    still += table(("", *map(escape, words)), [(word, *row) for word, row in reads])
    return LiveFigure("hidden_source", {"words": list(words), "states": shown}, still)


def spoken_words(stored: Mapping[str, Any]) -> LiveFigure:
    """lab.heard's map of the recording: press a word and hear where it is read."""
    settings = _settings(stored, parts=1)
    settings["sound"] = base64.b64encode(mu_law(read_wav().numpy())).decode()
    return LiveFigure("spoken_words", settings, _still(settings))


def swapped_halves(stored: Mapping[str, Any]) -> LiveFigure:
    """The same with the halves swapped, too; the sound is that of the page's `spoken_words`."""
    settings = _settings(stored, parts=2)
    return LiveFigure("swapped_halves", settings, _still(settings))


def _settings(stored: Mapping[str, Any], parts: int) -> dict[str, Any]:
    """What the figure draws: of the recording, and if `parts` is 2 of its swapped halves."""
    said, samples = alignment(), read_wav().numpy()
    loud = np.sqrt([np.mean(part**2) for part in np.array_split(samples, BARS)])
    after, seconds = stored["after"], stored["seconds"]
    moved = [
        [round(edge + (-after if begin >= after else seconds - after), 2) for edge in (begin, end)]
        for begin, end in said["times"]
    ]
    return {
        "said": said["words"],
        "times": [said["times"], moved][:parts],
        "loud": np.rint(100 * loud / loud.max()).astype(int).tolist(),
        "start": START,
        "instants": stored["instants"][:parts],
        "maps": stored["maps"][:parts],
        "seconds": seconds,
        "after": after,
    }


def mu_law(samples: np.ndarray) -> bytes:
    """Samples in [-1, 1] in 8 bits each: G.711's µ-law, which browsers play from a .wav file."""
    size = np.minimum(np.abs(samples) * 32768, 32635).astype(int) + 132
    exponent = np.log2(size).astype(int) - 7
    mantissa = (size >> (exponent + 3)) & 15
    sign = np.where(samples < 0, 128, 0)
    return (~(sign | exponent << 4 | mantissa) & 255).astype(np.uint8).tobytes()


def _still(settings: Mapping[str, Any]) -> str:
    """Each word with its time and its instant; of swapped halves the instants, beside a drawing."""
    live = "<p>This figure is live where JavaScript runs: there you press a word and hear the "
    live += "recording at the instant that the head reads. "
    if len(settings["maps"]) == 2:
        at = ", ".join(f"{at:.2f}" for at in settings["instants"][1])
        return f"{live}With the halves swapped at {settings['after']} s it reads at {at}.</p>"
    columns = zip(settings["said"], settings["times"][0], settings["instants"][0], strict=True)
    rows = [
        (escape(word), f"{begin:.2f}, {end:.2f}", f"{at:.2f}") for word, (begin, end), at in columns
    ]
    shown = table(("word", "is spoken from, to", "is read at"), rows)
    return f"{live}All times are in seconds.</p>{shown}"
