"""Right and plausibly wrong answers to the exercises of chapter 6."""

import math

import torch
from mutation import mutant, solution
from torch.nn import functional as F

COMBINE, SOFTMAX, SPLIT, HEADS, LEAKY = (
    f"multi_head.{name}"
    for name in ("combine_masks", "masked_softmax", "split_heads", "multi_head", "leaky_mask")
)


def past(T):
    return torch.ones(T, T, dtype=torch.bool).tril()


# 6.1 combine_masks


@solution(COMBINE)
def _(ids, pad_id):
    return past(ids.shape[1]) & (ids != pad_id)[:, None, :]


@solution(COMBINE)
def _(ids, pad_id):
    B, T = ids.shape
    mask = torch.zeros(B, T, T, dtype=torch.bool)
    for b in range(B):
        for i in range(T):
            for j in range(i + 1):
                mask[b, i, j] = ids[b, j] != pad_id
    return mask


@mutant(COMBINE, "lets the padding mask replace the causal mask", "The causal mask is gone")
def _(ids, pad_id):
    return (ids != pad_id)[:, None, :].expand(-1, ids.shape[1], -1)


@mutant(COMBINE, "forgets the padding", "Padding may be attended to")
def _(ids, pad_id):
    return past(ids.shape[1]).expand(len(ids), -1, -1)


@mutant(COMBINE, "joins the masks with or", "both must allow it")
def _(ids, pad_id):
    return past(ids.shape[1]) | (ids != pad_id)[:, None, :]


@mutant(COMBINE, "True means hidden", "the wrong way round")
def _(ids, pad_id):
    return ~past(ids.shape[1]) | (ids == pad_id)[:, None, :]


@mutant(COMBINE, "hides the rows of the padding", "hide its columns")
def _(ids, pad_id):
    return past(ids.shape[1]) & (ids != pad_id)[:, :, None]


@mutant(COMBINE, "hides rows and columns", "only its columns")
def _(ids, pad_id):
    real = ids != pad_id
    return past(ids.shape[1]) & real[:, None, :] & real[:, :, None]


@mutant(COMBINE, "opens the future", "upside down")
def _(ids, pad_id):
    return past(ids.shape[1]).T & (ids != pad_id)[:, None, :]


@mutant(COMBINE, "closes the diagonal", "may not see itself")
def _(ids, pad_id):
    return past(ids.shape[1]).tril(-1) & (ids != pad_id)[:, None, :]


@mutant(COMBINE, "takes 0 for padding always", "compare with `pad_id`")
def _(ids, pad_id):
    return past(ids.shape[1]) & (ids != 0)[:, None, :]


@mutant(COMBINE, "returns numbers", "make it boolean")
def _(ids, pad_id):
    return (past(ids.shape[1]) & (ids != pad_id)[:, None, :]).long()


# 6.2 masked_softmax


@solution(SOFTMAX)
def right_weights(scores, mask):
    return scores.masked_fill(~mask, -math.inf).softmax(dim=-1).masked_fill(~mask, 0.0)


@solution(SOFTMAX)
def _(scores, mask):
    top = scores.masked_fill(~mask, -1e30).amax(-1, keepdim=True)
    e = (scores - top).clamp(max=0).exp() * mask
    return e / e.sum(-1, keepdim=True).clamp(min=1e-30)


@solution(SOFTMAX)
def _(scores, mask):
    return torch.where(mask, scores.masked_fill(~mask, -1e9).softmax(-1), 0)


@mutant(SOFTMAX, "leaves NaN in closed rows", "NaN or infinity")
def _(scores, mask):
    return scores.masked_fill(~mask, -math.inf).softmax(-1)


@mutant(SOFTMAX, "hides with a large negative number only", "attends to everything")
def _(scores, mask):
    return scores.masked_fill(~mask, -1e9).softmax(-1)


@mutant(SOFTMAX, "ignores the mask", "The mask has no effect")
def _(scores, mask):
    return scores.softmax(-1)


@mutant(SOFTMAX, "masks after the softmax", "no longer sum to 1")
def _(scores, mask):
    return scores.softmax(-1) * mask


@mutant(SOFTMAX, "hides with a score of zero", "still gets weight")
def _(scores, mask):
    return (scores * mask).softmax(-1)


@mutant(SOFTMAX, "True means hidden", "the hidden ones open")
def _(scores, mask):
    return right_weights(scores, ~mask)


@mutant(SOFTMAX, "normalises over the queries", "Softmax runs over the queries")
def _(scores, mask):
    return scores.masked_fill(~mask, -math.inf).softmax(-2).nan_to_num()


@mutant(SOFTMAX, "overflows", "NaN or infinity")
def _(scores, mask):
    e = scores.exp() * mask
    return e / e.sum(-1, keepdim=True).clamp(min=1e-30)


# 6.3 split_heads


@solution(SPLIT)
def split(x, n_heads):
    B, T, C = x.shape
    return x.view(B, T, n_heads, C // n_heads).transpose(1, 2)


@solution(SPLIT)
def _(x, n_heads):
    return torch.stack(x.chunk(n_heads, dim=-1), dim=1)


@mutant(SPLIT, "views without swapping", "the numbers are not")
def _(x, n_heads):
    B, T, C = x.shape
    return x.view(B, n_heads, T, C // n_heads)


@mutant(SPLIT, "does not swap T and H", "not swapped yet")
def _(x, n_heads):
    B, T, C = x.shape
    return x.view(B, T, n_heads, C // n_heads)


@mutant(SPLIT, "gives head h every H-th channel", "every H-th channel")
def _(x, n_heads):
    B, T, C = x.shape
    return x.view(B, T, C // n_heads, n_heads).permute(0, 3, 1, 2)


@mutant(SPLIT, "reverses the heads", "reverse order")
def _(x, n_heads):
    return split(x, n_heads).flip(1)


@mutant(SPLIT, "swaps T and D", "each head is (T, D)")
def _(x, n_heads):
    return split(x, n_heads).mT


# 6.4 multi_head


def head(x, w_q, w_k, w_v, mask, scale=lambda D, C: D**-0.5):
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    scores = q @ k.transpose(-2, -1) * scale(q.shape[-1], x.shape[-1])
    return scores.masked_fill(~mask, -math.inf).softmax(-1) @ v


def each(x, w_q, w_k, w_v, mask, **options):
    return [head(x, *w, mask, **options) for w in zip(w_q, w_k, w_v, strict=True)]


@solution(HEADS)
def _(x, w_q, w_k, w_v, mask):
    return torch.cat(each(x, w_q, w_k, w_v, mask), dim=-1)


@solution(HEADS)
def _(x, w_q, w_k, w_v, mask):
    q, k, v = (x[:, None] @ w for w in (w_q, w_k, w_v))
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return out.transpose(1, 2).flatten(2)


@mutant(HEADS, "adds the heads", "are added")
def _(x, w_q, w_k, w_v, mask):
    return sum(each(x, w_q, w_k, w_v, mask))


@mutant(HEADS, "stacks the heads", "are stacked")
def _(x, w_q, w_k, w_v, mask):
    return torch.stack(each(x, w_q, w_k, w_v, mask))


@mutant(HEADS, "shuffles the channels", "shuffled together")
def _(x, w_q, w_k, w_v, mask):
    return torch.stack(each(x, w_q, w_k, w_v, mask), dim=-1).flatten(-2)


@mutant(HEADS, "joins without swapping back", "expected")
def _(x, w_q, w_k, w_v, mask):
    stacked = torch.stack(each(x, w_q, w_k, w_v, mask), dim=1)
    return stacked.reshape(*x.shape[:2], -1)


@mutant(HEADS, "ignores the mask", "The mask has no effect")
def _(x, w_q, w_k, w_v, mask):
    return torch.cat(each(x, w_q, w_k, w_v, torch.ones_like(mask)), -1)


@mutant(HEADS, "divides by the root of the model's width", "a query is D wide")
def _(x, w_q, w_k, w_v, mask):
    return torch.cat(each(x, w_q, w_k, w_v, mask, scale=lambda D, C: C**-0.5), -1)


@mutant(HEADS, "does not scale", "not divided by √D")
def _(x, w_q, w_k, w_v, mask):
    return torch.cat(each(x, w_q, w_k, w_v, mask, scale=lambda D, C: 1), -1)


@mutant(HEADS, "multiplies by the root of the width", "multiplied by √D")
def _(x, w_q, w_k, w_v, mask):
    return torch.cat(each(x, w_q, w_k, w_v, mask, scale=lambda D, C: D**0.5), -1)


@mutant(HEADS, "shares one projection among the heads", "One projection serves all heads")
def _(x, w_q, w_k, w_v, mask):
    return torch.cat([head(x, w_q[0], w_k[0], w_v[0], mask) for _ in w_q], -1)


@mutant(HEADS, "swaps query and key", "Query and key are swapped")
def _(x, w_q, w_k, w_v, mask):
    return torch.cat(each(x, w_k, w_q, w_v, mask), -1)


# 6.5 leaky_mask


@solution(LEAKY)
def leak(T):
    mask = past(T)
    mask[1, 0], mask[1, 2] = False, True
    return mask


@solution(LEAKY)
def _(T):
    mask = torch.eye(T, dtype=torch.bool)
    for i in range(1, T):
        others = [j for j in reversed(range(T)) if j != i]
        mask[i, others[:i]] = True
    return mask


@mutant(LEAKY, "returns the causal mask", "this mask is sound")
def _(T):
    return past(T)


@mutant(LEAKY, "opens everything", "open 1, as the causal mask")
def _(T):
    return torch.ones(T, T, dtype=torch.bool)


@mutant(LEAKY, "opens one place more", "open in 3 places")
def _(T):
    mask = past(T)
    mask[1, 2] = True
    return mask


@mutant(LEAKY, "shifts the diagonal away", "does not see position 1")
def _(T):
    mask = past(T)
    mask[1, 1], mask[1, 2] = False, True
    return mask


@mutant(LEAKY, "leaves a row empty", "open nowhere")
def _(T):
    mask = leak(T)
    mask[3] = False
    return mask


@mutant(LEAKY, "turns the causal mask over", "Row 0 is open in 8 places")
def _(T):
    return past(T).T


@mutant(LEAKY, "returns numbers", "make it boolean")
def _(T):
    return leak(T).int()


@mutant(LEAKY, "adds an axis", "is expected")
def _(T):
    return leak(T)[None]
