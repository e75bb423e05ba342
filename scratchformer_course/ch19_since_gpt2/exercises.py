"""The exercises of chapter 19, since GPT-2."""

import math
from functools import cache

import torch
from torch.nn import functional as F

from scratchformer_course.kit.checks.cases import drawn, normal
from scratchformer_course.kit.checks.engine import exercise, mistake
from scratchformer_course.kit.checks.question import number

EPS = 1e-5


@cache
def _norm_cases():
    def normal(*shape, seed=0):
        return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))

    return (
        (torch.tensor([[3.0, -4.0, 0.0, 0.0]]), torch.ones(4), EPS),
        (normal(2, 3, 8) + 1, normal(8, seed=1), EPS),
        (0.003 * normal(4, 8, seed=2), torch.ones(8), EPS),  # as small as eps under the root
        (torch.zeros(2, 4), torch.ones(4), EPS),
        ((300 * normal(3, 16, seed=3)).half(), torch.ones(16).half(), EPS),  # 300² is no half
        ((2 * normal(3, 16, seed=4)).bfloat16(), torch.ones(16).bfloat16(), EPS),
        (normal(2, 2, 3, 4, seed=5), normal(4, seed=6), 0.3),
    )


def _rows(draw):
    shape = [draw.randint(1, 4) for _ in range(draw.randint(0, 3))]
    C, scale = draw.randint(2, 9), draw.choice([0.0, 1e-3, 1.0, 50.0])
    x, weight = normal(draw, *shape, C, scale=scale), normal(draw, C)
    dtype = draw.choice([torch.float32, torch.float32, torch.bfloat16])
    eps = draw.choice([0.0, 1e-6, 1e-5, 1e-2, 1.0])
    if not scale:  # zeros, and an eps that half precision takes for 0
        dtype, eps = torch.float16, 1e-12
    return x.to(dtype), weight.to(dtype), eps


def _size(x, eps):
    return (x.square().mean(-1, keepdim=True) + eps).sqrt()


def _normed(x, weight, eps, size=_size):
    return weight * (x.float() / size(x.float(), eps)).to(x.dtype)


def rms_norm_by_pytorch(x, weight, eps):
    return weight * F.rms_norm(x.float(), x.shape[-1:], eps=eps).to(x.dtype)


rms_norm = exercise(
    "19.1",
    "rms_norm(x: (…, C), weight: (C,), eps: a number) -> (…, C), as precise as x",
    cases=_norm_cases,
    more=drawn(16, _rows),
    praise="`rms_norm` is right: for zeros, for tiny numbers, and where squares overflow.",
    right=[lambda x, weight, eps: _normed(x, weight, eps), rms_norm_by_pytorch],
    hints=[
        "What happens to a row of zeros, and what is 300² in a number that ends at 65,504?",
        "Work on `x.float()`. Add eps to the mean of the squares before you take the root, and "
        "multiply by the weight when the rest is back in ...",
    ],
    question=number(
        "A row is 3, −4, 0, 0, all weights are 1, and eps is 2.75. What is its first number "
        "afterwards?",
        lambda f: f(torch.tensor([[3.0, -4.0, 0.0, 0.0]]), torch.ones(4), 2.75)[0, 0],
        digits=3,
    ),
    mistakes=[
        mistake(
            "adds eps outside the root",
            "eps stands outside the root here, where it is much smaller than under it: add it to "
            "the mean of the squares",
            lambda x, weight, eps: _normed(x, weight, eps, lambda x, eps: _size(x, 0) + eps),
        ),
        mistake(
            "squares in half precision",
            "The squares overflow in 16 bits and the result is 0: compute in float32",
            lambda x, weight, eps: weight * x / _size(x, eps),
        ),
        mistake(
            "subtracts the mean",
            "This subtracts the mean, as LayerNorm does: RMSNorm only divides",
            lambda x, weight, eps: (
                weight * F.layer_norm(x.float(), x.shape[-1:], eps=eps).to(x.dtype)
            ),
        ),
        mistake(
            "forgets the root",
            "This divides by the mean of the squares: take its root",
            lambda x, weight, eps: _normed(x, weight, eps, lambda x, eps: _size(x, eps).square()),
        ),
        mistake(
            "stays in float32",
            "The numbers are right, but not their type: turn them back into that of x before the "
            "weight multiplies them",
            lambda x, weight, eps: weight * _normed(x.float(), 1, eps),
        ),
    ],
)


def width_by_counting(d_model, multiple):
    width = multiple
    while 3 * width * d_model < 8 * d_model**2:
        width += multiple
    return width


swiglu_width = exercise(
    "19.2",
    "swiglu_width(d_model, multiple) -> a multiple; three matrices weigh what two of 4 d_model do",
    cases=((96, 1), (4096, 256), (64, 1), (12, 8), (5120, 256), (768, 64), (100, 32), (65, 1)),
    more=drawn(30, lambda draw: (draw.randint(1, 700), draw.choice([1, 2, 3, 7, 64, 100]))),
    praise="`swiglu_width` is right, for Llama's 11,008 too.",
    right=[
        lambda d_model, multiple: math.ceil(8 * d_model / 3 / multiple) * multiple,
        width_by_counting,
    ],
    hints=[
        "Two matrices of d_model × 4 d_model hold 8 d_model² weights. How wide must three be, to "
        "hold as many?",
        "Divide 8 d_model / 3 by `multiple`, round up with `math.ceil`, and ...",
    ],
    question=number(
        "A model is 24 wide and `multiple` is 20. How wide is the hidden layer of its SwiGLU?",
        lambda f: f(24, 20),
        digits=0,
    ),
    mistakes=[
        mistake(
            "keeps 4 d_model",
            "Three matrices of this width hold half as many weights again: 12 d_model² against 8",
            lambda d_model, multiple: math.ceil(4 * d_model / multiple) * multiple,
        ),
        mistake(
            "rounds down",
            "This rounds down, and has fewer weights: round up to the next multiple",
            lambda d_model, multiple: int(8 * d_model / 3 / multiple) * multiple,
        ),
        mistake(
            "always goes one further",
            "Where the width is a multiple already, it stays: this takes the next one",
            lambda d_model, multiple: (int(8 * d_model / 3) // multiple + 1) * multiple,
        ),
        mistake(
            "forgets the multiple",
            "The width must be a multiple of `multiple`",
            lambda d_model, multiple: math.ceil(8 * d_model / 3),
        ),
    ],
)


def _keys(*shape):
    return torch.arange(math.prod(shape), dtype=torch.float32).view(*shape)


def share_by_expanding(k, n_heads):
    B, kv_heads, T, D = k.shape
    return k[:, :, None].expand(B, kv_heads, n_heads // kv_heads, T, D).flatten(1, 2)


def _shared(draw):
    B, kv_heads, T, D = (draw.randint(1, 3) for _ in range(4))
    return normal(draw, B, kv_heads, T, D), kv_heads * draw.randint(1, 4)


share_keys = exercise(
    "19.3",
    "share_keys(k: (B, kv_heads, T, D), n_heads) -> (B, n_heads, T, D), neighbours share a key",
    cases=(
        (_keys(1, 2, 1, 1), 4),
        (_keys(2, 2, 3, 4), 4),
        (_keys(1, 3, 2, 2), 6),
        (_keys(2, 4, 3, 2), 4),
        (_keys(2, 1, 3, 2), 4),
        (_keys(1, 2, 5, 2), 6),
    ),
    more=drawn(8, _shared),
    praise="`share_keys` is right: queries 0 to group − 1 share key 0, and so on.",
    slopes=("k",),
    right=[
        lambda k, n_heads: k.repeat_interleave(n_heads // k.shape[1], dim=1),
        share_by_expanding,
    ],
    hints=[
        "With 4 queries and 2 keys, which queries share key 0: 0 and 1, or 0 and 2?",
        "`repeat_interleave` repeats each entry before it goes on to the next. It needs how often, "
        "n_heads divided by ..., and the axis.",
    ],
    question=number(
        "Six heads share two keys. At the only place, key 0 is 5 and key 1 is 8, one number wide. "
        "Which six digits does `share_keys` return, read as one number?",
        lambda f: int(
            "".join(f"{n:.0f}" for n in f(torch.tensor([[[[5.0]], [[8.0]]]]), 6).flatten().tolist())
        ),
        digits=0,
    ),
    mistakes=[
        mistake(
            "repeats the row of keys",
            "The keys come as 0, 1, 0, 1: repeat each one before the next, 0, 0, 1, 1",
            lambda k, n_heads: k.repeat(1, n_heads // k.shape[1], 1, 1),
        ),
        mistake(
            "repeats each key n_heads times",
            "There are too many keys: each serves n_heads / kv_heads queries",
            lambda k, n_heads: k.repeat_interleave(n_heads, dim=1),
        ),
        mistake(
            "repeats along time",
            "This repeats the places: heads are on axis 1",
            lambda k, n_heads: k.repeat_interleave(n_heads // k.shape[1], dim=2),
        ),
        mistake(
            "gives every query the first key",
            "All queries share key 0: only each group of neighbours shares one",
            lambda k, n_heads: k[:, :1].expand(-1, n_heads, -1, -1),
        ),
    ],
)
