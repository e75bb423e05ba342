"""A block of weights set by hand, with switches; the fold of a bend; a hidden number to set."""

from html import escape
from typing import cast

import torch
from torch import Tensor

from scratchformer.attention import causal_mask
from scratchformer.blocks import TransformerBlock
from scratchformer.models import GPT
from scratchformer.tokenizers import CharTokenizer
from scratchformer_course.ch09_block.by_hand import CHANNELS, WORDS, sentence, set_by_hand
from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.kit.figure.still import still_chances, table
from scratchformer_course.page_model import describe

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
    still = _stacked(block, x) if whole else _still(block, x)
    return LiveFigure("block_switches", settings, still)


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
        "<p>Where JavaScript runs, you drag the points at which a sum is 0 and 1. Here is what the "
        "four people get.</p>"
    )
    return LiveFigure("fold", settings, still + table(head, rows))


def hidden_number(
    model: GPT, tokenizer: CharTokenizer, line: str, number: int, place: int, value: float
) -> LiveFigure:
    """A hidden number of the last network on a line, which can be typed, and set at any character.

    It begins at the character `place`; without JavaScript, it tells what the `value` does there.
    """
    sums, stream = inside(model, torch.tensor([tokenizer.encode(line)]))
    p = after(model, sums[place], stream[place], number, None)
    other = after(model, sums[place], stream[place], number, value)
    likely = torch.maximum(p, other).topk(4).indices.tolist()
    chances = [(tokenizer.decode([i]), p[i].item(), other[i].item()) for i in likely]
    still = (
        "<p>Where JavaScript runs, you type the line and set the number. "
        f"After <i>{escape(line[: place + 1])}</i>:</p>"
    ) + still_chances(("as it is", f"number {number} at {value:g}"), chances)
    settings = {"line": line, "number": number, "place": place}
    return LiveFigure("hidden_number", settings, still, [describe(model, tokenizer)])


@torch.no_grad()
def inside(model: GPT, ids: Tensor) -> tuple[Tensor, Tensor]:
    """The last network's sums before they are bent, (T, 4 C), and the stream after it, (T, C)."""
    T, last = ids.shape[1], cast(TransformerBlock, model.h[-1])
    x = model.wte(ids) + model.wpe(torch.arange(T))  # (1, T, C)
    for block in model.h[:-1]:
        x = block(x, causal_mask(T))
    x = x + last.attn(last.ln_1(x), mask=causal_mask(T))
    read = last.ln_2(x)
    return last.mlp.c_fc(read)[0], (x + last.mlp(read))[0]


@torch.no_grad()
def raised(model: GPT, number: int) -> Tensor:
    """What this hidden number adds to the logits if it is 1, up to the size of the stream: (V,)."""
    column = cast(TransformerBlock, model.h[-1]).mlp.c_proj.weight[:, number]
    return model.lm_head(model.ln_f.weight * (column - column.mean()))


@torch.no_grad()
def after(model: GPT, sums: Tensor, x: Tensor, number: int, value: float | None) -> Tensor:
    """What comes next, (V,), if this hidden number is set to a value at a place, or left alone.

    `sums` (4 C,) and `x` (C,) are what `inside` gives for the place.
    """
    if value is not None:
        mlp = cast(TransformerBlock, model.h[-1]).mlp
        x = x + (value - mlp.activation(sums[number])) * mlp.c_proj.weight[:, number]
    return model.lm_head(model.ln_f(x)).softmax(dim=0)


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
        "<p>Where JavaScript runs, each part of the block can be switched off. Here is the stream "
        "with all parts, in those channels that the block changes.</p>"
    ) + table(["", *(CHANNELS[c] for c in columns)], rows)


@torch.no_grad()
def _stacked(block: TransformerBlock, x: Tensor) -> str:
    """How much hush each word has after some blocks: without JavaScript."""
    rows, y = [], x[None]
    for n in range(1, 13):
        y = block(y)
        if n in (1, 2, 12):
            rows.append((n, *map(_digits, y[0, :, CHANNELS.index("hush")].tolist())))
    still = "<p>Where JavaScript runs, blocks are stacked and the rule is changed.</p>"
    return still + table(("blocks", *WORDS), rows)


def _digits(number: float) -> str:
    return f"{number:.2f}".replace("-0.00", "0.00").replace("-", "−")
