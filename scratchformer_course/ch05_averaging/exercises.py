"""The exercises of chapter 5, averaging the past."""

import math

import torch

from scratchformer_course.kit.checks.cases import drawn, normal
from scratchformer_course.kit.checks.engine import exercise, mistake, refused
from scratchformer_course.kit.checks.question import number
from scratchformer_course.kit.checks.verdict import Wrong, expect


def _random(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


SCORES = torch.randn(4, 4, generator=torch.Generator().manual_seed(1))
ZERO = SCORES.clone()
ZERO[2, 0] = ZERO[3, 1] = 0.0  # allowed, and as large as what tril leaves
CAUSAL = torch.ones(4, 4, dtype=torch.bool).tril()
OTHER = torch.tensor([[1, 0, 1, 0], [0, 1, 0, 0], [0, 1, 1, 1], [1, 0, 0, 1]]).bool()


def _past(T):
    return torch.ones(T, T).tril()


def right_averaging_weights(T):
    ones = torch.ones(T, T).tril()
    return ones / ones.sum(dim=1, keepdim=True)


def by_softmax(T):
    hidden = torch.ones(T, T).triu(1).bool()
    return torch.zeros(T, T).masked_fill(hidden, -math.inf).softmax(dim=1)


def judge_averaging_weights(call):
    praise = averaging_weights.compare(call)
    weights = call(9).like(torch.eye(9))
    leak = float(weights.triu(1).abs().max())  # too small for a comparison, and large for many rows
    expect(leak < 1e-6, f"The future gets weights up to {leak:.2g}: 0 is expected.")
    return praise


averaging_weights = exercise(
    "5.1",
    "averaging_weights(T: int) -> (T, T), for which weights @ x is the mean of each prefix of x",
    cases=(4, 1, 7, 2, 12, 70),
    judge=judge_averaging_weights,
    more=drawn(4, lambda draw: draw.randint(1, 40)),
    right=[right_averaging_weights, by_softmax],
    hints=[
        "How many ones does row `t` hold after `tril()`?",
        "`ones = torch.ones(T, T).tril()`, divided by `ones.sum(dim=..., keepdim=True)`.",
    ],
    question=number(
        "Which number is in row 3, column 1 of `averaging_weights(6)`? (Both count from 0.) "
        "Give two digits after the point.",
        lambda f: f(6)[3, 1],
    ),
    mistakes=[
        mistake(
            "upper triangle",
            "The matrix is transposed: row t holds the weights of output t. Position t takes in "
            "positions after it: it may use 0 … t, no more",
            lambda T: right_averaging_weights(T).T,
        ),
        mistake(
            "rows not divided",
            "The rows are not divided by their sum: these are sums, not means",
            lambda T: _past(T),
        ),
        mistake(
            "all rows divided by T",
            "Every row is divided by T: row t has t + 1 ones",
            lambda T: _past(T) / T,
        ),
        mistake(
            "columns sum to 1",
            "Each column sums to 1, but each row must: sum over `dim=1`, with `keepdim=True`",
            lambda T: _past(T) / _past(T).sum(dim=0),
        ),
        mistake(
            "forgets keepdim",
            "The row sums divide the columns: `keepdim=True` keeps them upright",
            lambda T: _past(T) / _past(T).sum(dim=1),
        ),
        mistake(
            "softmax over zeros instead of −∞",
            "Softmax sees 0 above the diagonal, and exp(0) is 1: use -inf",
            lambda T: _past(T).softmax(dim=1),
        ),
    ],
)


def right_masked_softmax(scores, mask):
    return scores.masked_fill(~mask, -math.inf).softmax(dim=1)


def by_exponentials(scores, mask):
    scores = torch.where(mask, scores, -math.inf)
    e = (scores - scores.amax(dim=1, keepdim=True)).exp()
    return e / e.sum(dim=1, keepdim=True)


def explain_masked_softmax(got, scores, mask):
    if got.shape == mask.shape:
        leak = float(got[~mask].abs().max())
        low_fill = "a hidden score must be below any other, so -inf"
        expect(not leak > 1e-6, f"Hidden positions get weights up to {leak:.2g}: {low_fill}.")


def _masked_scores(draw):
    """Any mask that lets each place look somewhere."""
    T = draw.randint(1, 6)
    mask = (normal(draw, T, T) > 0.4) | torch.eye(T).bool()[torch.tensor(draw.sample(range(T), T))]
    return normal(draw, T, T, scale=draw.choice([1.0, 50.0])), mask


masked_softmax = exercise(
    "5.2",
    "masked_softmax(scores: (T, T), mask: (T, T) bool, True = may look) -> (T, T)",
    cases=(
        (SCORES, CAUSAL),
        (ZERO, CAUSAL),
        (SCORES, OTHER),
        (SCORES - 1000, CAUSAL),
        (SCORES + 1000, OTHER),
        (SCORES + 60 * ~OTHER, OTHER),  # what is hidden is large
        (90 * _random(6, 6), torch.eye(6).bool() | (_random(6, 6) > 0.3)),
        (_random(6, 6).mT.round(), torch.ones(6, 6).bool()),
        (_random(1, 1), torch.ones(1, 1).bool()),
        (torch.tensor([[0.0, 200.0], [0.0, 0.0]]), CAUSAL[:2, :2]),  # so large that others vanish
        (torch.tensor([[-2e6, 0.0], [-2e6, 3.0]]), CAUSAL[:2, :2]),  # a low fill is not low enough
    ),
    explain=explain_masked_softmax,
    slopes=["scores"],
    more=drawn(10, _masked_scores),
    right=[right_masked_softmax, by_exponentials],
    hints=[
        "Which score has the exponential 0?",
        "`scores.masked_fill(~mask, ...)`, and then the softmax of each row.",
    ],
    question=number(
        "`scores` has the rows [ln 2, 0, 0], [ln 6, ln 2, ln 12] and [ln 8, 0, 0], and the mask is "
        "causal. Which weight is in row 1, column 0? (e to the power of ln a is a.) Give two "
        "digits after the point.",
        lambda f: f(
            torch.tensor([[2.0, 1.0, 1.0], [6.0, 2.0, 12.0], [8.0, 1.0, 1.0]]).log(),
            CAUSAL[:3, :3],
        )[1, 0],
    ),
    mistakes=[
        mistake(
            "ignores the mask",
            "The mask has no effect: all weights are above 0",
            lambda scores, mask: scores.softmax(dim=1),
        ),
        mistake(
            "hides where the mask is True",
            "The mask is the wrong way round: True means may look",
            lambda scores, mask: scores.masked_fill(mask, -math.inf).softmax(dim=1),
        ),
        mistake(
            "hides with 0",
            "Hidden scores are set to 0, and exp(0) is 1: set them to -inf",
            lambda scores, mask: (scores * mask).softmax(dim=1),
        ),
        mistake(
            "masks after the softmax",
            "Softmax comes before the mask: the rows no longer sum to 1",
            lambda scores, mask: scores.softmax(dim=1) * mask,
        ),
        mistake(
            "softmax down the columns",
            "Softmax runs down the columns: each row is one position",
            lambda scores, mask: scores.masked_fill(~mask, -math.inf).softmax(dim=0),
        ),
        mistake(
            "adds the mask times −∞",
            "Multiplying by -inf gives NaN where the mask is 0: use `masked_fill`",
            lambda scores, mask: (scores + (~mask).float() * -math.inf).softmax(dim=1),
        ),
    ],
)


def right_fading_scores(T):
    back = torch.arange(T).unsqueeze(1) - torch.arange(T)
    return -math.log(2) * back


def by_halves(T):
    return torch.tensor([[math.log(0.5 ** abs(t - s)) for s in range(T)] for t in range(T)])


def judge_fading_scores(call):
    for T in (3, 5, 2, 9):
        causal = torch.ones(T, T, dtype=torch.bool).tril()
        scores = call(T).like(torch.ones(T, T))
        shape = f"The scores have shape {tuple(scores.shape)}, but {(T, T)} is expected."
        expect(scores.shape == causal.shape, shape)
        weights = right_masked_softmax(scores.double(), causal)
        ratios = (weights[:, :-1] / weights[:, 1:])[causal[:, 1:]]  # each with the next position
        close = (ratios - 0.5).abs() < 1e-3
        if bool(close.all()):
            continue
        found = float(ratios[~close][0])
        expect(found != 1, "Two neighbours have the same weight: their scores have to differ.")
        expect(not found > 1, f"A step back has {found:.3g} times the weight: it must have less.")
        by_e = "A score that is 1 lower divides the weight by e ≈ 2.72: what divides it by 2?"
        expect(abs(found - math.exp(-1)) > 1e-3, by_e)
        raise Wrong(f"A step back has {found:.3g} times the weight, but 0.5 times is expected.")
    return "Each step back has half the weight, in every row up to 9 positions."


fading_scores = exercise(
    "5.3",
    "fading_scores(T: int) -> (T, T), from which masked softmax makes weights that halve",
    judge=judge_fading_scores,
    right=[right_fading_scores, by_halves],
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
    mistakes=[
        refused("all scores equal", "the same weight", lambda T: torch.zeros(T, T)),
        refused(
            "one point less for each step back",
            "divides the weight by e",
            lambda T: right_fading_scores(T) / math.log(2),
        ),
        refused(
            "scores that rise with the distance",
            "it must have less",
            lambda T: -right_fading_scores(T),
        ),
        refused(
            "scores that are halved, not weights",
            "but 0.5 times is expected",
            lambda T: right_fading_scores(T).tril().exp(),
        ),
    ],
)
