"""The exercises of chapter 20, inference."""

import heapq
import math
from functools import cache

import torch

from scratchformer_course.ch20_inference.largest import LargestTensor
from scratchformer_course.kit.checks.cases import drawn, normal
from scratchformer_course.kit.checks.engine import exercise, mistake, refused
from scratchformer_course.kit.checks.question import number, which
from scratchformer_course.kit.checks.verdict import expect

# --- 20.1: continuous batching -------------------------------------------------------------------


def _slots(choose=lambda free, i: free.index(min(free)), pause=0):
    """The right answer, or one that chooses another slot, or rests between two requests."""

    def answer(lengths, slots):
        free, ends = [0] * slots, []  # free[i]: the step after which slot i is free
        for i, length in enumerate(lengths):
            slot = choose(free, i)
            ends.append(free[slot] + length)
            free[slot] = ends[-1] + pause
        return ends

    return answer


def by_heap(lengths, slots):
    free, ends = [0] * slots, []
    for length in lengths:
        ends.append(heapq.heappop(free) + length)
        heapq.heappush(free, ends[-1])
    return ends


def whole_batches(lengths, slots):
    ends, start = [], 0
    for first in range(0, len(lengths), slots):
        batch = lengths[first : first + slots]
        ends += [start + length for length in batch]
        start += max(batch)
    return ends


def _requests(draw):
    return [draw.randint(1, 9) for _ in range(draw.randint(0, 12))], draw.randint(1, 5)


finish_steps = exercise(
    "20.1",
    "finish_steps(lengths, slots) -> for each request the step that writes its last token; "
    "requests come in order, and a free slot takes the next one at once",
    cases=(
        ([3, 1, 2, 2], 2),
        ([5, 1, 1, 1, 1], 2),
        ([4, 4, 4, 4], 4),
        ([2, 7, 1, 3, 3, 1, 6], 3),
        ([1, 2], 8),
        ([6, 2, 3], 1),
        ([2, 2, 1, 1], 2),  # both slots are free at once
    ),
    more=drawn(20, _requests),
    praise="`finish_steps` is right: no slot is empty while a request waits.",
    right=[_slots(), by_heap],
    hints=[
        "With two slots and the lengths 3, 1, 2, 2: when is the first slot free, and who takes it?",
        "Keep for each slot the step after which it is free. The next request goes to the slot "
        "with the least of these, which is then busy for `length` steps more, until ...",
    ],
    question=number(
        "There are two slots, and the requests need 6, 2, 1 and 4 steps. Which step writes the "
        "last token of the last one?",
        lambda f: f([6, 2, 1, 4], 2)[-1],
        digits=0,
    ),
    mistakes=[
        mistake(
            "waits for the whole batch",
            "The next requests wait until the longest of the batch is done, which is a static "
            "batch: a free slot takes the next request at once",
            whole_batches,
        ),
        mistake(
            "deals the slots in turn",
            "Request i goes to slot i % slots here, busy or not: take the slot that is free first",
            _slots(lambda free, i: i % len(free)),
        ),
        mistake(
            "leaves a slot empty for a step",
            "A slot that ends at step t takes the next request at step t + 1: here it rests for a "
            "step between",
            _slots(pause=1),
        ),
        mistake(
            "starts all at once",
            "All requests start at once: only `slots` of them run together",
            lambda lengths, slots: list(lengths),
        ),
    ],
)

# --- 20.2: a scale for each row ------------------------------------------------------------------


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
    "20.2",
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
        "A row is 0.46, −1.4, 0.3 and `bits` is 4. Which whole number stands for 0.46?",
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

# --- 20.3: keep or replace -----------------------------------------------------------------------

_P = torch.tensor([[0.5, 0.3, 0.2], [0.2, 0.2, 0.6], [0.1, 0.9, 0.0]])
_Q = torch.tensor([[0.25, 0.25, 0.5], [0.6, 0.1, 0.3]])


def _passes():
    p = (2 * _normal(5, 200, seed=0)).softmax(dim=-1)
    q = (2 * _normal(4, 200, seed=1)).softmax(dim=-1)
    drafted = [int((p[i] / q[i]).argmax()) for i in range(4)]
    unlikely = int((q[3] / p[3]).argmax())
    return (
        (_P, _Q, [2, 0], [0.5, 0.9]),  # the first is refused: 0.2 / 0.5
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
            if u[i] * q[i, token] >= p[i, token]:  # refused
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
    "20.3",
    "accepted(p: (k + 1, V), q: (k, V), draft, u) -> n, rest: (V,); of k drafted tokens the first "
    "n are kept, and the next one is drawn from rest",
    cases=_passes,
    more=drawn(30, _drafts),
    praise="`accepted` is right: it keeps, refuses, and has one token more when all are kept.",
    right=[keep, keep_by_ratio],
    hints=[
        "The draft proposes a token with probability 0.5, and the model gives it 0.2. How often "
        "may it stay, so that it is not written too often?",
        "Keep token i while u[i] < p[i, token] / q[i, token]. At the first refusal return i and "
        "the positive part of p[i] - q[i], made to sum to 1. If none is refused, return k and ...",
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
            "After a refusal this draws from p, but likely tokens were kept already and would come "
            "too often: take the positive part of p - q",
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

# --- 20.4: how far to guess ----------------------------------------------------------------------

PASS, TOKEN, MOST = 1.0, 0.2, 16  # costs of a pass and of a drafted token; the longest draft


@cache
def _world():
    """A model and its draft, six tokens each: (p, q), a row for each last token.

    After four of the tokens the draft is sure and nearly always right; after two it knows little.
    """
    p, q = torch.full((6, 6), 0.01), torch.full((6, 6), 0.02)
    for last, following in enumerate((1, 2, 3, 4)):
        p[last, following], q[last, following] = 0.95, 0.9
    p[4:] = torch.tensor([[0.1, 0.1, 0.05, 0.05, 0.1, 0.6], [0.8, 0.02, 0.02, 0.02, 0.04, 0.1]])
    q[4:] = torch.tensor([[0.2, 0.2, 0.2, 0.2, 0.1, 0.1], [0.2, 0.1, 0.2, 0.2, 0.2, 0.1]])
    return p, q


def tokens_per_cost(go_on):
    """Tokens for each unit of cost that drafts of this length bring, over long text; exact.

    A pass begins behind the token that ended the pass before, so that the places where passes
    begin settle to one distribution, which belongs to the rule.
    """
    p, q = _world()
    kept, rest = torch.minimum(p, q), (p - q).clamp(min=0)  # rest sums to the chance of a refusal
    goes = [[n < MOST and bool(go_on(row, n)) for row in q] for n in range(MOST + 1)]
    stops = 1 - torch.tensor(goes).float()  # (MOST + 1, 6)
    start, tokens, cost = torch.full((6,), 1 / 6), 0.0, 0.0
    for _ in range(30):  # passes; all but the last only settle where they begin
        tokens, cost, end = 0.0, PASS, torch.zeros(6)
        drafting = alive = start  # by the last token: what is drafted, and what of it is kept
        for stop in stops:
            cost += TOKEN * float((drafting * (1 - stop)).sum())
            drafting = (drafting * (1 - stop)) @ q
            end += (alive * stop) @ p + (alive * (1 - stop)) @ rest  # the last token of a pass
            alive = (alive * (1 - stop)) @ kept
            tokens += float(alive.sum())
        tokens += float(end.sum())
        start = end / end.sum()
    return tokens / cost


@cache
def best_fixed_length():
    """The fixed length with the most tokens for its cost, and how many these are."""
    found = {k: tokens_per_cost(lambda q, n, k=k: n < k) for k in range(MOST + 1)}
    best = max(found, key=lambda k: found[k])
    return best, found[best]


def judge_go_on(call):
    for row in _world()[1]:
        for n in (0, 3, 12):
            call(row, n).like(True)
    best, fixed = best_fixed_length()
    mine = tokens_per_cost(call.function)
    why = (
        f"It writes {mine:.2f} tokens for the cost of a pass, and the best fixed length, {best}, "
        f"writes {fixed:.2f}: "
    )
    sure, unsure = (bool(call.function(_world()[1][last], 0)) for last in (0, 4))
    if unsure:
        why += "it guesses where the draft knows nothing, "
        why += "too." if sure else "and stops where the draft is sure."
    else:
        early = "it stops too early where the draft is sure."
        why += early if sure else "it never guesses, which is plain decoding."
    expect(mine > fixed + 0.02, why)
    return f"{mine:.2f} tokens for the cost of a pass; the best fixed length writes {fixed:.2f}."


def sure_enough(q, n):
    return bool(q.max() > 0.5)


def little_entropy(q, n):
    return bool(-(q * q.log()).sum() < 1)


go_on = exercise(
    "20.4",
    "go_on(q: (V,), n) -> True to draft one more token; q is the draft's next distribution, n how "
    "many are drafted. More tokens for the cost of a pass than any fixed length",
    judge=judge_go_on,
    right=[sure_enough, little_entropy],
    hints=[
        "When is the draft likely to be refused: where one token has nearly all the probability, "
        "or where many share it?",
        "`q.max()` says how sure the draft is. Go on while it is larger than ...",
    ],
    question=which(
        "goes on where the draft is unsure",
        beside=[sure_enough, little_entropy],
        others=["never guesses", "guesses four, always"],
    ),
    mistakes=[
        refused(
            "goes on where the draft is unsure",
            "and stops where the draft is sure",
            lambda q, n: bool(q.max() < 0.5),
        ),
        refused("guesses four, always", "where the draft knows nothing, too", lambda q, n: n < 4),
        refused("never guesses", "which is plain decoding", lambda q, n: False),
        refused(
            "stops after one sure token",
            "it stops too early where the draft is sure",
            lambda q, n: bool(q.max() > 0.5) and n < 1,
        ),
    ],
)

# --- 20.5: attention in blocks -------------------------------------------------------------------


def _attended():
    low = _normal(2, 4, seed=9) / 10, _normal(6, 4, seed=10), _normal(6, 2, seed=11)
    return (
        (torch.tensor([[2.0]]), torch.tensor([[0.0], [1.0]]), torch.tensor([[1.0], [5.0]]), 1),
        (_normal(3, 4, seed=0), _normal(6, 4, seed=1), _normal(6, 4, seed=2), 2),
        (_normal(2, 8, seed=3), _normal(7, 8, seed=4), _normal(7, 3, seed=5), 3),  # a short block
        (50 * _normal(3, 4, seed=6), _normal(8, 4, seed=7), _normal(8, 4, seed=8), 4),
        (low[0] - 90, low[1].abs() + 1, low[2], 3),  # all scores far below 0
        (_normal(2, 4, seed=0), _normal(5, 4, seed=1), _normal(5, 4, seed=2), 9),
        (_normal(3, 4, seed=0) * torch.tensor([[300], [1], [0.01]]), *low[1:], 2),
        (torch.tensor([[2e4]]), torch.tensor([[-3.0], [-2], [-1], [-0.9999]]), low[2][:4], 2),
    )


def _blocked(draw):
    """Queries of very different size, and scores that lie far from 0, or grow from key to key."""
    T, S, D, E = (draw.randint(1, 7) for _ in range(4))
    q = normal(draw, T, D) * torch.tensor([[10.0 ** draw.randint(-2, 1)] for _ in range(T)])
    k = normal(draw, S, D, scale=draw.choice([0.1, 1, 3])) + draw.choice([0, 0, 3, -20])
    k = k * torch.linspace(draw.choice([1, 0.01]), 1, S)[:, None]
    return q, k, normal(draw, S, E), draw.randint(1, 8)


def _blocks(shrink_total=True, shrink_out=True, start=-math.inf):
    """The right answer, or one that keeps old sums as they are, or starts the maximum elsewhere."""

    def answer(q, k, v, size):
        best = q.new_full((len(q), 1), start)
        total, out = torch.zeros_like(best), q.new_zeros(len(q), v.shape[1])
        for keys, values in zip(k.split(size), v.split(size), strict=True):
            scores = q @ keys.T / math.sqrt(q.shape[1])
            new = torch.maximum(best, scores.amax(dim=1, keepdim=True))
            weights, shrink = (scores - new).exp(), (best - new).exp()
            total = total * (shrink if shrink_total else 1) + weights.sum(dim=1, keepdim=True)
            out = out * (shrink if shrink_out else 1) + weights @ values
            best = new
        return out / total

    return answer


def by_logsumexp(q, k, v, size):
    seen = q.new_full((len(q), 1), -math.inf)  # the logarithm of the sum so far
    out = q.new_zeros(len(q), v.shape[1])
    for first in range(0, len(k), size):
        scores = q @ k[first : first + size].T / q.shape[1] ** 0.5
        new = torch.logaddexp(seen, scores.logsumexp(dim=1, keepdim=True))
        out = out * (seen - new).exp() + (scores - new).exp() @ v[first : first + size]
        seen = new
    return out


def judge_in_blocks(call):
    praise = attend_in_blocks.compare(call)
    for T, S in ((20, 50), (2, 400)):  # with few queries, those of one query are too many
        q, k, v = (torch.ones(n, 2) for n in (T, S, S))
        call(q, k, v, 5).like(q)
        with LargestTensor() as seen:
            call.function(q, k, v, 5)
        why = (
            "The output is right, but a tensor holds more scores than those of a block: compute "
            "these, use them, and keep only three things."
        )
        expect(seen.new < 2 * T * 5, why)
        kept = (
            "The output is right, but the weights of all blocks are kept: keep only three things."
        )
        expect(seen.most < 20 * T * 5, kept)
    return praise


def all_at_once(q, k, v, size):
    return (q @ k.T / math.sqrt(q.shape[1])).softmax(dim=1) @ v


attend_in_blocks = exercise(
    "20.5",
    "attend_in_blocks(q: (T, D), k: (S, D), v: (S, E), size) -> (T, E), softmax(q kᵀ / √D) v with "
    "the scores of `size` keys at a time",
    cases=_attended,
    more=drawn(12, _blocked),
    judge=judge_in_blocks,
    praise="`attend_in_blocks` is right, and never holds the scores of more than one block.",
    right=[_blocks(), by_logsumexp],
    hints=[
        "The sum so far was computed with exp(score - 3), and now a score of 5 comes. By what must "
        "the old sum be multiplied, so that all terms are exp(score - 5)?",
        "Keep for each query the largest score, the sum of weights and the sum of weighted values. "
        "For each block find the new largest, multiply both sums by exp(old - new), and add ...",
    ],
    question=number(
        "There is one query, and the keys come one at a time. The scores are 0 and 2, and the "
        "values 1 and 5. What is the output?",
        lambda f: f(
            torch.tensor([[2.0]]), torch.tensor([[0.0], [1.0]]), torch.tensor([[1.0], [5.0]]), 1
        )[0, 0],
    ),
    mistakes=[
        mistake(
            "does not shrink the old sums",
            "The old sums keep the old largest score: multiply both by exp(old - new)",
            _blocks(shrink_total=False, shrink_out=False),
        ),
        mistake(
            "does not shrink the sum of weights",
            "The old sum of weights keeps the old largest score: it shrinks as the values do",
            _blocks(shrink_total=False),
        ),
        mistake(
            "does not shrink the values",
            "The old sum of values keeps the old largest score: it shrinks as the weights do",
            _blocks(shrink_out=False),
        ),
        mistake(
            "starts the maximum at 0",
            "All scores lie far below 0 here, and their weights become 0: start the largest score "
            "at -inf",
            _blocks(start=0.0),
        ),
        refused("computes all scores at once", "a tensor holds more scores", all_at_once),
    ],
)
