"""The exercises of chapter 22, inside."""

import torch
from torch.nn import functional as F

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


def ridge_regression(x, new, targets, penalty):
    """Scores of new vectors, with 1 as a last number of each; `penalty` belongs to x.T @ x."""
    x, new = F.pad(x, (0, 1), value=1.0), F.pad(new, (0, 1), value=1.0)
    return new @ torch.linalg.solve(x.T @ x + penalty, x.T @ targets)


def right_probe(x, y, new, ridge):
    penalty = ridge * torch.eye(x.shape[1] + 1)
    return ridge_regression(x, new, F.one_hot(y, 6).float(), penalty)


def probe_by_rows(x, y, new, ridge):
    """The penalty as further rows, whose targets are 0."""
    ones, others = torch.ones(len(x), 1), torch.ones(len(new), 1)
    x, new = torch.cat([x, ones], dim=1), torch.cat([new, others], dim=1)
    width = x.shape[1]
    rows = torch.cat([x, ridge**0.5 * torch.eye(width)])
    targets = torch.cat([F.one_hot(y, 6).float(), torch.zeros(width, 6)])
    return new @ torch.linalg.lstsq(rows, targets).solution


def probe_by_kernel(x, y, new, ridge):
    """The same from the products of the vectors among themselves."""
    near = x @ x.T + 1 + ridge * torch.eye(len(x))
    return (new @ x.T + 1) @ torch.linalg.solve(near, F.one_hot(y, 6).float())


def without_bias(x, y, new, ridge):
    a = x.T @ x + ridge * torch.eye(x.shape[1])
    return new @ torch.linalg.solve(a, x.T @ F.one_hot(y, 6).float())


def without_ridge(x, y, new, ridge):
    x, new = F.pad(x, (0, 1), value=1.0), F.pad(new, (0, 1), value=1.0)
    return new @ torch.linalg.pinv(x) @ F.one_hot(y, 6).float()


def bias_lost_on_new(x, y, new, ridge):
    x, new = F.pad(x, (0, 1), value=1.0), F.pad(new, (0, 1), value=0.0)
    a = x.T @ x + ridge * torch.eye(x.shape[1])
    return new @ torch.linalg.solve(a, x.T @ F.one_hot(y, 6).float())


probe = exercise(
    "22.1",
    "probe(x: (N, C), y: (N,), new: (M, C), ridge) -> (M, 6), scores of new vectors",
    cases=_probed,
    praise="`probe` is right: it learns from `x`, and scores what it has not seen.",
    right=[right_probe, probe_by_rows, probe_by_kernel],
    hints=[
        "What must stand at the end of each vector, so that one of its weights can be a bias?",
        "With a 1 behind each row of x and of new, and one-hot targets t, the weights are "
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
            "The bias is missing: put a 1 behind each vector, in x and in new",
            without_bias,
        ),
        mistake(
            "loses the bias on new vectors",
            "x has its ones, and new has zeros in their place: the bias is learned and then lost",
            bias_lost_on_new,
        ),
        mistake(
            "has no ridge",
            "The ridge is missing: without it, a few vectors of many numbers fit any classes",
            without_ridge,
        ),
        mistake(
            "adds the ridge everywhere",
            "The ridge is added to every entry of x.T @ x: it belongs on the diagonal",
            lambda x, y, new, ridge: ridge_regression(x, new, F.one_hot(y, 6).float(), ridge),
        ),
        mistake(
            "scales the ridge by the number of rows",
            "The ridge is multiplied by the number of rows here: add it as it is",
            lambda x, y, new, ridge: right_probe(x, y, new, ridge * len(x)),
        ),
        mistake(
            "scores the training rows",
            "These are the scores of x, from which the probe has learned: score new",
            lambda x, y, new, ridge: right_probe(x, y, x, ridge),
        ),
        mistake(
            "learns from the new vectors",
            "The weights come from new, with the classes of x: learn from x",
            lambda x, y, new, ridge: right_probe(new, y[: len(new)], new, ridge),
        ),
        mistake(
            "returns classes",
            "These are the classes with the best score: return all six scores",
            lambda x, y, new, ridge: right_probe(x, y, new, ridge).argmax(dim=1),
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
    )


def right_erase(x, directions):
    q = torch.linalg.qr(directions.T).Q
    return x - x @ q @ q.T


def erase_by_pseudo_inverse(x, directions):
    return x - x @ torch.linalg.pinv(directions) @ directions


def erase_by_turns(x, directions):
    """Gram–Schmidt: each direction first loses its part along those before it."""
    done: list = []
    for direction in directions:
        for other in done:
            direction = direction - (direction @ other) * other
        done.append(direction / direction.norm())
    for direction in done:
        x = x - (x @ direction)[:, None] * direction
    return x


def erase_by_least_squares(x, directions):
    shares = torch.linalg.lstsq(directions.T, x.T).solution
    return x - (directions.T @ shares).T


def one_after_the_other(x, directions):
    for direction in F.normalize(directions, dim=1):
        x = x - (x @ direction)[:, None] * direction
    return x


def only_normalised(x, directions):
    unit = F.normalize(directions, dim=1)
    return x - x @ unit.T @ unit


def _mean_direction(x, directions):
    return right_erase(x, directions.mean(dim=0, keepdim=True))


erase = exercise(
    "22.2",
    "erase(x: (N, C), directions: (K, C)) -> (N, C), x without its part along the directions",
    cases=_erased,
    praise="`erase` is right: what it returns has a product of 0 with each direction.",
    right=[right_erase, erase_by_pseudo_inverse, erase_by_turns, erase_by_least_squares],
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
            "The directions are used as they are: they must have length 1, and stand at right "
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
        mistake(
            "mirrors x",
            "The part along the directions is subtracted twice, so that x is mirrored",
            lambda x, directions: 2 * right_erase(x, directions) - x,
        ),
        mistake(
            "erases the first direction alone",
            "Only the first direction is gone",
            lambda x, directions: right_erase(x, directions[:1]),
        ),
        mistake(
            "erases the mean of the directions",
            "Only the mean of the directions is gone: each of them must go",
            _mean_direction,
        ),
        mistake(
            "sets K numbers to zero",
            "The first K numbers are set to 0: directions are seldom along single numbers",
            lambda x, directions: torch.cat(
                [x[:, : len(directions)] * 0, x[:, len(directions) :]], dim=1
            ),
        ),
    ],
)


def _patched():
    return (
        (_normal(0, 3, 5, 4), _normal(1, 3, 5, 4), 2),
        (_normal(2, 2, 4, 4), _normal(3, 2, 4, 4), 1),
        (_normal(4, 4, 6, 6), _normal(5, 4, 6, 6), 3),
        (_normal(6, 1, 3, 2), _normal(7, 1, 3, 2), 0),
    )


def right_patch(x, source, place):
    x = x.clone()
    x[:, place] = source[:, place]
    return x


def patch_by_where(x, source, place):
    here = torch.arange(x.shape[1]) == place
    return torch.where(here[:, None], source, x)


def patch_by_cat(x, source, place):
    end = place + 1
    return torch.cat([x[:, :place], source[:, place:end], x[:, end:]], dim=1)


def patched_where(rows=lambda place: slice(None), columns=lambda place: place):
    """A patch in other rows or places."""

    def answer(x, source, place):
        x = x.clone()
        x[rows(place), columns(place)] = source[rows(place), columns(place)]
        return x

    return answer


def patched_numbers(x, source, place):
    x = x.clone()
    x[..., place] = source[..., place]
    return x


def _added(x, source, place):
    x = x.clone()
    x[:, place] += source[:, place]
    return x


def _mean_patch(x, source, place):
    x = x.clone()
    x[:, place] = source[:, place].mean(dim=0)
    return x


patch = exercise(
    "22.3",
    "patch(x, source: (B, T, C), place) -> (B, T, C), x with the source's vectors in one place",
    cases=_patched,
    praise="`patch` is right: one place is the source's, and x itself has not changed.",
    right=[right_patch, patch_by_where, patch_by_cat],
    hints=[
        "If you write into x itself, whose vectors have you changed?",
        "Clone x, and then set `x[:, place]` to ...",
    ],
    question=number(
        "x has the numbers 1, 2, 3, 4 in its four places, and the source 10, 20, 30, 40. The place "
        "is 1, counted from 0. What is the sum of the result?",
        lambda f: f(
            torch.tensor([[[1.0], [2.0], [3.0], [4.0]]]),
            torch.tensor([[[10.0], [20.0], [30.0], [40.0]]]),
            1,
        ).sum(),
        digits=0,
    ),
    mistakes=[
        mistake(
            "changes the roles",
            "The source has received a vector of x: it is the other way round",
            lambda x, source, place: right_patch(source, x, place),
        ),
        mistake(
            "patches everything after it",
            "All places from this one on are the source's: one place alone must change, or you "
            "cannot say which one mattered",
            patched_where(columns=lambda place: slice(place, None)),
        ),
        mistake(
            "patches everything before it",
            "All places up to this one are the source's: one place alone must change",
            patched_where(columns=lambda place: slice(0, place + 1)),
        ),
        mistake(
            "patches a row",
            "`x[place]` is a text of the batch: the places are the second dimension",
            lambda x, source, place: patched_where(lambda p: p, lambda p: slice(None))(
                x, source, min(place, len(x) - 1)
            ),
        ),
        mistake(
            "patches a number of each vector",
            "One number of every vector is the source's: the places are the second dimension, and "
            "the numbers the third",
            lambda x, source, place: patched_numbers(x, source, min(place, x.shape[2] - 1)),
        ),
        mistake(
            "adds",
            "The source's vector is added to that of x: it takes its place",
            _added,
        ),
        mistake(
            "patches the mean of the batch",
            "All texts receive the same vector, the mean over the batch: each has its own",
            _mean_patch,
        ),
        mistake(
            "patches all places with one vector",
            "The vector of this place stands in all places",
            lambda x, source, place: source[:, place : place + 1].expand_as(x).clone(),
        ),
    ],
)
