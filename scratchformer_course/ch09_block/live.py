"""A block that reads a sentence, with weights that were set by hand, and a switch for each part."""

from collections.abc import Sequence
from html import escape

import torch
from torch import Tensor

from scratchformer.blocks import TransformerBlock
from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.kit.figure.still import table

WORDS = "the old king sleeps".split()
CHANNELS = "article adjective noun verb royal asleep hush".split()
FEATURES = {"the": "article", "old": "adjective", "king": "noun royal", "sleeps": "verb asleep"}
DIGITS = 6  # of the numbers that are handed on


def sentence() -> Tensor:
    """The vectors of *the old king sleeps*, (4, 7): those of chapter 06, and a channel for hush."""
    return torch.tensor([[float(c in FEATURES[w].split()) for c in CHANNELS] for w in WORDS])


def reading_block() -> TransformerBlock:
    """A block of one head: each word reads its noun or verb, and who is royal and asleep, hush.

    Without norms the words give 0.85 of their attention as in chapter 06. The feed-forward network
    has one hidden number, 8 · royal + 8 · asleep − 10, and writes half of it, bent, to hush.
    """
    article, adjective, noun, verb, royal, asleep, hush = range(len(CHANNELS))
    C = len(CHANNELS)
    block = TransformerBlock(C, n_heads=1, d_ff=1)
    with torch.no_grad():
        for p in block.parameters():
            p.zero_()
        for norm in (block.ln_1, block.ln_2):
            norm.weight.fill_(0.5)
            norm.bias.fill_(0.25)
        q, k, v = block.attn.c_attn.weight.chunk(3)  # (C, C) each, a row for each number made
        q[0, [article, adjective, verb]] = 7.5  # these look for a noun
        q[1, noun] = 7.5  # and a noun for its verb
        k[0, noun] = k[1, verb] = 1.0
        v[0, royal] = v[1, asleep] = 1.0
        block.attn.c_proj.weight[royal, 0] = block.attn.c_proj.weight[asleep, 1] = 1.0
        block.mlp.c_fc.weight[0, [royal, asleep]] = 8.0
        block.mlp.c_fc.bias.fill_(-10.0)
        block.mlp.c_proj.weight[hush, 0] = 0.5
    return block


def block_switches(
    words: Sequence[str],
    channels: Sequence[str],
    x: Tensor,
    block: TransformerBlock,
    channel: str,
    counts: Sequence[int] = (1, 2, 12),
) -> LiveFigure:
    """The stream of `words`, x (T, C), through `block` with one head, whose parts can be left out.

    `channels` names the C numbers, and `channel` is the one that the figure reports at the end.
    `counts` says how many blocks can be stacked, all with the weights of `block`. Raises ValueError
    for a block of several heads, and for sizes that do not fit each other.
    """
    if block.attn.n_heads != 1:
        raise ValueError(f"the block has {block.attn.n_heads} heads, expected 1")
    if x.shape != (len(words), len(channels)) or x.shape[1] != block.attn.d_model:
        sizes = f"{len(words)} words, {len(channels)} channels, d_model={block.attn.d_model}"
        raise ValueError(f"x is {tuple(x.shape)}, expected what fits {sizes}")
    if channel not in channels:
        raise ValueError(f"channel={channel!r}, expected one of {', '.join(channels)}")
    weights = {name: _numbers(tensor) for name, tensor in block.state_dict().items()}
    settings = {
        "words": list(words),
        "channels": list(channels),
        "x": _numbers(x),
        "weights": weights,
        "counts": list(counts),
        "told": channel,
    }
    return LiveFigure("block_switches", settings, _still(words, channels, x, block))


def _numbers(tensor: Tensor) -> list:
    return tensor.detach().double().round(decimals=DIGITS).tolist()


@torch.no_grad()
def _still(
    words: Sequence[str], channels: Sequence[str], x: Tensor, block: TransformerBlock
) -> str:
    """The stream at three stations, those channels that a part changes: without JavaScript."""
    middle = x + block.attn(block.ln_1(x[None]))[0]
    end = middle + block.mlp(block.ln_2(middle))
    columns = [c for c in range(len(channels)) if (end - x)[:, c].abs().max() > 1e-3]
    rows = [
        (f"{escape(word)}, {station}", *(_digits(vector[c]) for c in columns))
        for station, stream in (("before", x), ("after attention", middle), ("after both", end))
        for word, vector in zip(words, stream.tolist(), strict=True)
    ]
    return (
        "<p>This figure is live where JavaScript runs: there each part of the block can be "
        "switched off. Here is the stream with all parts, in those channels that the block "
        "changes.</p>"
    ) + table(["", *(escape(channels[c]) for c in columns)], rows, '"')


def _digits(number: float) -> str:
    return f"{number:.2f}".replace("-0.00", "0.00").replace("-", "−")
