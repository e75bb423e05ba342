"""The exercises of chapter 2, embeddings."""

import torch
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from scratchformer_course.kit.checks.cases import drawn, normal
from scratchformer_course.kit.checks.engine import exercise, mistake, refused
from scratchformer_course.kit.checks.question import number
from scratchformer_course.kit.checks.verdict import expect


def _vectors(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


VECTORS = torch.tensor(
    [[4.0, 0.0], [9.0, 9.0], [0.5, 0.1], [-2.0, 0.0], [0.0, 1.0], [1.0, -0.7], [3.0, 1.5]]
)
TWINS = torch.tensor([[1.0, 0.0], [1.0, 2.0], [2.0, 1.0], [2.0, 4.0]])  # rows 1 and 3 point alike
_DRAWN = [[2.0, 5.0], [1.0, 1.0], [1.0, 0.0], [9.0, 1.0], [3.0, 4.0], [-2.0, -1.0]]


def _cosines(vectors, dim=1):
    """The cosine of every vector with every other, (V, V)."""
    unit = vectors / vectors.norm(dim=dim, keepdim=True)
    return unit @ unit.T


def _largest(scores, i, k):
    """The k ids with the largest scores, i left out."""
    order = scores.argsort(descending=True, stable=True).tolist()
    return [j for j in order if j != i][:k]


def word_by_word(vectors, i, k):
    cosines = {
        j: float(F.cosine_similarity(vectors[i], vectors[j], dim=0))
        for j in range(len(vectors))
        if j != i
    }
    return sorted(cosines, key=lambda j: -cosines[j])[:k]


def _directions(draw):
    """Vectors of very different length."""
    V = draw.randint(2, 9)
    vectors = normal(draw, V, draw.randint(2, 5)) * torch.linspace(0.1, 30, V)[:, None]
    return vectors, draw.randrange(V), draw.randint(1, V - 1)


nearest = exercise(
    "2.1",
    "nearest(vectors: (V, C), i: int, k: int) -> list of k ids, most similar to i first",
    cases=(
        (VECTORS, 0, 3),
        (VECTORS, 4, 2),
        (VECTORS, 0, 6),  # down to the opposite of row 0
        (_vectors(9, 5), 8, 4),
        (100 * _vectors(12, 3), 5, 11),
        (TWINS, 3, 1),
        (TWINS, 1, 1),
        (VECTORS.flip(0), 0, 3),
        (torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]]), 0, 2),  # its opposite comes last
        (torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), 0, 1),  # its equal is another word
    ),
    more=drawn(12, _directions),
    right=[lambda vectors, i, k: _largest(_cosines(vectors)[i], i, k), word_by_word],
    hints=[
        "What do you do to a vector, so that only its direction is left?",
        "`unit = vectors / vectors.norm(dim=1, keepdim=True)`, and `unit @ unit[i]` holds all "
        "cosines. Before `topk`, the one of `i` must be lower than ...",
    ],
    question=number(
        "The rows 0 to 5 are [2, 5], [1, 1], [1, 0], [9, 1], [3, 4] and [−2, −1]. Draw them: "
        "which id is in the list `nearest(vectors, i=1, k=1)`?",
        lambda f: f(torch.tensor(_DRAWN), 1, 1)[0],
        digits=0,
    ),
    mistakes=[
        mistake(
            "lists the word itself",
            "The word itself is in the list: leave `i` out",
            lambda vectors, i, k: _cosines(vectors)[i].topk(k).indices.tolist(),
        ),
        mistake(
            "loses a place to the word itself",
            "The word itself took a place: leave out `i`, then take k",
            lambda vectors, i, k: _cosines(vectors)[i].topk(k).indices.tolist()[1:],
        ),
        mistake(
            "ranks by the dot product",
            "Long vectors win by the dot product: divide by the lengths",
            lambda vectors, i, k: _largest(vectors @ vectors[i], i, k),
        ),
        mistake(
            "divides by the lengths of the columns",
            "The columns are divided by their lengths: each row has its own, so `dim=1`",
            lambda vectors, i, k: _largest(_cosines(vectors, dim=0)[i], i, k),
        ),
        mistake(
            "ranks by distance",
            "These are the nearest points: the angle counts, not the distance",
            lambda vectors, i, k: _largest(-(vectors - vectors[i]).norm(dim=1), i, k),
        ),
        mistake(
            "sorts from low to high",
            "These are the least similar: sort from high to low",
            lambda vectors, i, k: _largest(-_cosines(vectors)[i], i, k),
        ),
    ],
)


def _pairs(ids, places):
    """Each id with those at `places(i)`, but for its own place."""
    return [(ids[i], ids[j]) for i in range(len(ids)) for j in places(i) if j != i]


def by_all_places(ids, window, nearest=1):
    n = range(len(ids))
    return [(ids[i], ids[j]) for i in n for j in n if nearest <= abs(i - j) <= window]


def right_pairs_of(ids, window):
    return _pairs(ids, lambda i: range(max(0, i - window), min(len(ids), i + window + 1)))


pairs_of = exercise(
    "2.2",
    "pairs_of(ids: list, window: int) -> list of pairs (centre, neighbour)",
    cases=(
        ([4, 8, 6, 5, 9], 2),
        ([4, 8, 4, 4], 1),
        ([7, 3, 5], 5),
        ([7], 2),
        ([], 2),
        ([3, 1, 4, 1, 5, 9, 2, 6], 3),
        ([3, 5], 0),
        ([2, 7, 1, 8, 2, 8, 1, 8], 5),
        ([5, 5, 6, 8, 4], 2),
    ),
    more=drawn(16, lambda draw: (draw.choices(range(6), k=draw.randint(0, 9)), draw.randint(0, 5))),
    right=[right_pairs_of, by_all_places],
    hints=[
        "At which places can the neighbours of place `i` stand, near the start of the text and "
        "near its end?",
        "`range(max(0, i - window), min(len(ids), ...))` holds these places, and one that is no "
        "neighbour.",
    ],
    question=number(
        "How many pairs are in `pairs_of([4, 8, 6, 8, 9], window=2)`?",
        lambda f: len(f([4, 8, 6, 8, 9], 2)),
        digits=0,
    ),
    mistakes=[
        mistake(
            "pairs a word with itself",
            "The centre is paired with itself: leave its own place out",
            lambda ids, window: by_all_places(ids, window, nearest=0),
        ),
        mistake(
            "looks to the right only",
            "Only neighbours on the right are there: the window reaches to both sides",
            lambda ids, window: _pairs(ids, lambda i: range(len(ids))[i + 1 : i + 1 + window]),
        ),
        mistake(
            "stops one place early on the right",
            "The last neighbour on the right is missing: `range` stops before its end",
            lambda ids, window: _pairs(
                ids, lambda i: range(max(0, i - window), min(len(ids), i + window))
            ),
        ),
        mistake(
            "begins below 0",
            "The window runs over the left edge: a negative place counts from the end",
            lambda ids, window: _pairs(
                ids, lambda i: range(i - window, min(len(ids), i + window + 1))
            ),
        ),
        mistake(
            "runs over the right edge",
            "The window runs over the right edge: stop at `len(ids)`",
            lambda ids, window: _pairs(ids, lambda i: range(max(0, i - window), i + window + 1)),
        ),
        mistake(
            "compares ids instead of places",
            "Two equal ids at two places are a pair: compare the places, not the ids",
            lambda ids, window: [(a, b) for a, b in right_pairs_of(ids, window) if a != b],
        ),
    ],
)


class _Counter(TorchFunctionMode):
    """Counts the calls of PyTorch's functions while it is entered."""

    count = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.count += 1
        return func(*args, **(kwargs or {}))


def _steps(call, pairs):
    """How many functions of PyTorch the call of a learner's `moves` needs for so many pairs."""
    case = _vectors(pairs, 3), _vectors(pairs, 3), _vectors(pairs, 2, 3)
    with _Counter() as counter:
        call(*case)
    return counter.count


def _moved(v, u, n, squash=torch.sigmoid, pull=lambda p: 1 - p, push=lambda p: p, along=None):
    """The moves by the right rule; the mistakes vary its parts."""
    pull = pull(squash((v * u).sum(dim=1, keepdim=True)))  # (B, 1)
    push = push(squash((v[:, None] * n).sum(dim=2, keepdim=True)))  # (B, K, 1)
    along = v if along is None else along
    return pull * u - (push * n).sum(dim=1), pull * along, -push * along[:, None]


def by_einsum(v, u, n):
    far_from_1 = torch.sigmoid(-torch.einsum("bc,bc->b", v, u))
    far_from_0 = torch.sigmoid(torch.einsum("bc,bkc->bk", v, n))
    dv = far_from_1[:, None] * u - torch.einsum("bk,bkc->bc", far_from_0, n)
    return dv, far_from_1[:, None] * v, -torch.einsum("bk,bc->bkc", far_from_0, v)


def judge_moves(call):
    """The right moves, and without a loop over the pairs: the page trains with them."""
    praise = moves.compare(call)
    few, many = _steps(call, 2), _steps(call, 42)
    why = "The moves are right, but a loop over the pairs makes the training last too long"
    expect(many < few + 40, f"{why}: compute all pairs at once.")
    return praise


def loops_over_the_pairs(v, u, n):
    pairs = [_moved(v[b : b + 1], u[b : b + 1], n[b : b + 1]) for b in range(len(v))]
    return tuple(map(torch.cat, zip(*pairs, strict=True)))


def _moved_vectors(draw):
    B, K, C = (draw.randint(1, 4) for _ in range(3))
    return normal(draw, B, C), normal(draw, B, C), normal(draw, B, K, C, scale=2.0)


moves = exercise(
    "2.3",
    "moves(v: (B, C), u: (B, C), n: (B, K, C)) -> three moves, of the shapes of v, u and n",
    cases=(
        (_vectors(3, 4), _vectors(3, 4) + 0.5, _vectors(3, 2, 4)),
        (_vectors(1, 2), _vectors(1, 2) + 0.3, _vectors(1, 1, 2)),
        (_vectors(2, 3), _vectors(2, 3) - 0.2, _vectors(2, 0, 3)),  # no negatives
        (_vectors(4, 6), _vectors(4, 6) * 0.7, _vectors(4, 5, 6)),
        (_vectors(3, 5), _vectors(3, 5) - 0.4, _vectors(3, 1, 5)),  # one negative each
        (_vectors(4, 1), _vectors(4, 1) + 0.2, _vectors(4, 3, 1)),
        (_vectors(3, 4) + 0.5, _vectors(3, 4), -_vectors(3, 2, 4)),
        (30 * _vectors(4, 3), 30 * _vectors(2, 5)[:1, :3].expand(4, 3), 30 * _vectors(4, 2, 3)),
    ),
    judge=judge_moves,
    more=drawn(8, _moved_vectors),
    right=[lambda v, u, n: _moved(v, u, n), by_einsum],
    hints=[
        "What is a real pair off by, what is an invented one off by, and along which vector does "
        "each vector move?",
        "`pull = 1 - torch.sigmoid((v * u).sum(dim=1, keepdim=True))` is (B, 1). With "
        "`push = torch.sigmoid((v[:, None] * n).sum(dim=2, keepdim=True))`, `dv` is `pull * u` "
        "minus ...",
    ],
    question=number(
        "The centre is `v = [2, 0]`, its neighbour `u = [1, 4]`, and its two negatives are "
        "[−1, 2] and [0, 1]. What is the second number of `dv`? Take σ(−2) = 0.12, σ(0) = 0.5 and "
        "σ(2) = 0.88, and give two digits after the point.",
        lambda f: f(
            torch.tensor([[2.0, 0.0]]),
            torch.tensor([[1.0, 4.0]]),
            torch.tensor([[[-1.0, 2.0], [0.0, 1.0]]]),
        )[0][0, 1],
    ),
    mistakes=[
        mistake(
            "pulls by the probability",
            "A real pair is pulled by how far its probability is from 1, that is 1 − σ, not σ",
            lambda v, u, n: _moved(v, u, n, pull=lambda p: p),
        ),
        mistake(
            "pulls the negatives",
            "The negatives are pulled: their moves, and the part they give to `v`, are subtracted",
            lambda v, u, n: _moved(v, u, n, push=lambda p: -p),
        ),
        mistake(
            "lets the negatives leave v alone",
            "The move of `v` lacks the negatives: each of them pushes `v` away too",
            lambda v, u, n: (_moved(v, u, n[:, :0])[0], *_moved(v, u, n)[1:]),
        ),
        mistake(
            "moves v first",
            "`u` and the negatives move by the new `v`: compute all moves from the old vectors",
            lambda v, u, n: _moved(v, u, n, along=v + _moved(v, u, n)[0]),
        ),
        mistake(
            "forgets the sigmoid",
            "The scores are used as they are: the sigmoid makes probabilities of them",
            lambda v, u, n: _moved(v, u, n, squash=lambda score: score),
        ),
        refused(
            "loops over the pairs",
            "The moves are right, but a loop over the pairs makes the training last too long",
            loops_over_the_pairs,
        ),
    ],
)
