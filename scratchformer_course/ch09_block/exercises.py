"""The exercises of chapter 9, the block."""

import itertools

import torch
from torch import nn

from scratchformer.attention import MultiHeadAttention, causal_mask
from scratchformer_course.ch09_block.by_hand import CHANNELS, WORDS, sentence, set_by_hand
from scratchformer_course.kit.checks import exercise, expect, number, which
from scratchformer_course.kit.checks.cases import drawn, normal
from scratchformer_course.kit.checks.mistakes import edits


def _random(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


class RightFeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_ff)
        self.activation = nn.GELU(approximate="tanh")
        self.c_proj = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.c_proj(self.activation(self.c_fc(x)))


RULES = ("hush", "bow")


def right_two_rules(C):
    hush = [1.0, 0.0, 1.0]  # royal and asleep
    bow = [1.0, -1.0, 0.0]  # royal and not aged
    bias = torch.tensor([-1.0, 0.0])
    return torch.tensor([hush, bow]), bias


def judge_two_rules(call):
    weight, bias = call(3).like((torch.zeros(2, 3), torch.zeros(2)))
    shapes = tuple(weight.shape), tuple(bias.shape)
    expect(shapes == ((2, 3), (2,)), f"The shapes are {shapes}, expected (2, 3) and (2,).")
    for royal, aged, asleep in itertools.product((0.0, 1.0), repeat=3):
        x = torch.tensor([royal, aged, asleep])
        levels = (weight.float() @ x + bias.float()).relu().tolist()
        has = zip(("royal", "aged", "asleep"), (royal, aged, asleep), strict=True)
        who = ", ".join(name if on else f"not {name}" for name, on in has)
        for rule, level, due in zip(
            RULES, levels, (royal * asleep, royal * (1 - aged)), strict=True
        ):
            gets = f"who is {who} gets {level:.2f} of {rule}"
            expect(not due or level > 0.5, f"Too little: {gets}, but more than 0.5 is due.")
            expect(due or level < 0.1, f"Too much: {gets}, but less than 0.1 is due.")
    return "All eight kinds of people get what is due from both rules."


two_rules = exercise(
    "9.1",
    "two_rules(C) -> weight (2, C) and bias (2,): rule 0 of relu(weight @ x + bias) is above 0.5 "
    "where x is royal and asleep, rule 1 where x is royal and young, and both are below 0.1 "
    "elsewhere. C = 3: royal, aged, asleep.",
    judge=judge_two_rules,
    right=[right_two_rules],
    hints=[
        "No channel says *young*. Which weight does *aged* need if an old king gets nothing?",
        "The second rule is royal minus aged. Which bias does it need, if a young king has 1, and "
        "everybody else 0 or less?",
    ],
    question=which(
        "1.0, -1.0, 0.0 -> 1.0, 1.0, 0.0",
        others=["[-1.0, 0.0] -> [0.0, 0.0]", "[-1.0, 0.0] -> [-1.0, -1.0]"],
    ),
    mistakes=edits(
        right_two_rules,
        {
            "1.0, -1.0, 0.0 -> 1.0, 1.0, 0.0": "not royal, aged, not asleep gets 1.00 of bow",
            "[-1.0, 0.0] -> [0.0, 0.0]": "not royal, not aged, asleep gets 1.00 of hush",
            "[-1.0, 0.0] -> [-1.0, -1.0]": "royal, not aged, not asleep gets 0.00 of bow",
            "[-1.0, 0.0] -> [-1.0, 1.0]": "not royal, not aged, not asleep gets 1.00 of bow",
        },
        quoted=True,
    ),
)


def right_layer_norm(x, weight, bias, eps):
    centred = x - x.mean(dim=-1, keepdim=True)
    variance = centred.square().mean(dim=-1, keepdim=True)
    return centred / (variance + eps).sqrt() * weight + bias


def _to_norm(draw):
    C, scale = draw.size(2, 9, 64), draw.choice([1e-3, 1.0, 40.0])
    x = normal(draw, *[2, 3, 2][: draw.randint(0, 3)], C, scale=scale) + scale * draw.choice([0, 3])
    return x, normal(draw, C), normal(draw, C), draw.choice([1e-6, 1e-5, 0.1, 2.0])


layer_norm = exercise(
    "9.2",
    "layer_norm(x: (..., C), weight: (C,), bias: (C,), eps) -> like x, equal to nn.LayerNorm's",
    cases=(
        (torch.tensor([[1000.0, 1000.5, 1001.0], [0.0, 1.0, 3.0]]), *_random(25, 2, 3), 1e-5),
        (torch.tensor([[7.0, 7.0, 7.0, 7.0], [0.0, 0.0, 0.0, 0.01]]), *_random(22, 2, 4), 1e-5),
    ),
    slopes=["x", "weight", "bias"],
    more=drawn(10, _to_norm),
    right=[right_layer_norm],
    hints=[
        "Over which axis do you take mean and variance, and what keeps that axis, with size 1?",
        "`centred = x - x.mean(dim=-1, keepdim=True)`. Divide it by the root of the mean of its "
        "squares plus `eps`; `weight` and `bias` come last.",
    ],
    question=number(
        "One position holds (1, 7). `weight` is 20 for both channels, `bias` is 1, and `eps` is "
        "16, so large that it shows. What becomes of the 7? One digit after the point.",
        lambda f: f(torch.tensor([[1.0, 7.0]]), torch.full((2,), 20.0), torch.ones(2), 16.0)[0, 1],
        digits=1,
    ),
    mistakes={
        "dim=-1 -> dim=-2": "This normalises over the time axis: each position must use its "
        "own channels alone",
        "centred.square().mean(dim=-1, -> x.var(dim=-1,": "The variance divides by C, not by "
        "C − 1: `correction=0`",
        "(variance + eps).sqrt() -> (variance.sqrt() + eps)": "`eps` is added to the variance, "
        "not the root",
        "keepdim=True -> ": "A sum over the channels drops their axis: `keepdim=True` keeps it",
    },
)


class RightTransformerBlock(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.ln_1 = nn.LayerNorm(d_model)
        self.attn = MultiHeadAttention(d_model, n_heads)
        self.ln_2 = nn.LayerNorm(d_model)
        self.mlp = RightFeedForward(d_model, 4 * d_model)

    def forward(self, x, mask=None):
        x = x + self.attn(self.ln_1(x), mask=mask)
        return x + self.mlp(self.ln_2(x))


def _out_of_a_block(block):
    """The second number of (1, 3) behind a block whose sublayers multiply by 10 and by 5."""
    block = block(2, 1)
    block.attn.forward, block.mlp.forward = lambda x, mask=None: 10 * x, lambda x: 5 * x
    nn.init.constant_(block.ln_2.weight, 4)
    return block(torch.tensor([[[1.0, 3.0]]]))[0, 0, 1].item()


TransformerBlock = exercise(
    "9.3",
    "TransformerBlock(d_model, n_heads): x (B, T, C), mask (T, T) -> (B, T, C), pre-norm. Its "
    "parts are called `ln_1`, `attn`, `ln_2` and `mlp`.",
    cases=(
        ({"d_model": 8, "n_heads": 2}, _random(5, 2, 4, 8), causal_mask(4)),
        ({"d_model": 6, "n_heads": 3}, _random(6, 1, 3, 6)),
        (
            {"d_model": 6, "n_heads": 2},
            _random(7, 1, 20, 6),
            causal_mask(20) | (torch.arange(20) < 5),
        ),
    ),
    praise="`TransformerBlock` is right: two sublayers, and each adds to the stream.",
    right=[RightTransformerBlock],
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
    mistakes={
        "x + self.attn(self.ln_1(x), mask=mask) -> self.ln_1(x + self.attn(x, mask=mask))\n"
        "x + self.mlp(self.ln_2(x)) -> self.ln_2(x + self.mlp(x))": "This is post-norm, "
        "norm(x + f(x)): write x + f(norm(x))",
        "x + self -> self": "Nothing is added to x: each sublayer must add to what it read",
        "x + self.attn -> self.attn": "The attention's output replaces x: it must be added to it",
        "x + self.mlp -> self.mlp": "The output of `mlp` replaces x: it must be added to it",
        "mlp(self.ln_2 -> mlp(self.ln_1": "`ln_1` is used twice: the second sublayer has a "
        "norm of its own",
        ", mask=mask) -> )": "The mask is not used: give it to the attention",
    },
)


def right_only_the_king(C):
    weight = torch.zeros(C)
    weight[[2, 4, 6]] = 12
    return weight, -30.0


def _hear(what, level, is_due):
    gets = f"{what} gets a hush of {level:.2f}"
    expect(not is_due or level > 0.5, f"Too quiet: {gets}, but more than 0.5 is wanted.")
    expect(is_due or level < 0.1, f"Too loud: {gets}, but less than 0.1 is wanted.")


@torch.no_grad()
def judge_only_the_king(call):
    weight, bias = call(8).like((torch.zeros(8), 0.0))
    expect(weight.shape == (8,), f"`weight` has shape {tuple(weight.shape)}, expected (8,).")
    meanings = itertools.product((0.0, 1.0), repeat=3)  # royal, aged, asleep or not
    pairs = itertools.product(torch.eye(4).tolist(), meanings)
    words = torch.tensor([[*kind, *has, 0.0] for kind, has in pairs]).repeat(2, 1)  # (64, 8)
    noise = 0.1 * _random(11, 32, 8).clamp(-1, 1)  # attention and norms are never exact
    x = words + torch.cat((noise, -noise))
    hush = (x @ weight.float() + bias).relu() / 4
    is_king = words[:, [2, 4, 6]].sum(dim=1) == 3
    for word, level, is_due in zip(words.tolist(), hush.tolist(), is_king.tolist(), strict=True):
        has = ", ".join(name for name, has in zip(CHANNELS, word, strict=True) if has)
        _hear(f"a word with {has}", level, is_due)

    block, stream = set_by_hand(RightTransformerBlock(8, 1)), sentence()[None]
    block.mlp.c_fc.weight[0], block.mlp.c_fc.bias[0] = weight.float(), bias
    for after in ("after one block", "after two blocks"):
        stream = block(stream)
        for word, level in zip(WORDS, stream[0, :, 7].tolist(), strict=True):
            _hear(f"{after} *{word}*", level, word == "king")
    king, others = hush[is_king].min(), hush[~is_king].max()
    return f"A sleeping king gets a hush of {king:.2f}, all others at most {others:.2f}."


only_the_king = exercise(
    "9.4",
    "only_the_king(C) -> weight (C,) and bias, so that relu(x @ weight + bias) / 4 is above 0.5 "
    "where a word x is a noun, royal and asleep, and below 0.1 elsewhere. C = 8.",
    judge=judge_only_the_king,
    right=[right_only_the_king],
    hints=[
        "Which three channels does the sleeping king have, and which of them are missing in a "
        "sleeping beggar, and in a king who is awake?",
        "Give three channels the same weight w. The sum is 3w for the king, and at most 2w for all "
        "others: which bias lies between them? A larger w leaves more room.",
    ],
    question=which(
        "[2, 4, 6] -> [4, 6]\n12 -> 8\n-30.0 -> -10.0",  # the figure's rule
        others=["-30.0 -> 0.0", "-30.0 -> -37.0"],
    ),
    mistakes=edits(
        right_only_the_king,
        {
            "[2, 4, 6] -> [4, 6]\n12 -> 8\n-30.0 -> -10.0": "Too loud: a word with article, royal, "
            "asleep",
            "-30.0 -> 0.0": "Too loud: a word with article, asleep",
            "-30.0 -> -37.0": "Too quiet: a word with noun, royal",
            "= 12 -> = 12; weight[6] = -12\n-30.0 -> -18.0": "Too loud: a word with noun, royal",
        },
        quoted=True,
    ),
)
