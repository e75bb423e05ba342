"""A softmax over keys that are never all there at once: the heart of FlashAttention."""

import math

import torch
from torch import Tensor


# [loop]
def attend_in_parts(q: Tensor, k: Tensor, v: Tensor, size: int) -> Tensor:
    """What a query (D) gets from keys and values (S, D each), which come `size` at a time."""
    best, total, out = torch.tensor(-math.inf), 0.0, torch.zeros(len(q))
    for keys, values in zip(k.split(size), v.split(size), strict=True):
        scores = keys @ q / math.sqrt(len(q))  # at most `size` of them
        new = torch.maximum(best, scores.max())
        shrink, weights = (best - new).exp(), (scores - new).exp()
        total = total * shrink + weights.sum()
        out, best = out * shrink + weights @ values, new
    return out / total


# [end]
