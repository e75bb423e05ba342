"""The exercises of chapter 2, embeddings."""

import functools

import torch
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from scratchformer_course.ch02_embeddings.live import load_map
from scratchformer_course.kit.checks.engine import alike, exercise, mistake, refused
from scratchformer_course.kit.checks.question import number, which
from scratchformer_course.kit.checks.verdict import expect


def _pairs(ids, window, of=lambda i, j: (i, j)):
    """The pairs of places (i, j) that share a window, made into pairs by `of`."""
    n = len(ids)
    places = [(i, j) for i in range(n) for j in range(n) if 0 < abs(i - j) <= window]
    return [tuple(ids[k] for k in of(i, j)) for i, j in places]


def right_pairs_of(ids, window):
    pairs: list = []
    for i, centre in enumerate(ids):
        first, last = max(0, i - window), min(len(ids), i + window + 1)
        pairs += [(centre, ids[j]) for j in range(first, last) if j != i]
    return pairs


def by_slices(ids, window):
    pairs: list = []
    for i, centre in enumerate(ids):
        near = ids[max(0, i - window) : i] + ids[i + 1 : i + 1 + window]
        pairs.extend((centre, neighbour) for neighbour in near)
    return pairs


def pairs_a_word_with_itself(ids, window):
    n = len(ids)
    return [(ids[i], ids[j]) for i in range(n) for j in range(n) if abs(i - j) <= window]


def returns_the_places(ids, window):
    n = len(ids)
    return [(i, j) for i in range(n) for j in range(n) if 0 < abs(i - j) <= window]


def makes_one_list_a_centre(ids, window):
    n = len(ids)
    near = [[ids[j] for j in range(n) if 0 < abs(i - j) <= window] for i in range(n)]
    return list(zip(ids, near, strict=True))


pairs_of = exercise(
    "2.1",
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
    right=[right_pairs_of, lambda ids, window: _pairs(ids, window), by_slices],
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
            pairs_a_word_with_itself,
        ),
        mistake(
            "looks to the right only",
            "Only neighbours on the right are there: the window reaches to both sides",
            lambda ids, window: [
                (ids[i], ids[j]) for i in range(len(ids)) for j in range(i + 1, len(ids))[:window]
            ],
        ),
        mistake(
            "looks to the left only",
            "Only neighbours on the left are there: the window reaches to both sides",
            lambda ids, window: [
                (ids[i], ids[j]) for i in range(len(ids)) for j in range(max(0, i - window), i)
            ],
        ),
        mistake(
            "stops one place early on the right",
            "The last neighbour on the right is missing: `range` stops before its end",
            lambda ids, window: (
                [
                    (ids[i], ids[j])
                    for i in range(len(ids))
                    for j in range(max(0, i - window), min(len(ids), i + window))
                    if i != j
                ]
            ),
        ),
        mistake(
            "begins below 0",
            "The window runs over the left edge: a negative place counts from the end",
            lambda ids, window: (
                [
                    (ids[i], ids[j])
                    for i in range(len(ids))
                    for j in range(i - window, min(len(ids), i + window + 1))
                    if i != j
                ]
            ),
        ),
        mistake(
            "runs over the right edge",
            "The window runs over the right edge: stop at `len(ids)`",
            lambda ids, window: (
                [
                    (ids[i], ids[j])
                    for i in range(len(ids))
                    for j in range(max(0, i - window), i + window + 1)
                    if i != j
                ]
            ),
        ),
        mistake(
            "uses full windows only",
            "Centres near the edges are missing: their windows hold fewer neighbours, not none",
            lambda ids, window: (
                [
                    (ids[i], ids[j])
                    for i in range(window, len(ids) - window)
                    for j in range(i - window, i + window + 1)
                    if i != j
                ]
            ),
        ),
        mistake(
            "compares ids instead of places",
            "Two equal ids at two places are a pair: compare the places, not the ids",
            lambda ids, window: [pair for pair in _pairs(ids, window) if pair[0] != pair[1]],
        ),
        mistake(
            "swaps the two",
            "The centre comes first in a pair, and its neighbour second",
            lambda ids, window: _pairs(ids, window, lambda i, j: (j, i)),
        ),
        mistake(
            "returns the places",
            "These are places: put the ids that stand there into the pairs",
            returns_the_places,
        ),
        mistake(
            "makes one list a centre",
            "This is a list for each centre: write a pair for each neighbour",
            makes_one_list_a_centre,
        ),
    ],
)


def _vectors(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def _probabilities(v, u, n):
    """The probabilities of the real pairs (B, 1) and of the negatives (B, K, 1)."""
    real = torch.sigmoid((v * u).sum(dim=1, keepdim=True))
    return real, torch.sigmoid((v[:, None] * n).sum(dim=2, keepdim=True))


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


def right_moves(v, u, n):
    pull = 1 - torch.sigmoid((v * u).sum(dim=1, keepdim=True))  # (B, 1)
    push = torch.sigmoid((v[:, None] * n).sum(dim=2, keepdim=True))  # (B, K, 1)
    return pull * u - (push * n).sum(dim=1), pull * v, -push * v[:, None]


def by_einsum(v, u, n):
    far_from_1 = torch.sigmoid(-torch.einsum("bc,bc->b", v, u))
    far_from_0 = torch.sigmoid(torch.einsum("bc,bkc->bk", v, n))
    dv = far_from_1[:, None] * u - torch.einsum("bk,bkc->bc", far_from_0, n)
    return dv, far_from_1[:, None] * v, -torch.einsum("bk,bc->bkc", far_from_0, v)


def negative_by_negative(v, u, n):
    far = torch.sigmoid(-(v * u).sum(dim=1, keepdim=True))
    dv, dn = far * u, torch.zeros_like(n)
    for k in range(n.shape[1]):
        push = torch.sigmoid((v * n[:, k]).sum(dim=1, keepdim=True))
        dv, dn[:, k] = dv - push * n[:, k], -push * v
    return dv, far * v, dn


def judge_moves(call):
    """The right moves, and without a loop over the pairs: the page trains with them."""
    praise = moves.compare(call)
    few, many = _steps(call, 2), _steps(call, 42)
    why = "The moves are right, but a loop over the pairs makes the training last too long"
    expect(many < few + 40, f"{why}: compute all pairs at once.")
    return praise


def pulls_by_the_probability(v, u, n):
    real, push = _probabilities(v, u, n)
    return real * u - (push * n).sum(dim=1), real * v, -push * v[:, None]


def pushes_by_1_minus(v, u, n):
    real, push = _probabilities(v, u, n)
    return (1 - real) * u - ((1 - push) * n).sum(dim=1), (1 - real) * v, (push - 1) * v[:, None]


def pulls_the_negatives(v, u, n):
    real, push = _probabilities(v, u, n)
    return (1 - real) * u + (push * n).sum(dim=1), (1 - real) * v, push * v[:, None]


def lets_the_negatives_leave_v(v, u, n):
    real, push = _probabilities(v, u, n)
    return (1 - real) * u, (1 - real) * v, -push * v[:, None]


def averages_the_negatives(v, u, n):
    real, push = _probabilities(v, u, n)
    return (1 - real) * u - (push * n).mean(dim=1), (1 - real) * v, -push * v[:, None]


def moves_each_vector_along(v, u, n):
    real, push = _probabilities(v, u, n)
    return (1 - real) * v - (push * v[:, None]).sum(dim=1), (1 - real) * u, -push * n


def moves_by_the_difference(v, u, n):
    real, push = _probabilities(v, u, n)
    pulled, apart = (1 - real) * (u - v), push * (n - v[:, None])
    return pulled - apart.sum(dim=1), -pulled, apart


def moves_v_first(v, u, n):
    dv = right_moves(v, u, n)[0]
    real, push = _probabilities(v, u, n)
    return dv, (1 - real) * (v + dv), -push * (v + dv)[:, None]


def forgets_the_sigmoid(v, u, n):
    real, push = (v * u).sum(1, keepdim=True), (v[:, None] * n).sum(2, keepdim=True)
    return (1 - real) * u - (push * n).sum(dim=1), (1 - real) * v, -push * v[:, None]


def lets_exp_overflow(v, u, n):
    real, push = (v * u).sum(1, keepdim=True).exp(), (v[:, None] * n).sum(2, keepdim=True).exp()
    real, push = real / (1 + real), push / (1 + push)
    return (1 - real) * u - (push * n).sum(dim=1), (1 - real) * v, -push * v[:, None]


def takes_a_softmax(v, u, n):
    real, _ = _probabilities(v, u, n)
    push = (v[:, None] * n).sum(dim=2, keepdim=True).softmax(dim=1)
    return (1 - real) * u - (push * n).sum(dim=1), (1 - real) * v, -push * v[:, None]


def loops_over_the_pairs(v, u, n):
    dv, du, dn = torch.zeros_like(v), torch.zeros_like(u), torch.zeros_like(n)
    for b in range(len(v)):
        far = 1 - torch.sigmoid(v[b] @ u[b])
        dv[b] += far * u[b]
        du[b] += far * v[b]
        for k in range(n.shape[1]):
            far = torch.sigmoid(v[b] @ n[b, k])
            dv[b] -= far * n[b, k]
            dn[b, k] -= far * v[b]
    return dv, du, dn


def squeezes_every_axis(v, u, n):
    real, _ = _probabilities(v, u, n)
    push = torch.sigmoid((n @ v.unsqueeze(2)).squeeze()).unsqueeze(-1)
    return (1 - real) * u - (push * n).sum(dim=1), (1 - real) * v, -push * v[:, None]


def leaves_the_pushes_apart(v, u, n):
    real, push = _probabilities(v, u, n)
    return ((1 - real) * u)[:, None] - push * n, (1 - real) * v, -push * v[:, None]


def needs_negatives(v, u, n):
    real, _ = _probabilities(v, u, n)
    pushes = [torch.sigmoid((v * s).sum(dim=1, keepdim=True)) for s in n.unbind(1)]
    pushed = torch.stack([p * s for p, s in zip(pushes, n.unbind(1), strict=True)]).sum(0)
    dn = torch.stack([-p * v for p in pushes], dim=1)
    return (1 - real) * u - pushed, (1 - real) * v, dn


moves = exercise(
    "2.2",
    "moves(v: (B, C), u: (B, C), n: (B, K, C)) -> three moves, of the shapes of v, u and n",
    cases=(
        (_vectors(3, 4), _vectors(3, 4) + 0.5, _vectors(3, 2, 4)),
        (_vectors(1, 2), _vectors(1, 2) + 0.3, _vectors(1, 1, 2)),
        (_vectors(2, 3), _vectors(2, 3) - 0.2, _vectors(2, 0, 3)),  # no negatives: 2.5 needs it
        (_vectors(4, 6), _vectors(4, 6) * 0.7, _vectors(4, 5, 6)),
        (_vectors(3, 5), _vectors(3, 5) - 0.4, _vectors(3, 1, 5)),  # one negative each
        (_vectors(4, 1), _vectors(4, 1) + 0.2, _vectors(4, 3, 1)),
        (_vectors(3, 4) + 0.5, _vectors(3, 4), -_vectors(3, 2, 4)),
        (30 * _vectors(4, 3), 30 * _vectors(2, 5)[:1, :3].expand(4, 3), 30 * _vectors(4, 2, 3)),
    ),
    judge=judge_moves,
    right=[right_moves, by_einsum, negative_by_negative],
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
        "σ(2) = 0.88, and give two digits behind the point.",
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
            pulls_by_the_probability,
        ),
        mistake(
            "pushes by 1 minus the probability",
            "A negative is pushed by how far its probability is from 0, that is σ, not 1 − σ",
            pushes_by_1_minus,
        ),
        mistake(
            "pulls the negatives",
            "The negatives are pulled: their moves, and the part they give to `v`, are subtracted",
            pulls_the_negatives,
        ),
        mistake(
            "pushes the real pair",
            "All signs are reversed: a real pair moves together, negatives move apart",
            lambda v, u, n: tuple(-move for move in right_moves(v, u, n)),
        ),
        mistake(
            "lets the negatives leave v alone",
            "The move of `v` lacks the negatives: each of them pushes `v` away too",
            lets_the_negatives_leave_v,
        ),
        mistake(
            "averages the negatives",
            "The pushes on `v` are averaged over the negatives: add them up",
            averages_the_negatives,
        ),
        mistake(
            "moves each vector along itself",
            "Each vector moves along itself: it moves along the other vector of its pair",
            moves_each_vector_along,
        ),
        mistake(
            "moves by the difference",
            "The moves go along the difference of the two vectors: they go along the other vector",
            moves_by_the_difference,
        ),
        mistake(
            "returns the moved vectors",
            "These are the vectors after the move: return the moves alone",
            lambda v, u, n: tuple(
                x + move for x, move in zip((v, u, n), right_moves(v, u, n), strict=True)
            ),
        ),
        mistake(
            "moves v first",
            "`u` and the negatives move by the new `v`: compute all moves from the old vectors",
            moves_v_first,
        ),
        mistake(
            "forgets the sigmoid",
            "The scores are used as they are: the sigmoid makes probabilities of them",
            forgets_the_sigmoid,
        ),
        mistake(
            "lets exp overflow",
            "`exp` of a large score is infinite, and ∞ / ∞ is NaN: use `torch.sigmoid`",
            lets_exp_overflow,
        ),
        mistake(
            "takes a softmax",
            "The negatives' probabilities sum to 1: each negative has a sigmoid of its own",
            takes_a_softmax,
        ),
        refused(
            "loops over the pairs",
            "The moves are right, but a loop over the pairs makes the training last too long",
            loops_over_the_pairs,
        ),
        refused("does not add up the pushes", "shape (3, 2, 4)", leaves_the_pushes_apart),
        mistake(
            "squeezes every axis",
            "`squeeze()` takes away every axis of length 1, that of a single negative too: tell it "
            "which axis to take",
            squeezes_every_axis,
        ),
        mistake(
            "cannot do without negatives",
            "K may be 0, as in exercise 2.4: without negatives there is nothing to stack or to "
            "push",
            needs_negatives,
        ),
    ],
)


VECTORS = torch.tensor(
    [[4.0, 0.0], [9.0, 9.0], [0.5, 0.1], [-2.0, 0.0], [0.0, 1.0], [1.0, -0.7], [3.0, 1.5]]
)


TWINS = torch.tensor([[1.0, 0.0], [1.0, 2.0], [2.0, 1.0], [2.0, 4.0]])  # rows 1 and 3 point alike


_DRAWN = [[2.0, 5.0], [1.0, 1.0], [1.0, 0.0], [9.0, 1.0], [3.0, 4.0], [-2.0, -1.0]]


def _cosines(vectors, i):
    """The cosine of every vector with vector i, (V,)."""
    unit = vectors / vectors.norm(dim=1, keepdim=True)
    return unit @ unit[i]


def _largest(scores, i, k):
    """The k ids with the largest scores, i left out."""
    order = scores.argsort(descending=True, stable=True).tolist()
    return [j for j in order if j != i][:k]


def right_nearest(vectors, i, k):
    return _largest(_cosines(vectors, i), i, k)


def with_a_low_score_for_i(vectors, i, k):
    scores = _cosines(vectors, i)
    scores[i] = -2  # below every cosine
    return scores.topk(k).indices.tolist()


def gives_itself_a_score_of_0(vectors, i, k):
    scores = _cosines(vectors, i)
    scores[i] = 0
    return scores.topk(k).indices.tolist()


def _by_columns(vectors):
    return vectors / vectors.norm(dim=0, keepdim=True)


def word_by_word(vectors, i, k):
    cosines = {
        j: float(F.cosine_similarity(vectors[i], vectors[j], dim=0))
        for j in range(len(vectors))
        if j != i
    }
    return sorted(cosines, key=lambda j: -cosines[j])[:k]


nearest = exercise(
    "2.3",
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
    right=[right_nearest, with_a_low_score_for_i, word_by_word],
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
            lambda vectors, i, k: _cosines(vectors, i).topk(k).indices.tolist(),
        ),
        mistake(
            "loses a place to the word itself",
            "The word itself took a place: leave out `i`, then take k",
            lambda vectors, i, k: _cosines(vectors, i).topk(k).indices.tolist()[1:],
        ),
        *alike(
            "Long vectors win by the dot product: divide by the lengths",
            {
                "ranks by the dot product": lambda vectors, i, k: _largest(
                    vectors @ vectors[i], i, k
                ),
                "ranks by the dot product and lists the word itself": lambda vectors, i, k: (
                    (vectors @ vectors[i]).topk(k).indices.tolist()
                ),
            },
        ),
        mistake(
            "divides by the lengths of the columns",
            "The columns are divided by their lengths: each row has its own, so `dim=1`",
            lambda vectors, i, k: _largest(_by_columns(vectors) @ _by_columns(vectors)[i], i, k),
        ),
        mistake(
            "ranks by distance",
            "These are the nearest points: the angle counts, not the distance",
            lambda vectors, i, k: _largest(-(vectors - vectors[i]).norm(dim=1), i, k),
        ),
        mistake(
            "sorts from low to high",
            "These are the least similar: sort from high to low",
            lambda vectors, i, k: _largest(-_cosines(vectors, i), i, k),
        ),
        mistake(
            "returns the list backwards",
            "The order is reversed: the most similar comes first",
            lambda vectors, i, k: right_nearest(vectors, i, k)[::-1],
        ),
        mistake(
            "sorts the ids by number",
            "The ids are sorted by number: the most similar comes first",
            lambda vectors, i, k: sorted(right_nearest(vectors, i, k)),
        ),
        mistake(
            "takes the absolute value",
            "The sign of the cosine is lost: vectors that point apart are not similar",
            lambda vectors, i, k: _largest(_cosines(vectors, i).abs(), i, k),
        ),
        mistake(
            "gives the word itself a score of 0",
            "The word itself got the score 0, and there are cosines below 0: leave `i` out",
            gives_itself_a_score_of_0,
        ),
        mistake(
            "ignores which word is asked",
            "`i` is ignored: this is the list for id 0",
            lambda vectors, i, k: right_nearest(vectors, 0, k),
        ),
        refused(
            "returns a tensor",
            "int64 tensor of shape (3,), but a list",
            lambda vectors, i, k: torch.tensor(right_nearest(vectors, i, k)),
        ),
    ],
)


def _unit(vectors):
    return vectors / vectors.norm(dim=1, keepdim=True)


def right_mean_cosine(vectors):
    unit = vectors / vectors.norm(dim=1, keepdim=True)
    V = len(unit)
    return float(((unit @ unit.T).sum() - V) / (V * (V - 1)))


def by_a_mask(vectors):
    V, unit = len(vectors), _unit(vectors)
    return (unit @ unit.T)[~torch.eye(V, dtype=torch.bool)].mean()


def by_the_sum_of_rows(vectors):
    V, total = len(vectors), _unit(vectors).sum(dim=0)
    return (total @ total - V).item() / (V * V - V)


def by_loops(vectors):
    rows = range(len(vectors))
    cosines = [
        F.cosine_similarity(vectors[i], vectors[j], dim=0) for i in rows for j in rows if i < j
    ]
    return float(torch.stack(cosines).mean())


def counts_each_row(vectors):
    unit = _unit(vectors)
    return float((unit @ unit.T).mean())


def takes_the_diagonal_from(vectors):
    V, unit = len(vectors), _unit(vectors)
    return float(((unit @ unit.T).sum() - V) / (V * V))


def averages_dot_products(vectors):
    V, dots = len(vectors), vectors @ vectors.T
    return float((dots.sum() - dots.trace()) / (V * (V - 1)))


def loses_the_signs(vectors):
    V, unit = len(vectors), _unit(vectors)
    return float(((unit @ unit.T).abs().sum() - V) / (V * (V - 1)))


def counts_each_pair_once(vectors):
    V, unit = len(vectors), _unit(vectors)
    return float((unit @ unit.T).triu(1).sum() / (V * (V - 1)))


def compares_neighbouring_rows(vectors):
    unit = _unit(vectors)
    return float((unit[1:] * unit[:-1]).sum(dim=1).mean())


def returns_the_sum(vectors):
    V, unit = len(vectors), _unit(vectors)
    return float((unit @ unit.T).sum() - V)


def divides_the_columns(vectors):
    V, unit = len(vectors), _by_columns(vectors)
    dots = unit @ unit.T
    return float((dots.sum() - dots.trace()) / (V * (V - 1)))


mean_cosine = exercise(
    "2.4",
    "mean_cosine(vectors: (V, C)) -> the mean cosine of two different rows, a single number",
    cases=(
        torch.tensor([[3.0, 4.0], [4.0, 3.0], [0.0, 2.0], [-1.0, 0.5]]),
        torch.tensor([[1.0, 0.0], [0.0, 5.0]]),
        _vectors(6, 3),
        _vectors(6, 3) ** 3,
        torch.tensor([[2.0], [-1.0], [3.0]]),
        100 * _vectors(10, 5) + 80,
        _vectors(5, 8).T,
        torch.tensor([[1.0, 0.0], [0.0, 2.0], [0.0, 3.0]]),  # a cosine of 1 belongs to the mean
        torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]),  # and so does that of two equal rows
    ),
    right=[right_mean_cosine, by_a_mask, by_the_sum_of_rows, by_loops],
    hints=[
        "How many cosines are in the table of all rows with all rows, and how many of them "
        "compare a row with itself?",
        "`(unit @ unit.T).sum()` minus the ones on the diagonal, divided by `V * ...`.",
    ],
    question=number(
        "The rows are [2, 0], [3, 0], [−1, 0] and [0, 5]. What is `mean_cosine(vectors)`? Give two "
        "digits behind the point.",
        lambda f: f(torch.tensor([[2.0, 0.0], [3.0, 0.0], [-1.0, 0.0], [0.0, 5.0]])),
    ),
    mistakes=[
        mistake(
            "counts each row with itself",
            "Each row is counted with itself, and that cosine is always 1: leave the diagonal out",
            counts_each_row,
        ),
        mistake(
            "takes the diagonal from the sum alone",
            "The diagonal is gone from the sum, but not from the count: V · (V − 1) pairs are left",
            takes_the_diagonal_from,
        ),
        mistake(
            "averages dot products",
            "These are dot products: divide each row by its length first",
            averages_dot_products,
        ),
        mistake("loses the signs", "The signs of the cosines are lost", loses_the_signs),
        mistake(
            "counts each pair once in the sum alone",
            "Each pair is counted once in the sum and twice below it",
            counts_each_pair_once,
        ),
        mistake(
            "compares neighbouring rows only",
            "Only rows that follow each other are compared: take every pair",
            compares_neighbouring_rows,
        ),
        mistake(
            "returns the sum",
            "This is the sum of the cosines: divide by the number of pairs",
            returns_the_sum,
        ),
        mistake(
            "divides the columns",
            "The columns have length 1 now: divide each row by its own length",
            divides_the_columns,
        ),
    ],
)


NEAR = 10  # so many words near the third one come without any arithmetic
QUESTIONS = 2000  # drawn at random, to see how many of them pass


def _similar(wanted, asked):
    """Each wanted vector's cosines, up to a factor, with the map's words; those asked come last."""
    return (wanted @ load_map().unit.T).scatter(1, asked, -9.0)  # (N, C), (N, 3) -> (N, V)


def _answers(asked):
    """How well each word fits three given ones, (N, 3) ids: by arithmetic, by the third alone."""
    a, b, c = load_map().unit[asked].unbind(1)
    return _similar(b - a + c, asked), _similar(c, asked)


def _place(similar, d):
    """At which place the words d, (N,) ids, come: from 1."""
    return 1 + (similar > similar.gather(1, d[:, None])).sum(1)


@functools.cache
def _share_of_lucky_questions():
    """Of questions made of three random words, how many have an answer that would pass."""
    generator, words = torch.Generator().manual_seed(0), len(load_map().words)
    drawn = [torch.randperm(words, generator=generator)[:3] for _ in range(QUESTIONS)]
    found, alone = _answers(torch.stack(drawn))
    return (_place(alone, found.argmax(1)) > NEAR).double().mean().item()


def judge_analogy(call):
    text = call().like("man woman king queen", "Return the four words in one text.")
    asked, known = text.lower().split(), load_map().words
    expect(len(asked) == 4, f"An analogy has four words, and here are {len(asked)}.")
    for word in asked:
        expect(word in known, f"`{word}` is none of the {len(known)} words of the map.")
    expect(len(set(asked)) == 4, "A word stands twice: the words of a question are no answers.")
    ids = torch.tensor([known.index(word) for word in asked])
    found, alone = _answers(ids[None, :3])
    place, without = _place(found, ids[3:]).item(), _place(alone, ids[3:]).item()
    first = known[found.argmax()]
    of = f"place {place} of {len(known) - 3}"
    expect(place == 1, f"`{first}` comes first, and `{asked[3]}` at {of}.")
    why = f"`{asked[3]}` comes first, but it lies near `{asked[2]}` anyway"
    expect(without > NEAR, f"{why}: place {without} without the arithmetic.")
    told = f"`{asked[3]}` comes first, and without the arithmetic at place {without}"
    lucky = f"{_share_of_lucky_questions():.0%} of {QUESTIONS:,} questions of three random words"
    return f"{told}. But {lucky} have an answer that passes: does yours make sense?"


def of_pronouns():
    return "he she him her"


def of_verbs():
    return "keep kept hear heard"


analogy = exercise(
    "2.5",
    "analogy() -> four words of the map (str): a is to b as c is to d.",
    judge=judge_analogy,
    right=[of_pronouns, of_verbs],
    hints=[
        "Which words of the map stand in one relation, and in which of these pairs are the two "
        "words used in different places of a sentence?",
        "Two pairs make two questions, one in either order, and each pair can be turned round. "
        "Try common words, such as pronouns and verbs: the text says much about them.",
    ],
    question=which(
        "has an answer that is near anyway",
        beside=[of_pronouns, of_verbs],
        others=[
            "repeats a word of the question",
            "takes the famous example",
            "asks in three words",
        ],
        text="One of these analogies is refused. Which one, and why?",
    ),
    mistakes=[
        refused(
            "takes the famous example", "comes first, and `queen`", lambda: "man woman king queen"
        ),
        refused(
            "has an answer that is near anyway",
            "near `husband` anyway",
            lambda: "father mother husband wife",
        ),
        refused(
            "repeats a word of the question", "A word stands twice", lambda: "king queen king queen"
        ),
        refused(
            "takes a word that is not on the map",
            "`paris` is none",
            lambda: "france paris rome italy",
        ),
        refused("asks in three words", "here are 3", lambda: "he she him"),
        refused("returns a list", "is a list, but a str", lambda: ["he", "she", "him", "her"]),
        refused("returns nothing", "here are 0", lambda: ""),
    ],
)
