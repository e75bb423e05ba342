"""A small GPT, flat, whose parts have names: a fault is put in by replacing one of them.

It is the library's GPT (a test holds the two equal), and answers the same calls. Where a fault
needs them it also has rotary positions, keys and values that heads share, and a window.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from scratchformer.attention import KeyValueCache
from scratchformer.blocks import FeedForward, check_sizes
from scratchformer.positions import rotary


@dataclass(frozen=True)
class Sizes:
    """The sizes of GPTConfig, and those that some faults need. Raises ValueError as it does."""

    vocab_size: int
    context_length: int = 32
    d_model: int = 64
    n_heads: int = 4
    n_layers: int = 2
    dropout: float = 0.0
    n_kv_heads: int | None = None  # heads of keys and values; None: n_heads
    rotary: bool = False  # in place of a table of positions
    window: int | None = None  # a token attends to so many, itself included; None: to all

    def __post_init__(self) -> None:
        check_sizes(self, "n_kv_heads", "window")


# --- the parts, in healthy form ------------------------------------------------------------------


def scores(q: Float[Tensor, "B H T D"], k: Float[Tensor, "B H S D"]) -> Float[Tensor, "B H T S"]:
    """How well each query fits each key: of variance 1, if the numbers in q and k are."""
    return q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])


def weights(
    scores: Float[Tensor, "B H T S"], allowed: Bool[Tensor, "... #T #S"]
) -> Float[Tensor, "B H T S"]:
    """The shares in which each query mixes the values that it may look at."""
    scores = scores.masked_fill(~allowed, -math.inf)
    return scores.softmax(dim=-1)


def causal(query: Int[Tensor, "T 1"], key: Int[Tensor, " S"]) -> Bool[Tensor, "T S"]:
    """True where the query's position may look at the key's: at itself and at its past."""
    return key <= query


def within(query: Int[Tensor, "T 1"], key: Int[Tensor, " S"], window: int) -> Bool[Tensor, "T S"]:
    """True where the key is one of the last `window`, the query's own included."""
    return key > query - window


def hide_padding(allowed: Bool[Tensor, "T S"], real: Bool[Tensor, "B S"]) -> Bool[Tensor, "#B T S"]:
    """Close the keys that are padding, but leave each position itself: no row may be empty."""
    T, S = allowed.shape
    itself = torch.eye(S, dtype=torch.bool, device=real.device)[-T:]
    return allowed & (real[:, None] | itself)


def split_heads(x: Float[Tensor, "B T C"], D: int) -> Float[Tensor, "B H T D"]:
    """Cut the channels of each position into heads of width D."""
    return x.unflatten(-1, (-1, D)).transpose(1, 2)


def merge_heads(x: Float[Tensor, "B H T D"]) -> Float[Tensor, "B T C"]:
    """Put the heads of each position side by side again."""
    B, H, T, D = x.shape
    return x.transpose(1, 2).reshape(B, T, H * D)


def share_heads(k: Float[Tensor, "B K T D"], n: int) -> Float[Tensor, "B H T D"]:
    """Give each head of keys or values to the n heads of queries that share it."""
    return k.repeat_interleave(n, dim=1)


def turn(
    q: Float[Tensor, "B H T D"],
    k: Float[Tensor, "B K T D"],
    v: Float[Tensor, "B K T D"],
    start: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """Rotary positions: queries and keys turn with their position, of which the first is start."""
    return rotary(q, start), rotary(k, start), v


def positions(start: int, T: int) -> Int[Tensor, " T"]:
    """The positions of T tokens that follow `start` others."""
    return torch.arange(start, start + T)


def start_again(caches: Sequence[KeyValueCache]) -> None:
    """Make the caches of all blocks ready for another text."""
    for cache in caches:
        cache.length = 0


def drop(x: Float[Tensor, "*batch C"], p: float, training: bool) -> Float[Tensor, "*batch C"]:
    """Dropout: each number is left out with the chance p, in training."""
    return F.dropout(x, p, training)


class LayerNorm(nn.Module):
    """Each position's channels with mean 0 and variance 1, then scaled and moved."""

    def __init__(self, width: int):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x: Float[Tensor, "B T C"]) -> Float[Tensor, "B T C"]:
        mean = x.mean(dim=-1, keepdim=True)
        var = x.var(dim=-1, unbiased=False, keepdim=True)
        return self.weight * (x - mean) / torch.sqrt(var + 1e-5) + self.bias


@dataclass(frozen=True)
class Parts:
    """What the model is put together from; each field can be replaced by a faulty one."""

    scores: Callable[..., Tensor] = scores
    weights: Callable[..., Tensor] = weights
    causal: Callable[..., Tensor] = causal
    within: Callable[..., Tensor] = within
    hide_padding: Callable[..., Tensor] = hide_padding
    split_heads: Callable[..., Tensor] = split_heads
    merge_heads: Callable[..., Tensor] = merge_heads
    share_heads: Callable[..., Tensor] = share_heads
    turn: Callable[..., tuple[Tensor, Tensor, Tensor]] = turn
    positions: Callable[..., Tensor] = positions
    start_again: Callable[..., None] = start_again
    drop: Callable[..., Tensor] = drop
    norm: Callable[[int], nn.Module] = LayerNorm


# --- the model -----------------------------------------------------------------------------------


class Attention(nn.Module):
    """Causal attention with several heads; GPT-2's names."""

    def __init__(self, sizes: Sizes, parts: Parts):
        super().__init__()
        self.sizes, self.parts = sizes, parts
        C, self.D = sizes.d_model, sizes.d_model // sizes.n_heads
        self.shared = (sizes.n_kv_heads or sizes.n_heads) * self.D  # width of all keys together
        self.c_attn = nn.Linear(C, C + 2 * self.shared)
        self.c_proj = nn.Linear(C, C)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        cache: KeyValueCache | None,
        start: int,
        real: Bool[Tensor, "B S"] | None,
    ) -> Float[Tensor, "B T C"]:
        parts, sizes, C, T = self.parts, self.sizes, x.shape[-1], x.shape[1]
        split = self.c_attn(x).split((C, self.shared, self.shared), dim=-1)
        q, k, v = (parts.split_heads(t, self.D) for t in split)
        if sizes.rotary:
            q, k, v = parts.turn(q, k, v, start)
        if cache is not None:
            cache.append(k, v)
            k, v = cache.k, cache.v
        S = k.shape[2]
        query, key = torch.arange(S - T, S)[:, None], torch.arange(S)
        allowed = parts.causal(query, key)
        if sizes.window is not None:
            allowed = allowed & parts.within(query, key, sizes.window)
        if real is not None:
            allowed = parts.hide_padding(allowed, real).unsqueeze(1)  # an axis for the heads
        n = C // self.shared
        k, v = parts.share_heads(k, n), parts.share_heads(v, n)
        heads = parts.weights(parts.scores(q, k), allowed) @ v
        return parts.drop(self.c_proj(parts.merge_heads(heads)), sizes.dropout, self.training)


class Block(nn.Module):
    """The pre-norm block of chapter 09."""

    def __init__(self, sizes: Sizes, parts: Parts):
        super().__init__()
        self.sizes, self.parts = sizes, parts
        self.ln_1, self.ln_2 = parts.norm(sizes.d_model), parts.norm(sizes.d_model)
        self.attn = Attention(sizes, parts)
        self.mlp = FeedForward(sizes.d_model)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        cache: KeyValueCache | None,
        start: int,
        real: Bool[Tensor, "B S"] | None,
    ) -> Float[Tensor, "B T C"]:
        x = x + self.attn(self.ln_1(x), cache, start, real)
        return x + self.parts.drop(self.mlp(self.ln_2(x)), self.sizes.dropout, self.training)


class SmallGPT(nn.Module):
    """GPT, put together from `parts`."""

    def __init__(self, sizes: Sizes, parts: Parts):
        super().__init__()
        self.config, self.parts = s, _ = (sizes, parts)
        self.wte = nn.Embedding(s.vocab_size, s.d_model)
        if not s.rotary:
            self.wpe = nn.Embedding(s.context_length, s.d_model)
        self.h = nn.ModuleList(Block(s, parts) for _ in range(s.n_layers))
        self.ln_f = parts.norm(s.d_model)
        self.lm_head = nn.Linear(s.d_model, s.vocab_size, bias=False)
        self.lm_head.weight = self.wte.weight
        self._caches: list[KeyValueCache] = [KeyValueCache() for _ in self.h]
        # As in GPT-2, but for c_fc: in so narrow a model 0.02 would leave it little to say.
        std = {"c_proj": 0.02 / math.sqrt(2 * s.n_layers), "c_fc": s.d_model**-0.5}
        for name, p in self.named_parameters():
            if name.endswith("bias"):
                nn.init.zeros_(p)
            elif p.dim() == 2:
                nn.init.normal_(p, std=std.get(name.split(".")[-2], 0.02))

    @property
    def context_length(self) -> int:
        """The most tokens that `forward` takes."""
        return self.config.context_length

    def new_cache(self) -> list[KeyValueCache]:
        """The blocks' caches, ready for another text; they are the same objects each time."""
        self.parts.start_again(self._caches)
        return self._caches

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        cache: list[KeyValueCache] | None = None,
        mask: Bool[Tensor, "B S"] | None = None,
    ) -> Float[Tensor, "B T V"]:
        """Logits: those at place t are for the token after it.

        As the library's GPT: with a `cache`, ids follow the tokens that it holds; `mask` is True
        for real tokens, and positions count those only. Raises ValueError for too many tokens.
        """
        start, T = len(cache[0]) if cache else 0, ids.shape[1]
        if self.context_length < start + T:
            expected = f"expected at most context_length={self.context_length}"
            raise ValueError(f"got {start + T} tokens, {expected}")
        x = self.wte(ids)  # (B, T, C)
        if not self.config.rotary:
            places = self.parts.positions(start, T)
            if mask is not None:
                places = (mask.cumsum(dim=1) - 1).clamp(min=0)[:, start:]  # (B, T)
            x = x + self.wpe(places)
        x = self.parts.drop(x, self.config.dropout, self.training)
        for i, block in enumerate(self.h):
            x = block(x, cache[i] if cache else None, start, mask)
        return self.lm_head(self.ln_f(x))
