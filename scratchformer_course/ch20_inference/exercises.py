"""The exercises of chapter 20, inference."""

from itertools import pairwise

import torch

from scratchformer_course.kit.checks.cases import drawn, normal
from scratchformer_course.kit.checks.engine import exercise, mistake
from scratchformer_course.kit.checks.question import number

# --- 20.1: a scale for each row ------------------------------------------------------------------


def _normal(*shape, seed):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def _matrices():
    with_zeros = _normal(3, 5, seed=2)
    with_zeros[1] = 0
    outlier = _normal(4, 6, seed=3)
    outlier[2, 1] = 40.0
    return (
        (torch.tensor([[0.4, -1.27, 0.05], [2.0, 0.3, 6.35]]), 8),
        (torch.tensor([[-3.3, 1.1, 7.0]]), 4),
        (_normal(3, 8, seed=0), 8),
        (_normal(5, 4, seed=1), 4),
        (outlier, 8),
        (_normal(4, 4, seed=4), 3),
        (with_zeros, 4),
        (_normal(2, 5, seed=5) / 1000, 8),
    )


def _matrix(draw):
    """Rows of very different size, with zeros in them, and an outlier of either sign."""
    R, C = draw.randint(1, 5), draw.randint(1, 6)
    w = normal(draw, R, C) * torch.tensor([[10.0 ** draw.randint(-5, 3)] for _ in range(R)])
    w[draw.randrange(R), draw.randrange(C)] *= draw.choice([0.0, -30.0, 30.0])
    return w, draw.randint(2, 8)


def _size(w):
    return w.abs().amax(dim=1, keepdim=True)


def _quantised(w, bits, largest=_size, more=0, rounded=torch.round):
    """The right answer, or one with another largest weight, largest number or rounding."""
    top = 2 ** (bits - 1) - 1 + more
    scale = largest(w) / top
    scale = torch.where(scale > 0, scale, 1.0)
    numbers = rounded(w / scale).clamp(-top, top).to(torch.int8)
    return numbers, scale.expand(len(w), 1)


def per_row_by_loop(w, bits):
    top, numbers, scales = 2 ** (bits - 1) - 1, [], []
    for row in w:
        scale = row.abs().max() / top if row.any() else torch.tensor(1.0)
        numbers.append((row / scale).round().clamp(-top, top).char())
        scales.append(scale)
    return torch.stack(numbers), torch.stack(scales)[:, None]


quantise = exercise(
    "20.1",
    "quantise(w: (R, C), bits) -> whole numbers (R, C) in int8, scale (R, 1); whole · scale ≈ w",
    cases=_matrices,
    more=drawn(20, _matrix),
    praise="`quantise` is right: a scale for each row, one bit for the sign, and zeros stay zero.",
    right=[lambda w, bits: _quantised(w, bits), per_row_by_loop],
    hints=[
        "Which whole number must the largest weight of a row become, in size, and what is the "
        "scale then?",
        "Divide `w.abs().amax(dim=1, keepdim=True)` by 2 ** (bits - 1) - 1, put 1 where that is 0, "
        "and turn `(w / scale).round()` into ...",
    ],
    question=number(
        "A row is 0.46, −1.4, 0.3 and `bits` is 4. Which whole number does 0.46 become?",
        lambda f: f(torch.tensor([[0.46, -1.4, 0.3], [2.8, 0.1, 0.0]]), 4)[0][0, 0],
        digits=0,
    ),
    mistakes=[
        mistake(
            "takes one scale for the tensor",
            "All rows share the scale of the largest weight: take the largest of each row",
            lambda w, bits: _quantised(w, bits, lambda w: w.abs().max().view(1, 1)),
        ),
        mistake(
            "has one number too many",
            "With one bit for the sign the largest whole number is 2 ** (bits - 1) - 1",
            lambda w, bits: _quantised(w, bits, more=1),
        ),
        mistake(
            "rounds towards zero",
            "`.to(torch.int8)` cuts the fraction off: round first",
            lambda w, bits: _quantised(w, bits, rounded=torch.trunc),
        ),
        mistake(
            "forgets that weights are negative",
            "The scale comes from the largest weight, but a negative one may be larger in size: "
            "take `abs` first",
            lambda w, bits: _quantised(w, bits, lambda w: w.amax(dim=1, keepdim=True)),
        ),
    ],
)

# --- 20.2: keep or replace -----------------------------------------------------------------------

_P = torch.tensor([[0.5, 0.3, 0.2], [0.2, 0.2, 0.6], [0.1, 0.9, 0.0]])
_Q = torch.tensor([[0.25, 0.25, 0.5], [0.6, 0.1, 0.3]])


def _passes():
    p = (2 * _normal(5, 200, seed=0)).softmax(dim=-1)
    q = (2 * _normal(4, 200, seed=1)).softmax(dim=-1)
    drafted = [int((p[i] / q[i]).argmax()) for i in range(4)]
    unlikely = int((q[3] / p[3]).argmax())
    return (
        (_P, _Q, [2, 0], [0.5, 0.9]),  # the first is rejected: 0.2 / 0.5
        (_P, _Q, [0, 0], [0.9, 0.5]),  # the second is: 0.2 / 0.6
        (_P, _Q, [1, 0], [0.9, 0.1]),
        (_P, _Q, [1, 0], [0.1, 0.9]),
        (_P, _Q, [2, 2], [0.3, 0.9]),
        (_P, _Q, [2, 1], [0.9, 0.1]),  # the second would be kept, but comes too late
        (_P[:1], _Q[:0], [], []),
        (torch.tensor([[0.0, 1.0], [0.5, 0.5]]), torch.tensor([[0.5, 0.5]]), [0], [0.1]),
        (p, q, [*drafted[:3], unlikely], [0.6, 0.7, 0.8, 0.95]),
        (p, q, drafted, [0.9, 0.8, 0.7, 0.6]),
    )


def _drafts(draw):
    k, V = draw.randint(0, 4), draw.choice([2, 3, 5, 200])
    p, q = (normal(draw, n, V, scale=1.5).softmax(dim=-1) for n in (k + 1, k))
    drafted = [draw.choices(range(V), row.tolist())[0] for row in q]
    return p, q, drafted, [draw.random() for _ in range(k)]


def _keeping(rest=lambda p, q: (p - q).clamp(min=0) / (p - q).clamp(min=0).sum(), last=-1):
    """The right answer, or one with another rest, or another last row."""

    def answer(p, q, draft, u):
        for i, token in enumerate(draft):
            if u[i] * q[i, token] >= p[i, token]:  # rejected
                return i, rest(p[i], q[i])
        return len(draft), p[last]

    return answer


keep = _keeping()


def keep_by_ratio(p, q, draft, u):
    n = 0
    while n < len(draft) and u[n] < p[n, draft[n]] / q[n, draft[n]]:
        n += 1
    rest = torch.relu(p[n] - q[n]) if n < len(draft) else p[n]
    return n, rest / rest.sum()


accepted = exercise(
    "20.2",
    "accepted(p: (k + 1, V), q: (k, V), draft, u) -> n, rest: (V,); of k drafted tokens the first "
    "n are kept, and the next one is drawn from rest",
    cases=_passes,
    more=drawn(30, _drafts),
    praise="`accepted` is right: it keeps, rejects, and adds one token when all are kept.",
    right=[keep, keep_by_ratio],
    hints=[
        "The draft proposes a token with probability 0.5, and the model gives it 0.2. How often "
        "may it stay, so that it is not written too often?",
        "Keep token i while u[i] < p[i, token] / q[i, token]. At the first rejection return i and "
        "the positive part of p[i] - q[i], made to sum to 1. If none is rejected, return k and ...",
    ],
    question=number(
        "The draft drew token 0 from q = 0.8, 0.1, 0.1, the model's p is 0.4, 0.4, 0.2, and u is "
        "0.9. What is the chance of token 1 now?",
        lambda f: f(
            torch.tensor([[0.4, 0.4, 0.2], [0.2, 0.3, 0.5]]),
            torch.tensor([[0.8, 0.1, 0.1]]),
            [0],
            [0.9],
        )[1][1],
    ),
    mistakes=[
        mistake(
            "draws again from p",
            "After a rejection this draws from p, but likely tokens were kept already and would "
            "come too often: take the positive part of p - q",
            _keeping(rest=lambda p, q: p),
        ),
        mistake(
            "does not rescale the rest",
            "The rest does not sum to 1: divide by its sum",
            _keeping(rest=lambda p, q: (p - q).clamp(min=0)),
        ),
        mistake(
            "leaves negative chances",
            "The rest has negative numbers: where q is larger than p, the rest is 0",
            _keeping(rest=lambda p, q: (p - q) / (p - q).abs().sum()),
        ),
        mistake(
            "drops the token after the last",
            "All are kept, and the model has read them all: its last row gives one more token, "
            "from p[k] as it is",
            _keeping(last=-2),
        ),
    ],
)

# --- 20.3: the prompt as a draft -----------------------------------------------------------------


def look_up_backwards(ids, most):
    for i in range(len(ids) - 3, -1, -1):
        if ids[i : i + 2] == ids[-2:]:
            return ids[i + 2 : i + 2 + most]
    return []


def look_up_by_a_table(ids, most):
    after = {pair: i + 2 for i, pair in enumerate(pairwise(ids[:-1]))}
    start = after.get(tuple(ids[-2:]), len(ids))
    return ids[start : start + most]


def first_pair(ids, most):
    for i in range(len(ids) - 2):
        if ids[i : i + 2] == ids[-2:]:
            return ids[i + 2 : i + 2 + most]
    return []


def pair_itself(ids, most):
    found = look_up_backwards(ids, most)
    return ids[-2:] + found if found else []


def one_token(ids, most):
    for i in range(len(ids) - 2, -1, -1):
        if ids[i] == ids[-1]:
            return ids[i + 1 : i + 1 + most]
    return []


def finds_the_end(ids, most):
    for i in range(len(ids) - 2, -1, -1):
        if ids[i : i + 2] == ids[-2:]:
            return ids[i + 2 : i + 2 + most]
    return []


def all_that_follows(ids, most):
    return look_up_backwards(ids, len(ids))


def _texts(draw):
    """Texts of few tokens, in which pairs come again, overlap, or are missing."""
    V = draw.choice([2, 3, 5, 40])
    ids = [draw.randint(0, V) for _ in range(draw.randint(2, 14))]
    if draw.random() < 0.3:
        ids = [11 * i for i in ids]  # numbers of two digits
    return ids, draw.randint(1, 6)


look_up = exercise(
    "20.3",
    "look_up(ids, most) -> at most `most` ids, which followed the last two of ids where these two "
    "were last together before; [] if they never were",
    cases=(
        ([5, 1, 2, 9, 1, 2], 2),
        ([5, 1, 2, 9, 1, 2], 8),
        ([1, 2, 3, 1, 2, 4, 1, 2], 1),  # twice before: the later one
        ([1, 2, 3], 4),  # never before
        ([7, 7, 7], 3),  # the two places overlap
        ([7, 7], 3),
        ([3, 2, 9, 8, 1, 2], 3),  # the last one alone was there
        ([1, 12, 3, 11, 2], 2),
        ([4, 4, 4, 4, 4, 4], 3),
        ([2, 1, 6, 1, 2], 2),  # the other way round
    ),
    more=drawn(30, _texts),
    praise="`look_up` is right: the latest place of the pair, and only what followed it.",
    right=[look_up_backwards, look_up_by_a_table],
    hints=[
        "In 5, 1, 2, 9, 1, 2 the last two are 1, 2. Where else are they, and what follows them?",
        "Let i run from len(ids) - 3 down to 0. If ids[i : i + 2] equals ids[-2:], return ...",
    ],
    question=number(
        "The ids are 1, 2, 3, 1, 2, 4, 6, 5, 2, 7, 1, 2, and `most` is 2. What is the sum of the "
        "draft?",
        lambda f: sum(f([1, 2, 3, 1, 2, 4, 6, 5, 2, 7, 1, 2], 2)),
        digits=0,
    ),
    mistakes=[
        mistake(
            "takes the first place",
            "The pair was there more than once: take the latest place before the end",
            first_pair,
        ),
        mistake(
            "returns the pair, too",
            "The last two are written already: return what followed them, without them",
            pair_itself,
        ),
        mistake(
            "looks at one token",
            "This looks for the last token alone: the last two must be there, side by side",
            one_token,
        ),
        mistake(
            "finds the end itself",
            "The search finds the last two themselves, which nothing follows: begin before them",
            finds_the_end,
        ),
        mistake(
            "returns all that follows",
            "The draft is too long: `most` ids at most",
            all_that_follows,
        ),
    ],
)
