"""Attention: every position takes a weighted average of the values it may look at.

The explicit form shows the weights; the module uses PyTorch's fused kernel, which never stores
them, and the tests hold the two equal. Masks are boolean, True = may attend. Self-attention
only: no second sequence to attend to, no cache, no positions.
"""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn


def scaled_dot_product_attention(
    q: Float[Tensor, "*batch T D"],
    k: Float[Tensor, "*batch S D"],
    v: Float[Tensor, "*batch S E"],
    mask: Bool[Tensor, "... #T #S"] | None = None,
) -> tuple[Float[Tensor, "*batch T E"], Float[Tensor, "*batch T S"]]:
    """softmax(q kᵀ / √D) v (Vaswani et al. 2017, equation 1), and the weights themselves.

    Each of the T queries mixes S values. `mask` is boolean and broadcasts to (*batch, T, S);
    a query that may attend to nothing gets zeros. Raises ValueError for widths, lengths or a
    mask that do not fit.
    """
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(f"q is {q.shape[-1]} wide and k {k.shape[-1]}, expected equal widths")
    if k.shape[-2] != v.shape[-2]:
        raise ValueError(f"got {k.shape[-2]} keys and {v.shape[-2]} values, expected one for one")
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # (*batch, T, S)
    if mask is None:
        weights = scores.softmax(dim=-1)
    else:
        _check_mask(mask, scores.shape)
        weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
        # A row without any True is all -inf, and its softmax NaN: nothing to attend to is zero.
        weights = weights.masked_fill(~mask, 0.0)
    return weights @ v, weights


def causal_mask(T: int, device: torch.device | str | None = None) -> Bool[Tensor, "T T"]:
    """Row i is True up to column i: a position sees itself and its past."""
    return torch.ones(T, T, dtype=torch.bool, device=device).tril()


def _check_mask(mask: Tensor, shape: tuple[int, ...]) -> None:
    if mask.dtype != torch.bool:
        raise ValueError(f"mask has dtype {mask.dtype}, expected torch.bool (True = may attend)")
    fits = mask.dim() <= len(shape) and all(
        m in (1, n) for m, n in zip(reversed(mask.shape), reversed(shape), strict=False)
    )
    if not fits:
        raise ValueError(f"mask has shape {tuple(mask.shape)}, expected one for {tuple(shape)}")


class MultiHeadAttention(nn.Module):
    """Self-attention in `n_heads` subspaces at once, each d_model / n_heads wide.

    One matrix, `c_attn`, holds the query, key and value projections of all heads side by side;
    `c_proj` mixes what the heads found. Both carry GPT-2's names. `dropout` falls on the weights
    and on the output. Raises ValueError if d_model is not divisible by n_heads.
    """

    def __init__(self, d_model: int, n_heads: int, dropout: float = 0.0, bias: bool = True):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError(f"d_model={d_model} is not divisible by n_heads={n_heads}")
        self.d_model, self.n_heads, self.dropout = d_model, n_heads, dropout
        self.c_attn = nn.Linear(d_model, 3 * d_model, bias=bias)
        self.c_proj = nn.Linear(d_model, d_model, bias=bias)

    def forward(
        self, x: Float[Tensor, "B T C"], mask: Bool[Tensor, "... #T #T"] | None = None
    ) -> Float[Tensor, "B T C"]:
        """Attend within x. `mask`, (T, T) or (B, T, T), is the same for all heads."""
        B, T, C = x.shape
        if self.d_model != C:
            raise ValueError(f"x is {C} wide, expected d_model={self.d_model}")
        if mask is not None:
            _check_mask(mask, (B, T, T))
            mask = mask.unsqueeze(-3)  # an axis for the heads: (1, T, T) or (B, 1, T, T)
        qkv = self.c_attn(x).view(B, T, 3, self.n_heads, C // self.n_heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)  # each (B, H, T, D)
        dropout = self.dropout if self.training else 0.0
        heads = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout)
        x = self.c_proj(heads.transpose(1, 2).reshape(B, T, C))  # the heads side by side again
        return F.dropout(x, self.dropout, self.training)
