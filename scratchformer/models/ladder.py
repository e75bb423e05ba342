"""The rungs between a bigram and a GPT: one model, each of its ideas a switch.

`GPT` has all the ideas and no switches, as a model for use should. To measure what one idea buys,
you need a model that lacks it: chapter 08 and `benchmarks/ladder.py` train these. Weights start as
PyTorch's layers leave them; there is no dropout, and no weight is tied.
"""

import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn


class Heads(nn.Module):
    """Causal attention by `n_heads` heads of width `d_head`, their outputs side by side."""

    def __init__(self, d_model: int, n_heads: int, d_head: int):
        super().__init__()
        self.n_heads = n_heads
        self.c_attn = nn.Linear(d_model, 3 * n_heads * d_head, bias=False)

    def forward(self, x: Float[Tensor, "B T C"]) -> Float[Tensor, "B T E"]:
        B, T, _ = x.shape
        q, k, v = self.c_attn(x).view(B, T, 3, self.n_heads, -1).permute(2, 0, 3, 1, 4)
        heads = F.scaled_dot_product_attention(q, k, v, is_causal=True)  # (B, H, T, D)
        return heads.transpose(1, 2).flatten(2)


class RungBlock(nn.Module):
    """Heads, then a feed-forward network with ReLU if `d_ff` is not 0.

    `project` puts a linear layer, back to d_model, behind each of the two.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_head: int,
        d_ff: int,
        project: bool,
        residual: bool,
        norm: bool,
    ):
        super().__init__()
        self.residual = residual
        self.ln_1 = nn.LayerNorm(d_model) if norm else nn.Identity()
        self.ln_2 = nn.LayerNorm(d_model) if norm else nn.Identity()
        self.attn = nn.Sequential(Heads(d_model, n_heads, d_head))
        self.mlp = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU()) if d_ff else nn.Identity()
        if project:
            self.attn.append(nn.Linear(n_heads * d_head, d_model))
            self.mlp.append(nn.Linear(d_ff, d_model))

    def forward(self, x: Float[Tensor, "B T C"]) -> Float[Tensor, "B T E"]:
        if self.residual:
            x = x + self.attn(self.ln_1(x))
            return x + self.mlp(self.ln_2(x))
        return self.mlp(self.ln_2(self.attn(self.ln_1(x))))


class Rung(nn.Module):
    """Embedding, `n_layers` blocks, logits. No layers: no positions either, since nothing mixes."""

    def __init__(
        self,
        vocab_size: int,
        context_length: int = 8,
        d_model: int = 32,
        n_heads: int = 4,
        d_head: int = 8,
        n_layers: int = 1,
        d_ff: int = 0,
        project: bool = False,
        residual: bool = False,
        norm: bool = False,
    ):
        super().__init__()
        self.context_length = context_length
        width = n_heads * d_head if n_layers and not project else d_model
        self.wte = nn.Embedding(vocab_size, d_model)
        self.wpe = nn.Embedding(context_length, d_model) if n_layers else None
        self.h = nn.Sequential(
            *(
                RungBlock(d_model, n_heads, d_head, d_ff, project, residual, norm)
                for _ in range(n_layers)
            )
        )
        self.ln_f = nn.LayerNorm(d_model) if norm else nn.Identity()
        self.lm_head = nn.Linear(width, vocab_size)

    def forward(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        x = self.wte(ids)  # (B, T, C)
        if self.wpe is not None:
            x = x + self.wpe.weight[: ids.shape[1]]  # (B, T, C) + (T, C)
        return self.lm_head(self.ln_f(self.h(x)))
