"""The exercises of chapter 2, embeddings."""

import torch
from torch.overrides import TorchFunctionMode

from scratchformer_course.kit.checks.cases import drawn, normal
from scratchformer_course.kit.checks.engine import exercise
from scratchformer_course.kit.checks.mistakes import edits, refused
from scratchformer_course.kit.checks.question import number
from scratchformer_course.kit.checks.verdict import expect

VECTORS = torch.tensor([[2.0, 5.0], [1, 1], [1, 0], [9, 1], [3, 4], [-2, -1]])


def right_nearest(vectors, i, k):
    unit = vectors / vectors.norm(dim=1, keepdim=True)
    similar = unit @ unit[i]  # (V, C) @ (C,) -> (V,)
    similar[i] = -2  # below each cosine
    return similar.topk(k).indices.tolist()


def _directions(draw):
    """Vectors of very different length."""
    V = draw.size(2, 9, 60)
    vectors = normal(draw, V, draw.size(2, 5, 16)) * torch.linspace(0.1, 30, V)[:, None]
    return vectors, draw.randrange(V), draw.randint(1, V - 1)


nearest = exercise(
    "2.1",
    "nearest(vectors: (V, C), i: int, k: int) -> list of k ids, most similar to i first",
    cases=(
        (VECTORS, 4, 3),
        (torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]]), 0, 2),  # its opposite comes last
        (torch.tensor([[2.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), 1, 1),  # its equal is another word
    ),
    more=drawn(12, _directions, ties=False),
    right=[right_nearest],
    hints=[
        "What do you do to a vector, so that only its direction is left?",
        "`unit = vectors / vectors.norm(dim=1, keepdim=True)`, and `unit @ unit[i]` holds all "
        "cosines. Before `topk`, the one of `i` must be lower than ...",
    ],
    question=number(
        "The rows 0 to 5 are [2, 5], [1, 1], [1, 0], [9, 1], [3, 4] and [−2, −1]. Draw them: "
        "which id is in the list `nearest(vectors, i=1, k=1)`?",
        lambda f: f(VECTORS, 1, 1)[0],
        digits=0,
    ),
    mistakes={
        "similar[i] = -2 -> pass": "The word itself is in the list: leave `i` out",
        "similar[i] = -2 -> k += 1\n.tolist() -> .tolist()[1:-1]": "The word itself took a "
        "place: leave out `i`, then take k",
        "vectors / vectors.norm(dim=1, keepdim=True) -> vectors\n= -2 -> = -torch.inf": "Long "
        "vectors win by the dot product: divide by the lengths",
        "unit @ unit[i] -> -(vectors - vectors[i]).norm(dim=1)\n= -2 -> = -torch.inf": "These "
        "are the nearest points: the angle counts, not the distance",
    },
)


def right_pairs_of(ids, window):
    pairs = []
    for i, centre in enumerate(ids):
        first = max(0, i - window)
        last = min(len(ids), i + window + 1)
        pairs += [(centre, ids[j]) for j in range(first, last) if j != i]
    return pairs


def _text(draw):
    return draw.choices(range(6), k=draw.size(0, 9, 60)), draw.size(0, 5, 20)


pairs_of = exercise(
    "2.2",
    "pairs_of(ids: list, window: int) -> list of pairs (centre, neighbour)",
    cases=(([4, 8, 6, 5, 9], 2), ([4, 8, 4, 4], 1), ([7, 3, 5], 5), ([], 2), ([3, 5], 0)),
    more=drawn(16, _text),
    right=[right_pairs_of],
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
    mistakes={
        " if j != i -> ": "The centre is paired with itself: leave its own place out",
        "window + 1 -> window": "The last neighbour on the right is missing: `range` stops "
        "before its end",
        "max(0, i - window) -> i - window": "The window runs over the left edge: a negative "
        "place counts from the end",
        "j != i -> ids[j] != centre": "Two equal ids at two places are a pair: compare the "
        "places, not the ids",
    },
)


def right_moves(v, u, n):
    real = (v * u).sum(dim=1, keepdim=True)  # (B, 1)
    invented = (v[:, None] * n).sum(dim=2, keepdim=True)  # (B, K, 1)
    pull = 1 - torch.sigmoid(real)  # (B, 1)
    push = torch.sigmoid(invented)  # (B, K, 1)
    dv = pull * u - (push * n).sum(dim=1)  # (B, C)
    return dv, pull * v, -push * v[:, None]


class _Counter(TorchFunctionMode):
    """Counts the calls of PyTorch's functions while it is entered."""

    count = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.count += 1
        return func(*args, **(kwargs or {}))


def judge_moves(call):
    """The right moves, and without a loop over the pairs: the page trains with them."""
    praise, counts = moves.compare(call), []
    for B in (2, 42):
        with _Counter() as counter:
            call(torch.ones(B, 3), torch.ones(B, 3), torch.ones(B, 2, 3))
        counts.append(counter.count)
    why = "The moves are right, but a loop over the pairs makes the training last too long"
    expect(counts[1] < counts[0] + 40, f"{why}: compute all pairs at once.")
    return praise


def loops_over_the_pairs(v, u, n):
    pairs = [right_moves(v[b : b + 1], u[b : b + 1], n[b : b + 1]) for b in range(len(v))]
    return tuple(map(torch.cat, zip(*pairs, strict=True)))


def _vectors(draw):
    """Vectors of a few pairs, and so long that a sigmoid is 0 or 1 in one case of three."""
    B, K, C = (draw.size(1, 4, 20) for _ in range(3))
    scale = draw.choice([1.0, 1.0, 30.0])
    v, u, n = (normal(draw, *shape, scale=scale) for shape in ((B, C), (B, C), (B, K, C)))
    u[0] /= 1000  # one that is neither, beside which the rounding of others is small
    return v, u, n


moves = exercise(
    "2.3",
    "moves(v: (B, C), u: (B, C), n: (B, K, C)) -> three moves, of the shapes of v, u and n",
    cases=((torch.eye(2), torch.ones(2, 2), torch.zeros(2, 0, 2)),),  # no negatives
    more=drawn(16, _vectors),
    judge=judge_moves,
    right=[right_moves],
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
        lambda f: f(*map(torch.tensor, ([[2.0, 0]], [[1.0, 4]], [[[-1.0, 2], [0, 1]]])))[0][0, 1],
    ),
    mistakes=[
        *edits(
            right_moves,
            {
                "1 - torch -> torch": "A real pair is pulled by how far its probability is from 1, "
                "that is 1 − σ, not σ",
                "u - (push -> u + (push\n-push -> push": "The negatives are pulled: their moves, "
                "and the part they give to `v`, are subtracted",
                " - (push * n).sum(dim=1) -> ": "The move of `v` lacks the negatives: each of them "
                "pushes `v` away too",
                "pull * v, -push * v -> pull * (v + dv), -push * (v + dv)": "`u` and the negatives "
                "move by the new `v`: compute all moves from the old vectors",
            },
        ),
        refused("a loop over the pairs", "a loop over the pairs makes", loops_over_the_pairs),
    ],
)
