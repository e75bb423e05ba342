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


def right_top_two(scores):
    p = scores.softmax(dim=-1)  # (N, E)
    best = p.topk(2).indices  # (N, 2)
    kept = torch.zeros_like(p).scatter(-1, best, p.gather(-1, best))
    return kept / kept.sum(dim=-1, keepdim=True)


def _softmax_of_two(scores):
    best = scores.topk(2).indices
    others = torch.ones_like(scores, dtype=torch.bool).scatter(-1, best, False)
    return scores.masked_fill(others, -math.inf).softmax(dim=-1)


def _scores(draw):
    shape = draw.size(1, 6, 200), draw.size(2, 9, 64)
    return normal(draw, *shape, scale=draw.choice([0.1, 1.0, 3.0, 30.0]))


top_two = exercise(
    "19.3",
    "top_two(scores: (N, E)) -> (N, E), each row's two largest probabilities, divided by their sum",
    cases=(
        torch.tensor([[1.0, 6.0, 3.0, 2.0], [5.0, 4.0, 1.0, 20.0]]).log(),
        torch.tensor([[-200.0, -210.0, -205.0], [300.0, 301.0, 310.0]]),
        torch.tensor([[0.3, -0.3]]),
    ),
    more=drawn(10, _scores, ties=False),
    praise="`top_two` is right: two experts for each token, whose weights add up to 1.",
    slopes=["scores"],
    right=[right_top_two, _softmax_of_two],
    hints=[
        "Which numbers of `scores.softmax(dim=-1)` stay in each row, and what is their sum?",
        "`topk(2).indices` says where they are. Put them into zeros with `scatter`, then "
        "divide by ...",
    ],
    question=number(
        "A token's scores for four experts are the logarithms of 1, 6, 3 and 2. Which weight does "
        "the third expert get?",
        lambda f: f(top_two.cases[0][0])[0, 2],
        digits=3,
    ),
    mistakes={
        "kept / kept.sum(dim=-1, keepdim=True) -> kept": "The two weights do not add up to 1: "
        "divide them by their sum",
        ".softmax(dim=-1) -> .softmax(dim=0)": "This softmax runs over the tokens: each token "
        "chooses among its own experts",
        "p = scores.softmax(dim=-1) -> p = scores": "These are shares of the scores: first make "
        "probabilities of them",
        "p.topk(2).indices -> p.topk(1).indices": "Only one expert works for a token: two should",
        "p.topk(2).indices -> p.mean(dim=0).topk(2).indices.expand(len(p), 2)": "Every token gets "
        "the same two experts: choose them row by row",
    },
)
