"""Checks for the exercises of chapter 6, masks and heads."""

import math

import torch

from scratchformer.checks.first_edition import Call, exercise, expect


def _boolean(call: Call, shape: tuple[int, ...]) -> torch.Tensor:
    mask = call.like(torch.ones(shape, dtype=torch.bool))
    why = f"The mask holds {str(mask.dtype)[6:]}: make it boolean, True = may attend."
    expect(mask.dtype == torch.bool, why)
    came = f"The mask has shape {tuple(mask.shape)}, but {shape} is expected."
    expect(mask.shape == shape, came)
    return mask


@exercise("6.1", "ids, pad_id")
def combine_masks(call: Call) -> None:
    """combine_masks(ids: (B, T), pad_id: int) -> (B, T, T) bool, causal and blind to padding"""
    for ids, pad_id in (
        (torch.tensor([[5, 6, 0, 0], [0, 0, 5, 6]]), 0),
        (torch.tensor([[9, 9, 2, 3, 0]]), 9),
    ):
        T = ids.shape[1]
        real = (ids != pad_id)[:, None]
        past = torch.ones(T, T, dtype=torch.bool).tril()
        right = past & real
        answer = call(ids, pad_id)
        alone = real.expand_as(right)
        zero = past & (ids != 0)[:, None]
        mistakes = [
            (alone, "The causal mask is gone: padding is hidden, but the future is open"),
            (past.expand_as(right), "Padding may be attended to: hide the padded columns as well"),
            (past | real, "A place open in one mask is open here: both must allow it, so `&`"),
            (~right, "The mask is the wrong way round: True = may attend"),
            (past & real.mT, "The rows of the padding are hidden: hide its columns, the keys"),
            (past & real & real.mT, "The rows of the padding are hidden too: only its columns"),
            (past.T & real, "The causal mask is upside down: row i is open up to column i"),
            (past.tril(-1) & real, "A position may not see itself: keep the diagonal"),
            (past & ~real, "Only the padding is open: True where a token is not `pad_id`"),
            *([(zero, "The padding is not always 0: compare with `pad_id`")] if pad_id else []),
        ]
        answer.gives(right, *mistakes)
        _boolean(answer, tuple(right.shape))


@exercise("6.2", "scores, mask")
def masked_softmax(call: Call) -> None:
    """masked_softmax(scores: (..., T, S), mask: (..., T, S) bool) -> weights, zeros if nothing"""
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(2, 4, 5, generator=generator)
    mask = torch.rand(2, 4, 5, generator=generator) < 0.6
    mask[..., 0] = True
    for closed in (False, True):
        if closed:
            mask = mask.clone()
            mask[0, 1] = mask[1, 3] = False
        hidden = scores.masked_fill(~mask, -math.inf)
        right = hidden.softmax(-1).masked_fill(~mask, 0)
        uniform = torch.where(mask.any(-1, keepdim=True), right, 1 / scores.shape[-1])
        call(scores, mask).gives(
            right,
            *([(hidden.softmax(-1), "A row with nothing open is 0/0: it must be zeros")] * closed),
            (uniform, "A row with nothing open attends to everything: a large negative number "
             "in all places makes equal weights, not zeros"),
            (scores.softmax(-1), "The mask has no effect"),
            (scores.softmax(-1) * mask, "Masked after the softmax: the rows no longer sum to 1"),
            (scores.masked_fill(~mask, 0).softmax(-1), "A score of 0 still gets weight e⁰: "
             "a hidden place needs a score of minus infinity"),
            (scores.masked_fill(mask, -math.inf).softmax(-1).nan_to_num(),
             "The open places are hidden and the hidden ones open: True = may attend"),
            (hidden.softmax(-2).nan_to_num(), "Softmax runs over the queries: each row sums to 1"),
        )  # fmt: skip
    call(scores * 300, mask).gives((hidden * 300).softmax(-1).masked_fill(~mask, 0))


@exercise("6.3", "x, n_heads")
def split_heads(call: Call) -> None:
    """split_heads(x: (B, T, C), n_heads) -> (B, H, T, D), D = C / H"""
    for B, T, H, D in ((2, 3, 2, 4), (1, 4, 4, 2), (2, 3, 1, 5)):
        x = torch.arange(B * T * H * D).view(B, T, H * D).float()
        right = x.view(B, T, H, D).transpose(1, 2)
        mixed = "The shape is right and the numbers are not: a head of `view(B, H, T, D)` holds "
        mixed += "whole tokens, all channels of a few. Split C first, then swap T and H"
        call(x, H).gives(
            right,
            (x.reshape(B, H, T, D), mixed),
            (x.view(B, T, H, D), "T and H are not swapped yet: (B, H, T, D) is expected"),
            (x.view(B, T, D, H).permute(0, 3, 1, 2), "Head h takes every H-th channel: it takes "
             "D neighbours, so split C into (H, D), not (D, H)"),
            (right.flip(1), "The heads come in reverse order"),
            (right.mT, "T and D are swapped: each head is (T, D)"),
        )  # fmt: skip


@exercise("6.4", "x, w_q, w_k, w_v, mask")
def multi_head(call: Call) -> str:
    """multi_head(x: (B, T, C), w_q, w_k, w_v: (H, C, D) each, mask: (T, T)) -> (B, T, H*D)"""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2, 5, 6, generator=generator)
    w_q, w_k, w_v = torch.randn(3, 3, 6, 2, generator=generator)
    mask = torch.ones(5, 5, dtype=torch.bool).tril()

    def heads(x, wq, wk, wv, mask, width=2):
        q, k, v = (torch.einsum("btc,hcd->hbtd", x, w) for w in (wq, wk, wv))
        scores = (q @ k.mT / math.sqrt(width)).masked_fill(~mask, -math.inf)
        return (scores.softmax(-1) @ v).unbind()

    everything, first = torch.ones_like(mask), [w[:1].expand(3, 6, 2) for w in (w_q, w_k, w_v)]
    given = (x, w_q, w_k, w_v)
    right = heads(*given, mask)
    call(*given, mask).gives(
        torch.cat(right, dim=-1),
        (sum(right), "The heads are added: put them side by side, head 0 first"),
        (sum(right) / 3, "The heads are averaged: put them side by side, head 0 first"),
        (torch.stack(right), "The heads are stacked: put them side by side along the last axis"),
        (torch.cat(right[::-1], dim=-1), "The heads come in reverse order"),
        (torch.stack(right, dim=-1).flatten(-2), "The channels of the heads are shuffled "
         "together: head 0's D channels come first, then head 1's"),
        (torch.cat(heads(*given, everything), -1), "The mask has no effect"),
        (torch.cat(heads(*given, mask.T), -1), "The mask is used upside down"),
        (torch.cat(heads(*given, mask, 6), -1), "Scores are divided by √C: a query is D wide"),
        (torch.cat(heads(*given, mask, 1), -1), "Scores are not divided by √D"),
        (torch.cat(heads(*given, mask, 0.5), -1), "Scores are multiplied by √D: divide"),
        (torch.cat(heads(*given, mask, 4), -1), "Scores are divided by D: by its square root"),
        (torch.cat(heads(x, *first, mask), -1), "One projection serves all heads: head h has "
         "its own, `w_q[h]`"),
        (torch.cat(heads(x, w_k, w_q, w_v, mask), -1), "Query and key are swapped"),
    )  # fmt: skip
    return "Equal to heads computed all at once, and every head with its own projections."


@exercise("6.5", "T")
def leaky_mask(call: Call) -> str:
    """leaky_mask(T) -> (T, T) bool that leaks, though row i opens i + 1 places, i among them"""
    for T in (8, 5):
        mask = _boolean(call(T), (T, T))
        for i, row in enumerate(mask):
            n = int(row.sum())
            expect(n, f"Row {i} is open nowhere: its weights cannot sum to 1.")
            expect(row[i], f"Row {i} does not see position {i}: a simple test would notice.")
            expect(n == i + 1, f"Row {i} is open in {n} places: open {i + 1}, as the causal mask.")
        future = mask.triu(1).nonzero().tolist()
        expect(future, "No row sees the future: this mask is sound. Break it.")
    i, j = future[0]
    praise = "Shapes, sums and counts are right: only a test that changes the future notices."
    return f"Row {i} sees position {j}. {praise}"
