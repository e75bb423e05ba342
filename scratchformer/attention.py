"""Attention: every position takes a weighted average of the values it may look at.

The function shows the weights. The modules use PyTorch's fused kernel, which never stores them,
unless they are asked for them; the tests hold the two equal. Masks are boolean, True = may attend,
and combine with `&`. Attention itself knows no order: its inputs must hold their positions.
"""

import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn


def scaled_dot_product_attention(
    q: Float[Tensor, "*batch T D"],
    k: Float[Tensor, "*batch S D"],
    v: Float[Tensor, "*batch S E"],
    mask: Bool[Tensor, "... #T #S"] | None = None,
    dropout: float = 0.0,
) -> tuple[Float[Tensor, "*batch T E"], Float[Tensor, "*batch T S"]]:
    """softmax(q kᵀ / √D) v (Vaswani et al. 2017, equation 1), and the weights themselves.

    Each of the T queries mixes S values. `mask` is boolean and broadcasts to (*batch, T, S); a
    query that may attend to nothing gets zeros. `dropout` is the chance that a weight is dropped,
    in training or not; the weights returned are those used. Raises ValueError for widths, lengths
    or a mask that do not fit.
    """
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(f"q is {q.shape[-1]} wide and k {k.shape[-1]}, expected equal widths")
    if k.shape[-2] != v.shape[-2]:
        raise ValueError(f"got {k.shape[-2]} keys and {v.shape[-2]} values, expected one for one")
    dtype = q.dtype
    # 16 bits would overflow, or lose digits
    compute_dtype = torch.promote_types(dtype, torch.float32)
    q, k, v = q.to(compute_dtype), k.to(compute_dtype), v.to(compute_dtype)
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # (*batch, T, S)
    if mask is None:
        weights = scores.softmax(dim=-1)
    else:
        _check_mask(mask, scores.shape)
        fully_masked = ~mask.any(dim=-1, keepdim=True)  # queries that may attend to nothing
        # Softmax of a row of -inf is nan, and so is its gradient. Such a row is left unmasked, and
        # its weights are set to zero after the softmax.
        scores = scores.masked_fill(~(mask | fully_masked), -math.inf)
        weights = scores.softmax(dim=-1).masked_fill(fully_masked, 0.0)
    weights = F.dropout(weights, dropout)
    return (weights @ v).to(dtype), weights.to(dtype)


def causal_mask(T: int, device: torch.device | str | None = None) -> Bool[Tensor, "T T"]:
    """Row i is True up to column i: a position sees itself and its past."""
    return torch.ones(T, T, dtype=torch.bool, device=device).tril()


def padding_mask(ids: Int[Tensor, "B S"], pad_id: int) -> Bool[Tensor, "B 1 S"]:
    """True where a token is not padding, the same for every query.

    `causal_mask(S) & padding_mask(ids, pad_id)` hides the future as well.
    """
    return (ids != pad_id).unsqueeze(1)


def _check_mask(mask: Tensor, shape: tuple[int, ...]) -> None:
    if mask.dtype != torch.bool:
        raise ValueError(f"mask has dtype {mask.dtype}, expected torch.bool (True = may attend)")
    is_broadcastable = 2 <= mask.dim() <= len(shape) and all(
        m in (1, n) for m, n in zip(reversed(mask.shape), reversed(shape), strict=False)
    )
    if not is_broadcastable:
        raise ValueError(f"mask has shape {tuple(mask.shape)}, expected one for {tuple(shape)}")


class KeyValueCache:
    """The keys and values that one attention layer has computed so far, for one batch.

    They lie in buffers that double when they are full, so that few new tokens cost a copy of the
    old ones. Not for training: new entries are written in place.
    """

    def __init__(self, max_length: int | None = None):
        self.max_length, self.length = max_length, 0
        self.k_buffer = self.v_buffer = torch.empty(0)

    def __len__(self) -> int:
        return self.length

    @property
    def k(self) -> Float[Tensor, "B H S D"]:
        """The keys of all S positions so far, at least one."""
        return self.k_buffer[:, :, : self.length]

    @property
    def v(self) -> Float[Tensor, "B H S D"]:
        """The values of the same positions."""
        return self.v_buffer[:, :, : self.length]

    def append(self, k: Float[Tensor, "B H T D"], v: Float[Tensor, "B H T D"]) -> None:
        """Add T positions. Raises ValueError beyond `max_length`, or for another batch size."""
        start, end = self.length, self.length + k.shape[2]
        if self.max_length is not None and self.max_length < end:
            raise ValueError(f"cache would hold {end} positions, expected <= {self.max_length}")
        if start and len(self.k_buffer) != len(k):
            raise ValueError(f"cache is for a batch of {len(self.k_buffer)}, got {len(k)}")
        if start == 0:  # nothing to copy yet: k and v give the buffers their shape and type
            self.k_buffer, self.v_buffer = self._grown(k, end), self._grown(v, end)
        elif self.k_buffer.shape[2] < end:
            self.k_buffer = self._grown(self.k_buffer, end)
            self.v_buffer = self._grown(self.v_buffer, end)
        self.k_buffer[:, :, start:end], self.v_buffer[:, :, start:end] = k, v
        self.length = end

    def _grown(self, buffer: Float[Tensor, "B H _ D"], S: int) -> Float[Tensor, "B H L D"]:
        """A buffer for S positions, or twice those so far; it begins with what is in `buffer`."""
        B, H, _, D = buffer.shape
        L = max(S, 2 * self.length)
        if self.max_length is not None:
            L = min(L, self.max_length)
        longer = buffer.new_empty(B, H, L, D)
        longer[:, :, : self.length] = buffer[:, :, : self.length]
        return longer


class MultiHeadAttention(nn.Module):
    """Attention in `n_heads` subspaces at once, each D = d_model / n_heads wide.

    One matrix, `c_attn`, holds the query, key and value projections of all heads side by side.
    `c_proj` mixes what the heads found. Both names are GPT-2's. `dropout` falls on the weights
    and on the output. PyTorch's fused kernel computes the heads and never stores the weights;
    the explicit form runs where `need_weights` asks for them. Raises ValueError if the heads do
    not divide d_model evenly.
    """

    records = True  # `recorded_attention` may ask it for its weights

    def __init__(self, d_model: int, n_heads: int, dropout: float = 0.0, bias: bool = True):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError(f"d_model={d_model} is not divisible by n_heads={n_heads}")
        self.d_model, self.n_heads, self.dropout = d_model, n_heads, dropout
        self.c_attn = nn.Linear(d_model, 3 * d_model, bias=bias)
        self.c_proj = nn.Linear(d_model, d_model, bias=bias)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        mask: Bool[Tensor, "... #T #S"] | None = None,
        need_weights: bool = False,
        cache: KeyValueCache | None = None,
        is_causal: bool = False,
    ) -> Float[Tensor, "B T C"] | tuple[Float[Tensor, "B T C"], Float[Tensor, "B H T S"]]:
        """Queries, keys and values from x: a text reads itself.

        `mask`, (T, S) or (B, T, S), is the same for all heads. `is_causal` closes the future as
        `causal_mask` does; where nothing else is asked for, no mask is stored. With a `cache`, S =
        the positions in it + T, and the T new ones are added to it. `need_weights` returns the
        weights as well. Raises ValueError for shapes that do not fit.
        """
        B, T, C = x.shape
        if self.d_model != C:
            raise ValueError(f"x is {C} wide, expected d_model={self.d_model}")
        S = T if cache is None else len(cache) + T
        if mask is not None:
            _check_mask(mask, (B, T, S))
        is_causal = is_causal and T > 1  # the last position has no future to hide
        if is_causal and (need_weights or S > T or mask is not None):
            causal = causal_mask(S, x.device)[-T:]  # (T, S)
            mask, is_causal = causal if mask is None else mask & causal, False
        q, k, v = (_split_heads(t, self.n_heads) for t in self.c_attn(x).chunk(3, dim=-1))
        if cache is not None:
            cache.append(k, v)
            k, v = cache.k, cache.v
        dropout = self.dropout if self.training else 0.0
        heads, weights = _attend(q, k, v, mask, dropout, need_weights, is_causal)
        out = F.dropout(self.c_proj(heads), self.dropout, self.training)
        return out if weights is None else (out, weights)


class CrossAttention(nn.Module):
    """Multi-head attention from one sequence to another: x asks, and a `memory` answers.

    The queries are made of x, keys and values of the memory. Names, matrices and dropout are those
    of MultiHeadAttention.
    """

    records = True  # `recorded_attention` may ask it for its weights

    def __init__(self, d_model: int, n_heads: int, dropout: float = 0.0, bias: bool = True):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError(f"d_model={d_model} is not divisible by n_heads={n_heads}")
        self.d_model, self.n_heads, self.dropout = d_model, n_heads, dropout
        self.c_attn = nn.Linear(d_model, 3 * d_model, bias=bias)
        self.c_proj = nn.Linear(d_model, d_model, bias=bias)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        memory: Float[Tensor, "B S C"],
        mask: Bool[Tensor, "... #T #S"] | None = None,
        need_weights: bool = False,
    ) -> Float[Tensor, "B T C"] | tuple[Float[Tensor, "B T C"], Float[Tensor, "B H T S"]]:
        """`mask` and `need_weights` are those of MultiHeadAttention.

        Raises ValueError for shapes that do not fit.
        """
        (B, T, C), S = x.shape, memory.shape[-2]
        if self.d_model != C:
            raise ValueError(f"x is {C} wide, expected d_model={self.d_model}")
        if memory.shape != (B, S, C):
            expected = f"expected ({B}, any length, {C})"
            raise ValueError(f"memory has shape {tuple(memory.shape)}, {expected}")
        if mask is not None:
            _check_mask(mask, (B, T, S))
        weight, bias = self.c_attn.weight, self.c_attn.bias
        q = F.linear(x, weight[:C], None if bias is None else bias[:C])
        keys_values = F.linear(memory, weight[C:], None if bias is None else bias[C:])
        q, k, v = (_split_heads(t, self.n_heads) for t in (q, *keys_values.chunk(2, dim=-1)))
        dropout = self.dropout if self.training else 0.0
        heads, weights = _attend(q, k, v, mask, dropout, need_weights)
        out = F.dropout(self.c_proj(heads), self.dropout, self.training)
        return out if weights is None else (out, weights)


def _split_heads(x: Float[Tensor, "B T C"], n_heads: int) -> Float[Tensor, "B H T D"]:
    B, T, _ = x.shape
    return x.view(B, T, n_heads, -1).transpose(1, 2)


def _attend(
    q: Float[Tensor, "B H T D"],
    k: Float[Tensor, "B H S D"],
    v: Float[Tensor, "B H S D"],
    mask: Bool[Tensor, "... #T #S"] | None,
    dropout: float,
    need_weights: bool,
    is_causal: bool = False,
) -> tuple[Float[Tensor, "B T C"], Float[Tensor, "B H T S"] | None]:
    """What the heads find, side by side, and the weights where they are needed."""
    if mask is not None:
        mask = mask.unsqueeze(-3)  # an axis for the heads, before the last two
    weights = None
    if need_weights:
        heads, weights = scaled_dot_product_attention(q, k, v, mask, dropout)
    else:
        heads = F.scaled_dot_product_attention(q, k, v, mask, dropout, is_causal)
    out = heads.transpose(1, 2).flatten(2)  # (B, H, T, D) -> (B, T, C)
    return out, weights


@contextmanager
def recorded_attention(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Inside `with recorded_attention(model) as weights:` the dict `weights` fills.

    Each layer of attention that runs puts its weights (B, H, T, S) there, under its name in
    `model`; a second call replaces the first. The model's outputs stay the same.
    """
    weights = {}

    def record(name: str, module: nn.Module, stack: ExitStack) -> None:
        def request_weights(module, args, kwargs):
            return args, {**kwargs, "need_weights": True}

        def store_weights(module, args, output):
            weights[name] = output[1].detach()
            return output[0]

        stack.callback(module.register_forward_pre_hook(request_weights, with_kwargs=True).remove)
        stack.callback(module.register_forward_hook(store_weights).remove)

    with ExitStack() as stack:
        for name, module in model.named_modules():
            if getattr(module, "records", False):
                record(name, module, stack)
        yield weights
