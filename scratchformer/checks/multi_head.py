"""The exercises of chapter 7, masks and heads."""

import math

import torch
from torch.nn import functional as F

from scratchformer.checks.engine import exercise
from scratchformer.checks.verdict import expect

GENERATOR = torch.Generator().manual_seed(0)
SCORES = torch.randn(2, 4, 5, generator=GENERATOR)
OPEN = torch.rand(2, 4, 5, generator=GENERATOR) < 0.6
OPEN[..., 0] = True  # no row is closed
CLOSED = OPEN.clone()
CLOSED[0, 1] = CLOSED[1, 3] = False  # two rows are


def _past(T):
    return torch.ones(T, T, dtype=torch.bool).tril()


def _masks(ids, pad_id):
    """The causal mask (T, T), and True (B, 1, T) where a token is not padding."""
    return _past(ids.shape[1]), (ids != pad_id)[:, None]


@exercise("7.1")
class combine_masks:
    """combine_masks(ids: (B, T), pad_id: int) -> (B, T, T) bool, causal and blind to padding"""

    cases = (
        (torch.tensor([[5, 6, 0, 0], [0, 0, 5, 6]]), 0),
        (torch.tensor([[9, 9, 2, 3, 0]]), 9),
    )

    def right(ids, pad_id):
        past, real = _masks(ids, pad_id)
        return past & real

    def also(ids, pad_id):
        B, T = ids.shape
        mask = torch.zeros(B, T, T, dtype=torch.bool)
        for b in range(B):
            for i in range(T):
                for j in range(i + 1):
                    mask[b, i, j] = ids[b, j] != pad_id
        return mask

    def lets_the_padding_mask_replace_the_causal_mask(ids, pad_id):
        """The causal mask is gone: padding is hidden, but the future is open"""
        past, real = _masks(ids, pad_id)
        return real.expand(-1, len(past), -1)

    def forgets_the_padding(ids, pad_id):
        """Padding may be attended to: hide the padded columns as well"""
        return _past(ids.shape[1]).expand(len(ids), -1, -1)

    def joins_the_masks_with_or(ids, pad_id):
        """A place open in one mask is open here: both must allow it, so `&`"""
        past, real = _masks(ids, pad_id)
        return past | real

    def says_True_for_hidden(ids, pad_id):
        """The mask is the wrong way round: True = may attend"""
        return ~combine_masks.right(ids, pad_id)

    def hides_the_rows_of_the_padding(ids, pad_id):
        """The rows of the padding are hidden: hide its columns, the keys"""
        past, real = _masks(ids, pad_id)
        return past & real.mT

    def hides_rows_and_columns(ids, pad_id):
        """The rows of the padding are hidden too: only its columns"""
        past, real = _masks(ids, pad_id)
        return past & real & real.mT

    def opens_the_future(ids, pad_id):
        """The causal mask is upside down: row i is open up to column i"""
        past, real = _masks(ids, pad_id)
        return past.T & real

    def closes_the_diagonal(ids, pad_id):
        """A position may not see itself: keep the diagonal"""
        past, real = _masks(ids, pad_id)
        return past.tril(-1) & real

    def opens_the_padding_only(ids, pad_id):
        """Only the padding is open: True where a token is not `pad_id`"""
        past, real = _masks(ids, pad_id)
        return past & ~real

    def takes_0_for_padding_always(ids, pad_id):
        """The padding is not always 0: compare with `pad_id`"""
        return combine_masks.right(ids, 0)

    def returns_numbers(ids, pad_id):
        """The mask holds numbers: make it boolean, True = may attend"""
        return combine_masks.right(ids, pad_id).long()


@exercise("7.2")
class masked_softmax:
    """masked_softmax(scores: (..., T, S), mask: (..., T, S) bool) -> weights, zeros if nothing"""

    cases = ((SCORES, OPEN), (SCORES, CLOSED), (SCORES * 300, CLOSED))

    def right(scores, mask):
        return scores.masked_fill(~mask, -math.inf).softmax(dim=-1).masked_fill(~mask, 0.0)

    def also(scores, mask):
        top = scores.masked_fill(~mask, -1e30).amax(dim=-1, keepdim=True)
        e = (scores - top).clamp(max=0).exp() * mask
        return e / e.sum(dim=-1, keepdim=True).clamp(min=1e-30)

    def also_with_a_large_negative_number(scores, mask):
        return torch.where(mask, scores.masked_fill(~mask, -1e9).softmax(dim=-1), 0)

    def leaves_NaN_in_closed_rows(scores, mask):
        """A row with nothing open is 0/0: it must be zeros"""
        return scores.masked_fill(~mask, -math.inf).softmax(dim=-1)

    def hides_with_a_large_negative_number_only(scores, mask):
        """A row with nothing open attends to everything: a large negative number in all places
        makes equal weights, not zeros"""
        return scores.masked_fill(~mask, -1e9).softmax(dim=-1)

    def ignores_the_mask(scores, mask):
        """The mask has no effect"""
        return scores.softmax(dim=-1)

    def masks_after_the_softmax(scores, mask):
        """Masked after the softmax: the rows no longer sum to 1"""
        return scores.softmax(dim=-1) * mask

    def hides_with_a_score_of_0(scores, mask):
        """A score of 0 still gets weight e⁰: a hidden place needs a score of minus infinity"""
        return (scores * mask).softmax(dim=-1)

    def takes_True_for_hidden(scores, mask):
        """The open places are hidden and the hidden ones open: True = may attend"""
        return masked_softmax.right(scores, ~mask)

    def takes_True_for_hidden_and_has_NaN_where_all_are_open(scores, mask):
        return scores.masked_fill(mask, -math.inf).softmax(dim=-1)

    def normalises_over_the_queries(scores, mask):
        """Softmax runs over the queries: each row sums to 1"""
        return scores.masked_fill(~mask, -math.inf).softmax(dim=-2).nan_to_num()

    def overflows(scores, mask):
        """`exp` of a large score is infinite: subtract each row's maximum first"""
        e = scores.exp() * mask
        return e / e.sum(dim=-1, keepdim=True).clamp(min=1e-30)


@exercise("7.3")
class split_heads:
    """split_heads(x: (B, T, C), n_heads) -> (B, H, T, D), D = C / H"""

    cases = (
        (torch.arange(48.0).view(2, 3, 8), 2),
        (torch.arange(32.0).view(1, 4, 8), 4),
        (torch.arange(30.0).view(2, 3, 5), 1),
    )

    def right(x, n_heads):
        return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)

    def also(x, n_heads):
        return torch.stack(x.chunk(n_heads, dim=-1), dim=1)

    def views_without_swapping(x, n_heads):
        """The shape is right and the numbers are not: a head of `view(B, H, T, D)` holds whole
        tokens, all channels of a few. Split C first, then swap T and H"""
        return x.view(len(x), n_heads, x.shape[1], -1)

    def does_not_swap_T_and_H(x, n_heads):
        """T and H are not swapped yet: (B, H, T, D) is expected"""
        return x.unflatten(-1, (n_heads, -1))

    def gives_head_h_every_Hth_channel(x, n_heads):
        """Head h takes every H-th channel: it takes D neighbours, so split C into (H, D), not
        (D, H)"""
        return x.unflatten(-1, (-1, n_heads)).permute(0, 3, 1, 2)

    def reverses_the_heads(x, n_heads):
        """The heads come in reverse order"""
        return split_heads.right(x, n_heads).flip(1)

    def swaps_T_and_D(x, n_heads):
        """T and D are swapped: each head is (T, D)"""
        return split_heads.right(x, n_heads).mT


def _heads(x, w_q, w_k, w_v, mask, scale=lambda D: D**-0.5):
    """The outputs of all heads, (B, T, D) each."""
    heads = []
    for wq, wk, wv in zip(w_q, w_k, w_v, strict=True):
        scores = (x @ wq) @ (x @ wk).mT * scale(wq.shape[-1])
        heads.append(scores.masked_fill(~mask, -math.inf).softmax(dim=-1) @ (x @ wv))
    return heads


@exercise("7.4")
class multi_head:
    """multi_head(x: (B, T, C), w_q, w_k, w_v: (H, C, D) each, mask: (T, T)) -> (B, T, H*D)"""

    _x = torch.randn(2, 5, 6, generator=GENERATOR)
    _weights = torch.randn(3, 3, 6, 2, generator=GENERATOR)
    _other = torch.tensor([1, 0, 0, 0, 1]).bool() | torch.eye(5, dtype=torch.bool)
    cases = ((_x, *_weights, _past(5)), (_x, *_weights, _other))
    praise = "Equal to heads computed all at once, and every head with its own projections."

    def right(x, w_q, w_k, w_v, mask):
        return torch.cat(_heads(x, w_q, w_k, w_v, mask), dim=-1)

    def also(x, w_q, w_k, w_v, mask):
        q, k, v = (x[:, None] @ w for w in (w_q, w_k, w_v))
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return out.transpose(1, 2).flatten(2)

    def adds_the_heads(x, w_q, w_k, w_v, mask):
        """The heads are added: put them side by side, head 0 first"""
        return sum(_heads(x, w_q, w_k, w_v, mask))

    def averages_the_heads(x, w_q, w_k, w_v, mask):
        """The heads are averaged: put them side by side, head 0 first"""
        return sum(_heads(x, w_q, w_k, w_v, mask)) / len(w_q)

    def stacks_the_heads(x, w_q, w_k, w_v, mask):
        """The heads are stacked: put them side by side along the last axis"""
        return torch.stack(_heads(x, w_q, w_k, w_v, mask))

    def reverses_the_heads(x, w_q, w_k, w_v, mask):
        """The heads come in reverse order"""
        return torch.cat(_heads(x, w_q, w_k, w_v, mask)[::-1], dim=-1)

    def shuffles_the_channels(x, w_q, w_k, w_v, mask):
        """The channels of the heads are shuffled together: head 0's D channels come first, then
        head 1's"""
        return torch.stack(_heads(x, w_q, w_k, w_v, mask), dim=-1).flatten(-2)

    def joins_without_swapping_back(x, w_q, w_k, w_v, mask):
        """The numbers of different tokens are joined: swap H and T back before the reshape"""
        return torch.stack(_heads(x, w_q, w_k, w_v, mask), dim=1).reshape(*x.shape[:2], -1)

    def ignores_the_mask(x, w_q, w_k, w_v, mask):
        """The mask has no effect"""
        return multi_head.right(x, w_q, w_k, w_v, torch.ones_like(mask))

    def uses_the_mask_upside_down(x, w_q, w_k, w_v, mask):
        """The mask is used upside down"""
        return multi_head.right(x, w_q, w_k, w_v, mask.T)

    def is_causal_whatever_the_mask(x, w_q, w_k, w_v, mask):
        """The causal mask is used always: use the `mask` that is given"""
        return multi_head.right(x, w_q, w_k, w_v, _past(x.shape[1]))

    def divides_by_the_root_of_the_models_width(x, w_q, w_k, w_v, mask):
        """Scores are divided by √C: a query is D wide"""
        return torch.cat(_heads(x, w_q, w_k, w_v, mask, lambda D: x.shape[-1] ** -0.5), dim=-1)

    def does_not_scale(x, w_q, w_k, w_v, mask):
        """Scores are not divided by √D"""
        return torch.cat(_heads(x, w_q, w_k, w_v, mask, lambda D: 1), dim=-1)

    def multiplies_by_the_root_of_the_width(x, w_q, w_k, w_v, mask):
        """Scores are multiplied by √D: divide"""
        return torch.cat(_heads(x, w_q, w_k, w_v, mask, lambda D: D**0.5), dim=-1)

    def divides_by_the_width(x, w_q, w_k, w_v, mask):
        """Scores are divided by D: by its square root"""
        return torch.cat(_heads(x, w_q, w_k, w_v, mask, lambda D: 1 / D), dim=-1)

    def shares_one_projection_among_the_heads(x, w_q, w_k, w_v, mask):
        """One projection serves all heads: head h has its own, `w_q[h]`"""
        return multi_head.right(x, *(w[:1].expand_as(w) for w in (w_q, w_k, w_v)), mask)

    def swaps_query_and_key(x, w_q, w_k, w_v, mask):
        """Query and key are swapped"""
        return multi_head.right(x, w_k, w_q, w_v, mask)


@exercise("7.5")
class leaky_mask:
    """leaky_mask(T) -> (T, T) bool that leaks, though row i opens i + 1 places, i among them"""

    def judge(call):
        for T in (8, 5):
            mask = call(T).like(_past(T))
            boolean = f"The mask holds {str(mask.dtype)[6:]}: make it boolean, True = may attend."
            expect(mask.dtype == torch.bool, boolean)
            shape = f"The mask has shape {tuple(mask.shape)}, but {(T, T)} is expected."
            expect(mask.shape == (T, T), shape)
            for i, row in enumerate(mask):
                n = int(row.sum())
                expect(n, f"Row {i} is open nowhere: its weights cannot sum to 1.")
                expect(row[i], f"Row {i} does not see position {i}: a simple test would notice.")
                count = f"Row {i} is open in {n} places: open {i + 1}, as the causal mask."
                expect(n == i + 1, count)
            future = mask.triu(1).nonzero().tolist()
            expect(future, "No row sees the future: this mask is sound. Break it.")
        i, j = future[0]
        praise = "Shapes, sums and counts are right: only a test that changes the future notices."
        return f"Row {i} sees position {j}. {praise}"

    def right(T):
        mask = _past(T)
        mask[1, 0], mask[1, 2] = False, True
        return mask

    def also(T):
        mask = torch.eye(T, dtype=torch.bool)
        for i in range(1, T):
            others = [j for j in reversed(range(T)) if j != i]
            mask[i, others[:i]] = True
        return mask

    def returns_the_causal_mask(T):
        """… this mask is sound"""
        return _past(T)

    def opens_everything(T):
        """… open 1, as the causal mask"""
        return torch.ones(T, T, dtype=torch.bool)

    def opens_one_place_more(T):
        """… open in 3 places"""
        mask = _past(T)
        mask[1, 2] = True
        return mask

    def shifts_the_diagonal_away(T):
        """… does not see position 1"""
        mask = _past(T)
        mask[1, 1], mask[1, 2] = False, True
        return mask

    def leaves_a_row_empty(T):
        """… open nowhere"""
        mask = leaky_mask.right(T)
        mask[3] = False
        return mask

    def turns_the_causal_mask_over(T):
        """… Row 0 is open in 8 places"""
        return _past(T).T

    def returns_numbers(T):
        """… make it boolean"""
        return leaky_mask.right(T).int()

    def adds_an_axis(T):
        """… is expected"""
        return leaky_mask.right(T)[None]
