"""The exercises of chapter 14, the encoder-decoder."""

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

from scratchformer.attention import MultiHeadAttention, scaled_dot_product_attention
from scratchformer.blocks import FeedForward
from scratchformer_course.kit.checks import exercise, number
from scratchformer_course.kit.checks.cases import drawn


def _in_a_row(ids):
    """Ids of one digit, written one after the other."""
    return int("".join(str(int(i)) for i in ids))


def right_shift_right(rows, begin_id, end_id, pad_id):
    inputs = [torch.tensor([begin_id, *row]) for row in rows]
    labels = [torch.tensor([*row, end_id]) for row in rows]
    return (
        pad_sequence(inputs, batch_first=True, padding_value=pad_id),
        pad_sequence(labels, batch_first=True, padding_value=-100),
    )


def _ragged(draw):
    rows = [draw.choices(range(9), k=draw.size(0, 5, 30)) for _ in range(draw.size(1, 4, 12))]
    return rows, *draw.sample(range(12), 3)


shift_right = exercise(
    "14.1",
    "shift_right(rows, begin_id, end_id, pad_id) -> (inputs, labels), both (B, T). `rows` are "
    "lists of ids. Labels are padded with -100, inputs with pad_id.",
    cases=(
        ([[7, 8, 9], [5]], 1, 2, 0),
        ([[0], [4, 4]], 3, 6, 5),  # a token has the number that pads elsewhere
        ([[7, 6], [5]], 0, 1, 0),  # the begin token pads, as in T5
        ([[4], [5, 7, 6]], 1, 2, 2),  # the end token pads, as in GPT-2
    ),
    more=drawn(12, _ragged),
    right=[right_shift_right],
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
    mistakes={
        "padding_value=-100 -> padding_value=pad_id": "The labels are padded with `pad_id`: "
        "padding is trained on",
        "[begin_id, *row] -> [*row, end_id]": "Nothing is shifted: the decoder is shown each "
        "token it has to predict",
        "[begin_id, *row] -> [begin_id, *row[:-1]]\n[*row, end_id] -> row": "No label is "
        "`end_id`: the decoder would never learn to stop",
        "[begin_id, *row] -> row\n[*row, end_id] -> [*row[1:], end_id]": "The inputs start "
        "with the first token, not `begin_id`: nothing predicts that token",
    },
)


def split_heads(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)  # (B, H, T, D)


class RightCrossAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.query = nn.Linear(d_model, d_model)
        self.key_value = nn.Linear(d_model, 2 * d_model)
        self.c_proj = nn.Linear(d_model, d_model)

    def forward(self, x, memory, mask):
        k, v = self.key_value(memory).chunk(2, dim=-1)  # each (B, S, C)
        q, k, v = (split_heads(t, self.n_heads) for t in (self.query(x), k, v))
        heads, _ = scaled_dot_product_attention(q, k, v, mask[:, None])
        return self.c_proj(heads.transpose(1, 2).flatten(2))  # (B, T, C)


def _random(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


X, MEMORY = 2 * _random(4, 2, 2, 4, 8)
SEES = torch.tensor([[[0, 1, 1, 1]], [[1, 1, 0, 0]]], dtype=torch.bool)  # (B, 1, S)
PAST = torch.ones(2, 4, 4, dtype=torch.bool).tril()
PADDED = PAST & (torch.arange(4) != torch.tensor([[[1]], [[4]]]))  # the first text has a gap at 1


def _crosses(CrossAttention):
    """What one vector takes from two vectors of a memory, and not from the third."""
    model = CrossAttention(d_model=1, n_heads=1)
    weights = {"query": [[0]], "key_value": [[3], [2]], "c_proj": [[10]]}
    for name, p in model.named_parameters():
        part, _, kind = name.partition(".")
        p.data[:] = torch.tensor(weights[part]) if kind == "weight" else 0
    x, memory = torch.tensor([[[5.0]]]), torch.tensor([[[1.0], [3.0], [8.0]]])
    return model(x, memory, torch.tensor([[[True, True, False]]])).item()


CrossAttention = exercise(
    "14.2",
    "CrossAttention(d_model, n_heads): x (B, T, C), memory (B, S, C), mask (B, 1, S) -> (B, T, "
    "C). Its parts are called `query`, `key_value` and `c_proj`.",
    cases=(
        ({"d_model": 8, "n_heads": 2}, X, MEMORY, SEES),
        # scores far below 0 and far above: a mask of −30 shows, and exp overflows
        ({"d_model": 8, "n_heads": 4}, 20 * X[:, :3], 20 * MEMORY, SEES),
        ({"d_model": 8, "n_heads": 1}, X[:1], _random(9, 1, 20, 8), torch.ones(1, 1, 20).bool()),
    ),
    praise="`CrossAttention` is right: x asks, and the memory answers.",
    right=[RightCrossAttention],
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
    mistakes={
        "self.key_value(memory) -> self.key_value(x)": "Keys and values come from x: this is "
        "self-attention. They come from the memory",
        "k, v = self.key_value -> v, k = self.key_value": "Keys and values are swapped: "
        "`key_value` holds the keys first",
        ", mask[:, None] -> ": "The mask has no effect: padding of the source is looked at",
        ", mask[:, None] -> , ~mask[:, None]": "The mask is the wrong way round: True = may attend",
        "(q, k, -> (q * q.shape[-1] ** 0.5, k,": "Scores are not divided by √D",
    },
)


class RightDecoderBlock(nn.Module):
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
        x = self.ln_cross(x + self.cross_attn(x, memory, memory_mask))
        return self.ln_2(x + self.mlp(x))


def _moved_outputs(DecoderBlock):
    """How many of four outputs move with a position of x, one of the memory, and one of padding."""
    block, (x, memory) = DecoderBlock(d_model=4, n_heads=1), _random(12, 2, 1, 4, 4)
    mask, sees = PAST[:1], torch.tensor([[[True, True, True, False]]])
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
        ({"d_model": 8, "n_heads": 2}, X, PAST, MEMORY, SEES),
        ({"d_model": 8, "n_heads": 4}, X[:, :3], PAST[:, :3, :3], MEMORY, SEES),
        ({"d_model": 8, "n_heads": 1}, X, PADDED | torch.eye(4).bool(), MEMORY, SEES),
    ),
    praise="`DecoderBlock` is right: three sublayers, each added and then normalised.",
    right=[RightDecoderBlock],
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
    mistakes={
        "self.ln_1(x + self.attn(x, mask=mask)) -> x + self.attn(self.ln_1(x), mask=mask)\n"
        "self.ln_cross(x + self.cross_attn(x, memory, memory_mask)) -> "
        "x + self.cross_attn(self.ln_cross(x), memory, memory_mask)\n"
        "self.ln_2(x + self.mlp(x)) -> x + self.mlp(self.ln_2(x))": "This is pre-norm: here "
        "each norm comes after the addition, on x + f(x)",
        "cross_attn(x, memory -> cross_attn(x, x": "Cross-attention gets x for its memory: "
        "give it `memory`",
        "x + self.cross_attn -> self.cross_attn": "A sublayer replaces x instead of adding to it",
        ", mask=mask -> ": "The decoder sees its future: give `mask` to `attn`",
        "memory_mask)) -> memory_mask | True))": "Cross-attention looks at padding: give it "
        "`memory_mask`",
    },
)
