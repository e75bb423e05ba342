"""A block that reads a sentence, with weights set by hand and switches; and the fold of a bend."""

import torch
from torch import Tensor

from scratchformer.blocks import TransformerBlock
from scratchformer_course.ch09_block.by_hand import CHANNELS, WORDS, sentence, set_by_hand
from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.kit.figure.still import table

DIGITS = 6  # of the numbers that are handed on


def reading_block() -> TransformerBlock:
    """The block of one head and one hidden number that `set_by_hand` fills."""
    return set_by_hand(TransformerBlock(len(CHANNELS), n_heads=1, d_ff=1))


def old_king(whole: bool = False) -> LiveFigure:
    """*the old king sleeps*: the block that opens chapter 09, whose parts can be left out.

    It reports the channel hush. Only where `whole`, its first hidden number can be edited, and up
    to 12 blocks with the same weights can be stacked.
    """
    block, x = reading_block(), sentence()
    settings = {
        "words": WORDS,
        "channels": CHANNELS,
        "x": _numbers(x),
        "weights": {name: _numbers(tensor) for name, tensor in block.state_dict().items()},
        "counts": [1, 2, 12] if whole else [1],
        "told": "hush",
        "rule": [c for c in CHANNELS if c != "hush"] if whole else [],
    }
    return LiveFigure("block_switches", settings, _still(block, x))


PEOPLE = ("beggar, awake", "beggar, asleep", "king, awake", "king, asleep")


def fold(people: Tensor, due: Tensor, best: Tensor) -> LiveFigure:
    """Four people at (royal, asleep), what is due to each, and the sum that comes closest.

    `best` are the weights of royal and asleep and the bias of that sum, with which it begins.
    """
    weight, bias = best[:2].double(), best[2].double()
    zero = -bias * weight / weight.square().sum()  # the point of the line of zeros next to (0, 0)
    one = zero + weight / weight.square().sum()
    settings = {
        "people": [[who, *at] for who, at in zip(PEOPLE, people.tolist(), strict=True)],
        "due": due.tolist(),
        "zero": _numbers(zero),
        "one": _numbers(one),
    }
    sums = (people.double() @ weight + bias).tolist()
    bent = (people.sum(dim=1) - 1).relu().tolist()
    columns = zip(due.tolist(), sums, bent, strict=True)
    rows = [(who, *map(_digits, of)) for who, of in zip(PEOPLE, columns, strict=True)]
    head = ("", "due", "best sum", "royal + asleep − 1, after ReLU")
    still = (
        "<p>This figure is live where JavaScript runs: there you drag the points of a plane at "
        "which a sum is 0 and 1. Here is what the four people get.</p>"
    )
    return LiveFigure("fold", settings, still + table(head, rows))


def _numbers(tensor: Tensor) -> list:
    return tensor.detach().double().round(decimals=DIGITS).tolist()


@torch.no_grad()
def _still(block: TransformerBlock, x: Tensor) -> str:
    """The stream at three stations, those channels that a part changes: without JavaScript."""
    middle = x + block.attn(block.ln_1(x[None]))[0]
    end = middle + block.mlp(block.ln_2(middle))
    columns = [c for c in range(len(CHANNELS)) if (end - x)[:, c].abs().max() > 1e-3]
    rows = [
        (f"{word}, {station}", *(_digits(vector[c]) for c in columns))
        for station, stream in (("before", x), ("after attention", middle), ("after both", end))
        for word, vector in zip(WORDS, stream.tolist(), strict=True)
    ]
    return (
        "<p>This figure is live where JavaScript runs: there each part of the block can be "
        "switched off. Here is the stream with all parts, in those channels that the block "
        "changes.</p>"
    ) + table(["", *(CHANNELS[c] for c in columns)], rows)


def _digits(number: float) -> str:
    return f"{number:.2f}".replace("-0.00", "0.00").replace("-", "−")
