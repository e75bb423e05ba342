"""The exercises of chapter 20, inference."""

import torch

from scratchformer_course.kit.checks import exercise, number
from scratchformer_course.kit.checks.cases import drawn, normal

# --- 20.1: a scale for each row ------------------------------------------------------------------


def right_quantise(w, bits):
    scale = w.abs().amax(dim=1, keepdim=True) / (2 ** (bits - 1) - 1)
    scale = torch.where(scale > 0, scale, 1.0)
    return (w / scale).round().to(torch.int8), scale


def _matrix(draw):
    """Rows of very different size, with zeros in them, and an outlier of either sign."""
    R, C = draw.size(1, 5, 20), draw.size(1, 6, 40)
    w = normal(draw, R, C) * torch.tensor([[10.0 ** draw.randint(-7, 3)] for _ in range(R)])
    w[draw.randrange(R), draw.randrange(C)] *= draw.choice([0.0, -30.0, 30.0])
    return w, draw.randint(2, 8)


quantise = exercise(
    "20.1",
    "quantise(w: (R, C), bits) -> whole numbers (R, C) in int8, scale (R, 1); whole · scale ≈ w",
    cases=(
        (torch.tensor([[0.46, -1.4, 0.3], [2.8, 0.1, 0.0]]), 4),
        (torch.tensor([[0.4, -1.27], [0.0, 0.0]]), 8),
    ),
    more=drawn(20, _matrix, ties=False),
    praise="`quantise` is right: a scale for each row, one bit for the sign, and zeros stay zero.",
    right=[right_quantise],
    hints=[
        "Which whole number must a row's largest weight become, in size? What is the scale then?",
        "Divide `w.abs().amax(dim=1, keepdim=True)` by 2 ** (bits - 1) - 1, put 1 where that is 0, "
        "and turn `(w / scale).round()` into ...",
    ],
    question=number(
        "A row is 0.46, −1.4, 0.3 and `bits` is 4. Which whole number does 0.46 become?",
        lambda f: f(*quantise.cases[0])[0][0, 0],
        digits=0,
    ),
    mistakes={
        "amax(dim=1, keepdim=True) -> max().expand(len(w), 1)": "All rows share the scale of "
        "the largest weight: take the largest of each row",
        "(2 ** (bits - 1) - 1) -> 2 ** (bits - 1)": "With one bit for the sign the largest "
        "whole number is 2 ** (bits - 1) - 1",
        ".round() -> ": "`.to(torch.int8)` cuts the fraction off: round first",
        "w.abs() -> w": "The scale comes from the largest weight, but a negative one may be "
        "larger in size: take `abs` first",
    },
)

# --- 20.2: keep or replace -----------------------------------------------------------------------


def right_accepted(p, q, draft, u):
    for i, token in enumerate(draft):
        if u[i] * q[i, token] >= p[i, token]:  # rejected
            rest = (p[i] - q[i]).clamp(min=0)
            return i, rest / rest.sum()
    return len(draft), p[-1]


def _drafts(draw):
    k, V = draw.size(0, 4, 16), draw.choice([2, 3, 5, 200])
    p, q = (normal(draw, n, V, scale=1.5).softmax(dim=-1) for n in (k + 1, k))
    q = p[:k].clone() if draw.is_large else q  # all are kept
    drafted = [draw.choices(range(V), row.tolist())[0] for row in q]
    return p, q, drafted, [draw.random() for _ in range(k)]


accepted = exercise(
    "20.2",
    "accepted(p: (k + 1, V), q: (k, V), draft, u) -> n, rest: (V,); of k drafted tokens the first "
    "n are kept, and the next one is drawn from rest",
    cases=(
        (
            torch.tensor([[0.4, 0.4, 0.2], [0.2, 0.3, 0.5]]),
            torch.tensor([[0.8, 0.1, 0.1]]),
            [0],
            [0.9],
        ),
        (torch.tensor([[0.0, 1.0], [0.5, 0.5]]), torch.tensor([[0.5, 0.5]]), [0], [0.1]),
        (torch.tensor([[0.0, 1.0], [0.5, 0.5]]), torch.tensor([[0.5, 0.5]]), [0], [0.0]),
    ),
    more=drawn(30, _drafts),
    praise="`accepted` is right: it keeps, rejects, and adds one token when all are kept.",
    right=[right_accepted],
    hints=[
        "The draft gives a token 0.5, the model 0.2. How often may it stay, not to come too often?",
        "Keep token i while u[i] < p[i, token] / q[i, token]. At the first rejection return i and "
        "the positive part of p[i] - q[i], made to sum to 1. If none is rejected, return k and ...",
    ],
    question=number(
        "Token 0 is drafted, q is 0.8, 0.1, 0.1, p is 0.4, 0.4, 0.2, and u is 0.9. What is the "
        "chance of token 1 now?",
        lambda f: f(*accepted.cases[0])[1][1],
    ),
    mistakes={
        "rest / rest.sum() -> p[i]": "After a rejection this draws from p, but likely tokens "
        "were kept already and would come too often: take the positive part of p - q",
        " / rest.sum() -> ": "The rest does not sum to 1: divide by its sum",
        ".clamp(min=0) -> \nrest.sum() -> rest.abs().sum()": "The rest has negative numbers: "
        "where q is larger than p, the rest is 0",
        "p[-1] -> p[-2]": "All are kept, and the model has read them all: its last row gives "
        "one more token, from p[k] as it is",
    },
)

# --- 20.3: the prompt as a draft -----------------------------------------------------------------


def right_look_up(ids, most):
    for i in range(len(ids) - 3, -1, -1):
        if ids[i : i + 2] == ids[-2:]:
            return ids[i + 2 : i + 2 + most]
    return []


def _texts(draw):
    """Texts of few tokens, in which pairs come again, overlap, or are missing."""
    V = draw.choice([2, 3, 5, 40])
    ids = [draw.randint(0, V) for _ in range(draw.size(2, 14, 90))]
    if draw.random() < 0.3:
        ids = [11 * i for i in ids]  # numbers of two digits
    return ids, draw.size(1, 6, 50)


look_up = exercise(
    "20.3",
    "look_up(ids, most) -> at most `most` ids, which followed the last two of ids where these two "
    "were last together before; [] if they never were",
    cases=(
        ([1, 2, 3, 1, 2, 4, 6, 5, 2, 7, 1, 2], 2),
        ([7, 7, 7], 3),  # the two places overlap
        ([1, 12, 3, 11, 2], 2),
        ([11, 2, 5, 1, 2], 2),  # a search in the text finds 1, 2 in 11, 2
        ([1, 21, 5, 1, 2], 2),
        ([7, 8, *range(50), 7, 8], 60),
    ),
    more=drawn(30, _texts),
    praise="`look_up` is right: the latest place of the pair, and only what followed it.",
    right=[right_look_up],
    hints=[
        "In 5, 1, 2, 9, 1, 2 the last two are 1, 2. Where else are they, and what follows them?",
        "Let i run from len(ids) - 3 down to 0. If ids[i : i + 2] equals ids[-2:], return ...",
    ],
    question=number(
        "ids are 1, 2, 3, 1, 2, 4, 6, 5, 2, 7, 1, 2, and `most` is 2. What is the draft's sum?",
        lambda f: sum(f(*look_up.cases[0])),
        digits=0,
    ),
    mistakes={
        "range(len(ids) - 3, -1, -1) -> range(len(ids) - 2)": "The pair was there more than "
        "once: take the latest place before the end",
        "return ids[i + 2 : -> return ids[i :": "The last two are written already: return what "
        "followed them, without them",
        "-1, -1 -> -2, -1\nids[i : i + 2] == ids[-2:] -> ids[i + 1] == ids[-1]": "This looks "
        "for the last token alone: the last two must be there, side by side",
        "len(ids) - 3 -> len(ids) - 2": "The search finds the last two themselves, which "
        "nothing follows: begin before them",
        "i + 2 + most -> ": "The draft is too long: `most` ids at most",
    },
)
