"""The exercises of chapter 9, the block."""

import itertools

import torch
from torch import nn
from torch.nn import functional as F

from scratchformer import blocks
from scratchformer.attention import MultiHeadAttention, causal_mask
from scratchformer_course.kit.checks.cases import drawn, normal
from scratchformer_course.kit.checks.engine import exercise, mistake, refused
from scratchformer_course.kit.checks.question import number
from scratchformer_course.kit.checks.verdict import expect


def _random(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


class RightFeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.c_fc, self.c_proj = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.activation = nn.GELU(approximate="tanh")

    def forward(self, x):
        return self.c_proj(self.activation(self.c_fc(x)))


class ByMatrices(RightFeedForward):
    def forward(self, x):
        hidden = F.gelu(x @ self.c_fc.weight.T + self.c_fc.bias, approximate="tanh")
        return hidden @ self.c_proj.weight.T + self.c_proj.bias


def _with(right, forward):
    """The right class with another `forward`."""
    return type(right.__name__, (right,), {"forward": forward})


def _comes_out(network):
    """The last number that a network of two hidden numbers, with whole weights, makes of −10."""
    mlp = network(1, 2)
    mlp.c_fc.weight.data.copy_(torch.tensor([[1], [-1]]))
    mlp.c_fc.bias.data.zero_()
    mlp.c_proj.weight.data.copy_(torch.tensor([[4, 3]]))
    mlp.c_proj.bias.data.fill_(1)
    return mlp(torch.tensor([-10.0]))[-1].item()


FeedForward = exercise(
    "9.1",
    "FeedForward(d_model, d_ff): x (..., C) -> (..., C), up to d_ff, activation, down again. Its "
    "two linear layers are called `c_fc` and `c_proj`.",
    cases=(
        ({"d_model": 4, "d_ff": 6}, 3 * _random(0, 2, 3, 4)),
        ({"d_model": 3, "d_ff": 12}, 3 * _random(1, 5, 3)),
        ({"d_model": 8, "d_ff": 5}, 3 * _random(2, 2, 1, 3, 8)),
        ({"d_model": 6, "d_ff": 40}, 3 * _random(3, 8, 4, 6)),
    ),
    praise="`FeedForward` is right: up, bend, down, for each position by itself.",
    right=[RightFeedForward, ByMatrices],
    hints=[
        "How wide is a vector after the first layer, and what happens to it before the second?",
        "`self.c_fc` is `nn.Linear(d_model, d_ff)`, and `self.c_proj` leads back. In `forward` "
        "three parts follow each other, and `self.activation` is the middle one.",
    ],
    question=number(
        "`FeedForward(1, 2)` gets x = −10. `c_fc` multiplies it by 1 and by −1, without a bias. "
        "`c_proj` makes 4 · (first) + 3 · (second) + 1. GELU gives 10 for 10, and 0 for −10. What "
        "comes out?",
        _comes_out,
        digits=0,
    ),
    mistakes=[
        mistake(
            "leaves the activation out",
            "The activation is missing: without it the two matrices are no more than one",
            _with(RightFeedForward, lambda self, x: self.c_proj(self.c_fc(x))),
        ),
        mistake(
            "activates at the end",
            "The activation comes last: it belongs between the two layers",
            _with(RightFeedForward, lambda self, x: self.activation(self.c_proj(self.c_fc(x)))),
        ),
        mistake(
            "activates the input",
            "The activation comes first: it belongs between the two layers",
            _with(RightFeedForward, lambda self, x: self.c_proj(self.c_fc(self.activation(x)))),
        ),
        mistake(
            "adds x",
            "x is added: the residual is the business of the block, not of this network",
            _with(RightFeedForward, lambda self, x: x + RightFeedForward.forward(self, x)),
        ),
        mistake(
            "returns the wide vectors",
            "The way down is missing: the result must be as wide as x",
            _with(RightFeedForward, lambda self, x: self.activation(self.c_fc(x))),
        ),
    ],
)


def _normed(x, eps, dims=(-1,), correction=0):
    mean = x.mean(dim=dims, keepdim=True)
    return (x - mean) / (x.var(dim=dims, correction=correction, keepdim=True) + eps).sqrt()


_shapes = (((2, 3, 4), 1e-5), ((3, 5, 6), 0.5), ((7, 4), 0.1), ((5,), 1e-3))


def _layer_norm(**how):
    return lambda x, weight, bias, eps: _normed(x, eps, **how) * weight + bias


def _to_norm(draw):
    C, scale = draw.randint(2, 9), draw.choice([1e-3, 1.0, 40.0])
    x = normal(draw, *[2, 3, 2][: draw.randint(0, 3)], C, scale=scale) + draw.choice([0, 3])
    return x, normal(draw, C), normal(draw, C), draw.choice([1e-6, 1e-5, 0.1, 2.0])


layer_norm = exercise(
    "9.2",
    "layer_norm(x: (..., C), weight: (C,), bias: (C,), eps) -> like x, equal to nn.LayerNorm's",
    cases=(
        *(
            (2 * _random(seed, *shape) + 1, *_random(seed + 10, 2, shape[-1]), eps)
            for seed, (shape, eps) in enumerate(_shapes)
        ),
        (100 * _random(20, 3, 10).T - 50, *_random(21, 2, 3), 1e-5),
        (torch.tensor([[7.0, 7.0, 7.0, 7.0], [0.0, 0.0, 0.0, 0.01]]), *_random(22, 2, 4), 1e-5),
        (_random(23, 2, 3, 2, 6), *_random(24, 2, 6), 1e-5),
        (torch.tensor([[1000.0, 1000.5, 1001.0]]), *_random(25, 2, 3), 1e-5),
    ),
    more=drawn(10, _to_norm),
    right=[
        _layer_norm(),
        lambda x, weight, bias, eps: F.layer_norm(x, weight.shape, weight, bias, eps),
    ],
    hints=[
        "Over which axis do you take mean and variance, and what keeps that axis, with size 1?",
        "`centred = x - x.mean(dim=-1, keepdim=True)`. Divide it by the root of the mean of its "
        "squares plus `eps`; `weight` and `bias` come last.",
    ],
    question=number(
        "One position holds (1, 7). `weight` is 10 for both channels, `bias` is 1, and `eps` is "
        "16, so large that it shows. What becomes of the 7? One digit.",
        lambda f: f(torch.tensor([[1.0, 7.0]]), torch.full((2,), 10.0), torch.ones(2), 16.0)[0, 1],
        digits=1,
    ),
    mistakes=[
        mistake(
            "normalises over the time axis",
            "This normalises over the time axis: each position must use its own channels alone",
            _layer_norm(dims=(-2,)),
        ),
        mistake(
            "takes one mean for everything",
            "All positions share one mean and variance: each needs its own",
            _layer_norm(dims=None),
        ),
        mistake(
            "divides by C − 1",
            "The variance divides by C, not by C − 1: `correction=0`",
            _layer_norm(correction=1),
        ),
        mistake(
            "adds eps outside the root",
            "`eps` is added to the variance, not the root",
            lambda x, weight, bias, eps: (
                (x - x.mean(-1, keepdim=True))
                / (x.std(-1, correction=0, keepdim=True) + eps)
                * weight
                + bias
            ),
        ),
        mistake(
            "forgets keepdim",
            "A sum over the channels drops their axis: `keepdim=True` keeps it",
            lambda x, weight, bias, eps: (
                (x - x.mean(-1)) / (x.var(-1, correction=0) + eps).sqrt() * weight + bias
            ),
        ),
    ],
)


class RightTransformerBlock(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.attn = MultiHeadAttention(d_model, n_heads)
        self.mlp = blocks.FeedForward(d_model, 4 * d_model)
        for p in (*self.ln_1.parameters(), *self.ln_2.parameters()):
            nn.init.normal_(p)  # fresh norms are all alike: a swap would not show

    def forward(self, x, mask=None):
        x = x + self.attn(self.ln_1(x), mask=mask)
        return x + self.mlp(self.ln_2(x))


class ThePackagesBlock(blocks.TransformerBlock):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)


class IsPostNorm(RightTransformerBlock):
    def forward(self, x, mask=None):
        x = self.ln_1(x + self.attn(x, mask=mask))
        return self.ln_2(x + self.mlp(x))


class UsesOneNormTwice(RightTransformerBlock):
    def forward(self, x, mask=None):
        x = x + self.attn(self.ln_1(x), mask=mask)
        return x + self.mlp(self.ln_1(x))


class DropsWhatAttentionFound(RightTransformerBlock):
    def forward(self, x, mask=None):
        after = x + self.attn(self.ln_1(x), mask=mask)
        return x + self.mlp(self.ln_2(after))


class _Times(nn.Module):
    """A sublayer that multiplies by a number."""

    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x, mask=None):
        return self.factor * x


def _out_of_a_block(block):
    """The second number of (1, 3) behind a block whose sublayers multiply by 10 and by 5."""
    block = block(2, 1)
    block.attn, block.mlp = _Times(10), _Times(5)
    for norm, weight in ((block.ln_1, 1), (block.ln_2, 4)):
        norm.weight.data.fill_(weight)
        norm.bias.data.zero_()
    return block(torch.tensor([[[1.0, 3.0]]]))[0, 0, 1].item()


TransformerBlock = exercise(
    "9.3",
    "TransformerBlock(d_model, n_heads): x (B, T, C), mask (T, T) -> (B, T, C), pre-norm. Its "
    "parts are called `ln_1`, `attn`, `ln_2` and `mlp`.",
    cases=(
        ({"d_model": 8, "n_heads": 2}, _random(5, 2, 4, 8), causal_mask(4)),
        ({"d_model": 6, "n_heads": 3}, _random(6, 1, 3, 6)),
        (
            {"d_model": 8, "n_heads": 4},
            3 * _random(7, 3, 6, 8),
            _random(8, 6, 6).fill_diagonal_(1) > 0,
        ),
        ({"d_model": 16, "n_heads": 2}, 0.1 * _random(9, 2, 7, 16), causal_mask(7).flip(0, 1)),
    ),
    praise="`TransformerBlock` is right: two sublayers, and each adds to the stream.",
    right=[RightTransformerBlock, ThePackagesBlock],
    hints=[
        "What does a sublayer read, and to what is its result added?",
        "`x = x + self.attn(self.ln_1(x), mask=mask)` is the first half. The second half is built"
        " in the same way.",
    ],
    question=number(
        "A block reads one word, the vector (1, 3). `attn` multiplies what it reads by 10, `mlp` "
        "by 5. The norms have no bias; the weight of `ln_1` is 1, that of `ln_2` is 4. What is "
        "the second number that comes out?",
        _out_of_a_block,
        digits=0,
    ),
    mistakes=[
        mistake(
            "is post norm", "This is post-norm, norm(x + f(x)): write x + f(norm(x))", IsPostNorm
        ),
        mistake(
            "has no residual",
            "Nothing is added to x: each sublayer must add to what it read",
            _with(
                RightTransformerBlock,
                lambda self, x, mask=None: self.mlp(self.ln_2(self.attn(self.ln_1(x), mask=mask))),
            ),
        ),
        mistake(
            "uses one norm twice",
            "`ln_1` is used twice: the second sublayer has a norm of its own",
            UsesOneNormTwice,
        ),
        mistake(
            "forgets the mask",
            "The mask is not used: give it to the attention",
            _with(
                RightTransformerBlock,
                lambda self, x, mask=None: RightTransformerBlock.forward(self, x),
            ),
        ),
        mistake(
            "drops what attention found",
            "The second sublayer adds to the old x: what the attention added is lost",
            DropsWhatAttentionFound,
        ),
    ],
)


WORD = "article adjective noun verb royal aged asleep hush".split()  # the channels of a word


def _every_word():
    """Each kind of word, royal, aged, asleep or not: (32, 8); and which of them is due."""
    kinds = torch.eye(4).tolist()
    meanings = itertools.product((0.0, 1.0), repeat=3)
    x = torch.tensor([[*kind, *has, 0.0] for kind, has in itertools.product(kinds, meanings)])
    return x, x[:, [2, 4, 6]].sum(dim=1) == 3


def judge_only_the_king(call):
    weight, bias = call(8).like((torch.zeros(8), 0.0))
    expect(weight.shape == (8,), f"`weight` has shape {tuple(weight.shape)}, expected (8,).")
    words, due = _every_word()
    x = words + 0.1 * _random(11, *words.shape).clamp(-1, 1)  # attention and norms are never exact
    hush = (x @ weight.float() + bias).relu()
    for word, level, is_due in zip(words.tolist(), hush.tolist(), due.tolist(), strict=True):
        what = ", ".join(name for name, has in zip(WORD, word, strict=True) if has)
        gets = f"a word with {what} gets {level:.2f}"
        expect(not is_due or level > 0.5, f"Too quiet: {gets}, but more than 0.5 is wanted.")
        expect(is_due or level < 0.1, f"Too loud: {gets}, but less than 0.1 is wanted.")
    return f"A sleeping king gets {hush[due].min():.2f}, all others at most {hush[~due].max():.2f}."


def _detector(bias, **weights):
    return torch.tensor([float(weights.get(name, 0)) for name in WORD]), float(bias)


def right_only_the_king(C):
    return _detector(-30, noun=12, royal=12, asleep=12)


def against_the_others(C):
    weight = torch.zeros(C)
    weight[[0, 1, 3]] = -12  # what is no noun
    weight[[4, 6]] = 12
    return weight, -18.0


def _of_a_beggar(rule):
    """What a third of the rule makes of a noun that is asleep, before the bend."""
    weight, bias = rule(8)
    return (weight[[2, 6]].sum() + bias) / 3


def leaves_the_noun_out(C):
    return _detector(-18, royal=12, asleep=12)


only_the_king = exercise(
    "9.4",
    "only_the_king(C) -> weight (C,) and bias, so that relu(x @ weight + bias) is above 0.5 where "
    "a word x is a noun, royal and asleep, and below 0.1 elsewhere. C = 8.",
    judge=judge_only_the_king,
    right=[right_only_the_king, against_the_others],
    hints=[
        "Which three channels does the sleeping king have, and which of them are missing in a "
        "sleeping beggar, and in a king who is awake?",
        "Give three channels the same weight w. The sum is 3w for the king, and at most 2w for all "
        "others: which bias lies between them?",
    ],
    question=number(
        "A rule gives noun, royal and asleep a weight of 4 each, and has a bias of −10. A word is "
        "a noun and asleep, but not royal. What does the rule make of it, before the bend?",
        _of_a_beggar,
        digits=0,
    ),
    mistakes=[
        refused("leaves the noun out", "Too loud: a word with article, royal", leaves_the_noun_out),
        refused("has no bias", "Too loud", lambda C: _detector(0, noun=12, royal=12, asleep=12)),
        refused(
            "has a bias that is too low",
            "Too quiet: a word with noun, royal, asleep gets 0.00",
            lambda C: _detector(-40, noun=12, royal=12, asleep=12),
        ),
        refused(
            "finds who is awake",
            "Too loud: a word with noun, royal gets",
            lambda C: _detector(-18, noun=12, royal=12, asleep=-12),
        ),
        refused(
            "returns a column",
            "`weight` has shape (8, 1), expected (8,)",
            lambda C: (right_only_the_king(C)[0].unsqueeze(1), -30.0),
        ),
    ],
)
