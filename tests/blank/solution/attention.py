import math

import torch
from torch import nn


def causal_mask(T):
    return torch.ones(T, T, dtype=torch.bool).tril()


def masked_softmax(scores, mask):
    scores = scores.masked_fill(~mask, -math.inf)
    p = (scores - scores.max(dim=-1, keepdim=True).values).exp()
    return p / p.sum(dim=-1, keepdim=True)


def attention(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.shape[-1])  # (…, T, S)
    mask = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask
    weights = masked_softmax(scores, mask)
    return weights @ v, weights


def split_heads(x, n_heads):
    B, T, C = x.shape
    return x.view(B, T, n_heads, C // n_heads).transpose(1, 2)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.c_attn = nn.Linear(d_model, 3 * d_model)
        self.c_proj = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None, cache=None):
        q, k, v = (split_heads(t, self.n_heads) for t in self.c_attn(x).chunk(3, dim=-1))
        if cache is not None:
            if cache:
                k, v = torch.cat((cache["k"], k), dim=2), torch.cat((cache["v"], v), dim=2)
            cache["k"], cache["v"] = k, v
        heads, _ = attention(q, k, v, mask)
        return self.c_proj(heads.transpose(1, 2).flatten(2))


def rotate_halves(x, positions, base=10_000.0):
    D = x.shape[-1]
    speed = base ** -(torch.arange(0, D, 2) / D)
    angle = positions[:, None] * speed  # (T, D/2)
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()), -1)
