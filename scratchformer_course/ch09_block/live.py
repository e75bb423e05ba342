"""A block that reads a sentence, with weights set by hand and switches; and the fold of a bend."""

import torch
from torch import Tensor

from scratchformer.blocks import TransformerBlock
from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.kit.figure.still import table

WORDS = "the old king sleeps".split()
CHANNELS = "article adjective noun verb royal aged asleep hush".split()
FEATURES = {
    "the": "article",
    "old": "adjective aged",
    "king": "noun royal",
    "sleeps": "verb asleep",
}
DIGITS = 6  # of the numbers that are handed on


def sentence() -> Tensor:
    """The vectors of *the old king sleeps*, (4, 8): those of chapter 06, and a channel for hush."""
    return torch.tensor([[float(c in FEATURES[w].split()) for c in CHANNELS] for w in WORDS])


def reading_block() -> TransformerBlock:
    """The block of one head and one hidden number that `set_by_hand` fills."""
    return set_by_hand(TransformerBlock(len(CHANNELS), n_heads=1, d_ff=1))


@torch.no_grad()
def set_by_hand(block):
    """Fill a block with one head: a word reads its noun or verb, and who is royal and asleep, hush.

    The head is chapter 06's: without norms *old* gives *king* 0.85 of its attention. The first
    hidden number of the feed-forward network is 8 · royal + 8 · asleep − 10, a quarter of which,
    bent, goes to hush. All other hidden numbers are 0.
    """
    article, adjective, noun, verb, *meaning, hush = range(len(CHANNELS))
    royal, _, asleep = meaning
    for p in block.parameters():
        p.zero_()
    for norm in (block.ln_1, block.ln_2):
        norm.weight.fill_(0.5)
        norm.bias.fill_(0.3)
    q, k, v = block.attn.c_attn.weight.chunk(3)  # (C, C) each, a row for each number made
    q[0, [article, adjective, verb]] = 8.0  # these look for a noun
    q[1, noun] = 8.0  # and a noun for its verb
    k[0, noun] = k[1, verb] = 1.0
    for i, channel in enumerate(meaning):
        v[i, channel] = block.attn.c_proj.weight[channel, i] = 1.0
    block.mlp.c_fc.weight[0, [royal, asleep]] = 8.0
    block.mlp.c_fc.bias[0] = -10.0
    block.mlp.c_proj.weight[hush, 0] = 0.25
    return block


def old_king() -> LiveFigure:
    """*the old king sleeps*: the block that opens chapter 09, whose parts can be left out.

    It reports the channel hush, its first hidden number can be edited, and up to 12 blocks with
    the same weights can be stacked.
    """
    block, x = reading_block(), sentence()
    settings = {
        "words": WORDS,
        "channels": CHANNELS,
        "x": _numbers(x),
        "weights": {name: _numbers(tensor) for name, tensor in block.state_dict().items()},
        "counts": [1, 2, 12],
        "told": "hush",
        "rule": ["noun", "royal", "asleep"],
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
