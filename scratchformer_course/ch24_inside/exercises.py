"""The exercises of chapter 24, inside."""

import torch
from torch.nn import functional as F

from scratchformer_course.kit.checks import exercise, mistake, number
from scratchformer_course.kit.checks.cases import drawn, integers, normal
from scratchformer_course.kit.checks.mistakes import edits


def right_probe(x, y, new, ridge):
    x, new = F.pad(x, (0, 1), value=1.0), F.pad(new, (0, 1), value=1.0)
    a = x.T @ x + ridge * torch.eye(x.shape[1])  # (C + 1, C + 1)
    weights = torch.linalg.solve(a, x.T @ F.one_hot(y, 6).float())
    return new @ weights


def _learned(draw):
    N, C, M = draw.size(1, 20, 100), draw.randint(1, 5), draw.size(1, 4, 20)
    x = normal(draw, N, C) + draw.choice([-1, 0, 2])
    y = integers(draw, draw.randint(1, 6), N)
    return x, y, normal(draw, M, C), draw.choice([0.3, 1.0, 20.0])


probe = exercise(
    "24.1",
    "probe(x: (N, C), y: (N,), new: (M, C), ridge) -> (M, 6), scores of new vectors",
    cases=((torch.tensor([[1.0], [-1.0]]), torch.tensor([0, 1]), torch.tensor([[3.0]]), 1.0),),
    more=drawn(10, _learned),
    praise="`probe` is right: it learns from `x`, and scores what it has not seen.",
    right=[right_probe],
    hints=[
        "What must come at the end of each vector, so that one of its weights can be a bias?",
        "With a 1 at the end of each row of x and of new, and one-hot targets t, the weights are "
        "`torch.linalg.solve(x.T @ x + ridge * torch.eye(C + 1), x.T @ t)`, and the scores are ...",
    ],
    question=number(
        "x is 1, of class 0, and −1, of class 1, and ridge is 1. What is 3's score for class 0?",
        lambda f: f(*probe.cases[0])[0, 0],
    ),
    mistakes={
        "value=1.0 -> value=0.0": "The bias is missing: put a 1 at the end of each vector, in "
        "x and in new",
        " + ridge * torch.eye(x.shape[1]) -> ": "The ridge is missing: without it, a few "
        "vectors of many numbers fit any classes",
        "new @ weights -> x @ weights": "These are the scores of x, from which the probe has "
        "learned: score new",
        "new @ weights -> (new @ weights).softmax(dim=1)": "A softmax has made chances of the "
        "scores: return the scores themselves",
    },
)


def right_erase(x, directions):
    q = torch.linalg.qr(directions.T).Q  # (C, K): at right angles
    return x - x @ q @ q.T


def _spanned(draw):
    """Directions of any length, of which two may be alike; all ways agree in float32."""
    while True:
        C = draw.size(3, 8, 40)
        x, K = normal(draw, draw.size(1, 4, 20), C), draw.size(1, C - 1, 9)
        directions = normal(draw, K, C)
        if K > 1:
            directions[1] = directions[0] + draw.choice([0.2, 0.3, 1.0]) * directions[1]
        is_sound = torch.linalg.cond(directions) < 20
        if is_sound and right_erase(x, directions).abs().max() > 0.3:
            return x, draw.choice([0.01, 1.0, 40.0]) * directions


def one_after_the_other(x, directions):
    for direction in F.normalize(directions, dim=1):
        x = x - (x @ direction)[:, None] * direction
    return x


erase = exercise(
    "24.2",
    "erase(x: (N, C), directions: (K, C), none made of others) -> (N, C), x without its part along "
    "them",
    cases=((torch.tensor([[3.0, 4.0, 5.0]]), torch.tensor([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])),),
    more=drawn(12, _spanned),
    praise="`erase` is right: what it returns has a product of 0 with each direction.",
    right=[right_erase],
    hints=[
        "If two directions are nearly the same, how often should their common part be removed?",
        "The columns of `q = torch.linalg.qr(directions.T).Q` have length 1, are at right angles "
        "and span the same space. x goes `x @ q` along them, so the part to remove is ...",
    ],
    question=number(
        "x is (3, 4, 5), the directions are (1, 0, 0) and (1, 1, 0). What does the 3 become?",
        lambda f: f(*erase.cases[0])[0, 0],
        digits=1,
    ),
    mistakes=[
        mistake(
            "erases one after the other",
            "Each direction is erased in turn, and the later ones bring back some of the earlier "
            "ones, because they are not at right angles",
            one_after_the_other,
        ),
        *edits(
            right_erase,
            {
                "torch.linalg.qr(directions.T).Q -> directions.T": "The directions are used as "
                "they are: they must have length 1, and be at right angles to each other",
                "torch.linalg.qr(directions.T).Q -> F.normalize(directions).T": "The directions "
                "have length 1 here, but are not at right angles: what two of them share is "
                "removed twice",
                "x - x @ q -> x @ q": "This is the part along the directions: subtract it from x",
            },
        ),
    ],
)


def right_patch(x, source, place, head, n_heads):
    x, D = x.clone(), x.shape[-1] // n_heads
    part = slice(D * (head - 1), D * head)
    x[:, place, part] = source[:, place, part]
    return x


def _places(draw):
    B, T, D, H = (draw.size(1, 4, 9) for _ in range(4))
    x, source = normal(draw, B, T, D * H), normal(draw, B, T, D * H)
    return x, source, draw.randrange(T), draw.randint(1, H), H


TWO_PLACES = torch.arange(1.0, 9).view(1, 2, 4)

patch = exercise(
    "24.3",
    "patch(x, source: (B, T, H*D), place, head from 1 on, n_heads) -> (B, T, H*D), x with the "
    "source's numbers of one head in one place",
    cases=((TWO_PLACES, 10 * TWO_PLACES, 1, 2, 2),),
    more=drawn(12, _places),
    praise="`patch` is right: one head's numbers at one place are new, and x is as it was.",
    right=[right_patch],
    hints=[
        "Heads lie side by side, D numbers each, from head 1 on. Where does head 2 begin and end?",
        "With D = x.shape[-1] // n_heads, head h has the numbers D * (h - 1) to D * h. Clone x, "
        "and set these numbers, in all texts, at this place, to ...",
    ],
    question=number(
        "A text of two heads has the numbers (1, 2, 3, 4) and (5, 6, 7, 8), the source ten times "
        "as much. What is the sum if place 1, counted from 0, gets head 2 of the source?",
        lambda f: f(*patch.cases[0]).sum(),
        digits=0,
    ),
    mistakes={
        "(x, source -> (source, x": "The source has received numbers of x: it is the other way "
        "round",
        "D * (head - 1), D * head -> D * head, D * (head + 1)": "This is the head after the "
        "one that was asked for: heads are counted from 1",
        "place, part -> place": "All heads of this place are the source's: one head alone must "
        "change",
        "D * (head - 1), D * head -> head - 1, None, n_heads": "A head's numbers are "
        "neighbours, not every n-th number of the vector",
    },
)


def right_attribution(parts, gain, towards):
    rms = parts.sum(dim=0).pow(2).mean().sqrt()
    return parts / rms * gain @ towards


def _parts(draw):
    N, C = draw.size(1, 8, 60), draw.size(2, 6, 24)
    size = draw.choice([0.5, 1.0, 20.0])
    return size * (normal(draw, N, C) + 0.1), normal(draw, C), normal(draw, C)


attribution = exercise(
    "24.4",
    "attribution(parts: (N, C), gain: (C,), towards: (C,)) -> (N,), what each part adds to the "
    "difference of two logits",
    cases=((torch.tensor([[3.0, 0.0], [0.0, 4.0]]), torch.ones(2), torch.tensor([2.0, 1.0])),),
    more=drawn(12, _parts),
    praise="`attribution` is right: the parts sum to the whole difference.",
    right=[right_attribution],
    hints=[
        "Which vector does the RMSNorm see, and divide by one number: a part, or all parts' sum?",
        "`total = parts.sum(dim=0)`, and `rms = total.pow(2).mean().sqrt()`. Divide each part by "
        "rms, multiply it by gain, and take its dot product with ...",
    ],
    question=number(
        "Parts are (3, 0) and (0, 4), gain (1, 1), towards (2, 1). What does the first part add?",
        lambda f: f(*attribution.cases[0])[0],
    ),
    mistakes={
        "parts.sum(dim=0).pow(2).mean() -> parts.pow(2).mean(dim=1, keepdim=True)": "Each part "
        "is divided by its own size, but the norm sees only their sum",
        " / rms -> ": "The norm is missing: divide by the root of the mean square of the sum",
        " * gain -> ": "The gain is missing: the norm multiplies each number of the vector by it",
        ".mean() -> .sum()": "The root of the sum of squares is the length: the norm takes the "
        "root of their mean",
    },
)
