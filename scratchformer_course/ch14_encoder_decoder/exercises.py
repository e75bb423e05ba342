"""The exercises of chapter 14, the encoder-decoder."""

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

from scratchformer.attention import scaled_dot_product_attention
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
        "A row of the inputs begins with `begin_id`, and a row of the labels ends with another id. "
        "`pad_sequence(..., padding_value=...)` pads each of the two with its own number.",
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


def right_spoken_at(weights, pieces):
    words = []  # the rows of each word's tokens
    for row, piece in zip(weights, pieces, strict=True):
        if piece.startswith(" ") or not words:
            words.append([])
        words[-1].append(row)
    means = [torch.stack(rows).mean(dim=0) for rows in words]
    return [(int(row.argmax()) + 0.5) * 0.02 for row in means]


# two rows of one word, each highest at another step
DASHWOOD = torch.tensor([[0.5, 0.4, 0.0, 0.1], [0.0, 0.4, 0.1, 0.5]]), [" Dash", "wood"]
PIECES = " Mr.| John| Dash|wood| had| some|wh|at".split("|")


def _map(seed, tokens, steps):
    return (3 * _random(seed, tokens, steps)).softmax(dim=1)


def _read(draw):
    """A map of one head, and the tokens that its rows say."""
    pieces = draw.choices(PIECES, k=draw.size(1, 9, 40))
    return _map(draw.randint(0, 9999), len(pieces), draw.size(3, 40, 350)), pieces


def _milliseconds(f):
    return 1000 * f(*DASHWOOD)[0]


spoken_at = exercise(
    "14.3",
    "spoken_at(weights: (T, S), pieces: T strings) -> a list with one time for each word, in "
    "seconds: the middle of the 20 ms that the mean row of its tokens reads most. A piece that "
    "begins with a space begins a word, and so does the first.",
    cases=(
        (_map(1, 8, 40), PIECES),
        (_map(2, 3, 12), ["John", " Dash", "wood"]),
        DASHWOOD,
    ),
    more=drawn(12, _read, ties=False),
    right=[right_spoken_at],
    hints=[
        "Which rows belong to the word *Dashwood*, and how do they become one row?",
        "Collect the rows of each word in a list of lists, and begin a new one at a space. "
        "`torch.stack(rows).mean(dim=0)` is the word's row, and its `argmax()` is a step, not yet "
        "a time: a step lasts ...",
    ],
    question=number(
        "The word *Dashwood* has two tokens, whose rows are [0.5, 0.4, 0, 0.1] and [0, 0.4, 0.1, "
        "0.5]. When is it spoken, in milliseconds?",
        _milliseconds,
        digits=0,
    ),
    mistakes={
        "torch.stack(rows).mean(dim=0) -> rows[0]": "Only the first token of a word counts: take "
        "the mean of the rows of all its tokens",
        "torch.stack(rows).mean(dim=0) -> rows[-1]": "Only the last token of a word counts: take "
        "the mean of the rows of all its tokens",
        "+ 0.5) * 0.02 -> + 0.5) * 0.01": "A step is taken for 10 ms, as in the spectrogram: the "
        "second convolution takes every other one",
        "(int(row.argmax()) + 0.5) -> int(row.argmax())": "This is the beginning of the 20 ms: "
        "return their middle",
        'piece.startswith(" ") or not words -> True': "Each token gets a time: *Dashwood* is one "
        "word of two tokens",
    },
)
