"""The exercises of chapter 20, inference."""

import heapq
import itertools
import math
from functools import cache

import torch

from scratchformer_course.ch20_inference.largest import LargestTensor
from scratchformer_course.kit.checks.engine import exercise, mistake, refused
from scratchformer_course.kit.checks.question import number, which
from scratchformer_course.kit.checks.verdict import expect

# --- 20.1: continuous batching -------------------------------------------------------------------


def by_slots(lengths, slots):
    free, ends = [0] * slots, []  # free[i]: the step after which slot i is free
    for length in lengths:
        first = free.index(min(free))
        free[first] += length
        ends.append(free[first])
    return ends


def by_heap(lengths, slots):
    free, ends = [0] * slots, []
    for length in lengths:
        ends.append(heapq.heappop(free) + length)
        heapq.heappush(free, ends[-1])
    return ends


def by_steps(lengths, slots):
    waiting, ends, step = list(range(len(lengths))), [0] * len(lengths), 0
    left: dict[int, int] = {}
    while waiting or left:
        while waiting and len(left) < slots:
            request = waiting.pop(0)
            left[request] = lengths[request]
        step += 1
        for request in list(left):
            left[request] -= 1
            if left[request] == 0:
                del left[request]
                ends[request] = step
    return ends


def whole_batches(lengths, slots):
    ends, start = [], 0
    for first in range(0, len(lengths), slots):
        batch = lengths[first : first + slots]
        ends += [start + length for length in batch]
        start += max(batch)
    return ends


def whole_batches_end_together(lengths, slots):
    ends, start = [], 0
    for first in range(0, len(lengths), slots):
        batch = lengths[first : first + slots]
        start += max(batch)
        ends += [start] * len(batch)
    return ends


def in_turn(lengths, slots):
    free, ends = [0] * slots, []
    for i, length in enumerate(lengths):
        free[i % slots] += length
        ends.append(free[i % slots])
    return ends


def with_a_pause(lengths, slots):
    free, ends = [0] * slots, []
    for length in lengths:
        first = free.index(min(free))
        ends.append(free[first] + length)
        free[first] = ends[-1] + 1
    return ends


def shortest_first(lengths, slots):
    order = sorted(range(len(lengths)), key=lambda i: lengths[i])
    ends = [0] * len(lengths)
    for i, end in zip(order, by_slots([lengths[i] for i in order], slots), strict=True):
        ends[i] = end
    return ends


def into_the_busiest(lengths, slots):
    free, ends = [0] * slots, []
    for length in lengths:
        busiest = free.index(max(free))
        free[busiest] += length
        ends.append(free[busiest])
    return ends


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
    ),
    praise="`finish_steps` is right: no slot is empty while a request waits.",
    right=[by_slots, by_heap, by_steps],
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
            "ends with the longest",
            "A request ends when its own last token is written, and its slot is free then: here "
            "the whole batch ends with its longest",
            whole_batches_end_together,
        ),
        mistake(
            "deals the slots in turn",
            "Request i goes to slot i % slots here, busy or not: take the slot that is free first",
            in_turn,
        ),
        mistake(
            "leaves a slot empty for a step",
            "A slot that ends at step t takes the next request at step t + 1: here it rests for a "
            "step between",
            with_a_pause,
        ),
        mistake(
            "lets the short ones go first",
            "The requests are sorted by length here, but they go in the order in which they came",
            shortest_first,
        ),
        mistake(
            "starts all at once",
            "All requests start at once: only `slots` of them run together",
            lambda lengths, slots: list(lengths),
        ),
        mistake(
            "has one slot",
            "The requests run one after the other: there are `slots` of them at a time",
            lambda lengths, slots: list(itertools.accumulate(lengths)),
        ),
        mistake(
            "takes the busiest slot",
            "The request goes to the slot that is free last: take the one that is free first",
            into_the_busiest,
        ),
        mistake(
            "counts steps from 0",
            "Each number is one too small: a request of one token that starts at once ends at "
            "step 1",
            lambda lengths, slots: [end - 1 for end in by_slots(lengths, slots)],
        ),
    ],
)

# --- 20.2: a scale for each row ------------------------------------------------------------------


@cache
def _matrices():
    def normal(*shape, seed):
        return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))

    with_zeros = normal(3, 5, seed=2)
    with_zeros[1] = 0
    outlier = normal(4, 6, seed=3)
    outlier[2, 1] = 40.0
    return (
        (torch.tensor([[0.4, -1.27, 0.05], [2.0, 0.3, 6.35]]), 8),
        (torch.tensor([[-3.3, 1.1, 7.0]]), 4),
        (normal(3, 8, seed=0), 8),
        (normal(5, 4, seed=1), 4),
        (outlier, 8),
        (normal(4, 4, seed=4), 3),
        (with_zeros, 4),
    )


def _whole(w, scale, top):
    return (w / scale).round().clamp(-top, top).to(torch.int8)


def _top(bits):
    return 2 ** (bits - 1) - 1


def per_row(w, bits):
    scale = w.abs().amax(dim=1, keepdim=True) / _top(bits)
    scale = torch.where(scale > 0, scale, 1.0)
    return (w / scale).round().to(torch.int8), scale


def per_row_by_loop(w, bits):
    top, whole, scales = 2 ** (bits - 1) - 1, [], []
    for row in w:
        scale = row.abs().max() / top if row.any() else torch.tensor(1.0)
        whole.append((row / scale).round().clamp(-top, top).char())
        scales.append(scale)
    return torch.stack(whole), torch.stack(scales)[:, None]


def _with_scale(largest):
    """Round with `largest(w)`, over top, as the scale, and 1 for zeros."""

    def answer(w, bits):
        scale = largest(w) / _top(bits)
        scale = torch.where(scale > 0, scale, 1.0)
        return _whole(w, scale, _top(bits)), scale

    return answer


def per_tensor(w, bits):
    whole, scale = _with_scale(lambda w: w.abs().max().view(1, 1))(w, bits)
    return whole, scale.expand(len(w), 1)


def wraps(w, bits):
    scale = w.abs().amax(dim=1, keepdim=True) / 2 ** (bits - 1)
    scale = torch.where(scale > 0, scale, 1.0)
    half = 2 ** (bits - 1)
    whole = (w / scale).round()
    return ((whole + half) % (2 * half) - half).to(torch.int8), scale


def towards_zero(w, bits):
    _, scale = per_row(w, bits)
    return (w / scale).to(torch.int8), scale


def rounds_down(w, bits):
    _, scale = per_row(w, bits)
    return (w / scale).floor().to(torch.int8), scale


def without_a_guard(w, bits):
    scale = w.abs().amax(dim=1, keepdim=True) / _top(bits)
    return (w / scale).round().to(torch.int8), scale


quantise = exercise(
    "20.2",
    "quantise(w: (R, C), bits) -> whole numbers (R, C) in int8, scale (R, 1); whole · scale ≈ w",
    cases=_matrices,
    praise="`quantise` is right: a scale for each row, one bit for the sign, and zeros stay zero.",
    right=[per_row, per_row_by_loop],
    hints=[
        "Which whole number must the largest weight of a row become, in size, and what is the "
        "scale then?",
        "Divide `w.abs().amax(dim=1, keepdim=True)` by 2 ** (bits - 1) - 1, put 1 where that is 0, "
        "and turn `(w / scale).round()` into ...",
    ],
    question=number(
        "A row is 0.5, −1.4, 0.3 and `bits` is 4. Which whole number stands for 0.5?",
        lambda f: f(torch.tensor([[0.5, -1.4, 0.3], [2.8, 0.1, 0.0]]), 4)[0][0, 0],
        digits=0,
    ),
    mistakes=[
        mistake(
            "takes one scale for the tensor",
            "All rows share the scale of the largest weight: take the largest of each row",
            per_tensor,
        ),
        mistake(
            "stores a scale for each column",
            "There is a scale for each column here: take the largest weight of each row, `dim=1`",
            _with_scale(lambda w: w.abs().amax(dim=0, keepdim=True)),
        ),
        mistake(
            "leaves zeros without a guard",
            "A row of zeros is divided by 0 and becomes nan: put 1 where the scale is 0",
            without_a_guard,
        ),
        mistake(
            "wraps around",
            "The largest weight wraps around to the most negative number: with one bit for the "
            "sign the largest whole number is 2 ** (bits - 1) - 1",
            wraps,
        ),
        mistake(
            "rounds towards zero",
            "`.to(torch.int8)` cuts the fraction off: round first",
            towards_zero,
        ),
        mistake("rounds down", "This rounds down: round to the nearest", rounds_down),
        mistake(
            "forgets that weights are negative",
            "The scale comes from the largest weight, but a negative one may be larger in size: "
            "take `abs` first",
            _with_scale(lambda w: w.amax(dim=1, keepdim=True)),
        ),
        mistake(
            "has no bit for the sign",
            "These numbers need a bit more: the sign takes one, so the largest is "
            "2 ** (bits - 1) - 1",
            lambda w, bits: (
                (w / (w.abs().amax(1, keepdim=True) / (2**bits - 1)).clamp(min=1e-9))
                .round()
                .clamp(-128, 127)
                .to(torch.int8),
                (w.abs().amax(1, keepdim=True) / (2**bits - 1)).where(w.any(1, keepdim=True), 1),
            ),
        ),
        mistake(
            "always takes eight bits",
            "This rounds to eight bits, whatever `bits` is",
            lambda w, bits: per_row(w, 8),
        ),
        mistake(
            "returns the inverse of the scale",
            "whole · scale must give the weights back: this is 1 / scale",
            lambda w, bits: (per_row(w, bits)[0], 1 / per_row(w, bits)[1]),
        ),
    ],
)

# --- 20.3: keep or replace -----------------------------------------------------------------------

_P = torch.tensor([[0.5, 0.3, 0.2], [0.2, 0.2, 0.6], [0.1, 0.9, 0.0]])
_Q = torch.tensor([[0.25, 0.25, 0.5], [0.6, 0.1, 0.3]])


@cache
def _passes():
    def chances(*shape, seed):
        generator = torch.Generator().manual_seed(seed)
        return (2 * torch.randn(*shape, generator=generator)).softmax(dim=-1)

    p, q = chances(5, 6, seed=0), chances(4, 6, seed=1)
    drafted = [int((p[i] / q[i]).argmax()) for i in range(4)]
    unlikely = int((q[3] / p[3]).argmax())
    return (
        (_P, _Q, [2, 0], [0.5, 0.9]),  # the first is refused: 0.2 / 0.5
        (_P, _Q, [0, 0], [0.9, 0.5]),  # the second is: 0.2 / 0.6
        (_P, _Q, [1, 0], [0.2, 0.1]),
        (_P, _Q, [2, 2], [0.3, 0.9]),
        (_P, _Q, [2, 1], [0.9, 0.1]),  # the second would be kept, but comes too late
        (_P[:1], _Q[:0], [], []),
        (torch.tensor([[0.0, 1.0], [0.5, 0.5]]), torch.tensor([[0.5, 0.5]]), [0], [0.0]),
        (p, q, [*drafted[:3], unlikely], [0.6, 0.7, 0.8, 0.95]),
        (p, q, drafted, [0.9, 0.8, 0.7, 0.6]),
    )


def keep(p, q, draft, u):
    for i, token in enumerate(draft):
        if u[i] * q[i, token] >= p[i, token]:  # refused
            rest = (p[i] - q[i]).clamp(min=0)
            return i, rest / rest.sum()
    return len(draft), p[-1]


def keep_by_ratio(p, q, draft, u):
    n = 0
    while n < len(draft) and u[n] < p[n, draft[n]] / q[n, draft[n]]:
        n += 1
    rest = torch.relu(p[n] - q[n]) if n < len(draft) else p[n]
    return n, rest / rest.sum()


def keep_at_once(p, q, draft, u):
    at = torch.tensor(draft, dtype=torch.long)[:, None]
    kept = torch.tensor(u) < (p[:-1].gather(1, at) / q.gather(1, at))[:, 0]
    n = int(kept.int().cumprod(dim=0).sum())
    q = torch.cat([q, torch.zeros_like(p[:1])])
    rest = (p[n] - q[n]).clamp(min=0)
    return n, rest / rest.sum()


def _keeping(kept=None, rest=None, last=None):
    """The right answer, with another rule to keep a token, another rest, or another last row."""
    kept = kept or (lambda p, q, token, u: u * q[token] < p[token])
    rest = rest or (lambda p, q: (p - q).clamp(min=0) / (p - q).clamp(min=0).sum())
    last = last or (lambda p, q: p[-1])

    def answer(p, q, draft, u):
        for i, token in enumerate(draft):
            if not kept(p[i], q[i], token, u[i]):
                return i, rest(p[i], q[i])
        return len(draft), last(p, q)

    return answer


def goes_on_after_a_refusal(p, q, draft, u):
    refusals = [i for i, t in enumerate(draft) if u[i] * q[i, t] >= p[i, t]]
    if not refusals:
        return len(draft), p[-1]
    rest = (p[refusals[0]] - q[refusals[0]]).clamp(min=0)
    return len(draft) - len(refusals), rest / rest.sum()


def counts_the_refused(p, q, draft, u):
    n, rest = keep(p, q, draft, u)
    return min(n + 1, len(draft)), rest


accepted = exercise(
    "20.3",
    "accepted(p: (k + 1, V), q: (k, V), draft, u) -> n, rest: (V,); of k drafted tokens the first "
    "n are kept, and the next one is drawn from rest",
    cases=_passes,
    praise="`accepted` is right: it keeps, refuses, and has one token more when all are kept.",
    right=[keep, keep_by_ratio, keep_at_once],
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
            "keeps the likeliest only",
            "A token is kept here if it is the model's likeliest, which is right for greedy text "
            "alone: keep it with the chance p / q",
            _keeping(kept=lambda p, q, token, u: token == int(p.argmax())),
        ),
        mistake(
            "draws again from p",
            "After a refusal this draws from p, but likely tokens were kept already and would come "
            "too often: take the positive part of p - q",
            _keeping(rest=lambda p, q: p),
        ),
        mistake(
            "draws again from q",
            "After a refusal this draws from the draft: take the positive part of p - q",
            _keeping(rest=lambda p, q: q),
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
            "takes the size of the difference",
            "This takes the size of p - q, where q is larger too: there the rest is 0",
            _keeping(rest=lambda p, q: (p - q).abs() / (p - q).abs().sum()),
        ),
        mistake(
            "subtracts the wrong way",
            "The rest is what p has more than q: this is what q has more than p",
            _keeping(rest=lambda p, q: (q - p).clamp(min=0) / (q - p).clamp(min=0).sum()),
        ),
        mistake(
            "turns the ratio over",
            "This keeps a token with the chance q / p: it is p / q, since what the draft proposes "
            "too often must be refused",
            _keeping(kept=lambda p, q, token, u: u * p[token] < q[token]),
        ),
        mistake(
            "looks at p alone",
            "This keeps a token with the chance p: it is p / q, since the draft has drawn it with "
            "the chance q already",
            _keeping(kept=lambda p, q, token, u: u < p[token]),
        ),
        mistake(
            "drops the token after the last",
            "All are kept, and the model has read them all: its last row gives one more token, "
            "from p[k] as it is",
            _keeping(last=lambda p, q: p[max(0, len(p) - 2)]),
        ),
        mistake(
            "goes on after a refusal",
            "Tokens behind a refused one are counted: they follow a text that is not written",
            goes_on_after_a_refusal,
        ),
        mistake(
            "counts the refused token",
            "n is one too large after a refusal: the refused token is not kept",
            counts_the_refused,
        ),
        mistake(
            "keeps what p makes impossible",
            "A token with p = 0 is kept when u is 0: the comparison must be strict",
            _keeping(kept=lambda p, q, token, u: u * q[token] <= p[token]),
        ),
        mistake(
            "keeps everything",
            "All drafted tokens are kept, and the text is the draft's: compare u with p / q",
            lambda p, q, draft, u: (len(draft), p[-1]),
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
    p[4], q[4] = (
        torch.tensor([0.1, 0.1, 0.05, 0.05, 0.1, 0.6]),
        torch.tensor([0.2, 0.2, 0.2, 0.2, 0.1, 0.1]),
    )
    p[5], q[5] = (
        torch.tensor([0.8, 0.02, 0.02, 0.02, 0.04, 0.1]),
        torch.tensor([0.2, 0.1, 0.2, 0.2, 0.2, 0.1]),
    )
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
    if sure and unsure:
        why += "it guesses where the draft knows nothing, too."
    elif unsure:
        why += "it guesses where the draft knows nothing, and stops where the draft is sure."
    elif not sure:
        why += "it never guesses, which is plain decoding."
    else:
        why += "it stops too early where the draft is sure."
    expect(mine > fixed + 0.02, why)
    return f"{mine:.2f} tokens for the cost of a pass; the best fixed length writes {fixed:.2f}."


def sure_enough(q, n):
    return bool(q.max() > 0.5)


def little_entropy(q, n):
    return bool(-(q * q.log()).sum() < 1)


def sure_and_not_too_far(q, n):
    return float(q.square().sum()) > 0.3 and n < 12


go_on = exercise(
    "20.4",
    "go_on(q: (V,), n) -> True to draft one more token; q is the draft's next distribution, n how "
    "many are drafted. More tokens for the cost of a pass than any fixed length",
    judge=judge_go_on,
    right=[sure_enough, little_entropy, sure_and_not_too_far],
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
        refused("guesses four, always", "where the draft knows nothing, too", lambda q, n: n < 4),
        refused("never guesses", "which is plain decoding", lambda q, n: False),
        refused("never stops", "where the draft knows nothing, too", lambda q, n: True),
        refused(
            "goes on where the draft is unsure",
            "and stops where the draft is sure",
            lambda q, n: bool(q.max() < 0.5),
        ),
        refused(
            "stops after one sure token",
            "it stops too early where the draft is sure",
            lambda q, n: bool(q.max() > 0.5) and n < 1,
        ),
        refused(
            "is never sure enough",
            "which is plain decoding",
            lambda q, n: bool(q.max() > 0.99),
        ),
        refused(
            "returns how sure it is",
            "a bool such as `True` is expected",
            lambda q, n: float(q.max()),
        ),
    ],
)

# --- 20.5: attention in blocks -------------------------------------------------------------------


@cache
def _attended():
    def normal(*shape, seed, scale=1.0):
        return scale * torch.randn(*shape, generator=torch.Generator().manual_seed(seed))

    low = normal(2, 4, seed=9, scale=0.1), normal(6, 4, seed=10), normal(6, 2, seed=11)
    return (
        (torch.tensor([[2.0]]), torch.tensor([[0.0], [1.0]]), torch.tensor([[1.0], [5.0]]), 1),
        (normal(3, 4, seed=0), normal(6, 4, seed=1), normal(6, 4, seed=2), 2),
        (normal(2, 8, seed=3), normal(7, 8, seed=4), normal(7, 3, seed=5), 3),  # a short block
        (normal(3, 4, seed=6, scale=50), normal(8, 4, seed=7), normal(8, 4, seed=8), 4),
        (low[0] - 90, low[1].abs() + 1, low[2], 3),  # all scores far below 0
        (normal(2, 4, seed=0), normal(5, 4, seed=1), normal(5, 4, seed=2), 9),
    )


def in_blocks(q, k, v, size):
    best = q.new_full((len(q), 1), -math.inf)
    total, out = torch.zeros_like(best), q.new_zeros(len(q), v.shape[1])
    for keys, values in zip(k.split(size), v.split(size), strict=True):
        scores = q @ keys.T / math.sqrt(q.shape[1])
        new = torch.maximum(best, scores.amax(dim=1, keepdim=True))
        weights, shrink = (scores - new).exp(), (best - new).exp()
        total = total * shrink + weights.sum(dim=1, keepdim=True)
        out = out * shrink + weights @ values
        best = new
    return out / total


def by_logsumexp(q, k, v, size):
    seen = q.new_full((len(q), 1), -math.inf)  # the logarithm of the sum so far
    out = q.new_zeros(len(q), v.shape[1])
    for first in range(0, len(k), size):
        scores = q @ k[first : first + size].T / q.shape[1] ** 0.5
        new = torch.logaddexp(seen, scores.logsumexp(dim=1, keepdim=True))
        out = out * (seen - new).exp() + (scores - new).exp() @ v[first : first + size]
        seen = new
    return out


def _blocks(
    shrink_total=True,
    shrink_out=True,
    carries=True,
    start=-math.inf,
    scaled=True,
    subtracts=True,
    drops_last=False,
    each=False,
):
    """The right loop, with one of its parts changed."""

    def answer(q, k, v, size):
        best = q.new_full((len(q), 1), start)
        total, out = torch.zeros_like(best), q.new_zeros(len(q), v.shape[1])
        stop = len(k) // size * size if drops_last else len(k)
        for first in range(0, stop, size):
            scores = q @ k[first : first + size].T / (math.sqrt(q.shape[1]) if scaled else 1)
            own = scores.amax(dim=1, keepdim=True)
            new = torch.maximum(best, own) if carries else own
            weights = (scores - new).exp() if subtracts else scores.exp()
            shrink = (best - new).exp() if subtracts else torch.ones_like(best)
            added, mixed = weights.sum(dim=1, keepdim=True), weights @ v[first : first + size]
            if each:
                out, total = out + mixed / added, total + 1
                continue
            total = total * (shrink if shrink_total else 1) + added
            out = out * (shrink if shrink_out else 1) + mixed
            best = new
        return out / total

    return answer


def judge_in_blocks(call):
    praise = attend_in_blocks.compare(call)
    q, k, v = torch.ones(20, 2), torch.ones(50, 2), torch.ones(50, 2)
    with LargestTensor() as seen:
        call(q, k, v, 5).like(q)
    why = (
        "The output is right, but a tensor holds all scores at once: compute those of one block, "
        "use them, and keep only three things."
    )
    expect(seen.numbers < len(q) * len(k) / 2, why)
    return praise


def whole_at_once(q, k, v, size):
    return (q @ k.T / math.sqrt(q.shape[1])).softmax(dim=1) @ v


attend_in_blocks = exercise(
    "20.5",
    "attend_in_blocks(q: (T, D), k: (S, D), v: (S, E), size) -> (T, E), softmax(q kᵀ / √D) v with "
    "the scores of `size` keys at a time",
    cases=_attended,
    judge=judge_in_blocks,
    praise="`attend_in_blocks` is right, and never holds the scores of more than one block.",
    right=[in_blocks, by_logsumexp],
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
            "forgets the largest score of the blocks before",
            "Each block takes its own largest score, and nothing makes up for it: carry the "
            "largest so far, and shrink the old sums by exp(old - new)",
            _blocks(carries=False, shrink_total=False, shrink_out=False),
            specific=True,
        ),
        mistake(
            "divides in each block",
            "Each block is divided by its own sum, so all blocks count alike: divide once, at the "
            "end",
            _blocks(each=True),
        ),
        mistake(
            "subtracts no maximum",
            "exp overflows: subtract the largest score first",
            _blocks(subtracts=False),
        ),
        mistake(
            "starts the maximum at 0",
            "All scores lie far below 0 here, and their weights become 0: start the largest score "
            "at -inf",
            _blocks(start=0.0),
        ),
        mistake(
            "leaves a short block out",
            "The last keys are left out, where `size` does not divide their number",
            _blocks(drops_last=True),
        ),
        mistake("forgets the root of D", "Divide the scores by √D", _blocks(scaled=False)),
        mistake(
            "leaves the division out",
            "The sum of values is not divided by the sum of weights",
            lambda q, k, v, size: (
                in_blocks(q, k, v, size)
                * (
                    q @ k.T / math.sqrt(q.shape[1])
                    - (q @ k.T / math.sqrt(q.shape[1])).amax(1, keepdim=True)
                )
                .exp()
                .sum(1, keepdim=True)
            ),
        ),
        refused("computes all scores at once", "a tensor holds all scores at once", whole_at_once),
    ],
)
