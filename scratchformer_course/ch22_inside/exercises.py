"""The exercises of chapter 22, inside."""

import torch
from torch.nn import functional as F

from scratchformer_course.kit.checks.cases import drawn, integers, normal
from scratchformer_course.kit.checks.engine import exercise, mistake
from scratchformer_course.kit.checks.question import number


def _normal(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def _classes(seed, n):
    return torch.randint(6, (n,), generator=torch.Generator().manual_seed(seed))


def _probed():
    return (
        (_normal(0, 30, 4) + 1, _classes(0, 30), _normal(1, 30, 4), 1.0),
        (_normal(2, 40, 3) - 2, _classes(1, 40), _normal(3, 40, 3), 5.0),
        (_normal(4, 12, 2) + 1, _classes(2, 12), _normal(5, 3, 2), 0.1),
        (_normal(6, 3, 5), _classes(3, 3), _normal(7, 1, 5), 2.0),
    )


def _learned(draw):
    N, C, M = draw.randint(1, 20), draw.randint(1, 5), draw.randint(1, 4)
    x = normal(draw, N, C) + draw.choice([-1, 0, 2])
    return (
        x,
        integers(draw, draw.randint(1, 6), N),
        normal(draw, M, C),
        draw.choice([0.3, 1.0, 20.0]),
    )


def without_bias(x, y, new, ridge):
    a = x.T @ x + ridge * torch.eye(x.shape[1])
    return new @ torch.linalg.solve(a, x.T @ F.one_hot(y, 6).float())


def right_probe(x, y, new, ridge):
    x, new = F.pad(x, (0, 1), value=1.0), F.pad(new, (0, 1), value=1.0)
    return without_bias(x, y, new, ridge)


def probe_by_kernel(x, y, new, ridge):
    """The same from the products of the vectors among themselves."""
    near = x @ x.T + 1 + ridge * torch.eye(len(x))
    return (new @ x.T + 1) @ torch.linalg.solve(near, F.one_hot(y, 6).float())


def without_ridge(x, y, new, ridge):
    x, new = F.pad(x, (0, 1), value=1.0), F.pad(new, (0, 1), value=1.0)
    return new @ torch.linalg.pinv(x) @ F.one_hot(y, 6).float()


probe = exercise(
    "22.1",
    "probe(x: (N, C), y: (N,), new: (M, C), ridge) -> (M, 6), scores of new vectors",
    cases=_probed,
    more=drawn(10, _learned),
    praise="`probe` is right: it learns from `x`, and scores what it has not seen.",
    right=[right_probe, probe_by_kernel],
    hints=[
        "What must come at the end of each vector, so that one of its weights can be a bias?",
        "With a 1 at the end of each row of x and of new, and one-hot targets t, the weights are "
        "`torch.linalg.solve(x.T @ x + ridge * torch.eye(C + 1), x.T @ t)`, and the scores are ...",
    ],
    question=number(
        "The vectors have one number each: 1, of class 0, and −1, of class 1. With ridge = 1, what "
        "is the score of class 0 for the new vector 3?",
        lambda f: f(
            torch.tensor([[1.0], [-1.0]]), torch.tensor([0, 1]), torch.tensor([[3.0]]), 1.0
        )[0, 0],
        digits=2,
    ),
    mistakes=[
        mistake(
            "has no bias",
            "The bias is missing: put a 1 at the end of each vector, in x and in new",
            without_bias,
        ),
        mistake(
            "has no ridge",
            "The ridge is missing: without it, a few vectors of many numbers fit any classes",
            without_ridge,
        ),
        mistake(
            "scores the training rows",
            "These are the scores of x, from which the probe has learned: score new",
            lambda x, y, new, ridge: right_probe(x, y, x, ridge),
        ),
        mistake(
            "returns chances",
            "A softmax has made chances of the scores: return the scores themselves",
            lambda x, y, new, ridge: right_probe(x, y, new, ridge).softmax(dim=1),
        ),
    ],
)


def _erased():
    return (
        (_normal(0, 5, 4), _normal(1, 2, 4)),
        (_normal(2, 3, 6), _normal(3, 1, 6)),
        (_normal(4, 4, 8), _normal(5, 5, 8)),
        (_normal(6, 4, 3), torch.tensor([[2.0, 0.0, 0.0], [0.0, 0.5, 0.0]])),
        (_normal(7, 3, 5), _normal(8, 2, 5) / 1000),
    )


def _spanned(draw):
    """Directions of any length, of which two may be nearly the same."""
    C = draw.randint(3, 8)
    directions = normal(draw, draw.randint(1, C - 1), C)
    if len(directions) > 1:
        directions[1] = directions[0] + draw.choice([0.03, 0.3, 1.0]) * directions[1]
    size = draw.choice([0.01, 1.0, 40.0])
    return normal(draw, draw.randint(1, 4), C), size * directions


def right_erase(x, directions):
    q = torch.linalg.qr(directions.T).Q
    return x - x @ q @ q.T


def erase_by_pseudo_inverse(x, directions):
    return x - x @ torch.linalg.pinv(directions) @ directions


def one_after_the_other(x, directions):
    for direction in F.normalize(directions, dim=1):
        x = x - (x @ direction)[:, None] * direction
    return x


def only_normalised(x, directions):
    unit = F.normalize(directions, dim=1)
    return x - x @ unit.T @ unit


erase = exercise(
    "22.2",
    "erase(x: (N, C), directions: (K, C), none made of others) -> (N, C), x without its part along "
    "them",
    cases=_erased,
    more=drawn(12, _spanned),
    praise="`erase` is right: what it returns has a product of 0 with each direction.",
    right=[right_erase, erase_by_pseudo_inverse],
    hints=[
        "If two directions are nearly the same, how often should their common part be removed?",
        "The columns of `q = torch.linalg.qr(directions.T).Q` have length 1, are at right angles "
        "and span the same space. `x @ q` says how far x goes along each of them, so the part to "
        "remove is ...",
    ],
    question=number(
        "x is (3, 4, 5), and the directions are (1, 0, 0) and (1, 1, 0). What is the first number "
        "of the result?",
        lambda f: f(
            torch.tensor([[3.0, 4.0, 5.0]]), torch.tensor([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
        )[0, 0],
        digits=1,
    ),
    mistakes=[
        mistake(
            "neither normalises nor orthogonalises",
            "The directions are used as they are: they must have length 1, and be at right "
            "angles to each other",
            lambda x, directions: x - x @ directions.T @ directions,
        ),
        mistake(
            "only normalises",
            "The directions have length 1 here, but are not at right angles: what two of them "
            "share is removed twice",
            only_normalised,
        ),
        mistake(
            "erases one after the other",
            "Each direction is erased in turn, and the later ones bring back some of the earlier "
            "ones, because they are not at right angles",
            one_after_the_other,
        ),
        mistake(
            "returns what should go",
            "This is the part along the directions: subtract it from x",
            lambda x, directions: x - right_erase(x, directions),
        ),
    ],
)


def _patched():
    """Heads at both ends and between; one head is the whole vector."""
    shapes = [(3, 5, 8), (2, 4, 6), (4, 6, 6), (1, 3, 2), (2, 3, 12), (2, 5, 9)]
    where = [(2, 2, 4), (0, 3, 3), (5, 1, 2), (1, 1, 1), (-1, 4, 4), (-2, 1, 3)]
    return [
        (_normal(2 * i, *shape), _normal(2 * i + 1, *shape), *own)
        for i, (shape, own) in enumerate(zip(shapes, where, strict=True))
    ]


def _places(draw):
    B, T, D, H = (draw.randint(1, 4) for _ in range(4))
    x, source = normal(draw, B, T, D * H), normal(draw, B, T, D * H)
    return x, source, draw.randrange(-T, T), draw.randint(1, H), H


def right_patch(x, source, place, head, n_heads):
    x, D = x.clone(), x.shape[-1] // n_heads
    x[:, place, D * (head - 1) : D * head] = source[:, place, D * (head - 1) : D * head]
    return x


def patch_by_where(x, source, place, head, n_heads):
    _, T, C = x.shape
    own = torch.zeros(T, n_heads, C // n_heads, dtype=torch.bool)
    own[place, head - 1] = True
    return torch.where(own.view(T, C), source, x)


def _counted_from_0(x, source, place, head, n_heads):
    return right_patch(x, source, place, head + 1, n_heads)


def _whole_vector(x, source, place, head, n_heads):
    return right_patch(x, source, place, 1, 1)


def _everywhere(x, source, place, head, n_heads):
    return torch.cat(
        [right_patch(x, source, t, head, n_heads)[:, t : t + 1] for t in range(x.shape[1])], dim=1
    )


def _every_nth(x, source, place, head, n_heads):
    x = x.clone()
    x[:, place, head - 1 :: n_heads] = source[:, place, head - 1 :: n_heads]
    return x


def _four_numbers(f, head):
    x = torch.tensor([[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]])
    return f(x, 10 * x, 1, head, 2).sum()


patch = exercise(
    "22.3",
    "patch(x, source: (B, T, H*D), place, head from 1 on, n_heads) -> (B, T, H*D), x with the "
    "source's numbers of one head in one place",
    cases=_patched,
    more=drawn(12, _places),
    praise="`patch` is right: one head's numbers at one place are new, and x is as it was.",
    right=[right_patch, patch_by_where],
    hints=[
        "The heads lie side by side, D numbers each, and the first is head 1. Where does head 2 "
        "begin, and where does it end? If you write into x itself, whose numbers have you changed?",
        "With D = x.shape[-1] // n_heads, head h has the numbers D * (h - 1) to D * h. Clone x, "
        "and set these numbers, in all texts, at this place, to ...",
    ],
    question=number(
        "A text of two places has the numbers (1, 2, 3, 4) and (5, 6, 7, 8), the source ten times "
        "as much, and there are two heads. What is the sum of the result if place 1, counted from "
        "0, gets head 2 of the source?",
        lambda f: _four_numbers(f, 2),
        digits=0,
    ),
    mistakes=[
        mistake(
            "changes the roles",
            "The source has received numbers of x: it is the other way round",
            lambda x, source, place, head, n_heads: right_patch(source, x, place, head, n_heads),
        ),
        mistake(
            "counts heads from 0",
            "This is the head after the one that was asked for: heads are counted from 1",
            _counted_from_0,
        ),
        mistake(
            "patches the whole vector",
            "All heads of this place are the source's: one head alone must change",
            _whole_vector,
        ),
        mistake(
            "patches every place",
            "The head's numbers are the source's at all places: one place alone must change",
            _everywhere,
        ),
        mistake(
            "takes every n-th number",
            "A head's numbers are neighbours, not every n-th number of the vector",
            _every_nth,
        ),
    ],
)


def _added():
    shapes = [(5, 4), (3, 6), (1, 3), (8, 2), (4, 5)]
    return [
        (
            (0.3, 2.0, 1.0, 30.0, 1.0)[i] * _normal(3 * i, N, C),
            _normal(3 * i + 1, C),
            _normal(3 * i + 2, C),
        )
        for i, (N, C) in enumerate(shapes)
    ]


def _parts(draw):
    N, C = draw.randint(1, 8), draw.randint(2, 6)
    size = draw.choice([0.5, 1.0, 20.0])
    return size * (normal(draw, N, C) + 0.1), normal(draw, C), normal(draw, C)


def _rms(x):
    return (x**2).mean(dim=-1, keepdim=True).sqrt()


def right_attribution(parts, gain, towards):
    return parts * gain / _rms(parts.sum(dim=0)) @ towards


def attribution_by_loop(parts, gain, towards):
    total = sum(parts)
    size = torch.linalg.vector_norm(total) / len(total) ** 0.5
    return torch.stack([(part / size * gain * towards).sum() for part in parts])


def _two_parts(f):
    parts = torch.tensor([[3.0, 0.0], [0.0, 4.0]])
    return f(parts, torch.tensor([1.0, 1.0]), torch.tensor([2.0, 1.0]))[0]


attribution = exercise(
    "22.4",
    "attribution(parts: (N, C), gain: (C,), towards: (C,)) -> (N,), what each part adds to the "
    "difference of two logits",
    cases=_added,
    more=drawn(12, _parts),
    praise="`attribution` is right: the parts sum to the whole difference.",
    right=[right_attribution, attribution_by_loop],
    hints=[
        "An RMSNorm divides by one number for the whole vector. Which vector does it see: a part, "
        "or the sum of all parts?",
        "`total = parts.sum(dim=0)`, and `rms = total.pow(2).mean().sqrt()`. Divide each part by "
        "rms, multiply it by gain, and take its dot product with ...",
    ],
    question=number(
        "Two parts are (3, 0) and (0, 4), the gain is (1, 1), and towards is (2, 1). What does the "
        "first part add?",
        _two_parts,
        digits=2,
    ),
    mistakes=[
        mistake(
            "norms each part",
            "Each part is divided by its own size, but the norm sees only their sum",
            lambda parts, gain, towards: parts * gain / _rms(parts) @ towards,
        ),
        mistake(
            "leaves out the norm",
            "The norm is missing: divide by the root of the mean square of the sum",
            lambda parts, gain, towards: parts * gain @ towards,
        ),
        mistake(
            "leaves out the gain",
            "The gain is missing: the norm multiplies each number of the vector by it",
            lambda parts, gain, towards: parts / _rms(parts.sum(dim=0)) @ towards,
        ),
        mistake(
            "divides by the length",
            "The root of the sum of squares is the length: the norm takes the root of their mean",
            lambda parts, gain, towards: parts * gain / parts.sum(dim=0).norm() @ towards,
        ),
        mistake(
            "returns shares",
            "These sum to 1: return what each part adds to the difference",
            lambda parts, gain, towards: (parts * gain @ towards) / (parts * gain @ towards).sum(),
        ),
    ],
)
