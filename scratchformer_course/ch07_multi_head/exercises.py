"""The exercises of chapter 7, several heads."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from scratchformer.positions import sinusoidal
from scratchformer_course.kit.checks.cases import drawn, normal
from scratchformer_course.kit.checks.engine import exercise, mistake, refused
from scratchformer_course.kit.checks.question import number
from scratchformer_course.kit.checks.verdict import expect

GENERATOR = torch.Generator().manual_seed(0)
PLACES = 24


def _past(T):
    return torch.ones(T, T, dtype=torch.bool).tril()


def right_turn_back(b):
    cos, sin = math.cos(b), math.sin(b)
    return torch.tensor([[cos, sin], [-sin, cos]])


def by_two_hands(b):
    """Row 0 is where the hand (1, 0) goes, and row 1 where (0, 1) goes."""
    start = torch.tensor([math.pi / 2, 0.0])
    return torch.stack([(start - b).sin(), (start - b).cos()], dim=1)


def _turn(d_model, places):
    """The matrix that turns the hands of place t into those of place t + `places`."""
    steps = [10_000 ** (-i / d_model) for i in range(0, d_model, 2)]
    return torch.block_diag(*[right_turn_back(-places * step) for step in steps])


turn_back = exercise(
    "7.1",
    "turn_back(b) -> (2, 2): [sin a, cos a] @ turn_back(b) is [sin(a − b), cos(a − b)] for every a",
    cases=(1.0, 0.3, 10_000**-0.5, -0.7, 4.0, 0.0),
    more=drawn(6, lambda draw: (draw.uniform(-9, 9),)),
    right=[right_turn_back, by_two_hands],
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
    mistakes=[
        mistake(
            "turns forward",
            "A sine has the wrong sign: the first column has to give sin a cos b − cos a sin b, "
            "and the second one has a plus",
            lambda b: right_turn_back(-b),
        ),
        mistake(
            "makes the cosine first",
            "The columns have changed places: the sine comes first, as in the row",
            lambda b: right_turn_back(b).flip(1),
        ),
        mistake(
            "takes the rows in reverse",
            "The rows have changed places: the upper row belongs to sin a",
            lambda b: right_turn_back(b).flip(0),
        ),
        mistake(
            "turns by 1 whatever b",
            "Every hand turns by 1: each pair has a step of its own, which is b",
            lambda b: right_turn_back(1.0),
        ),
        mistake(
            "scales by the cosine only",
            "Only cos b is there: without the sines a hand becomes shorter and does not turn",
            lambda b: math.cos(b) * torch.eye(2),
        ),
    ],
)


def _smallest_weight(call, d_model, count=PLACES):
    """The smallest weight that a place gives to the one before it."""
    W_q, W_k = (W.float() for W in call(d_model).like((torch.eye(2), torch.eye(2))))
    for name, W in (("W_q", W_q), ("W_k", W_k)):
        shape = f"`{name}` has shape {tuple(W.shape)}, but ({d_model}, D) is expected."
        expect(W.dim() == 2 and len(W) == d_model, shape)
    widths = f"Queries are {W_q.shape[1]} wide and keys {W_k.shape[1]}: make them equal."
    expect(W_q.shape == W_k.shape, widths)
    x = sinusoidal(count, d_model)
    weights = ((x @ W_q) @ (x @ W_k).T / math.sqrt(W_q.shape[1])).softmax(dim=1)
    expect(bool(weights.isfinite().all()), "A weight is NaN: the scores are too large.")
    best, places = weights.argmax(dim=1), torch.arange(count)
    used = ((W_q != 0).any(dim=1) & (W_k != 0).any(dim=1)).view(-1, 2).any(dim=1)
    others = f" The hands in use, {int(used.sum())} of {len(used)}, stand alike at both places"
    others = "" if used.all() else f"{others}: the other hands tell them apart."
    own = "Each place looks at itself: turn its query back by one place."
    expect((best != places)[1:].any(), own)
    following = "Each place looks at the next one: turn the other way."
    expect((best != places + 1)[:-1].any(), following)
    for t in range(1, count):
        there = int(best[t])
        most = f"Place {t} looks at place {there} most, not at place {t - 1}."
        expect(there == t - 1, most + (others if abs(there - t) > 2 else ""))
    given = weights.diagonal(-1)
    t = int((given < given.min() + 1e-3).nonzero()[0])  # rounding alone decides among equals
    weak = f"At width {d_model}, place {t + 1} gives only {float(given[t]):.2f} to place {t}"
    share, second = weights[t + 1].masked_fill(places == t, 0).max(dim=0)
    if others and abs(int(second) - t) > 2:
        weak = f"{weak}, and {float(share):.2f} to place {int(second)}.{others}"
    else:
        weak = f"{weak}: enlarge the scores."
    expect(given[t] >= 0.8, weak)
    return float(given[t])


def judge_previous_word(call):
    widths = ((32, PLACES), (64, PLACES), (48, 3 * PLACES), (8, 10), (8, 40), (32, 4 * PLACES))
    least = min(_smallest_weight(call, *width) for width in widths)
    return f"Every place gives at least {least:.2f} of its attention to the place before it."


def uses_the_first_hand(d_model):
    W_q, W_k = torch.zeros(d_model, 2), torch.zeros(d_model, 2)
    W_q[:2], W_k[:2] = 1000 * _turn(2, -1), torch.eye(2)
    return W_q, W_k


def uses_two_hands(d_model):
    return 60 * _turn(d_model, -1)[:, :4], torch.eye(d_model)[:, :4]


def _slope_of_the_second_hand(W_q, W_k):
    """Of the second pair's turn, which no scale changes; the keys must be left as they are."""
    if not W_k.equal(torch.eye(4)):
        raise ValueError("W_k is not the identity")
    return W_q[3, 2] / W_q[2, 2]


previous_word = exercise(
    "7.2",
    "previous_word(d_model) -> W_q, W_k, (C, D) each: place t gives 0.8 or more to place t - 1",
    judge=judge_previous_word,
    right=[lambda d_model: (30 * _turn(d_model, -1), torch.eye(d_model)), uses_two_hands],
    hints=[
        "If the key of a place is the position itself, what must the query of the place after it "
        "be, and which matrix makes that of each hand?",
        "`torch.block_diag` sets the turn of each pair on the diagonal, with a step of its own. "
        "`W_k` is `torch.eye(d_model)`. Then multiply `W_q` until the softmax is sharp.",
    ],
    question=number(
        "With d_model = 4 the second pair turns by 0.01 a step: sin 0.01 = 0.01, cos 0.01 = 1.00. "
        "`W_k` is `torch.eye(4)`. What is `W_q[3, 2] / W_q[2, 2]`, to "
        "two digits?",
        lambda f: _slope_of_the_second_hand(*f(4)),
    ),
    mistakes=[
        refused(
            "looks for itself",
            "looks at itself",
            lambda d_model: (30 * torch.eye(d_model), torch.eye(d_model)),
        ),
        refused(
            "turns the other way",
            "looks at the next one",
            lambda d_model: (30 * _turn(d_model, 1), torch.eye(d_model)),
        ),
        refused(
            "turns back by two",
            "Place 2 looks at place 0 most, not at place 1",
            lambda d_model: (30 * _turn(d_model, -2), torch.eye(d_model)),
        ),
        refused(
            "keeps the scores small",
            "enlarge the scores",
            lambda d_model: (_turn(d_model, -1), torch.eye(d_model)),
        ),
        refused(
            "uses the first hand only",
            "The hands in use, 1 of 24, stand alike at both places: the other hands tell",
            uses_the_first_hand,
        ),
        refused(
            "turns every pair at the same speed",
            "most, not at place",
            lambda d_model: (
                30 * torch.block_diag(*[right_turn_back(1)] * (d_model // 2)),
                torch.eye(d_model),
            ),
        ),
    ],
)


def right_split_heads(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def _wide(draw):
    H = draw.randint(1, 4)
    return normal(draw, draw.randint(1, 3), draw.randint(1, 4), H * draw.randint(1, 4)), H


split_heads = exercise(
    "7.3",
    "split_heads(x: (B, T, C), n_heads) -> (B, H, T, D), D = C / H",
    cases=(
        (torch.arange(48.0).view(2, 3, 8), 2),
        (torch.arange(32.0).view(1, 4, 8), 4),
        (torch.arange(30.0).view(2, 3, 5), 1),
        (torch.randn(3, 5, 12, generator=GENERATOR), 3),
        (torch.randn(4, 2, 4, generator=GENERATOR), 4),
        (torch.arange(16.0).view(2, 1, 8), 2),
        (torch.arange(48.0).view(2, 3, 8).flip(1), 2),
        (torch.arange(3.0).view(3, 1, 1), 1),
    ),
    slopes=["x"],
    more=drawn(6, _wide),
    right=[right_split_heads, lambda x, n_heads: torch.stack(x.chunk(n_heads, dim=-1), dim=1)],
    hints=[
        "Which part of the last axis counts faster, the head or its channels?",
        "`x.unflatten(-1, (n_heads, -1))` is (B, T, H, D): which two axes must still be swapped?",
    ],
    question=number(
        "`x = torch.arange(18.0).view(1, 3, 6)` is one text of three words, six channels each: "
        "word 0 holds 0 to 5. What is `split_heads(x, 2)[0, 1, 0, 1]`?",
        lambda f: f(torch.arange(18.0).view(1, 3, 6), 2)[0, 1, 0, 1],
        digits=0,
    ),
    mistakes=[
        mistake(
            "views without swapping",
            "The shape is right and the numbers are not: a head of `view(B, H, T, D)` holds whole "
            "tokens, all channels of a few. Split C first, then swap T and H",
            lambda x, n_heads: x.view(len(x), n_heads, x.shape[1], -1),
        ),
        mistake(
            "does not swap T and H",
            "T and H are not swapped yet: (B, H, T, D) is expected",
            lambda x, n_heads: x.unflatten(-1, (n_heads, -1)),
        ),
        mistake(
            "gives head h every H-th channel",
            "Head h takes every H-th channel: it takes D neighbours, so split C into (H, D), not "
            "(D, H)",
            lambda x, n_heads: x.unflatten(-1, (-1, n_heads)).permute(0, 3, 1, 2),
        ),
        mistake(
            "swaps T and D",
            "T and D are swapped: each head is (T, D)",
            lambda x, n_heads: right_split_heads(x, n_heads).mT,
        ),
    ],
)


class _Attention(nn.Module):
    """Multi-head attention in parts, so that each usual mistake is one part done otherwise."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.c_attn = nn.Linear(d_model, 3 * d_model)
        self.c_proj = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        q, k, v = (self.split(t) for t in self.c_attn(x).chunk(3, dim=-1))
        scores = q @ k.mT / self.scale(q.shape[-1])
        if mask is not None:
            scores = self.hide(scores, mask)
        return self.c_proj(self.merge(scores.softmax(dim=-1) @ v))

    def split(self, t):
        return right_split_heads(t, self.n_heads)

    def scale(self, D):
        return D**0.5

    def hide(self, scores, mask):
        return scores.masked_fill(~mask, -math.inf)

    def merge(self, heads):
        return heads.transpose(1, 2).flatten(2)


X = torch.randn(2, 5, 12, generator=GENERATOR)
OTHER = torch.tensor([1, 0, 0, 0, 1]).bool() | torch.eye(5, dtype=torch.bool)
HEADS = torch.rand(2, 3, 5, 5, generator=torch.Generator().manual_seed(2)) > 0.5
HEADS |= torch.eye(5, dtype=torch.bool)  # (B, H, T, T)
EACH = torch.stack((_past(5), OTHER))[:, None]  # (B, 1, T, T)
PADDED = torch.tensor([[1, 1, 1, 0, 0], [0, 1, 1, 1, 1]]).bool()[:, None, None]  # (B, 1, 1, T)


class WithUnflatten(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.heads = n_heads
        self.c_proj = nn.Linear(d_model, d_model)
        self.c_attn = nn.Linear(d_model, 3 * d_model)

    def forward(self, x, mask=None):
        q, k, v = self.c_attn(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        heads = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.c_proj(heads.permute(0, 2, 1, 3).reshape(x.shape))


def _with(**parts):
    """Attention of which these parts are done otherwise."""
    return type("MultiHeadAttention", (_Attention,), parts)


def _for_the_first_word(layer):
    """The first number that two heads with small whole weights make of the first of two words."""
    attn = layer(2, 2)
    v, none = torch.eye(2), torch.zeros(4, 2)
    attn.c_attn.weight.data.copy_(torch.cat((none, v)))  # the values are x itself
    attn.c_attn.bias.data.copy_(torch.tensor([10, 10, 1, 1, 0, 0]))
    attn.c_proj.weight.data.copy_(torch.tensor([[1, 10], [0, 0]]))
    attn.c_proj.bias.data.zero_()
    return attn(torch.tensor([[[2.0, 6.0], [4.0, 12.0]]]), _past(2))[0, 0, 0].item()


MultiHeadAttention = exercise(
    "7.4",
    "MultiHeadAttention(d_model, n_heads)(x: (B, T, C), mask=None) -> (B, T, C)",
    cases=(
        ({"d_model": 12, "n_heads": 3}, X),
        ({"d_model": 12, "n_heads": 3}, X, _past(5)),
        ({"d_model": 12, "n_heads": 3}, X, EACH),
        ({"d_model": 8, "n_heads": 4}, X[:1, :, :8], OTHER),
        ({"d_model": 6, "n_heads": 1}, X[..., :6], _past(5)),
        ({"d_model": 12, "n_heads": 3}, 8 * X, EACH),  # scores of ±60
        ({"d_model": 12, "n_heads": 3}, X, EACH.flip(0)),  # another mask of the same shape
        ({"d_model": 12, "n_heads": 3}, X, PADDED),
        ({"d_model": 16, "n_heads": 4}, torch.randn(3, 7, 16, generator=GENERATOR), _past(7)),
        ({"d_model": 12, "n_heads": 4}, 4 * X[:, :1]),
        ({"d_model": 32, "n_heads": 1}, torch.randn(2, 4, 32, generator=GENERATOR)),
        ({"d_model": 12, "n_heads": 3}, X, HEADS),
        ({"d_model": 12, "n_heads": 4}, X[:, 1:2]),
        ({"d_model": 4, "n_heads": 4}, X[:1, :1, :4]),
    ),
    praise="`MultiHeadAttention` is right: with and without masks, for 1, 3 and 4 heads.",
    right=[_Attention, WithUnflatten],
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
    mistakes=[
        mistake(
            "has one head of full width",
            "There is one head of full width: split q, k and v into `n_heads`",
            _with(split=lambda self, t: t[:, None]),
        ),
        mistake(
            "views without swapping",
            "`view(B, H, T, D)` gives a head all channels of a few tokens: `split_heads` does not",
            _with(split=lambda self, t: t.reshape(len(t), self.n_heads, t.shape[1], -1)),
        ),
        mistake(
            "merges without swapping back",
            "The numbers of different tokens are joined: swap H and T back before the reshape",
            _with(merge=lambda self, heads: heads.reshape(len(heads), heads.shape[2], -1)),
        ),
        mistake(
            "ignores the mask",
            "The mask has no effect",
            _with(hide=lambda self, scores, mask: scores),
        ),
        mistake(
            "takes True for hidden",
            "The mask is the wrong way round: True = may attend",
            _with(hide=lambda self, scores, mask: scores.masked_fill(mask, -math.inf)),
        ),
        mistake(
            "does not scale",
            "Scores are not divided by √D",
            _with(scale=lambda self, D: 1),
        ),
    ],
)
