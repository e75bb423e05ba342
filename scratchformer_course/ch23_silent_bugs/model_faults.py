"""Faulty parts of the model: attention, heads, windows, positions, caches, norms, dropout.

Each stands for the part of `model.py` that it names, and differs from it in one to three lines.
"""

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from scratchformer.attention import KeyValueCache
from scratchformer.positions import rotary
from scratchformer_course.ch23_silent_bugs.model import LayerNorm


def scores_without_root(
    q: Float[Tensor, "B H T D"], k: Float[Tensor, "B H S D"]
) -> Float[Tensor, "B H T S"]:
    """Nothing divides by √D."""
    return q @ k.transpose(-2, -1)


def weights_masked_late(
    scores: Float[Tensor, "B H T S"], allowed: Bool[Tensor, "... #T #S"]
) -> Float[Tensor, "B H T S"]:
    """The mask comes after the softmax, so that the future stays in each row's sum."""
    weights = scores.softmax(dim=-1)
    return weights.masked_fill(~allowed, 0.0)


def weights_over_queries(
    scores: Float[Tensor, "B H T S"], allowed: Bool[Tensor, "... #T #S"]
) -> Float[Tensor, "B H T S"]:
    """The softmax runs over the queries: each key is shared out among those that may look."""
    scores = scores.masked_fill(~allowed, -math.inf)
    return scores.softmax(dim=-2)


def causal_and_one(query: Int[Tensor, "T 1"], key: Int[Tensor, " S"]) -> Bool[Tensor, "T S"]:
    """The diagonal above the main one is open: each position sees the token it must predict."""
    return key <= query + 1


def within_and_one(
    query: Int[Tensor, "T 1"], key: Int[Tensor, " S"], window: int
) -> Bool[Tensor, "T S"]:
    """The window is one token wider than it says."""
    return key >= query - window


def padding_in_sight(
    allowed: Bool[Tensor, "T S"], real: Bool[Tensor, "B S"]
) -> Bool[Tensor, "#B T S"]:
    """Padding is a key like any other."""
    return allowed[None]


def merge_by_reshape(x: Float[Tensor, "B H T D"]) -> Float[Tensor, "B T C"]:
    """Without the transpose a row holds one head at several positions."""
    B, H, T, D = x.shape
    return x.reshape(B, T, H * D)


def share_in_turns(k: Float[Tensor, "B K T D"], n: int) -> Float[Tensor, "B H T D"]:
    """Neighbouring queries get different keys, in place of the same ones."""
    return k.repeat(1, n, 1, 1)


def turn_values(
    q: Float[Tensor, "B H T D"],
    k: Float[Tensor, "B K T D"],
    v: Float[Tensor, "B K T D"],
    start: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """The values turn as well, so that what is mixed points in all directions."""
    return rotary(q, start), rotary(k, start), rotary(v, start)


def turn_by_two_bases(
    q: Float[Tensor, "B H T D"],
    k: Float[Tensor, "B K T D"],
    v: Float[Tensor, "B K T D"],
    start: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """The base from the configuration reaches the queries; the keys have the default."""
    return rotary(q, start, base=500_000.0), rotary(k, start), v


def positions_from_zero(start: int, T: int) -> Int[Tensor, " T"]:
    """Under a cache every new token believes that it is the first."""
    return torch.arange(T)


def start_again_in_part(caches: Sequence[KeyValueCache]) -> None:
    """Only the first block's cache is emptied: it is the one that counts the positions."""
    for cache in caches[:1]:
        cache.length = 0


def drop_always(
    x: Float[Tensor, "*batch C"], p: float, training: bool
) -> Float[Tensor, "*batch C"]:
    """The function is not told whether it is in training; its default is that it is."""
    return F.dropout(x, p)


class LayerNormByStd(LayerNorm):
    """The unbiased deviation, and eps outside of the root."""

    def forward(self, x: Float[Tensor, "B T C"]) -> Float[Tensor, "B T C"]:
        mean = x.mean(dim=-1, keepdim=True)
        std = x.std(dim=-1, keepdim=True)
        return self.weight * (x - mean) / (std + 1e-5) + self.bias


class LayerNormOverTime(LayerNorm):
    """Mean and variance are taken over the positions, those of the future included."""

    def forward(self, x: Float[Tensor, "B T C"]) -> Float[Tensor, "B T C"]:
        mean = x.mean(dim=1, keepdim=True)
        var = x.var(dim=1, unbiased=False, keepdim=True)
        return self.weight * (x - mean) / torch.sqrt(var + 1e-5) + self.bias
