"""The exercises of chapter 5, averaging the past."""

import math

import torch
from torch.nn import functional as F

from scratchformer_course.kit.checks.engine import exercise
from scratchformer_course.kit.checks.verdict import expect

X = torch.tensor([[1.0, 6.0], [3.0, 2.0], [8.0, 1.0], [0.0, 5.0]])
LOW = torch.randn(4, 4, generator=torch.Generator().manual_seed(1))
ZERO = LOW.clone()
ZERO[2, 0] = ZERO[3, 1] = 0.0  # allowed, and as large as what tril leaves
CAUSAL = torch.ones(4, 4, dtype=torch.bool).tril()
OTHER = torch.tensor([[1, 0, 1, 0], [0, 1, 0, 0], [0, 1, 1, 1], [1, 0, 0, 1]]).bool()


@exercise("5.1")
class running_mean:
    """running_mean(x: (T, C)) -> (T, C), row t the mean of rows 0 … t"""

    cases = (X, X[:1])

    def right(x):
        return x.cumsum(dim=0) / torch.arange(1, len(x) + 1).unsqueeze(1)

    def also(x):
        return torch.stack([x[: t + 1].mean(dim=0) for t in range(len(x))])

    def also_einsum(x):
        return torch.einsum("ts,sc->tc", averaging_weights.right(len(x)), x)

    def leaves_the_position_itself_out_and_has_NaN_in_the_first_row(x):
        """Position t leaves itself out: rows 0 to t, and t belongs to them (`x[: t + 1]`)"""
        return torch.stack([x[:t].mean(dim=0) for t in range(len(x))])

    def leaves_the_position_itself_out_and_has_zeros_in_the_first_row(x):
        return torch.stack([x[:t].sum(dim=0) / max(t, 1) for t in range(len(x))])

    def returns_sums(x):
        """These are sums: divide row t by t + 1"""
        return x.cumsum(dim=0)

    def divides_every_row_by_T(x):
        """Every row is divided by T: row t has t + 1 rows behind it"""
        return x.cumsum(dim=0) / len(x)

    def divides_by_t_instead_of_t_plus_1(x):
        """Row t is divided by t, but rows 0 … t are t + 1"""
        return x.cumsum(dim=0) / torch.arange(len(x)).unsqueeze(1)

    def averages_everything_in_every_row(x):
        """All rows are the mean of everything. Position t takes in positions after it: it may
        use 0 … t, no more"""
        return x.mean(dim=0).expand(len(x), -1)

    def averages_the_future(x):
        """The mean runs backwards. Position t takes in positions after it: it may use 0 … t,
        no more"""
        return torch.stack([x[t:].mean(dim=0) for t in range(len(x))])

    def has_the_rows_in_reverse_order(x):
        """The rows are in reverse order"""
        return running_mean.right(x).flip(0)

    def averages_along_the_channels(x):
        """The mean runs along the channels: axis 0 is time"""
        return x.cumsum(dim=1) / torch.arange(1, x.shape[1] + 1)

    def returns_the_last_mean_only(x):
        """Only the last row came back: one mean for each position"""
        return x.mean(dim=0)

    def averages_a_position_with_the_one_before_it(x):
        """Only one step back is averaged: go back to row 0"""
        return torch.stack([x[max(t - 1, 0) : t + 1].mean(dim=0) for t in range(len(x))])


@exercise("5.2")
class averaging_weights:
    """averaging_weights(T: int) -> (T, T), so that weights @ x is the running mean of x"""

    cases = (4, 1, 7)

    def right(T):
        ones = torch.ones(T, T).tril()
        return ones / ones.sum(dim=1, keepdim=True)

    def also(T):
        hidden = torch.ones(T, T).triu(1).bool()
        return torch.zeros(T, T).masked_fill(hidden, -math.inf).softmax(dim=1)

    def upper_triangle(T):
        """The matrix is transposed: row t holds the weights of output t. Position t takes in
        positions after it: it may use 0 … t, no more"""
        return averaging_weights.right(T).T

    def triu_with_rows_divided_by_their_sum(T):
        """Position t takes in positions after it: it may use 0 … t, no more"""
        return averaging_weights.right(T).flip(0).flip(1)

    def weighs_all_positions_alike(T):
        """Every row weighs all positions. Position t takes in positions after it: it may use
        0 … t, no more"""
        return torch.full((T, T), 1 / T)

    def rows_not_divided(T):
        """The rows are not divided by their sum: these are sums, not means"""
        return torch.ones(T, T).tril()

    def all_rows_divided_by_T(T):
        """Every row is divided by T: row t has t + 1 ones"""
        return torch.ones(T, T).tril() / T

    def columns_sum_to_1(T):
        """Each column sums to 1, but each row must: sum over `dim=1`, with `keepdim=True`"""
        ones = torch.ones(T, T).tril()
        return ones / ones.sum(dim=0, keepdim=True)

    def forgets_keepdim(T):
        """The row sums divide the columns: `keepdim=True` keeps them upright"""
        ones = torch.ones(T, T).tril()
        return ones / ones.sum(dim=1)

    def leaves_the_diagonal_out(T):
        """The diagonal is empty: each position belongs to its own past"""
        ones = torch.ones(T, T).tril(-1)
        return ones / ones.sum(dim=1, keepdim=True)

    def leaves_the_diagonal_out_but_never_divides_by_0(T):
        ones = torch.ones(T, T).tril(-1)
        return ones / ones.sum(dim=1, keepdim=True).clamp(min=1)

    def softmax_over_zeros_instead_of_minus_infinity(T):
        """Softmax sees 0 above the diagonal, and exp(0) is 1: use -inf"""
        return torch.ones(T, T).tril().softmax(dim=1)

    def sees_only_itself(T):
        """Each position sees itself alone: its past is missing"""
        return torch.eye(T)


@exercise("5.3")
class masked_softmax:
    """masked_softmax(scores: (T, T), mask: (T, T) bool, True = may look) -> (T, T)"""

    cases = ((LOW, CAUSAL), (ZERO, CAUSAL), (LOW, OTHER), (LOW - 1000, CAUSAL))

    def right(scores, mask):
        return scores.masked_fill(~mask, -math.inf).softmax(dim=1)

    def also(scores, mask):
        e = (scores - scores.amax(dim=1, keepdim=True)).exp() * mask
        return e / e.sum(dim=1, keepdim=True)

    def also_with_a_large_number(scores, mask):
        return torch.softmax(torch.where(mask, scores, -1e9), dim=-1)

    def ignores_the_mask(scores, mask):
        """The mask has no effect: all weights are above 0"""
        return scores.softmax(dim=1)

    def hides_where_the_mask_is_True(scores, mask):
        """The mask is the wrong way round: True means may look"""
        return scores.masked_fill(mask, -math.inf).softmax(dim=1)

    def hides_where_the_mask_is_True_and_removes_the_NaN(scores, mask):
        return masked_softmax.right(scores, ~mask).nan_to_num()

    def hides_with_0(scores, mask):
        """Hidden scores are set to 0, and exp(0) is 1: set them to -inf"""
        return (scores * mask).softmax(dim=1)

    def masks_after_the_softmax(scores, mask):
        """Softmax comes before the mask: the rows no longer sum to 1"""
        return scores.softmax(dim=1) * mask

    def hides_by_the_data_wherever_the_masked_scores_are_0(scores, mask):
        """Scores that happen to be 0 are hidden as well: the mask alone decides, never the data"""
        return masked_softmax.right(scores, mask & (scores != 0))

    def hard_argmax(scores, mask):
        """The largest score of each row takes all: a hard maximum, not softmax"""
        best = scores.masked_fill(~mask, -math.inf).argmax(dim=1)
        return F.one_hot(best, len(scores)).float()

    def ignores_the_scores(scores, mask):
        """All allowed positions weigh the same: the scores are not used"""
        return mask / mask.sum(dim=1, keepdim=True)

    def softmax_down_the_columns(scores, mask):
        """Softmax runs down the columns: each row is one position"""
        return scores.masked_fill(~mask, -math.inf).softmax(dim=0)

    def adds_mask_times_minus_infinity(scores, mask):
        """Multiplying by -inf gives NaN where the mask is 0: use `masked_fill`"""
        return (scores + (~mask).float() * -math.inf).softmax(dim=1)

    def divides_exponentials_that_were_not_shifted(scores, mask):
        """`exp` of a very low score is 0, and 0 / 0 is NaN: subtract each row's maximum first"""
        e = scores.exp() * mask
        return e / e.sum(dim=1, keepdim=True)

    def hides_with_minus_10(scores, mask):
        """… below any other, so -inf"""
        return scores.masked_fill(~mask, -10.0).softmax(dim=1)

    def hides_with_minus_100_which_some_scores_are_below(scores, mask):
        """… below any other, so -inf"""
        return scores.masked_fill(~mask, -100.0).softmax(dim=1)

    def explain(got, scores, mask):
        if got.shape == mask.shape:
            leak = float(got[~mask].abs().max())
            low_fill = "a hidden score must be below any other, so -inf"
            expect(not leak > 1e-6, f"Hidden positions get weights up to {leak:.2g}: {low_fill}.")


@exercise("5.4")
class hidden_leak:
    """hidden_leak(T: int) -> (T, T) bool, causal but for one True that the usual test misses"""

    def judge(call):
        for T in (6, 9):
            causal = torch.ones(T, T, dtype=torch.bool).tril()
            mask = call(T).like(causal, "A comparison such as `weights > 0` makes booleans.")
            dtype = f"The mask is {mask.dtype}, but torch.bool is expected."
            expect(mask.dtype == torch.bool, dtype)
            shape = f"The mask has shape {tuple(mask.shape)}, but {(T, T)} is expected."
            expect(mask.shape == causal.shape, shape)
            lost = (causal & ~mask).nonzero().tolist()
            few = f"{len(lost)} allowed places are False, {lost[:1]} the first: add only."
            expect(not lost, few)
            leaks = (mask & ~causal).nonzero().tolist()
            expect(leaks, "This is the causal mask: no position sees its future.")
            many = (
                f"{len(leaks)} places leak, {leaks[0]} and {leaks[-1]} among them: one is enough."
            )
            expect(len(leaks) == 1, many)
            i, j = leaks[0]
            seen = f"Position {i} sees the last position, {j}: the test changes that one"
            expect(j != T - 1, f"{seen} and catches it.")
        return f"Position {i} reads position {j}, and changing the last one shows nothing."

    def right(T):
        mask = torch.ones(T, T, dtype=torch.bool).tril()
        mask[0, 1] = True
        return mask

    def also(T):
        i, j = torch.arange(T).unsqueeze(1), torch.arange(T)
        return (j <= i) | ((i == 0) & (j == T - 2))

    def the_causal_mask_itself(T):
        """… This is the causal mask"""
        return torch.ones(T, T).tril().bool()

    def no_mask(T):
        """… one is enough"""
        return torch.ones(T, T, dtype=torch.bool)

    def one_step_of_future_everywhere(T):
        """… one is enough"""
        return torch.ones(T, T).tril(1).bool()

    def leaks_in_the_last_column(T):
        """… the test changes that one and catches it"""
        mask = torch.ones(T, T).tril().bool()
        mask[0, -1] = True
        return mask

    def takes_a_place_away(T):
        """… allowed places are False"""
        mask = torch.ones(T, T).tril().bool()
        mask[T - 1, 0] = False
        return mask

    def upper_triangle(T):
        """… allowed places are False"""
        return torch.ones(T, T).triu().bool()

    def floats(T):
        """… makes booleans"""
        return hidden_leak.right(T).float()

    def integers(T):
        """… torch.bool is expected"""
        return hidden_leak.right(T).long()

    def always_the_same_size(T):
        """… is expected"""
        return hidden_leak.right(6)
