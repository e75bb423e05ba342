"""The exercises of chapter 6, self-attention."""

import math

import torch

from scratchformer_course.kit.checks.cases import drawn, normal
from scratchformer_course.kit.checks.engine import exercise
from scratchformer_course.kit.checks.mistakes import edited, edits
from scratchformer_course.kit.checks.question import number, which
from scratchformer_course.kit.checks.verdict import expect

# The words of the chapter: article adjective noun verb | royal aged asleep.
FEATURES = {
    "the": [1, 0, 0, 0, 0, 0, 0],
    "old": [0, 1, 0, 0, 0, 1, 0],
    "young": [0, 1, 0, 0, 0, 0, 0],
    "king": [0, 0, 1, 0, 1, 0, 0],
    "maid": [0, 0, 1, 0, 0, 0, 0],
    "loves": [0, 0, 0, 1, 0, 0, 0],
    "sleeps": [0, 0, 0, 1, 0, 0, 1],
}


def _vectors(words, hands=False):
    """The words' features (T, 7); with `hands`, a clock hand for each place in two more columns."""
    x = torch.tensor([FEATURES[word] for word in words], dtype=torch.float64)
    t = torch.arange(len(words), dtype=torch.float64) / 2
    return torch.cat([x, t.cos()[:, None], t.sin()[:, None]], dim=1) if hands else x


def _matrices(call, C):
    """The two matrices that a learner's design returns, in double precision."""
    pair = call(C).like((torch.zeros(C, 2), torch.zeros(C, 2)), "Return W_q and W_k.")
    shapes = [tuple(matrix.shape) for matrix in pair]
    for name, matrix in zip(("W_q", "W_k"), pair, strict=True):
        shape = f"{name} has shape {tuple(matrix.shape)}, but ({C}, any width) is expected"
        expect(matrix.dim() == 2 and len(matrix) == C and matrix.shape[1], f"{shape}.")
        expect(matrix.isfinite().all(), f"{name} holds nan or infinite numbers.")
    why = f"W_q and W_k have shapes {shapes[0]} and {shapes[1]}: a query and a key must be as long."
    expect(shapes[0] == shapes[1], why)
    return (matrix.double() for matrix in pair)


def _weights(x, W_q, W_k):
    return (x @ W_q @ (x @ W_k).T / math.sqrt(W_q.shape[1])).softmax(dim=1)


def _find(words, weights, asks, target):
    """Raise `Wrong` unless the word at `asks` gives the one at `target` 0.8 of its attention."""
    row = weights[asks]
    share, best = float(row[target]), int(row.argmax())
    gives = f"In *{' '.join(words)}*, the word *{words[asks]}* gives {share:.2f}"
    gives = f"{gives} to *{words[target]}*"
    top = row > row.max() - 1e-6
    others = ", ".join(f"*{word}*" for i, word in enumerate(words) if top[i] and i != target)
    if not top[target]:
        why = f"{gives}, and {float(row[best]):.2f} to *{words[best]}*."
    elif others:
        why = f"{gives}, and as much to {others}: their scores are equal."
    else:
        why = f"{gives}, its largest weight, but 0.8 is wanted: its scores are too close."
    expect(share >= 0.8, why)


def judge_verb_finder(call):
    W_q, W_k = _matrices(call, 7)
    words = "the old king sleeps".split()
    weights = _weights(_vectors(words), W_q, W_k)
    for asks in range(4):
        _find(words, weights, asks, 3)
    return f"Every word finds the verb, and the least sure gives it {weights[:, 3].min():.2f}."


def right_verb_finder(C):
    W_q, W_k = torch.zeros(C, 2), torch.zeros(C, 2)
    W_q[:4, 1] = 6  # every kind of word looks for a verb
    W_k[3, 1] = 1  # a verb is found by "verb"
    return W_q, W_k


in_the_first_column = edited(right_verb_finder, ", 1] -> , 0]\n= 6 -> = 3\n= 1 -> = 3")

verb_finder = exercise(
    "6.1",
    "verb_finder(C) -> W_q and W_k, both (C, 2), so that every word gives 0.8 to the verb",
    judge=judge_verb_finder,
    right=[right_verb_finder, in_the_first_column],
    hints=[
        "Which words have to ask for the verb, and which word has to answer?",
        "`W_q[:4, 1] = ...`, large enough for 0.8, and a 1 in the same column of one row of `W_k`.",
    ],
    question=which(
        ":4, 1] -> :3, 1]",
        others=["= 6 -> = 1", "= 6 -> = -6"],
    ),
    mistakes=edits(
        right_verb_finder,
        {
            ":4, 1] -> :3, 1]": "the word *sleeps* gives 0.25 to *sleeps*, and as much to *the*",
            "= 6 -> = 1": "its largest weight, but 0.8 is wanted",
            "= 6 -> = -6": "the word *the* gives 0.00 to *sleeps*",
            "W_q, W_k -> W_k, W_q": "the word *the* gives 0.25 to *sleeps*",
        },
        quoted=True,
    ),
)


def judge_near_noun(call):
    W_q, W_k = _matrices(call, 9)
    least = 1.0
    for sentence in (
        "the old king loves the young maid",
        "the young maid loves the old king",
        "the king loves the old maid",
        "old king loves young maid",  # the other noun stands two places away
        "the young king sleeps",
    ):
        words = sentence.split()
        weights = _weights(_vectors(words, hands=True), W_q, W_k)
        for asks, word in enumerate(words):
            if word in ("old", "young"):
                _find(words, weights, asks, asks + 1)
                least = min(least, float(weights[asks, asks + 1]))
    return f"Each adjective finds its noun in five sentences, with {least:.2f} or more."


def right_near_noun(C):
    W_q, W_k = torch.zeros(C, 3), torch.zeros(C, 3)
    W_q[1, 0], W_k[2, 0] = 20, 1  # adjectives look for nouns
    W_q[7, 1], W_k[7, 1] = 10, 1  # near me: the hand …
    W_q[8, 2], W_k[8, 2] = 10, 1  # … on both sides
    return W_q, W_k


with_smaller_numbers = edited(right_near_noun, "20, 1 -> 9, 3\n10, 1 -> 4, 3")

near_noun = exercise(
    "6.2",
    "near_noun(C) -> W_q and W_k, both (C, 3), so that each adjective finds the noun after it",
    judge=judge_near_noun,
    right=[right_near_noun, with_smaller_numbers],
    hints=[
        "A score adds up three columns. Which of them can say *a noun*, and which two *near me*?",
        "`W_q[1, 0]` and `W_k[2, 0]` say *a noun*. Rows 7 and 8 pass the hand through to columns 1 "
        "and 2 on both sides, with smaller numbers than ...",
    ],
    question=which(
        "10, 1 -> 10, 0",
        others=["20, 1 -> 0, 1", "10, 1 -> -10, 1"],
    ),
    mistakes=edits(
        right_near_noun,
        {
            "10, 1 -> 10, 0": "and as much to *maid*: their scores are equal",
            "20, 1 -> 0, 1": "to *old*",
            "10, 1 -> 1, 1": "its largest weight, but 0.8 is wanted",
            "10, 1 -> -10, 1": "to *maid*",
        },
        quoted=True,
    ),
)


def right_attention(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.shape[-1])  # (..., T, S)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(dim=-1)  # (..., T, S)
    return weights @ v, weights


def _of_scores(scores, mask):
    """A case with these scores: each query reads one channel of the keys."""
    scores = torch.tensor(scores)  # (T, S)
    return (
        torch.eye(len(scores)),
        scores.mT * math.sqrt(len(scores)),
        torch.eye(len(scores.T)),
        mask,
    )


def _masked(draw):
    """Queries and keys of any size, with up to two leading axes, and in two of three a mask."""
    *lead, D, E = (draw.randint(1, 5) for _ in range(draw.randint(2, 4)))
    T, S = draw.size(1, 5, 20), draw.size(1, 5, 40)
    mask = normal(draw, T, S) > 0.3
    mask[:, draw.randrange(S)] = True
    scale = draw.choice([1.0, 4.0])
    q, k, v = (normal(draw, *lead, *shape, scale=scale) for shape in ((T, D), (S, D), (S, E)))
    return q, k, v, *draw.choice([(), (mask,), (mask,)])


FIRST_KEY = torch.tensor([[True, False]])
OTHER = torch.tensor([[1, 0, 1, 0], [0, 1, 0, 0], [1, 1, 0, 1]]).bool()
LARGE = [[-81.0, -79.0, -80.0, -80.5], [0.5, 0.0, 1.0, -0.5], [80.0, 81.0, 80.5, 79.0]]


def _expect_hidden(weights, mask, most=1e-6):
    leak = 0.0 if mask is None else float(weights.masked_fill(mask, 0).abs().max())
    why = f"A weight of {leak:.2g} is given where the mask is False: a hidden score is −∞"
    expect(leak <= most, f"{why}, below any other.")


def explain_attention(got, q, k, v, mask=None):
    weights, right = got[1].double(), right_attention(q.double(), k.double(), v.double(), mask)[1]
    if weights.shape == right.shape and weights.isfinite().all():
        seen = (right[..., 1:] > 0) & (right[..., :-1] > 0)
        steps, wanted = (w.clamp(min=1e-30).log().diff()[seen] for w in (weights, right))
        times = float(steps @ wanted / (wanted @ wanted)) if len(wanted) else 1.0
        far = max(weights.sum(dim=-1).flatten().tolist(), key=lambda total: abs(total - 1))
        expect(abs(far - 1) < 1e-3, f"A row of weights sums to {far:.5g}, but 1 is expected.")
        _expect_hidden(weights, mask)
        scale = f"The scores are {times:.3g} times as large as they should be: divide them by the "
        is_scaled = len(wanted) and steps.allclose(times * wanted, atol=1e-3)
        expect(not is_scaled, f"{scale}root of D = {q.shape[-1]}, the width of a query.")


def judge_attention(call):
    praise = attention.compare(call)
    q, k, v, mask = _of_scores(LARGE, OTHER)
    _expect_hidden(call(q, k, v, mask).like((v, q @ k.mT))[1], mask, 1e-12)
    return praise


attention = exercise(
    "6.3",
    "attention(q: (…, T, D), k: (…, S, D), v: (…, S, E), mask: (T, S)) -> (context, weights)",
    cases=(
        _of_scores([[1.0, 1.0, 0.0, 0.0], [0, 1, 1, 0], [0, 1, 0, 1], [1, 0, 0, 1]], None),
        _of_scores(LARGE, OTHER),
        _of_scores([[-200.0, 200.0]], FIRST_KEY),
        _of_scores([[-2e38, 0.0]], FIRST_KEY),
    ),
    slopes=["q", "k", "v"],
    more=drawn(24, _masked),
    judge=judge_attention,
    praise="Scores, scale, mask, softmax and mixture are right, also on a batch.",
    explain=explain_attention,
    right=[right_attention],
    hints=[
        "Which three steps lead from queries and keys to weights, and where does the mask come in?",
        "`scores = q @ k.mT / math.sqrt(q.shape[-1])`; with a mask, "
        "`scores.masked_fill(~mask, ...)`; then the softmax along the last axis, and the mixture.",
    ],
    question=number(
        "`q` is [[2, 0, 0, 0]], `k` is [[ln 3, 0, 0, 0], [0, 0, 0, 0]], `v` is [[4], [12]], and "
        "there is no mask. Which number is the context? Give two decimals.",
        lambda f: f(
            torch.tensor([[2.0, 0, 0, 0]]),
            torch.tensor([[math.log(3), 0, 0, 0], [0, 0, 0, 0]]),
            torch.tensor([[4.0], [12.0]]),
            None,
        )[0][0, 0],
    ),
    mistakes={
        " / math.sqrt(q.shape[-1]) -> ": "The scores are not divided by √D: their variance is "
        "D times as large",
        "math.sqrt(q.shape[-1]) -> q.shape[-1]": "The scores are divided by D, not by its "
        "square root",
        "softmax(dim=-1) -> softmax(dim=-2)": "Each column sums to 1, not each row: softmax "
        "runs over the keys, `dim=-1`",
        "~mask -> mask": "The mask is upside down: True means that a query may look there",
        "-math.inf -> 0": "Hidden scores are 0, and exp(0) is 1, not 0: −∞ gives the weight 0",
    },
)
