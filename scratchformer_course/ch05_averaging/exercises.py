"""The exercises of chapter 5, averaging the past."""

import math

import torch

from scratchformer_course.kit.checks.cases import drawn, normal
from scratchformer_course.kit.checks.engine import exercise
from scratchformer_course.kit.checks.mistakes import edits
from scratchformer_course.kit.checks.question import number
from scratchformer_course.kit.checks.verdict import Wrong, expect

CAUSAL = torch.ones(4, 4, dtype=torch.bool).tril()


def right_averaging_weights(T):
    ones = torch.ones(T, T).tril()  # zeros above the diagonal
    return ones / ones.sum(dim=1, keepdim=True)


def judge_averaging_weights(call):
    praise = averaging_weights.compare(call)
    leak = float(call(9).like(torch.eye(9)).triu(1).abs().max())  # too small for a comparison
    expect(leak < 1e-6, f"The future gets weights up to {leak:.2g}: 0 is expected.")
    return praise


averaging_weights = exercise(
    "5.1",
    "averaging_weights(T: int) -> (T, T), for which weights @ x is the mean of each prefix of x",
    cases=(4, 1, 7, 300),
    more=drawn(4, lambda draw: draw.randint(1, 40)),
    judge=judge_averaging_weights,
    right=[right_averaging_weights],
    hints=[
        "How many ones does row `t` hold after `tril()`?",
        "`ones = torch.ones(T, T).tril()`, divided by `ones.sum(dim=..., keepdim=True)`.",
    ],
    question=number(
        "Which number is in row 3, column 1 of `averaging_weights(6)`? (Both count from 0.) "
        "Give two digits after the point.",
        lambda f: f(6)[3, 1],
    ),
    mistakes={
        "tril() -> triu()": "Position t takes in positions after it: it may use 0 … t, no more",
        " / ones.sum(dim=1, keepdim=True) -> ": "The rows are not divided by their sum: these "
        "are sums, not means",
        "dim=1 -> dim=0": "Each column is divided by its sum: a mean needs rows whose sum is 1",
        "ones.sum(dim=1, keepdim=True) -> T": "Every row is divided by T: row t has t + 1 ones",
        ", keepdim=True -> ": "The row sums divide the columns: `keepdim=True` keeps them upright",
    },
)


def right_masked_softmax(scores, mask):
    return scores.masked_fill(~mask, -math.inf).softmax(dim=1)


def _masked_scores(draw):
    """Any mask that lets each place look somewhere."""
    T = draw.size(1, 6, 40)
    mask = (normal(draw, T, T) > 0.4) | torch.eye(T).bool()[torch.tensor(draw.sample(range(T), T))]
    return normal(draw, T, T, scale=draw.choice([1.0, 50.0])), mask


masked_softmax = exercise(
    "5.2",
    "masked_softmax(scores: (T, T), mask: (T, T) bool, True = may look) -> (T, T)",
    cases=(
        (torch.tensor([[1.0, 3.0], [0.0, 2.0]]), CAUSAL[:2, :2]),
        (torch.tensor([[0.0, 200.0], [0.0, 0.0]]), CAUSAL[:2, :2]),  # so large that others vanish
        (torch.tensor([[-2e38, 0.0], [-2e6, 3.0]]), CAUSAL[:2, :2]),  # a low fill is not low enough
    ),
    slopes=["scores"],
    more=drawn(20, _masked_scores),
    right=[right_masked_softmax],
    hints=[
        "Which score has the exponential 0?",
        "`scores.masked_fill(~mask, ...)`, and then the softmax of each row.",
    ],
    question=number(
        "`scores` has the rows [ln 2, 0, 0], [ln 6, ln 2, ln 12] and [ln 8, 0, 0], and the mask is "
        "causal. Which weight is in row 1, column 0? (e to the power of ln a is a.) Give two "
        "digits after the point.",
        lambda f: f(torch.tensor([[2.0, 1, 1], [6, 2, 12], [8, 1, 1]]).log(), CAUSAL[:3, :3])[1, 0],
    ),
    mistakes={
        "~mask -> mask": "The mask is the wrong way round: True means may look",
        "-math.inf -> 0.0": "Hidden scores are set to 0, and exp(0) is 1: set them to -inf",
        "-math.inf -> -1e4": "A hidden score must be below any other, so -inf",
        ".softmax(dim=1) -> .softmax(dim=0)": "Softmax runs down the columns: each row is one "
        "position",
        ".masked_fill(~mask, -math.inf).softmax(dim=1) -> .softmax(dim=1) * mask": "Softmax "
        "comes before the mask: the rows no longer sum to 1",
        "return scores.masked_fill(~mask, -math.inf).softmax(dim=1) -> "
        "p = scores.masked_fill(~mask, -math.inf).exp(); return p / p.sum(dim=1, keepdim=True)": ""
        "`exp` of such scores overflows or becomes 0: subtract each row's largest score first",
    },
)


def right_fading_scores(T):
    back = torch.arange(T).unsqueeze(1) - torch.arange(T)  # (T, T)
    return -math.log(2) * back  # e to the power of -ln 2 is a half


def judge_fading_scores(call):
    for T in (3, 5, 2, 60):
        causal = torch.ones(T, T, dtype=torch.bool).tril()
        scores = call(T).like(torch.ones(T, T))
        shape = f"The scores have shape {tuple(scores.shape)}, but {(T, T)} is expected."
        expect(scores.shape == causal.shape, shape)
        weights = right_masked_softmax(scores.double(), causal)
        ratios = (weights[:, :-1] / weights[:, 1:])[causal[:, 1:]]  # each with the next position
        close = (ratios - 0.5).abs() < 1e-3
        if bool(close.all()):
            continue
        ratio = float(ratios[~close][0])
        alike = f"With T = {T}, two neighbours have the same weight: their scores have to differ."
        expect(ratio != 1, alike)
        expect(not ratio > 1, f"A step back has {ratio:.3g} times the weight: it must have less.")
        by_e = "A score that is 1 lower divides the weight by e ≈ 2.72: what divides it by 2?"
        expect(abs(ratio - math.exp(-1)) > 1e-3, by_e)
        raise Wrong(f"A step back has {ratio:.3g} times the weight, but 0.5 times is expected.")
    return "Each step back has half the weight, in every row up to 60 positions."


fading_scores = exercise(
    "5.3",
    "fading_scores(T: int) -> (T, T), from which masked softmax makes weights that halve",
    judge=judge_fading_scores,
    right=[right_fading_scores],
    hints=[
        "Two scores differ by d. What is e to the power of one, divided by e to the power of the "
        "other?",
        "How many steps back is column s for row t? Multiply this number by -math.log(...).",
    ],
    question=number(
        "`fading_scores(3)` goes through the masked softmax, with the causal mask. Which weight "
        "is in row 2, column 0? (Both count from 0.) Give two digits after the point.",
        lambda f: right_masked_softmax(f(3), CAUSAL[:3, :3])[2, 0],
    ),
    mistakes=edits(
        right_fading_scores,
        {
            "math.log(2) -> 0.0": "the same weight",
            "math.log(2) -> 1.0": "divides the weight by e",
            "-math.log(2) -> math.log(2)": "it must have less",
            "-math.log(2) * back -> 0.5**back": "but 0.5 times is expected",
        },
        quoted=True,
    ),
)
