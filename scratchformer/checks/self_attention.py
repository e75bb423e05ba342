"""The exercises of chapter 6, self-attention."""

import math

import torch
from torch.nn import functional as F

from scratchformer.checks.compare import same
from scratchformer.checks.engine import exercise
from scratchformer.checks.verdict import Wrong, expect


def _random(seed, *shapes):
    generator = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(*shape, generator=generator) for shape in shapes)


@exercise("6.1")
class soft_lookup:
    """soft_lookup(query: (D,), keys: (T, D), values: (T, E)) -> (E,), softmax of dot products"""

    # With a single key, its value is the answer whatever the score.
    cases = (_random(1, (2,), (4, 2), (4, 3)), _random(2, (3,), (1, 3), (1, 2)))

    def right(query, keys, values):
        return (keys @ query).softmax(dim=0) @ values

    def also(query, keys, values):
        e = [math.exp(float(key @ query)) for key in keys]
        return sum(w / sum(e) * value for w, value in zip(e, values, strict=True))

    def takes_the_value_of_the_best_key(query, keys, values):
        """The query takes the value of its best key alone: a hard look-up. Softmax makes it
        soft"""
        return values[(keys @ query).argmax()]

    def takes_the_mean_of_all_values(query, keys, values):
        """All values weigh the same: the query is not used"""
        return values.mean(dim=0)

    def leaves_softmax_out(query, keys, values):
        """The scores themselves are the weights: softmax is missing"""
        return keys @ query @ values

    def divides_the_scores_by_their_sum(query, keys, values):
        """Scores can be negative: softmax, not score / sum"""
        scores = keys @ query
        return scores / scores.sum() @ values

    def returns_the_weights(query, keys, values):
        """These are the weights: mix the values with them"""
        return (keys @ query).softmax(dim=0)

    def mixes_the_keys(query, keys, values):
        """The keys are mixed: they only decide the weights of the values"""
        return soft_lookup.right(query, keys, keys)

    def has_the_wrong_sign(query, keys, values):
        """The sign is wrong: the least similar key weighs most"""
        return soft_lookup.right(-query, keys, values)

    def divides_the_scores_by_the_root_of_D(query, keys, values):
        """No division by √D yet: plain dot products"""
        return soft_lookup.right(query / math.sqrt(len(query)), keys, values)

    def does_not_add_the_weighted_values(query, keys, values):
        """The weighted values are still apart: add them up"""
        return (keys @ query).softmax(dim=0).unsqueeze(1) * values

    def divides_by_the_number_of_keys(query, keys, values):
        """The weights sum to 1 already: do not divide by their number"""
        return soft_lookup.right(query, keys, values) / len(keys)


def _explain_scale(got, right, width, opening):
    """Say by what factor these scores (..., T, S) differ from q·k / √width, if by a factor."""
    factor = float((got * right).sum() / right.square().sum())
    if abs(factor - 1) < 1e-3 or not got.allclose(factor * right, atol=1e-2 * abs(factor)):
        return
    root, keys = math.sqrt(width), right.shape[-1]
    known = {
        root: "the scores were not divided by √d_k",
        width: "the scores were multiplied by √d_k, not divided",
        1 / root: "the scores were divided by d_k, not by its square root",
        root / math.sqrt(keys): "the scores were divided by the root of the number of keys",
        root / keys: "the scores were divided by the number of keys",
    }
    sign = f"{opening}, but the scores have the wrong sign: the least similar key weighs most."
    expect(factor > 0, sign)
    why = f"the scores are {factor:.2g} times as large as q·k / √d_k"
    for wrong, fault in known.items():
        if math.isclose(factor, wrong, rel_tol=1e-2):
            why = fault
    found, expected = got.var(-1).mean(), right.var(-1).mean()
    figures = f"their variance is {found:.3g}, about {expected:.1g} is expected"
    raise Wrong(f"{opening}, but {why}: {figures}.")


@exercise("6.2")
class scaled_scores:
    """scaled_scores(q: (T, D), k: (S, D)) -> (T, S), q·k / √D"""

    cases = (_random(6, (30, 16), (50, 16)), _random(6, (3, 2), (5, 2)))

    def right(q, k):
        return q @ k.T / math.sqrt(q.shape[-1])

    def also(q, k):
        return torch.einsum("td,sd->ts", q, k) * k.shape[1] ** -0.5

    praise = (
        "`scaled_scores` is right: at width 16 the variance is "
        f"{right(*cases[0]).var(dim=-1).mean():.2g}."
    )

    def explain(got, q, k):
        right = scaled_scores.right(q, k)
        swapped = "Row i belongs to query i, column j to key j: yours is the transpose."
        expect(got.shape != right.T.shape, swapped)
        if got.shape == right.shape:
            _explain_scale(got, right, q.shape[-1], "The shape is right")

    def swaps_queries_and_keys(q, k):
        """… yours is the transpose"""
        return scaled_scores.right(k, q)

    def does_not_divide(q, k):
        """… not divided by √d_k: their variance is 15.7, about 1 is expected"""
        return q @ k.T

    def multiplies_by_the_root(q, k):
        """… multiplied by √d_k, not divided"""
        return q @ k.T * math.sqrt(q.shape[-1])

    def divides_by_the_width(q, k):
        """… divided by d_k, not by its square root"""
        return q @ k.T / q.shape[-1]

    def divides_by_the_root_of_the_number_of_keys(q, k):
        """… the root of the number of keys"""
        return q @ k.T / math.sqrt(len(k))

    def divides_by_the_number_of_keys(q, k):
        """… divided by the number of keys"""
        return q @ k.T / len(k)

    def divides_by_5(q, k):
        """… times as large as q·k / √d_k"""
        return q @ k.T / 5

    def has_the_wrong_sign(q, k):
        """… wrong sign"""
        return -scaled_scores.right(q, k)

    def divides_by_4_whatever_the_width(q, k):
        """4 is the root of one width only: take the root of `q.shape[-1]`"""
        return q @ k.T / 4

    def applies_softmax_already(q, k):
        """Each row sums to 1: return the scores, before the softmax"""
        return scaled_scores.right(q, k).softmax(dim=-1)

    def returns_cosines(q, k):
        """These are cosines: a dot product keeps the lengths of q and k"""
        return F.normalize(q, dim=1) @ F.normalize(k, dim=1).T


@exercise("6.3")
class softmax_rows:
    """softmax_rows(scores: (..., T, S)) -> (..., T, S), each row positive with sum 1"""

    cases = (
        *_random(3, (3, 4)),
        *_random(4, (2, 3, 4)),
        torch.tensor([[1000.0, 0.0], [999.0, 999.0]]),
        torch.tensor([[1000.0, 1000.0], [-1000.0, -1000.0]]),
    )

    def right(scores):
        e = (scores - scores.amax(dim=-1, keepdim=True)).exp()
        return e / e.sum(dim=-1, keepdim=True)

    def also(scores):
        return torch.softmax(scores, dim=-1)

    def also_by_logarithms(scores):
        return (scores - scores.logsumexp(dim=-1, keepdim=True)).exp()

    def softmax_down_the_columns(scores):
        """Each column sums to 1, but each row must: one row is one query"""
        return scores.softmax(dim=-2)

    def softmax_along_dim_0(scores):
        return scores.softmax(dim=0)

    def softmax_along_dim_1(scores):
        """`dim=1` is the last axis of a matrix only: `dim=-1` is the last of any tensor"""
        return scores.softmax(dim=1)

    def gives_softmax_no_dim(scores):
        """`dim=0` is the batch, and torch takes it on a batch where no `dim` is given: `dim=-1`
        is the last axis of any tensor"""
        return scores.softmax(dim=0 if scores.dim() == 3 else 1)

    def softmax_over_the_whole_matrix(scores):
        """The whole matrix sums to 1, but each row must"""
        return scores.exp() / scores.exp().sum()

    def leaves_the_exponential_out(scores):
        """The exponential is missing"""
        return scores / scores.sum(dim=-1, keepdim=True)

    def does_not_divide(scores):
        """The rows do not sum to 1 yet: divide each by its sum"""
        return scores.exp()

    def returns_logarithms(scores):
        """These are logarithms of weights: no logarithm here"""
        return scores.log_softmax(dim=-1)

    def takes_the_sigmoid(scores):
        """Sigmoid looks at each score alone: the rows do not sum to 1"""
        return scores.sigmoid()

    def gives_all_to_the_largest(scores):
        """The largest score of each row takes all: a hard maximum, with no gradient"""
        return F.one_hot(scores.argmax(dim=-1), scores.shape[-1]).float()

    def forgets_keepdim(scores):
        """`sum(dim=-1)` drops the axis: `keepdim=True` keeps it for the division"""
        return scores.exp() / scores.exp().sum(dim=-1)

    def overflows(scores):
        """`exp(1000)` is more than a float can hold: subtract each row's maximum first"""
        return scores.exp() / scores.exp().sum(dim=-1, keepdim=True)

    def overflows_under_the_logarithm(scores):
        return (scores - scores.exp().sum(dim=-1, keepdim=True).log()).exp()

    def subtracts_the_minimum(scores):
        e = (scores - scores.amin(dim=-1, keepdim=True)).exp()
        return e / e.sum(dim=-1, keepdim=True)

    def subtracts_the_maximum_of_all(scores):
        """The maximum of the whole matrix is subtracted: each row needs its own"""
        e = (scores - scores.max()).exp()
        return e / e.sum(dim=-1, keepdim=True)


def _attend(q, k, v, scale=None, hide=None, dim=-1):
    """Attention that differs in one thing: the scale, scores that are hidden, or softmax's axis."""
    scores = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    if hide is not None:
        scores = scores.masked_fill(hide(scores), -math.inf)
    weights = scores.softmax(dim=dim)
    return weights @ v, weights


# Scores of exactly 0, and keys as many as queries: nothing may be hidden here either.
CORNERS = torch.tensor([[1.0, 1.0, 0.0, 0.0], [0, 1, 1, 0], [0, 1, 0, 1], [1, 0, 0, 1]])


@exercise("6.4")
class attention:
    """attention(q: (..., T, D), k: (..., S, D), v: (..., S, E)) -> (values, weights)"""

    cases = (
        _random(5, (7, 16), (9, 16), (9, 5)),
        _random(8, (2, 3, 4), (2, 5, 4), (2, 5, 2)),
        (CORNERS, torch.eye(4), *_random(9, (4, 3))),
    )
    praise = "Scores, scale, softmax and mixture are right, also on a batch."

    def right(q, k, v):
        weights = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(dim=-1)
        return weights @ v, weights

    def also(q, k, v):
        one_hot = torch.eye(k.shape[-2]).expand(*k.shape[:-1], -1)
        attend = F.scaled_dot_product_attention
        return attend(q, k, v), attend(q, k, one_hot)

    def also_as_a_list(q, k, v):
        return list(attention.right(q, k, v))

    def explain(got, q, k, v):
        weights, right = got[1].double(), attention.right(q, k, v)[1].double()
        if weights.shape != right.shape or not weights.isfinite().all() or same(got[1], right):
            return
        sums = weights.sum(dim=-1)
        is_softmax = bool((weights >= 0).all()) and sums.sub(1).abs().max() < 1e-3
        first = f"The first row of weights sums to {sums.flatten()[0]:.3g}, but 1 is expected."
        expect(is_softmax, first)
        hidden = int((weights == 0).sum())
        count = f"{hidden} of {weights.numel()} weights are 0, but nothing is masked here"
        by_value = "scores are dropped by their value, so the mask depends on data"
        expect(not hidden, f"{count}: {by_value}.")
        # The logarithm of a softmax is its scores, up to a constant in each row.
        logs = (x.log() - x.log().mean(dim=-1, keepdim=True) for x in (weights, right))
        _explain_scale(*logs, q.shape[-1], "Each row sums to 1")

    def does_not_divide(q, k, v):
        """… but the scores were not divided by √d_k: their variance is 15.9"""
        return _attend(q, k, v, scale=1)

    def multiplies_by_the_root(q, k, v):
        """… multiplied by √d_k, not divided"""
        return _attend(q, k, v, scale=math.sqrt(q.shape[-1]))

    def divides_by_the_width(q, k, v):
        """… divided by d_k, not by its square root"""
        return _attend(q, k, v, scale=1 / q.shape[-1])

    def has_the_wrong_sign(q, k, v):
        """… the scores have the wrong sign"""
        return attention.right(q, -k, v)

    def hides_negative_scores(q, k, v):
        """… so the mask depends on data"""
        return _attend(q, k, v, hide=lambda scores: scores < 0)

    def hides_scores_that_are_0(q, k, v):
        """… so the mask depends on data"""
        return _attend(q, k, v, hide=lambda scores: scores == 0)

    def keeps_the_best_three_only(q, k, v):
        """… so the mask depends on data"""
        return _attend(q, k, v, hide=lambda scores: scores < scores.topk(3).values[..., -1:])

    def takes_the_sigmoid(q, k, v):
        """… The first row of weights sums to"""
        weights = (q @ k.mT / math.sqrt(q.shape[-1])).sigmoid()
        return weights @ v, weights

    def divides_by_4_whatever_the_width(q, k, v):
        """4 is the root of one width only: take the root of `q.shape[-1]`"""
        return _attend(q, k, v, scale=1 / 4)

    def hides_later_positions(q, k, v):
        """The weights are 0 at the later positions, a causal mask: nothing is masked here"""
        return _attend(q, k, v, hide=lambda scores: torch.ones_like(scores).triu(1).bool())

    def hides_earlier_positions(q, k, v):
        """The weights are 0 at the earlier positions: nothing is masked here"""
        return _attend(q, k, v, hide=lambda scores: torch.ones_like(scores).tril(-1).bool())

    def takes_the_value_of_the_best_key(q, k, v):
        """Each query takes the value of its best key alone: a hard look-up. Softmax makes it
        soft"""
        weights = F.one_hot((q @ k.mT).argmax(dim=-1), k.shape[-2]).float()
        return weights @ v, weights

    def softmax_over_the_queries(q, k, v):
        """Each column sums to 1, not each row: softmax runs over the keys, `dim=-1`"""
        return _attend(q, k, v, dim=-2)

    def softmax_along_dim_1(q, k, v):
        return _attend(q, k, v, dim=1)

    def softmax_over_the_batch(q, k, v):
        """`dim=0` is the batch: softmax runs over the keys, `dim=-1`"""
        return _attend(q, k, v, dim=0 if q.dim() == 3 else 1)

    def reverses_all_axes_of_a_batch(q, k, v):
        """On a batch, `k.mT` swaps the last two axes alone"""
        return _attend(q, k.permute(*reversed(range(k.dim()))).mT, v)

    def leaves_softmax_out(q, k, v):
        """These weights are scores: softmax is missing"""
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        return scores @ v, scores

    def weighs_all_keys_alike(q, k, v):
        """All weights are equal: the queries and keys are not used"""
        return _attend(q, k, v, scale=0)

    def returns_the_weights_first(q, k, v):
        """The two are swapped: the mixed values first, then the weights"""
        return attention.right(q, k, v)[::-1]

    def mixes_the_keys(q, k, v):
        """The weights are right, but they mix the keys: mix `v`"""
        return attention.right(q, k, k)

    def mixes_with_the_scores(q, k, v):
        """The values are mixed with the scores, not the weights"""
        return q @ k.mT / math.sqrt(q.shape[-1]) @ v, attention.right(q, k, v)[1]

    def takes_the_mean_of_v(q, k, v):
        """The weights are right, but the values are a plain mean of `v`"""
        return _attend(q, k, v, scale=0)[0], attention.right(q, k, v)[1]

    def returns_the_values_only(q, k, v):
        """… but a tuple"""
        return attention.right(q, k, v)[0]


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


@exercise("6.5")
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
