"""The exercises of chapter 7, several heads."""

import math

import torch
from torch import nn

from scratchformer.attention import causal_mask, scaled_dot_product_attention
from scratchformer.positions import sinusoidal
from scratchformer_course.kit.checks.cases import drawn, normal
from scratchformer_course.kit.checks.engine import exercise
from scratchformer_course.kit.checks.mistakes import edited, edits
from scratchformer_course.kit.checks.question import number
from scratchformer_course.kit.checks.verdict import expect


def right_turn_back(b):
    c, s = math.cos(b), math.sin(b)
    return torch.tensor([[c, s], [-s, c]])  # a column for each formula


turn_back = exercise(
    "7.1",
    "turn_back(b) -> (2, 2): [sin a, cos a] @ turn_back(b) is [sin(a − b), cos(a − b)] for every a",
    cases=(1.0, 0.3, 10_000**-0.5, 0.0),
    more=drawn(6, lambda draw: (draw.uniform(-9, 9),)),
    right=[right_turn_back],
    hints=[
        "A row times a matrix: which two numbers of the matrix make the sine, the first number of "
        "the result?",
        "The first column holds cos b and −sin b, since sin a cos b − cos a sin b is the sum of "
        "sin a times its upper and cos a times its lower number. Read the second column off the "
        "other formula.",
    ],
    question=number(
        "A step b has sin b = 0.6 and cos b = 0.8. What is the first number of `[1, 2] @ "
        "turn_back(b)`?",
        lambda f: (torch.tensor([1.0, 2.0]) @ f(math.asin(0.6)))[0],
        digits=1,
    ),
    mistakes={
        "[c, s], [-s, c] -> [c, -s], [s, c]": "A sine has the wrong sign: the first column has "
        "to give sin a cos b − cos a sin b, and the second one has a plus",
        "[c, s], [-s, c] -> [s, c], [c, -s]": "The columns have changed places: the sine comes "
        "first, as in the row",
        "[c, s], [-s, c] -> [-s, c], [c, s]": "The rows have changed places: the upper row "
        "belongs to sin a",
    },
)


def right_previous_word(d_model):
    steps = (10_000 ** (-i / d_model) for i in range(0, d_model, 2))
    turn = torch.block_diag(*[right_turn_back(b) for b in steps])  # (C, C)
    return 30 * turn, torch.eye(d_model)  # 30: a sharp softmax


def _smallest_weight(call, d_model, count):
    """The smallest weight that a place gives to the one before it."""
    W_q, W_k = (W.float() for W in call(d_model).like((torch.eye(2), torch.eye(2))))
    for name, W in (("W_q", W_q), ("W_k", W_k)):
        shape = f"`{name}` has shape {tuple(W.shape)}, but ({d_model}, D) is expected."
        expect(W.dim() == 2 and len(W) == d_model, shape)
    widths = f"Queries are {W_q.shape[1]} wide and keys {W_k.shape[1]}: make them equal."
    expect(W_q.shape == W_k.shape, widths)
    x, places = sinusoidal(count, d_model), torch.arange(count)
    weights = scaled_dot_product_attention(x @ W_q, x @ W_k, x)[1]
    expect(bool(weights.isfinite().all()), "A weight is NaN: the scores are too large.")
    best = weights.argmax(dim=1)
    itself = "Each place looks at itself: turn its query back by one place."
    expect((best != places)[1:].any(), itself)
    following = "Each place looks at the next one: turn the other way."
    expect((best != places + 1)[:-1].any(), following)
    used = ((W_q != 0).any(dim=1) & (W_k != 0).any(dim=1)).view(-1, 2).any(dim=1)
    unused = f" The hands in use, {int(used.sum())} of {len(used)}, stand alike at both places: "
    unused = "" if used.all() else f"{unused}the other hands tell them apart."
    for t in range(1, count):
        most = f"Place {t} looks at place {int(best[t])} most, not at place {t - 1}."
        expect(best[t] == t - 1, most + unused if abs(int(best[t]) - t) > 2 else most)
    given = weights.diagonal(-1)
    t = int((given < given.min() + 1e-3).nonzero()[0])  # rounding alone decides among equals
    weak = f"At width {d_model}, place {t + 1} gives only {float(given[t]):.2f} to place {t}"
    second = int(weights[t + 1].masked_fill(places == t, 0).argmax())
    is_far = abs(second - t) > 2 and unused
    expect(given[t] >= 0.8, f"{weak}.{unused}" if is_far else f"{weak}: enlarge the scores.")
    return float(given[t])


def judge_previous_word(call):
    widths = ((32, 24), (64, 24), (48, 72), (8, 10), (8, 40), (32, 96))
    least = min(_smallest_weight(call, *width) for width in widths)
    return f"Every place gives at least {least:.2f} of its attention to the place before it."


def _slope_of_the_second_hand(W_q, W_k):
    """Of the second pair's turn, which no scale changes; the keys must be left as they are."""
    if not W_k.equal(torch.eye(4)):
        raise ValueError("W_k is not the identity")
    return W_q[3, 2] / W_q[2, 2]


narrow = edited(right_previous_word, "turn, -> 2 * turn[:, :4],\neye(d_model) -> eye(d_model, 4)")

previous_word = exercise(
    "7.2",
    "previous_word(d_model) -> W_q, W_k, (C, D) each: place t gives 0.8 or more to place t - 1",
    judge=judge_previous_word,
    right=[right_previous_word, narrow],
    hints=[
        "If the key of a place is the position itself, what must the query of the place after it "
        "be, and which matrix makes that of each hand?",
        "`torch.block_diag` sets the turn of each pair on the diagonal, with a step of its own. "
        "`W_k` is `torch.eye(d_model)`. Then multiply `W_q` until the softmax is sharp.",
    ],
    question=number(
        "With d_model = 4 the second pair turns by 0.01 a step: sin 0.01 = 0.01, cos 0.01 = 1.00. "
        "`W_k` is `torch.eye(4)`. What is `W_q[3, 2] / W_q[2, 2]`, to two digits?",
        lambda f: _slope_of_the_second_hand(*f(4)),
    ),
    mistakes=edits(
        right_previous_word,
        {
            "30 * turn, -> 30 * torch.eye(d_model),": "looks at itself",
            "turn_back(b) -> turn_back(-b)": "looks at the next one",
            "30 * turn -> turn": "enlarge the scores",
            "turn_back(b) -> turn_back(1)": "most, not at place",
            "30 * turn, torch.eye(d_model) -> 1000 * turn[:, :2], torch.eye(d_model, 2)": "1 of 24",
        },
        quoted=True,
    ),
)


def right_split_heads(x, n_heads):
    B, T, C = x.shape
    x = x.view(B, T, n_heads, C // n_heads)  # (B, T, H, D)
    return x.transpose(1, 2)  # (B, H, T, D)


def _wide(draw):
    H, T, D = draw.size(1, 4, 16), draw.size(1, 4, 20), draw.size(1, 4, 10)
    return normal(draw, T, draw.randint(1, 3), H * D).transpose(0, 1), H  # not contiguous


split_heads = exercise(
    "7.3",
    "split_heads(x: (B, T, C), n_heads) -> (B, H, T, D), D = C / H",
    cases=((torch.arange(48.0).view(2, 3, 8), 2), (torch.arange(30.0).view(2, 3, 5), 1)),
    slopes=["x"],
    more=drawn(12, _wide),
    right=[right_split_heads],
    hints=[
        "As you walk along the last axis, which changes first, the head or the channel?",
        "`x.unflatten(-1, (n_heads, -1))` is (B, T, H, D): which two axes must still be swapped?",
    ],
    question=number(
        "`x = torch.arange(18.0).view(1, 3, 6)` is one text of three words, six channels each: "
        "word 0 holds 0 to 5. What is `split_heads(x, 2)[0, 1, 0, 1]`?",
        lambda f: f(torch.arange(18.0).view(1, 3, 6), 2)[0, 1, 0, 1],
        digits=0,
    ),
    mistakes={
        "T, n_heads -> n_heads, T\n.transpose(1, 2) -> ": "The shape is right and the numbers "
        "are not: a head of `view(B, H, T, D)` holds whole tokens, all channels of a few. "
        "Split C first, then swap T and H",
        ".transpose(1, 2) -> ": "T and H are not swapped yet: (B, H, T, D) is expected",
        "n_heads, C // n_heads) -> C // n_heads, n_heads).mT": "Head h takes every H-th "
        "channel: it takes D neighbours, so split C into (H, D), not (D, H)",
        "transpose(1, 2) -> permute(0, 2, 3, 1)": "T and D are swapped: each head is (T, D)",
    },
)


class RightMultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.c_attn = nn.Linear(d_model, 3 * d_model)
        self.c_proj = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        q, k, v = self.c_attn(x).chunk(3, dim=-1)  # each (B, T, C)
        q, k, v = (right_split_heads(t, self.n_heads) for t in (q, k, v))
        heads, _ = scaled_dot_product_attention(q, k, v, mask)
        heads = heads.transpose(1, 2)  # (B, H, T, D) -> (B, T, H, D)
        return self.c_proj(heads.reshape(x.shape))  # (B, T, C)


def _layer(draw):
    """Texts for a layer; masks of all shapes that broadcast, which hide no row, or none."""
    B, T, H = draw.randint(1, 3), draw.size(1, 5, 20), draw.choice([1, 3, 4])
    C = H * draw.randint(1, 5)
    shape = draw.choice([(T, T), (B, 1, T, T), (B, H, T, T), (B, 1, 1, T)])
    mask = normal(draw, *shape) > 0
    mask[..., draw.randrange(T)] = True
    x = normal(draw, B, T, C, scale=draw.choice([1.0, 8.0]))
    return {"d_model": C, "n_heads": H}, x, *draw.choice([(), (mask,), (mask,)])


def _for_the_first_word(layer):
    """The first number that two heads with small whole weights make of the first of two words."""
    attn = layer(2, 2)
    v, none = torch.eye(2), torch.zeros(4, 2)
    attn.c_attn.weight.data.copy_(torch.cat((none, v)))  # the values are x itself
    attn.c_attn.bias.data.copy_(torch.tensor([10, 10, 1, 1, 0, 0]))
    attn.c_proj.weight.data.copy_(torch.tensor([[1, 10], [0, 0]]))
    attn.c_proj.bias.data.zero_()
    return attn(torch.tensor([[[2.0, 6.0], [4.0, 12.0]]]), causal_mask(2))[0, 0, 0].item()


MultiHeadAttention = exercise(
    "7.4",
    "MultiHeadAttention(d_model, n_heads)(x: (B, T, C), mask=None) -> (B, T, C)",
    cases=(({"d_model": 12, "n_heads": 3}, torch.eye(5, 12)[None], causal_mask(5)),),
    more=drawn(16, _layer),
    praise="`MultiHeadAttention` is right: with and without masks, for 1, 3 and 4 heads.",
    right=[RightMultiHeadAttention],
    hints=[
        "Which shape must q, k and v have before attention, and what undoes it afterwards?",
        "`(split_heads(t, self.n_heads) for t in self.c_attn(x).chunk(3, dim=-1))` are q, k and v. "
        "What attention gives is (B, H, T, D): swap, reshape, and use the last matrix.",
    ],
    question=number(
        "`MultiHeadAttention(2, 2)` reads two words, [2, 6] and [4, 12], under the causal mask. In "
        "both heads every query is 10 and every key is 1, and the values are the words' own "
        "numbers. The first channel that `c_proj` makes is (first head) + 10 · (second head). "
        "What is it for the first word?",
        _for_the_first_word,
        digits=0,
    ),
    mistakes={
        "right_split_heads(t, self.n_heads) -> t[:, None]": "There is one head of full width: "
        "split q, k and v into `n_heads`",
        "heads = heads.transpose(1, 2) -> pass": "The numbers of different tokens are joined: "
        "swap H and T back before the reshape",
        "v, mask) -> v)": "The mask has no effect",
        "v, mask) -> v, None if mask is None else ~mask)": "The mask is the wrong way round: "
        "True = may attend",
        "attention(q -> attention(q * q.shape[-1] ** 0.5": "Scores are not divided by √D",
        "attention(q -> attention(q / self.n_heads**0.5": "Scores are divided by √C: D = C / H "
        "is the width of a head",
    },
)
