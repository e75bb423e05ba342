"""A map of the words of the plays: press one, see the nearest, or train it anew in the page."""

import base64
import json
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import normalize

from scratchformer_course.kit.canvas import Drawing
from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.kit.figure.still import table

STORED = Path(__file__).with_name("map.json")  # written by lab/word_map.py
CHANNELS, NEAREST, SIDE = 32, 8, 480


class WordMap(NamedTuple):
    """Words, a place in a square of 1000 for each, and its vector of length 1: (N, C)."""

    words: list[str]
    places: list[tuple[int, int]]
    unit: Tensor

    def nearest(self, word: str, k: int) -> list[tuple[str, float]]:
        """The k words most similar to a word of the map, with their cosines."""
        cosines = self.unit @ self.unit[self.words.index(word)]
        order = cosines.argsort(descending=True, stable=True).tolist()
        return [(self.words[i], cosines[i].item()) for i in order if self.words[i] != word][:k]


def load_map() -> WordMap:
    """What lab/word_map.py has stored: the vectors as signed bytes, so about as they were."""
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    flat = torch.frombuffer(bytearray(base64.b64decode(stored["vectors"])), dtype=torch.int8)
    xs, ys = stored["places"][::2], stored["places"][1::2]
    unit = normalize(flat.view(-1, CHANNELS).float(), dim=1)
    return WordMap(stored["words"].split(), list(zip(xs, ys, strict=True)), unit)


def word_map(word: str = "king") -> LiveFigure:
    """The map, beginning at `word`.

    Raises ValueError for a word that is not on the map.
    """
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    known = load_map()
    if word not in known.words:
        raise ValueError(f"{word!r} is none of the {len(known.words)} words of the map")
    settings = {key: stored[key] for key in ("words", "places", "vectors", "known", "ids", "text")}
    settings |= {"word": word}
    rows = [(near, f"{cosine:.2f}") for near, cosine in known.nearest(word, NEAREST)]
    still = (
        "<p>This figure is live where JavaScript runs: there you press words, and train "
        f"it anew. Here are some of the {len(known.words)} words of the map, and the {NEAREST} "
        f"nearest to <i>{word}</i>, each with its cosine.</p>{_some(known, word)}"
    )
    return LiveFigure("word_map", settings, still + table(("word", "cosine"), rows))


def _some(known: WordMap, word: str) -> str:
    """As many words as fit at their places, the chosen one and its nearest first."""
    d, shown = Drawing(SIDE, SIDE), []
    taken: list[tuple[float, float, float, float]] = []
    near = [name for name, _ in known.nearest(word, NEAREST)]
    for name in [word, *near, *known.words]:
        x, y = (30 + 0.42 * c for c in known.places[known.words.index(name)])
        box = (x - 4 * len(name) - 3, y - 9, x + 4 * len(name) + 3, y + 9)
        fits = box[0] >= 0 and box[2] <= SIDE
        if fits and all(
            box[0] > b[2] or b[0] > box[2] or box[1] > b[3] or b[1] > box[3] for b in taken
        ):
            colour = "token" if name == word else "ink" if name in near else "muted"
            d.text(x, y, name, colour, size=13, bold=colour != "muted")
            taken.append(box)
            shown.append(name)
    return d.svg(
        f"""A map with {len(shown)} words. Words with similar vectors lie near each other. Around
        {word} are {", ".join(near)}, as far as there is room for them."""
    )
