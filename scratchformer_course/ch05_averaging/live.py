"""Scores that a reader drags: mask, softmax, weights and what a word gets follow. And words of a
line that a reader hides from its last letter, in a GPT.

Calculated here is only what stands on a page without JavaScript.
"""

from collections.abc import Collection, Mapping, Sequence
from html import escape

import torch
from torch import Tensor

from scratchformer.models import GPT
from scratchformer.tokenizers import CharTokenizer
from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.kit.figure.still import table
from scratchformer_course.page_model import describe

Matrix = Sequence[Sequence[float | int]]
WORDS = 6  # what fits a phone
LARGEST_SCORE = 4  # what the sliders reach, below 0 as well


def weighted_past(
    words: Sequence[str],
    x: Matrix,
    gives: Sequence[str],
    masks: Mapping[str, Sequence[Sequence[bool]]],
) -> LiveFigure:
    """The row of the last word, which looks back; all scores are 0 until a reader drags them.

    `x` (T, C) holds the words' vectors and `gives` the names of their C numbers. Each of the
    `masks` is (T, T), True where the word of the row may look; the first one is on. Raises
    ValueError for words that do not fit a phone or occur twice, for vectors of another size, and
    for a row that may look nowhere.
    """
    T = len(words)
    if not 2 <= T <= WORDS or len(set(words)) < T:
        raise ValueError(f"words={list(words)}, expected 2 to {WORDS}, each once")
    if [len(vector) for vector in x] != [len(gives)] * T:
        wide = [len(vector) for vector in x]
        raise ValueError(f"x has rows of {wide} numbers, expected {T} rows of {len(gives)}")
    for name, mask in masks.items():
        if not all(any(line) for line in mask):
            raise ValueError(f"in the mask {name!r} a row has no True, expected one in each row")
    settings: dict = {
        "words": list(words),
        "x": [list(vector) for vector in x],
        "gives": list(gives),
        "masks": {name: [[bool(may) for may in line] for line in m] for name, m in masks.items()},
        "looks": T - 1,
        "largest": LARGEST_SCORE,
    }
    return LiveFigure("weighted_past", settings, _still(settings))


def _still(s: dict) -> str:
    """The row of the last word under the first mask, as a table: for a page without JavaScript."""
    words, x, gives = s["words"], s["x"], s["gives"]
    name, mask = next(iter(s["masks"].items()))
    weights = [may / sum(mask[-1]) for may in mask[-1]]
    rows = [
        (escape(word), 0, 0 if may else "−∞", f"{weight:.2f}", *(f"{x:g}" for x in vector))
        for word, may, weight, vector in zip(words, mask[-1], weights, x, strict=True)
    ]
    head = ("word", "score", "mask", "weight", *map(escape, gives))
    mixture = [sum(w * v[c] for w, v in zip(weights, x, strict=True)) for c in range(len(gives))]
    gets = ", ".join(f"{escape(g)} {m:.2f}" for g, m in zip(gives, mixture, strict=True))
    return (
        "<p>This figure is live where JavaScript runs: there you drag the scores and switch the "
        f"mask. Here is one row of it, with all scores 0 and the mask “{escape(name)}”: what "
        f"<em>{escape(words[-1])}</em> takes from each word.</p>{table(head, rows)}"
        "<p>The weights mix the vectors. "
        f"<em>{escape(words[-1])}</em> gets: {gets}.</p>"
    )


def hidden_words(model: GPT, tokenizer: CharTokenizer, line: str, asked: str) -> LiveFigure:
    """A line whose words a reader hides from its last letter; `asked` is the character to watch."""
    settings = {"prompt": line, "asked": asked}
    rows, start = [("nothing", *_chance(model, tokenizer, line, asked, ()))], 0
    for word in line.split()[:-1]:
        start = line.index(word, start)
        hidden = range(start, start + len(word))
        rows.append((escape(word), *_chance(model, tokenizer, line, asked, hidden)))
    still = (
        "<p>This figure is live where JavaScript runs: there you type a line and hide its words. "
        f"Recorded for <em>{escape(line)}</em>: the chance of “{escape(asked)}”.</p>"
    ) + table(("hidden", "chance"), rows)
    return LiveFigure("hidden_words", settings, still, [describe(model, tokenizer)])


def _chance(model: GPT, tok: CharTokenizer, line: str, asked: str, hidden: Collection) -> list[str]:
    """The chance of a character after a line, in the cell of a table."""
    p = without(model, torch.tensor([tok.encode(line)]), hidden)
    return [f"{100 * p[tok.encode(asked)[0]].item():.1f} %"]


@torch.no_grad()
def without(model: GPT, ids: Tensor, hidden: Collection[int]) -> Tensor:
    """What follows ids (1, T), if the last block hides some places from the last one: (V,)."""
    T = ids.shape[1]
    causal = torch.ones(T, T, dtype=torch.bool).tril()
    mask = causal.clone()
    mask[-1, list(hidden)] = False
    x = model.wte(ids) + model.wpe(torch.arange(T))  # (1, T, C)
    for block in model.h[:-1]:
        x = block(x, causal)
    return model.lm_head(model.ln_f(model.h[-1](x, mask)))[0, -1].softmax(dim=0)
