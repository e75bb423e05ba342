"""The exercises of chapter 6, self-attention."""

import math

import torch

from scratchformer_course.kit.checks.compare import same
from scratchformer_course.kit.checks.engine import exercise, mistake, refused
from scratchformer_course.kit.checks.question import number, which
from scratchformer_course.kit.checks.verdict import expect


def _random(seed, *shapes):
    generator = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(*shape, generator=generator) for shape in shapes)


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
    example = torch.zeros(C, 2)
    pair = call(C).like((example, example), "Return W_q and W_k.")
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
    share, best = float(weights[asks, target]), int(weights[asks].argmax())
    said = (
        f"In *{' '.join(words)}*, the word *{words[asks]}* gives {share:.2f} to *{words[target]}*"
    )
    top = (weights[asks] - weights[asks].max()).abs() < 1e-6
    others = ", ".join(f"*{w}*" for i, w in enumerate(words) if top[i] and i != target)
    if not top[target]:
        why = f"{said}, and {float(weights[asks, best]):.2f} to *{words[best]}*."
    elif others:
        why = f"{said}, and as much to {others}: their scores are equal."
    else:
        why = f"{said}, its largest weight, but 0.8 is wanted: its scores are too close."
    expect(share >= 0.8, why)


def _times(design, *factors):
    """A design whose W_q is multiplied by these factors, one for all columns or one for each."""

    def changed(C):
        W_q, W_k = design(C)
        return W_q * torch.tensor(factors), W_k

    return changed


def judge_verb_finder(call):
    W_q, W_k = _matrices(call, 7)
    words = "the old king sleeps".split()
    weights = _weights(_vectors(words), W_q, W_k)
    for asks in range(4):
        _find(words, weights, asks, 3)
    return f"Every word finds the verb, and the least sure gives it {weights[:, 3].min():.2f}."


def right_verb_finder(C):
    W_q, W_k = torch.zeros(C, 2), torch.zeros(C, 2)
    W_q[:4, 1] = 6
    W_k[3, 1] = 1
    return W_q, W_k


def in_the_first_column(C):
    W_q, W_k = torch.zeros(C, 2), torch.zeros(C, 2)
    W_q[:4, 0] = 3
    W_k[3, 0] = 3
    return W_q, W_k


def leaves_the_verb_out(C):
    W_q, W_k = torch.zeros(C, 2), torch.zeros(C, 2)
    W_q[:3, 1] = 6
    W_k[3, 1] = 1
    return W_q, W_k


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
        "leaves the verb's own query out",
        beside=[right_verb_finder, in_the_first_column],
        others=["has scores that are too small", "has the wrong sign"],
    ),
    mistakes=[
        refused(
            "leaves the verb's own query out",
            "the word *sleeps* gives 0.25 to *sleeps*, and as much to *the*, *old*, *king*",
            leaves_the_verb_out,
        ),
        refused(
            "has scores that are too small",
            "its largest weight, but 0.8 is wanted",
            _times(right_verb_finder, 1 / 6),
        ),
        refused(
            "has the wrong sign",
            "the word *the* gives 0.00 to *sleeps*",
            _times(right_verb_finder, -1),
        ),
        refused(
            "swaps W_q and W_k",
            "the word *the* gives 0.25 to *sleeps*",
            lambda C: right_verb_finder(C)[::-1],
        ),
        refused(
            "returns columns as rows",
            "W_q has shape (2, 7)",
            lambda C: tuple(matrix.T for matrix in right_verb_finder(C)),
        ),
    ],
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
    W_q[1, 0], W_k[2, 0] = 20, 1
    W_q[7, 1], W_k[7, 1] = 10, 1
    W_q[8, 2], W_k[8, 2] = 10, 1
    return W_q, W_k


def with_smaller_numbers(C):
    W_q, W_k = torch.zeros(C, 3), torch.zeros(C, 3)
    W_q[1, 0], W_k[2, 0] = 9, 3
    W_q[7, 1], W_k[7, 1] = 4, 3
    W_q[8, 2], W_k[8, 2] = 4, 3
    return W_q, W_k


def leaves_the_hand_out_of_the_key(C):
    W_q, W_k = torch.zeros(C, 3), torch.zeros(C, 3)
    W_q[1, 0], W_k[2, 0] = 20, 1
    W_q[7, 1] = 10
    W_q[8, 2] = 10
    return W_q, W_k


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
        "leaves the hand out of the key",
        beside=[right_near_noun, with_smaller_numbers],
        others=["asks for nearness only", "asks for a place that is far"],
    ),
    mistakes=[
        refused(
            "asks for a noun only",
            "the word *old* gives 0.50 to *king*, and as much to *maid*: their scores are equal",
            _times(right_near_noun, 1, 0, 0),
        ),
        refused(
            "asks for nearness only",
            "to *old*",
            _times(right_near_noun, 0, 2, 2),
        ),
        refused(
            "asks for nearness too softly",
            "its largest weight, but 0.8 is wanted",
            _times(right_near_noun, 1, 0.1, 0.1),
        ),
        refused(
            "asks for a place that is far",
            "to *maid*",
            _times(right_near_noun, 1, -1, -1),
        ),
        refused(
            "leaves the hand out of the key",
            "and as much to *maid*: their scores are equal",
            leaves_the_hand_out_of_the_key,
        ),
    ],
)


def _attend(q, k, v, mask=None, scale=None, fill=-math.inf, dim=-1):
    """Attention that differs in one thing: the scale, what hides a score, or softmax's axis."""
    scores = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        scores = scores.masked_fill(~mask, fill)
    weights = scores.softmax(dim=dim)
    return weights @ v, weights


# Scores of exactly 0, and keys as many as queries: nothing may be hidden here either.
CORNERS = torch.tensor([[1.0, 1.0, 0.0, 0.0], [0, 1, 1, 0], [0, 1, 0, 1], [1, 0, 0, 1]])
CAUSAL = torch.ones(5, 5, dtype=torch.bool).tril()
FIRST_KEY = torch.tensor([[True, False]])
OTHER = torch.tensor([[1, 0, 1, 0], [0, 1, 0, 0], [1, 1, 0, 1]]).bool()


def _of_scores(scores, mask):
    """A case with these scores (T, S): each query reads one channel of the keys."""
    T, S = scores.shape
    return torch.eye(T), scores.mT * math.sqrt(T), *_random(15, (S, 3)), mask


NEAR = _random(16, (3, 4))[0]
LARGE = NEAR + torch.tensor([[-80.0], [0.0], [80.0]])  # what is hidden lies near what is not
HIDDEN = NEAR + 60 * ~OTHER  # what is hidden is the largest


def by_einsum(q, k, v, mask):
    scores = torch.einsum("...td,...sd->...ts", q, k) / q.shape[-1] ** 0.5
    scores = scores if mask is None else torch.where(mask, scores, -math.inf)
    e = (scores - scores.amax(dim=-1, keepdim=True)).exp()
    weights = e / e.sum(dim=-1, keepdim=True)
    return [torch.einsum("...ts,...sd->...td", weights, v), weights]


def explain_attention(got, q, k, v, mask):
    weights, right = got[1].double(), _attend(q, k, v, mask)[1].double()
    if weights.shape != right.shape or not weights.isfinite().all() or same(got[1], right):
        return
    sums = weights.sum(dim=-1)
    least = float(weights.min())
    expect(least >= 0, f"A weight is {least:.2g}, but after a softmax none is below 0.")
    first = f"A row of weights sums to {sums.flatten()[sums.sub(1).abs().argmax()]:.5g}"
    expect(sums.sub(1).abs().max() < 1e-3, f"{first}, but 1 is expected.")
    if mask is not None:
        seen = f"A weight of {float(weights.masked_fill(mask, 0).max()):.2g} is given where"
        expect(not weights.masked_fill(mask, 0).any(), f"{seen} the mask is False.")


def judge_attention(call):
    praise = attention.compare(call)
    q, k, v, mask = _of_scores(LARGE, OTHER)
    weights = call(q, k, v, mask).like((v, q @ k.mT))[1]
    leak = float(weights.masked_fill(mask, 0).abs().max())
    why = f"A weight of {leak:.2g} is given where the mask is False: a hidden score is −∞"
    expect(leak < 1e-12, f"{why}, below any other.")
    return praise


attention = exercise(
    "6.3",
    "attention(q: (…, T, D), k: (…, S, D), v: (…, S, E), mask: (T, S)) -> (context, weights)",
    cases=(
        (*_random(5, (7, 16), (9, 16), (9, 5)), None),
        (*_random(8, (2, 3, 4), (2, 5, 4), (2, 5, 2)), None),
        (CORNERS, torch.eye(4), *_random(9, (4, 3)), None),
        (*_random(10, (5, 8), (5, 8), (5, 3)), CAUSAL),
        (*_random(11, (2, 3, 4), (2, 4, 4), (2, 4, 2)), OTHER),
        (*_random(12, (2, 3, 4, 6), (2, 3, 7, 6), (2, 3, 7, 6)), None),
        (*_random(13, (3, 2, 1, 2), (3, 2, 4, 2), (3, 2, 4, 5)), None),
        (*(x.mT for x in _random(14, (2, 9, 5), (2, 9, 5), (2, 6, 5))), CAUSAL),
        _of_scores(LARGE, None),
        _of_scores(LARGE, OTHER),
        _of_scores(HIDDEN, OTHER),
        (*_random(17, (2, 1, 2, 3, 5), (2, 1, 2, 4, 5), (2, 1, 2, 4, 5)), None),
        _of_scores(torch.tensor([[100.0, 0.0]]), None),
        _of_scores(torch.tensor([[-200.0, 200.0]]), FIRST_KEY),
        _of_scores(torch.tensor([[-2e6, 0.0]]), FIRST_KEY),
        _of_scores(-NEAR, None),  # no mask, after one of this shape
        (*_random(18, (2, 3, 1), (2, 4, 1), (2, 4, 1)), None),
        (*_random(19, (1, 3, 4), (1, 1, 4), (1, 1, 5)), None),
    ),
    judge=judge_attention,
    praise="Scores, scale, mask, softmax and mixture are right, also on a batch.",
    explain=explain_attention,
    right=[lambda q, k, v, mask: _attend(q, k, v, mask), by_einsum],
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
    mistakes=[
        mistake(
            "does not divide",
            "The scores are not divided by √D: their variance is D times as large",
            lambda q, k, v, mask: _attend(q, k, v, mask, scale=1),
        ),
        mistake(
            "divides by the width",
            "The scores are divided by D, not by its square root",
            lambda q, k, v, mask: _attend(q, k, v, mask, scale=1 / q.shape[-1]),
        ),
        mistake(
            "softmax over the queries",
            "Each column sums to 1, not each row: softmax runs over the keys, `dim=-1`",
            lambda q, k, v, mask: _attend(q, k, v, mask, dim=-2),
        ),
        mistake(
            "ignores the mask",
            "The mask is not used: a score is −∞ where it is False",
            lambda q, k, v, mask: _attend(q, k, v),
        ),
        mistake(
            "hides what the mask allows",
            "The mask is upside down: True means that a query may look there",
            lambda q, k, v, mask: _attend(q, k, v, None if mask is None else ~mask),
        ),
        mistake(
            "sets hidden scores to 0",
            "Hidden scores are 0, and exp(0) is 1, not 0: −∞ gives the weight 0",
            lambda q, k, v, mask: _attend(q, k, v, mask, fill=0),
        ),
    ],
)
