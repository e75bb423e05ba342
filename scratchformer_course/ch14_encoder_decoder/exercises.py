"""The exercises of chapter 14, the encoder-decoder."""

import math

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from scratchformer.attention import MultiHeadAttention
from scratchformer.blocks import FeedForward
from scratchformer_course.kit.checks.cases import drawn
from scratchformer_course.kit.checks.engine import exercise, mistake
from scratchformer_course.kit.checks.question import number

IGNORED = -100  # the label that `F.cross_entropy` ignores


def _padded(rows, value):
    """Lists of ids as one (B, T) tensor, padded after the ids."""
    return pad_sequence([torch.tensor(row) for row in rows], True, value)


def _in_a_row(ids):
    """Ids of one digit, written one after the other."""
    return int("".join(str(int(i)) for i in ids))


def _shift(inputs=lambda row, begin, end: [begin, *row], labels=lambda row, end: [*row, end]):
    """An answer that makes a row of inputs and one of labels so."""
    return lambda rows, begin_id, end_id, pad_id: (
        _padded([inputs(row, begin_id, end_id) for row in rows], pad_id),
        _padded([labels(row, end_id) for row in rows], IGNORED),
    )


right_shift_right = _shift()


def shift_by_lists(rows, begin_id, end_id, pad_id):
    T = max(map(len, rows)) + 1
    framed = [[begin_id, *row, end_id] for row in rows]
    inputs = [(row[:-1] + [pad_id] * T)[:T] for row in framed]
    labels = [(row[1:] + [IGNORED] * T)[:T] for row in framed]
    return torch.tensor(inputs), torch.tensor(labels)


def _ragged(draw):
    rows = [draw.choices(range(9), k=draw.randint(0, 5)) for _ in range(draw.randint(1, 4))]
    return rows, *draw.sample(range(12), 3)


shift_right = exercise(
    "14.1",
    "shift_right(rows, begin_id, end_id, pad_id) -> (inputs, labels), both (B, T). `rows` are "
    "lists of ids. Labels are padded with -100, inputs with pad_id.",
    cases=(
        ([[7, 8, 9], [5]], 1, 2, 0),
        ([[0], [4, 4]], 3, 6, 5),  # a token has the number that pads elsewhere
        ([[8, 3, 11, 40], [7], [9, 9, 9, 9], [12, 30]], 101, 102, 99),
        ([[6, 5, 4]], 1, 2, 0),
        ([[], [3]], 1, 2, 0),
        ([[7, 6], [5]], 0, 1, 0),  # the begin token pads, as in T5
        ([[4], [5, 7, 6]], 1, 2, 2),  # the end token pads, as in GPT-2
    ),
    more=drawn(12, _ragged),
    right=[right_shift_right, shift_by_lists],
    hints=[
        "Which token comes before the inputs, and which after the labels?",
        "Pad `[begin_id, *row]` with `pad_id`, and `[*row, ...]` with -100.",
    ],
    question=number(
        "`rows` are [7, 8, 9] and [5]. `begin_id` is 1, `end_id` is 2, and `pad_id` is 3. What is "
        "the second row of the inputs? Write its ids one after the other: [7, 8] would be 78.",
        lambda f: _in_a_row(f([[7, 8, 9], [5]], 1, 2, 3)[0][1]),
        digits=0,
    ),
    mistakes=[
        mistake(
            "pads the labels with pad_id",
            "The labels are padded with `pad_id`: padding is trained on",
            lambda rows, begin_id, end_id, pad_id: (
                right_shift_right(rows, begin_id, end_id, pad_id)[0],
                _padded([[*row, end_id] for row in rows], pad_id),
            ),
        ),
        mistake(
            "shifts nothing",
            "Nothing is shifted: the decoder is shown each token it has to predict",
            _shift(inputs=lambda row, _, end: [*row, end]),
        ),
        mistake(
            "pads the inputs with -100",
            "Inputs are padded with `pad_id`",
            lambda *case: right_shift_right(*case[:3], IGNORED),
        ),
        mistake(
            "has no end token",
            "No label is `end_id`: the decoder would never learn to stop",
            _shift(lambda row, begin, end: [begin, *row[:-1]], lambda row, end: row),
        ),
        mistake(
            "has no begin token",
            "The inputs start with the first token, not `begin_id`: nothing predicts that token",
            _shift(lambda row, begin, end: row, lambda row, end: [*row[1:], end]),
        ),
    ],
)


def _random(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


class RightCrossAttention(nn.Module):
    """Cross-attention in steps, so that a mistake can change one of them."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.query = nn.Linear(d_model, d_model)
        self.key_value = nn.Linear(d_model, 2 * d_model)
        self.c_proj = nn.Linear(d_model, d_model)

    def project(self, x, memory):
        return self.query(x), *self.key_value(memory).chunk(2, dim=-1)

    def split(self, t):
        return t.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

    def scale(self, D):
        return D**-0.5

    def hide(self, scores, mask):
        return scores.masked_fill(~mask.unsqueeze(1), -math.inf)

    def merge(self, heads):
        return heads.transpose(1, 2).flatten(2)

    def forward(self, x, memory, mask):
        q, k, v = map(self.split, self.project(x, memory))
        scores = self.hide(q @ k.mT * self.scale(q.shape[-1]), mask)
        return self.c_proj(self.merge(scores.softmax(dim=-1) @ v))


_SEES = torch.tensor([[[1, 1, 1, 1]], [[1, 1, 0, 0]]], dtype=torch.bool)  # (B, 1, S)
_FIVE = torch.tensor([[[0, 1, 1, 1, 1]], [[1, 0, 0, 0, 0]], [[1, 1, 1, 0, 0]]], dtype=torch.bool)


class FusedAttention(RightCrossAttention):
    def forward(self, x, memory, mask):
        q, k, v = map(self.split, self.project(x, memory))
        heads = F.scaled_dot_product_attention(q, k, v, attn_mask=mask.unsqueeze(1))
        return self.c_proj(self.merge(heads))


def _with(right, **methods):
    """The right class with other methods."""
    return type("Answer", (right,), methods)


def _crosses(CrossAttention):
    """What one vector takes from two vectors of a memory, and not from the third."""
    model = CrossAttention(d_model=1, n_heads=1)
    weights = {"query": [[0]], "key_value": [[3], [2]], "c_proj": [[10]]}
    for name, weight in weights.items():
        part = getattr(model, name)
        part.weight.data[:] = torch.tensor(weight)
        part.bias.data.zero_()
    x, memory = torch.tensor([[[5.0]]]), torch.tensor([[[1.0], [3.0], [8.0]]])
    return model(x, memory, torch.tensor([[[True, True, False]]])).item()


CrossAttention = exercise(
    "14.2",
    "CrossAttention(d_model, n_heads): x (B, T, C), memory (B, S, C), mask (B, 1, S) -> (B, T, "
    "C). Its parts are called `query`, `key_value` and `c_proj`.",
    cases=(
        ({"d_model": 8, "n_heads": 2}, 2 * _random(0, 2, 4, 8), 2 * _random(1, 2, 4, 8), _SEES),
        ({"d_model": 6, "n_heads": 3}, _random(2, 2, 3, 6), _random(3, 2, 4, 6), _SEES),
        # scores far below 0 and far above: a mask of −30 shows, and exp overflows
        ({"d_model": 4, "n_heads": 1}, 20 * _random(4, 3, 2, 4), 20 * _random(5, 3, 5, 4), _FIVE),
        ({"d_model": 12, "n_heads": 4}, _random(6, 1, 1, 12), _random(7, 1, 5, 12), _FIVE[:1]),
    ),
    praise="`CrossAttention` is right: x asks, and the memory answers.",
    right=[RightCrossAttention, FusedAttention],
    hints=[
        "Who asks, and who answers? One of the two inputs makes the queries, the other one makes "
        "keys and values.",
        "`k, v = self.key_value(memory).chunk(2, dim=-1)`, all three through `split_heads`, and "
        "the mask needs an axis for the heads: `mask.unsqueeze(...)`.",
    ],
    question=number(
        "Width 1, one head, and no biases. The query's weight is 0, the key's is 3, the value's is "
        "2, and the weight of `c_proj` is 10. `x` is the one vector [5], the memory has the three "
        "vectors [1], [3] and [8], and the mask lets x see the first two of them. What comes out?",
        _crosses,
        digits=0,
    ),
    mistakes=[
        mistake(
            "asks and answers itself",
            "Keys and values come from x: this is self-attention. They come from the memory",
            _with(
                RightCrossAttention,
                project=lambda self, x, memory: RightCrossAttention.project(self, x, x),
            ),
        ),
        mistake(
            "swaps keys and values",
            "Keys and values are swapped: `key_value` holds the keys first",
            _with(
                RightCrossAttention,
                project=lambda self, x, memory: (
                    self.query(x),
                    *self.key_value(memory).chunk(2, dim=-1)[::-1],
                ),
            ),
        ),
        mistake(
            "ignores the mask",
            "The mask has no effect: padding of the source is looked at",
            _with(RightCrossAttention, hide=lambda self, scores, mask: scores),
        ),
        mistake(
            "takes True for hidden",
            "The mask is the wrong way round: True = may attend",
            _with(
                RightCrossAttention,
                hide=lambda self, scores, mask: RightCrossAttention.hide(self, scores, ~mask),
            ),
        ),
        mistake(
            "does not scale",
            "Scores are not divided by √D",
            _with(RightCrossAttention, scale=lambda self, D: 1),
        ),
    ],
)


class RightDecoderBlock(nn.Module):
    """The paper's decoder block; a mistake changes one of the methods."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.attn = MultiHeadAttention(d_model, n_heads)
        self.ln_1 = nn.LayerNorm(d_model)
        self.cross_attn = RightCrossAttention(d_model, n_heads)
        self.ln_cross = nn.LayerNorm(d_model)
        self.mlp = FeedForward(d_model, activation="relu")
        self.ln_2 = nn.LayerNorm(d_model)

    def forward(self, x, mask, memory, memory_mask):
        x = self.ln_1(x + self.attn(x, mask=mask))
        x = self.look_across(x, memory, memory_mask)
        return self.ln_2(x + self.mlp(x))

    def look_across(self, x, memory, mask):
        return self.ln_cross(x + self.cross_attn(x, memory, mask))


_PAST = torch.ones(2, 4, 4, dtype=torch.bool).tril()
_LENGTHS = torch.tensor([5, 2, 4]).view(3, 1, 1)
_PADDED = torch.ones(3, 5, 5, dtype=torch.bool).tril() & (torch.arange(5) < _LENGTHS)


class FunctionalNorm(RightDecoderBlock):
    def forward(self, x, mask, memory, memory_mask):
        x = x + self.attn(x, mask=mask)
        x = F.layer_norm(x, x.shape[-1:], self.ln_1.weight, self.ln_1.bias)
        x = self.ln_cross(self.cross_attn(x, memory, memory_mask) + x)
        return self.ln_2(self.mlp(x) + x)


class NormalisesBeforeEachSublayer(RightDecoderBlock):
    def forward(self, x, mask, memory, memory_mask):
        x = x + self.attn(self.ln_1(x), mask=mask)
        x = x + self.cross_attn(self.ln_cross(x), memory, memory_mask)
        return x + self.mlp(self.ln_2(x))


def _moved_outputs(DecoderBlock):
    """How many of four outputs move with a position of x, one of the memory, and one of padding."""
    block, (x, memory) = DecoderBlock(d_model=4, n_heads=1), _random(12, 2, 1, 4, 4)
    mask, sees = _PAST[:1], torch.tensor([[[True, True, True, False]]])
    found = []
    for is_memory, t in ((False, 1), (True, 1), (True, 3)):
        changed = [x.clone(), memory.clone()]
        changed[is_memory][:, t] = _random(13, 4)
        moved = block(changed[0], mask, changed[1], sees) - block(x, mask, memory, sees)
        found.append((moved.abs() > 1e-6).any(dim=2).sum())
    return _in_a_row(found)


DecoderBlock = exercise(
    "14.3",
    "DecoderBlock(d_model, n_heads): x, mask, memory, memory_mask -> (B, T, C), post-norm. Its "
    "parts are called `attn`, `ln_1`, `cross_attn`, `ln_cross`, `mlp` and `ln_2`.",
    cases=(
        (
            {"d_model": 8, "n_heads": 2},
            *(2 * _random(4, 2, 4, 8), _PAST, 2 * _random(5, 2, 4, 8), _SEES),
        ),
        (
            {"d_model": 6, "n_heads": 3},
            *(_random(6, 2, 3, 6), _PAST[:, :3, :3], _random(7, 2, 4, 6), _SEES),
        ),
        (
            {"d_model": 12, "n_heads": 4},
            *(_random(8, 3, 5, 12), _PADDED, _random(9, 3, 5, 12), _FIVE),
        ),
    ),
    praise="`DecoderBlock` is right: three sublayers, each added and then normalised.",
    right=[RightDecoderBlock, FunctionalNorm],
    hints=[
        "Three sublayers: what does each of them read, and where does its norm go?",
        "The first line is `x = self.ln_1(x + self.attn(x, mask=mask))`. The second has the same "
        "form, with `self.cross_attn(x, ..., ...)`.",
    ],
    question=number(
        "x and the memory have four positions each, and the memory's last one is padding. The "
        "decoder must not see its future. How many of the four outputs move if you change the "
        "second vector of x alone, how many for the memory's second vector, and how many for its "
        "padding? Write the three numbers one after the other, such as 123.",
        _moved_outputs,
        digits=0,
    ),
    mistakes=[
        mistake(
            "normalises before each sublayer",
            "This is pre-norm: here each norm comes after the addition, on x + f(x)",
            NormalisesBeforeEachSublayer,
        ),
        mistake(
            "looks across at itself",
            "Cross-attention gets x for its memory: give it `memory`",
            _with(
                RightDecoderBlock,
                look_across=lambda self, x, memory, mask: RightDecoderBlock.look_across(
                    self, x, x, mask
                ),
            ),
        ),
        mistake(
            "has no residual around the cross-attention",
            "A sublayer replaces x instead of adding to it",
            _with(
                RightDecoderBlock,
                look_across=lambda self, *across: self.ln_cross(self.cross_attn(*across)),
            ),
        ),
        mistake(
            "ignores the mask",
            "The decoder sees its future: give `mask` to `attn`",
            _with(
                RightDecoderBlock,
                forward=lambda self, x, mask, *rest: RightDecoderBlock.forward(
                    self, x, None, *rest
                ),
            ),
        ),
        mistake(
            "looks at the padding of the source",
            "Cross-attention looks at padding: give it `memory_mask`",
            _with(
                RightDecoderBlock,
                look_across=lambda self, x, memory, mask: RightDecoderBlock.look_across(
                    self, x, memory, mask | True
                ),
            ),
        ),
    ],
)
