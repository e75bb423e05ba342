"""The exercises of chapter 19, since GPT-2."""

import math

import torch

from scratchformer_course.kit.checks import exercise, number
from scratchformer_course.kit.checks.cases import drawn, normal


def right_rms_norm(x, weight, eps):
    wide = x.float()
    mean_square = wide.square().mean(dim=-1, keepdim=True)
    return weight * (wide * torch.rsqrt(mean_square + eps)).to(x.dtype)


def _rows(draw):
    shape = [draw.randint(1, 4) for _ in range(draw.randint(0, 3))]
    C, scale = draw.size(2, 9, 64), draw.choice([0.0, 1e-3, 1.0, 50.0])
    x, weight = normal(draw, *shape, C, scale=scale), normal(draw, C)
    dtype = draw.choice([torch.float32, torch.float32, torch.bfloat16])
    eps = draw.choice([0.0, 1e-6, 1e-5, 1e-2, 1.0])
    if not scale:  # zeros, and an eps that half precision takes for 0
        dtype, eps = torch.float16, 1e-12
    return x.to(dtype), weight.to(dtype), eps


rms_norm = exercise(
    "19.1",
    "rms_norm(x: (…, C), weight: (C,), eps: a number) -> (…, C), as precise as x",
    cases=(
        (torch.tensor([[3.0, -4.0, 0.0, 0.0]]), torch.ones(4), 2.75),
        (torch.tensor([300.0, -250.0, 9.0]).half(), torch.ones(3).half(), 1e-5),  # 300² is no half
        # 0.7 of the smallest half is rounded to 1 of it before the weight makes it large
        (torch.tensor([2.0, 2**-24]).half(), torch.tensor([0.0, 2**15]).half(), 0.0),
    ),
    slopes=["x", "weight"],
    more=drawn(16, _rows),
    praise="`rms_norm` is right: for zeros, for tiny numbers, and where squares overflow.",
    right=[right_rms_norm],
    hints=[
        "What happens to a row of zeros, and what is 300² in a number that ends at 65,504?",
        "Work on `x.float()`. eps is under the root. The weight multiplies what is back in ...",
    ],
    question=number(
        "A row is 3, −4, 0, 0, all weights are 1, and eps is 2.75. What does the 3 become?",
        lambda f: f(*rms_norm.cases[0])[0, 0],
        digits=3,
    ),
    mistakes={
        "* torch.rsqrt(mean_square + eps) -> / (mean_square.sqrt() + eps)": "eps stands "
        "outside the root here, where it is much smaller than under it: add it to the mean of "
        "the squares",
        "x.float() -> x": "The squares overflow in 16 bits and the result is 0: compute in float32",
        "x.float() -> x.float() - x.float().mean(-1, keepdim=True)": "This subtracts the mean, "
        "as LayerNorm does: RMSNorm only divides",
        "* torch.rsqrt(mean_square + eps) -> / (mean_square + eps)": "This divides by the mean "
        "of the squares: take its root",
        ".to(x.dtype) -> ": "The numbers are right, but not their type: turn them back into "
        "that of x before the weight multiplies them",
    },
)


def right_swiglu_width(d_model, multiple):
    # 3 · width · d_model weights, as many as 2 · 4 d_model · d_model
    return math.ceil(8 * d_model / 3 / multiple) * multiple


swiglu_width = exercise(
    "19.2",
    "swiglu_width(d_model, multiple) -> a multiple; three matrices weigh what two of 4 d_model do",
    cases=((4096, 256), (96, 1)),
    more=drawn(30, lambda draw: (draw.size(1, 700, 10**6 + 1), draw.choice([1, 2, 3, 7, 64]))),
    praise="`swiglu_width` is right, for Llama's 11,008 too.",
    right=[right_swiglu_width],
    hints=[
        "Two matrices of d_model × 4 d_model hold 8 d_model² weights. How wide must three be?",
        "Divide 8 d_model / 3 by `multiple`, round up with `math.ceil`, and ...",
    ],
    question=number(
        "A model is 24 wide and `multiple` is 20. How wide is the hidden layer of its SwiGLU?",
        lambda f: f(24, 20),
        digits=0,
    ),
    mistakes={
        "8 * d_model / 3 -> 4 * d_model": "Three matrices of this width hold half as many "
        "weights again: 12 d_model² against 8",
        "ceil -> floor": "This rounds down, and has fewer weights: round up to the next multiple",
        " / multiple) * multiple -> )": "The width must be a multiple of `multiple`",
    },
)


def right_share_keys(k, n_heads):
    return k.repeat_interleave(n_heads // k.shape[1], dim=1)


def _shared(draw):
    B, kv_heads, T, D = (draw.size(1, 3, 5) for _ in range(4))
    return normal(draw, B, kv_heads, T, D), kv_heads * draw.size(1, 4, 12)


share_keys = exercise(
    "19.3",
    "share_keys(k: (B, kv_heads, T, D), n_heads) -> (B, n_heads, T, D), neighbours share a key",
    cases=((torch.tensor([[[[5.0]], [[8.0]]]]), 6),),
    more=drawn(8, _shared),
    praise="`share_keys` is right: queries 0 to group − 1 share key 0, and so on.",
    slopes=("k",),
    right=[right_share_keys],
    hints=[
        "With 4 queries and 2 keys, which queries share key 0: 0 and 1, or 0 and 2?",
        "`repeat_interleave` needs how often each key comes, n_heads divided by ..., and an axis.",
    ],
    question=number(
        "Six heads share two keys, one place long and one number wide: 5 and 8. Which six digits "
        "does `share_keys` return, read as one number?",
        lambda f: int("".join(f"{n:.0f}" for n in f(*share_keys.cases[0]).flatten())),
        digits=0,
    ),
    mistakes={
        "repeat_interleave(n -> repeat(1, n\ndim=1 -> 1, 1": "The keys come as 0, 1, 0, 1: "
        "repeat each one before the next, 0, 0, 1, 1",
        "n_heads // k.shape[1] -> n_heads": "There are too many keys: each serves n_heads / "
        "kv_heads queries",
        "dim=1 -> dim=2": "This repeats the places: heads are on axis 1",
        "k.rep -> k[:, :1].rep\nk.shape[1] -> 1": "All queries share key 0: only each group of "
        "neighbours shares one",
    },
)
