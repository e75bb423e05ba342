"""The exercises of chapter 6, self-attention."""

import math

import torch
from torch.nn import functional as F

from scratchformer_course.kit.checks.compare import same
from scratchformer_course.kit.checks.engine import exercise
from scratchformer_course.kit.checks.verdict import Wrong, expect


def _random(seed, *shapes):
    generator = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(*shape, generator=generator) for shape in shapes)


# The words of the chapter: article adjective noun verb | royal female asleep.
FEATURES = {
    "the": [1, 0, 0, 0, 0, 0, 0],
    "old": [0, 1, 0, 0, 0, 0, 0],
    "young": [0, 1, 0, 0, 0, 0, 0],
    "king": [0, 0, 1, 0, 1, 0, 0],
    "queen": [0, 0, 1, 0, 1, 1, 0],
    "loves": [0, 0, 0, 1, 0, 0, 0],
    "sleeps": [0, 0, 0, 1, 0, 0, 1],
}


def _vectors(words, hands=False):
    """The words' features (T, 7); with `hands`, a clock hand for each place in two more columns."""
    x = torch.tensor([FEATURES[word] for word in words], dtype=torch.float64)
    t = torch.arange(len(words), dtype=torch.float64) / 2
    return torch.cat([x, t.cos()[:, None], t.sin()[:, None]], dim=1) if hands else x


def _matrices(call, C):
    """The two matrices that a learner's design returns, in double precision."""
    example = torch.zeros(C, 2)
    pair = call(C).like((example, example), "Return W_q and W_k.")
    shapes = [tuple(matrix.shape) for matrix in pair]
    for name, matrix in zip(("W_q", "W_k"), pair, strict=True):
        shape = f"{name} has shape {tuple(matrix.shape)}, but ({C}, any width) is expected"
        expect(matrix.dim() == 2 and len(matrix) == C and matrix.shape[1], f"{shape}.")
        expect(matrix.isfinite().all(), f"{name} holds nan or infinite numbers.")
    why = f"W_q and W_k have shapes {shapes[0]} and {shapes[1]}: a query and a key must be as long."
    expect(shapes[0] == shapes[1], why)
    return (matrix.double() for matrix in pair)


def _weights(x, W_q, W_k):
    return (x @ W_q @ (x @ W_k).T / math.sqrt(W_q.shape[1])).softmax(dim=1)


def _find(words, weights, asks, target):
    """Raise `Wrong` unless the word at `asks` gives the one at `target` 0.8 of its attention."""
    share, best = float(weights[asks, target]), int(weights[asks].argmax())
    said = (
        f"In *{' '.join(words)}*, the word *{words[asks]}* gives {share:.2f} to *{words[target]}*"
    )
    top = (weights[asks] - weights[asks].max()).abs() < 1e-6
    others = ", ".join(f"*{w}*" for i, w in enumerate(words) if top[i] and i != target)
    if not top[target]:
        why = f"{said}, and {float(weights[asks, best]):.2f} to *{words[best]}*."
    elif others:
        why = f"{said}, and as much to {others}: their scores are equal."
    else:
        why = f"{said}, its largest weight, but 0.8 is wanted: its scores are too close."
    expect(share >= 0.8, why)


def _design(C, queries, keys):
    """W_q and W_k of zeros but for {(row, column): number}."""
    W_q, W_k = (torch.zeros(C, max(column for _, column in {**queries, **keys}) + 1) for _ in "qk")
    for matrix, numbers in ((W_q, queries), (W_k, keys)):
        for place, number in numbers.items():
            matrix[place] = number
    return W_q, W_k


@exercise("6.1")
class verb_finder:
    """verb_finder(C) -> W_q and W_k, both (C, 2), so that every word gives 0.8 to the verb"""

    def judge(call):
        W_q, W_k = _matrices(call, 7)
        words = "the old king sleeps".split()
        weights = _weights(_vectors(words), W_q, W_k)
        for asks in range(4):
            _find(words, weights, asks, 3)
        return f"Every word finds the verb, and the least sure gives it {weights[:, 3].min():.2f}."

    def right(C):
        return _design(C, {(row, 1): 6 for row in range(4)}, {(3, 1): 1})

    def also(C):
        W_q, W_k = torch.zeros(C, 1), torch.zeros(C, 1)
        W_q[[0, 1, 2, 3]], W_k[3] = 3.0, 3.0
        return W_q, W_k

    def also_by_pushing_the_others_away(C):
        return _design(
            C, {(row, 1): 3 for row in range(4)}, {(3, 1): 3, (0, 1): -1, (1, 1): -1, (2, 1): -1}
        )

    def leaves_the_verbs_own_query_out(C):
        """… the word *sleeps* gives 0.25 to *sleeps*, and as much to *the*, *old*, *king*"""
        return _design(C, {(row, 1): 6 for row in range(3)}, {(3, 1): 1})

    def leaves_the_articles_query_out(C):
        """… the word *the* gives 0.25"""
        return _design(C, {(row, 1): 6 for row in range(1, 4)}, {(3, 1): 1})

    def has_scores_that_are_too_small(C):
        """… its largest weight, but 0.8 is wanted"""
        return _design(C, {(row, 1): 1 for row in range(4)}, {(3, 1): 1})

    def gives_every_word_the_verbs_key(C):
        """… and as much to *the*, *old*, *king*: their scores are equal"""
        return _design(C, {(row, 1): 6 for row in range(4)}, {(row, 1): 1 for row in range(4)})

    def puts_query_and_key_into_different_columns(C):
        """… and as much to *the*, *old*, *king*: their scores are equal"""
        return _design(C, {(row, 1): 6 for row in range(4)}, {(3, 0): 1})

    def finds_the_noun(C):
        """… to *king*"""
        return _design(C, {(row, 0): 6 for row in range(4)}, {(2, 0): 1})

    def has_the_wrong_sign(C):
        """… the word *the* gives 0.00 to *sleeps*"""
        return _design(C, {(row, 1): -6 for row in range(4)}, {(3, 1): 1})

    def swaps_W_q_and_W_k(C):
        """… the word *the* gives 0.25 to *sleeps*"""
        return verb_finder.right(C)[::-1]

    def returns_columns_as_rows(C):
        """… W_q has shape (2, 7)"""
        return tuple(matrix.T for matrix in verb_finder.right(C))

    def returns_W_q_only(C):
        """… but a tuple"""
        return verb_finder.right(C)[0]

    def gives_them_different_widths(C):
        """… a query and a key must be as long"""
        W_q, W_k = verb_finder.right(C)
        return W_q, W_k[:, 1:]


@exercise("6.2")
class near_noun:
    """near_noun(C) -> W_q and W_k, both (C, 3), so that each adjective finds the noun after it"""

    def judge(call):
        W_q, W_k = _matrices(call, 9)
        least = 1.0
        for sentence in (
            "the old king loves the young queen",
            "the young queen loves the old king",
            "the king loves the old queen",
            "king loves the old queen",
            "the young king sleeps",
        ):
            words = sentence.split()
            weights = _weights(_vectors(words, hands=True), W_q, W_k)
            for asks, word in enumerate(words):
                if word in ("old", "young"):
                    _find(words, weights, asks, asks + 1)
                    least = min(least, float(weights[asks, asks + 1]))
        return f"Each adjective finds its noun in five sentences, with {least:.2f} or more."

    def right(C):
        return _design(C, {(1, 0): 20, (7, 1): 10, (8, 2): 10}, {(2, 0): 1, (7, 1): 1, (8, 2): 1})

    def also(C):
        return _design(C, {(1, 0): 9, (7, 1): 4, (8, 2): 4}, {(2, 0): 3, (7, 1): 3, (8, 2): 3})

    def also_with_the_hand_turned_to_the_next_place(C):
        W_q, W_k = near_noun.right(C)
        cos, sin = math.cos(0.5), math.sin(0.5)
        W_q[7:, 1:] = 10 * torch.tensor([[cos, sin], [-sin, cos]])
        return W_q, W_k

    def asks_for_a_noun_only(C):
        """… the word *old* gives 0.50 to *king*, and as much to *queen*: their scores are equal"""
        return _design(C, {(1, 0): 20}, {(2, 0): 1})

    def asks_for_nearness_only(C):
        """… to *old*"""
        return _design(C, {(7, 1): 20, (8, 2): 20}, {(7, 1): 1, (8, 2): 1})

    def asks_for_nearness_too_softly(C):
        """… its largest weight, but 0.8 is wanted"""
        return _design(C, {(1, 0): 20, (7, 1): 1, (8, 2): 1}, {(2, 0): 1, (7, 1): 1, (8, 2): 1})

    def asks_for_nearness_so_loudly_that_it_finds_itself(C):
        """… to *old*"""
        return _design(C, {(1, 0): 2, (7, 1): 40, (8, 2): 40}, {(2, 0): 1, (7, 1): 1, (8, 2): 1})

    def asks_for_a_place_that_is_far(C):
        """… to *queen*"""
        return _design(C, {(1, 0): 20, (7, 1): -10, (8, 2): -10}, {(2, 0): 1, (7, 1): 1, (8, 2): 1})

    def uses_one_number_of_the_hand(C):
        """… to *queen*, and"""
        return _design(C, {(1, 0): 30, (7, 1): 30}, {(2, 0): 1, (7, 1): 1})

    def looks_for_what_is_female(C):
        """… to *queen*"""
        return _design(C, {(1, 0): 20}, {(5, 0): 1})

    def adds_noun_and_hand_in_one_column(C):
        """… the word *young* gives 0.00 to *queen*"""
        return _design(C, {(1, 0): 20, (7, 0): 10, (8, 0): 10}, {(2, 0): 1, (7, 0): 1, (8, 0): 1})

    def leaves_the_hand_out_of_the_key(C):
        """… and as much to *queen*: their scores are equal"""
        return _design(C, {(1, 0): 20, (7, 1): 10, (8, 2): 10}, {(2, 0): 1})


def _largest_slope(scores, factor):
    """The largest entry of the Jacobian of softmax at factor × scores."""
    w = (factor * scores.double()).softmax(dim=0)
    return float((w.diag() - w.outer(w)).abs().max())


def _first_factor(scores, limit, start=1):
    """The first of start, start + 1, … at which no slope exceeds the limit."""
    factor = start
    while _largest_slope(scores, factor) > limit:
        factor += 1
    return factor


@exercise("6.3")
class vanishing_scale:
    """vanishing_scale(scores: (S,), limit) -> the smallest whole factor ≥ 1 that kills the gradient

    Killed: no entry of the Jacobian of softmax at factor × scores exceeds `limit`. One score is
    larger than all others.
    """

    cases = (
        (torch.tensor([0.5, -1.0, 0.2, 1.5]), 0.01),
        (torch.tensor([1.0, 1.3, -0.4, 0.1, -2.0]), 0.001),
        (torch.tensor([3.0, -3.0]), 0.1),
        # No slope exceeds this limit at the factor 0, nor at 2, where no weight reaches 0.8.
        (torch.tensor([0.5, -1.0, 0.2, 1.3]), 0.2),
    )

    def right(scores, limit):
        return _first_factor(scores, limit)

    def also(scores, limit):
        def killed(factor):
            jacobian = torch.autograd.functional.jacobian(
                lambda s: s.softmax(dim=0), factor * scores.double()
            )
            return bool((jacobian.abs() <= limit).all())

        return next(factor for factor in range(1, 10_000) if killed(factor))

    def explain(got, scores, limit):
        expect(got >= 1, f"The factor is a whole number from 1 on, but yours is {got}.")
        left, first = _largest_slope(scores, got), vanishing_scale.right(scores, limit)
        alive = f"At the factor {got} a gradient of {left:.2g} is left, above {limit:g}"
        expect(left <= limit, f"{alive}: a larger factor is needed.")
        raise Wrong(f"{got} kills it, but {first} is enough: return the smallest.")

    praise = f"At a factor of {_first_factor(*cases[0])} this softmax has stopped learning."

    def does_not_search(scores, limit):
        """… a larger factor is needed"""
        return 1

    def stops_one_too_early(scores, limit):
        """… a larger factor is needed"""
        return max(1, vanishing_scale.right(scores, limit) - 1)

    def looks_at_the_mean_instead_of_the_largest(scores, limit):
        """… a larger factor is needed"""
        for factor in range(1, 10_000):
            w = (factor * scores).softmax(dim=0)
            if (w.diag() - w.outer(w)).abs().mean() <= limit:
                return factor

    def stops_one_too_late(scores, limit):
        """… is enough: return the smallest"""
        return vanishing_scale.right(scores, limit) + 1

    def doubles_the_factor(scores, limit):
        """… is enough: return the smallest"""
        factor = 1
        while _largest_slope(scores, factor) > limit:
            factor *= 2
        return factor

    def takes_a_very_large_factor_to_be_sure(scores, limit):
        """… is enough: return the smallest"""
        return 1000

    def waits_for_a_weight_that_is_1_but_for_the_limit(scores, limit):
        """A weight above 1 − limit is more than is needed: look at the entries of the Jacobian"""
        factor = 1
        while (factor * scores).softmax(dim=0).max() < 1 - limit:
            factor += 1
        return factor

    def starts_at_0(scores, limit):
        """… from 1 on"""
        return _first_factor(scores, limit, start=0)

    def returns_0(scores, limit):
        """… from 1 on"""
        return 0

    def returns_the_gradient(scores, limit):
        """… is a float, but an int"""
        return _largest_slope(scores, 5)


def _explain_scale(got, right, width, opening):
    """Say by what factor these scores (..., T, S) differ from q·k / √width, if by a factor."""
    factor = float((got * right).sum() / right.square().sum())
    if abs(factor - 1) < 1e-3 or not got.allclose(factor * right, atol=1e-2 * abs(factor)):
        return
    root, keys = math.sqrt(width), right.shape[-1]
    known = {
        root: "the scores were not divided by √D",
        width: "the scores were multiplied by √D, not divided",
        1 / root: "the scores were divided by D, not by its square root",
        root / math.sqrt(keys): "the scores were divided by the root of the number of keys",
        root / keys: "the scores were divided by the number of keys",
    }
    sign = f"{opening}, but the scores have the wrong sign: the least similar key weighs most."
    expect(factor > 0, sign)
    why = f"the scores are {factor:.2g} times as large as q·k / √D"
    for wrong, fault in known.items():
        if math.isclose(factor, wrong, rel_tol=1e-2):
            why = fault
    found, expected = got.var(-1).mean(), right.var(-1).mean()
    figures = f"their variance is {found:.3g}, about {expected:.1g} is expected"
    raise Wrong(f"{opening}, but {why}: {figures}.")


def _attend(q, k, v, mask=None, scale=None, hide=None, dim=-1):
    """Attention that differs in one thing: the scale, scores that are hidden, or softmax's axis."""
    scores = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    if hide is not None:
        scores = scores.masked_fill(hide(scores), -math.inf)
    weights = scores.softmax(dim=dim)
    return weights @ v, weights


# Scores of exactly 0, and keys as many as queries: nothing may be hidden here either.
CORNERS = torch.tensor([[1.0, 1.0, 0.0, 0.0], [0, 1, 1, 0], [0, 1, 0, 1], [1, 0, 0, 1]])
CAUSAL = torch.ones(5, 5, dtype=torch.bool).tril()
OTHER = torch.tensor([[1, 0, 1, 0], [0, 1, 0, 0], [1, 1, 0, 1]]).bool()


@exercise("6.4")
class attention:
    """attention(q: (…, T, D), k: (…, S, D), v: (…, S, E), mask: (T, S)) -> (context, weights)"""

    cases = (
        (*_random(5, (7, 16), (9, 16), (9, 5)), None),
        (*_random(8, (2, 3, 4), (2, 5, 4), (2, 5, 2)), None),
        (CORNERS, torch.eye(4), *_random(9, (4, 3)), None),
        (*_random(10, (5, 8), (5, 8), (5, 3)), CAUSAL),
        (*_random(11, (2, 3, 4), (2, 4, 4), (2, 4, 2)), OTHER),
    )
    praise = "Scores, scale, mask, softmax and mixture are right, also on a batch."

    def right(q, k, v, mask):
        return _attend(q, k, v, mask)

    def also(q, k, v, mask):
        one_hot = torch.eye(k.shape[-2]).expand(*k.shape[:-1], -1)
        attend = F.scaled_dot_product_attention
        return attend(q, k, v, mask), attend(q, k, one_hot, mask)

    def also_as_a_list(q, k, v, mask):
        e = (torch.einsum("...td,...sd->...ts", q, k) / q.shape[-1] ** 0.5).exp()
        e = e if mask is None else e * mask
        weights = e / e.sum(dim=-1, keepdim=True)
        return [torch.einsum("...ts,...sd->...td", weights, v), weights]

    def explain(got, q, k, v, mask):
        weights, right = got[1].double(), attention.right(q, k, v, mask)[1].double()
        if weights.shape != right.shape or not weights.isfinite().all() or same(got[1], right):
            return
        sums = weights.sum(dim=-1)
        is_softmax = bool((weights >= 0).all()) and sums.sub(1).abs().max() < 1e-3
        first = f"A row of weights sums to {sums.flatten()[sums.sub(1).abs().argmax()]:.3g}"
        expect(is_softmax, f"{first}, but 1 is expected.")
        if mask is not None:
            seen = f"A weight of {float(weights.masked_fill(mask, 0).max()):.2g} stands where"
            expect(not weights.masked_fill(mask, 0).any(), f"{seen} the mask is False.")
            return
        hidden = int((weights == 0).sum())
        count = f"{hidden} of {weights.numel()} weights are 0, but nothing is masked here"
        by_value = "scores are dropped by their value, so the mask depends on data"
        expect(not hidden, f"{count}: {by_value}.")
        # The logarithm of a softmax is its scores, up to a constant in each row.
        logs = (x.log() - x.log().mean(dim=-1, keepdim=True) for x in (weights, right))
        _explain_scale(*logs, q.shape[-1], "Each row sums to 1")

    def does_not_divide(q, k, v, mask):
        """… but the scores were not divided by √D: their variance is 15.9"""
        return _attend(q, k, v, mask, scale=1)

    def multiplies_by_the_root(q, k, v, mask):
        """… multiplied by √D, not divided"""
        return _attend(q, k, v, mask, scale=math.sqrt(q.shape[-1]))

    def divides_by_the_width(q, k, v, mask):
        """… divided by D, not by its square root"""
        return _attend(q, k, v, mask, scale=1 / q.shape[-1])

    def divides_by_the_root_of_the_number_of_keys(q, k, v, mask):
        """… the root of the number of keys"""
        return _attend(q, k, v, mask, scale=k.shape[-2] ** -0.5)

    def divides_by_5(q, k, v, mask):
        """… times as large as q·k / √D"""
        return _attend(q, k, v, mask, scale=1 / 5)

    def has_the_wrong_sign(q, k, v, mask):
        """… the scores have the wrong sign"""
        return _attend(q, -k, v, mask)

    def hides_negative_scores(q, k, v, mask):
        """… so the mask depends on data"""
        return _attend(q, k, v, mask, hide=lambda scores: scores < 0)

    def hides_scores_that_are_0(q, k, v, mask):
        """… so the mask depends on data"""
        return _attend(q, k, v, mask, hide=lambda scores: scores == 0)

    def takes_the_sigmoid(q, k, v, mask):
        """… A row of weights sums to"""
        weights = (q @ k.mT / math.sqrt(q.shape[-1])).sigmoid()
        return weights @ v, weights

    def divides_by_4_whatever_the_width(q, k, v, mask):
        """4 is the root of one width only: take the root of `q.shape[-1]`"""
        return _attend(q, k, v, mask, scale=1 / 4)

    def hides_later_positions_always(q, k, v, mask):
        """The weights are 0 at the later positions although `mask` is None: hide nothing then"""
        return _attend(q, k, v, hide=lambda scores: torch.ones_like(scores).triu(1).bool())

    def softmax_over_the_queries(q, k, v, mask):
        """Each column sums to 1, not each row: softmax runs over the keys, `dim=-1`"""
        return _attend(q, k, v, mask, dim=-2)

    def softmax_along_dim_1(q, k, v, mask):
        return _attend(q, k, v, mask, dim=1)

    def softmax_over_the_batch(q, k, v, mask):
        """`dim=0` is the batch: softmax runs over the keys, `dim=-1`"""
        return _attend(q, k, v, mask, dim=0 if q.dim() == 3 else 1)

    def reverses_all_axes_of_a_batch(q, k, v, mask):
        """On a batch, `k.mT` swaps the last two axes alone"""
        return _attend(q, k.permute(*reversed(range(k.dim()))).mT, v, mask)

    def leaves_softmax_out(q, k, v, mask):
        """These weights are scores: softmax is missing"""
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        return scores @ v, scores

    def weighs_all_keys_alike(q, k, v, mask):
        """All weights are equal: the queries and keys are not used"""
        return _attend(q, k, v, mask, scale=0)

    def returns_the_weights_first(q, k, v, mask):
        """The two are swapped: the context vectors first, then the weights"""
        return _attend(q, k, v, mask)[::-1]

    def mixes_the_keys(q, k, v, mask):
        """The weights are right, but they mix the keys: mix `v`"""
        return _attend(q, k, k, mask)

    def mixes_with_the_scores(q, k, v, mask):
        """The values are mixed with the scores, not the weights"""
        return q @ k.mT / math.sqrt(q.shape[-1]) @ v, _attend(q, k, v, mask)[1]

    def returns_the_context_only(q, k, v, mask):
        """… but a tuple"""
        return _attend(q, k, v, mask)[0]

    def ignores_the_mask(q, k, v, mask):
        """The mask is not used: a score is −∞ where it is False"""
        return _attend(q, k, v)

    def hides_what_the_mask_allows(q, k, v, mask):
        """The mask is upside down: True means that a query may look there"""
        return _attend(q, k, v, None if mask is None else ~mask)

    def sets_hidden_scores_to_0(q, k, v, mask):
        """Hidden scores are 0, and exp(0) is 1, not 0: −∞ gives the weight 0"""
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        scores = scores if mask is None else scores * mask
        return scores.softmax(dim=-1) @ v, scores.softmax(dim=-1)

    def hides_after_the_softmax(q, k, v, mask):
        """The mask comes after the softmax, so that the rows do not sum to 1: hide the scores"""
        weights = _attend(q, k, v)[1]
        weights = weights if mask is None else weights * mask
        return weights @ v, weights

    def takes_any_mask_for_a_causal_one(q, k, v, mask):
        """This hides the future whatever the mask says: use the mask that is given"""
        future = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).triu(1)
        return _attend(q, k, v, None if mask is None else ~future)
