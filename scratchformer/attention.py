"""Attention: every position takes a weighted average of the values it may look at.

The explicit form shows the weights; the module uses PyTorch's fused kernel, which never stores
them, unless asked for them, and the tests hold the two equal. Masks are boolean, True = may
attend, and combine with `&`. No mask that is not given, and no positions unless asked for.
"""

import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from scratchformer.positions import rotary


def scaled_dot_product_attention(
    q: Float[Tensor, "*batch T D"],
    k: Float[Tensor, "*batch S D"],
    v: Float[Tensor, "*batch S E"],
    mask: Bool[Tensor, "... #T #S"] | None = None,
    dropout: float = 0.0,
) -> tuple[Float[Tensor, "*batch T E"], Float[Tensor, "*batch T S"]]:
    """softmax(q kᵀ / √D) v (Vaswani et al. 2017, equation 1), and the weights themselves.

    Each of the T queries mixes S values. `mask` is boolean and broadcasts to (*batch, T, S);
    a query that may attend to nothing gets zeros. `dropout` is the chance that a weight is
    dropped; the weights returned are those used. Raises ValueError for widths, lengths or a mask
    that do not fit.
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
        none = ~mask.any(dim=-1, keepdim=True)  # queries that may attend to nothing
        closed = torch.zeros_like(mask, dtype=scores.dtype).masked_fill(~(mask | none), -math.inf)
        weights = (scores + closed).softmax(dim=-1)
        if none.any():
            weights = weights.masked_fill(none, 0.0)
    weights = F.dropout(weights, dropout)
    return weights @ v, weights


def causal_mask(T: int, device: torch.device | str | None = None) -> Bool[Tensor, "T T"]:
    """Row i is True up to column i: a position sees itself and its past."""
    return torch.ones(T, T, dtype=torch.bool, device=device).tril()


def padding_mask(ids: Int[Tensor, "B S"], pad_id: int) -> Bool[Tensor, "B 1 S"]:
    """True where a token is no padding, for every query: `causal_mask(S) & padding_mask(…)`."""
    return (ids != pad_id).unsqueeze(1)


def _check_mask(mask: Tensor, shape: tuple[int, ...]) -> None:
    if mask.dtype != torch.bool:
        raise ValueError(f"mask has dtype {mask.dtype}, expected torch.bool (True = may attend)")
    fits = 2 <= mask.dim() <= len(shape) and all(
        m in (1, n) for m, n in zip(reversed(mask.shape), reversed(shape), strict=False)
    )
    if not fits:
        raise ValueError(f"mask has shape {tuple(mask.shape)}, expected one for {tuple(shape)}")


class KeyValueCache:
    """The keys and values that one attention layer has computed so far, for one batch.

    They lie in buffers that double when they are full, so that a new token costs no copy of the
    old ones. Not for training: new entries are written in place. Raises ValueError when more than
    `max_length` positions, or another batch, are to be kept.
    """

    def __init__(self, max_length: int | None = None):
        self.max_length, self.length, self.buffers = max_length, 0, None

    def __len__(self) -> int:
        return self.length

    @property
    def k(self) -> Float[Tensor, "B H S D"]:
        """The keys of all S positions kept."""
        return self.buffers[0, :, :, : self.length]

    @property
    def v(self) -> Float[Tensor, "B H S D"]:
        """Their values."""
        return self.buffers[1, :, :, : self.length]

    def append(self, k: Float[Tensor, "B H T D"], v: Float[Tensor, "B H T D"]) -> None:
        """Keep T more positions behind those kept already; ValueError if they do not fit."""
        kept, S = self.length, self.length + k.shape[2]
        if self.max_length is not None and self.max_length < S:
            raise ValueError(f"cache would hold {S} positions, expected <= {self.max_length}")
        if kept and self.k.shape[0] != k.shape[0]:
            raise ValueError(f"cache is for a batch of {self.k.shape[0]}, got {k.shape[0]}")
        if not kept or self.buffers.shape[3] < S:
            B, H, _, D = k.shape
            longer = k.new_empty(2, B, H, max(S, min(2 * kept, self.max_length or 2 * kept)), D)
            if kept:
                longer[:, :, :, :kept] = self.buffers[:, :, :, :kept]
            self.buffers = longer
        self.buffers[0, :, :, kept:S], self.buffers[1, :, :, kept:S] = k, v
        self.length = S


class MultiHeadAttention(nn.Module):
    """Attention in `n_heads` subspaces at once, each D = d_model / n_heads wide.

    One matrix, `c_attn`, holds the query, key and value projections of all heads side by side;
    `c_proj` mixes what the heads found. Both carry GPT-2's names. `dropout` falls on the weights
    and on the output. Three options are younger than GPT-2: with fewer `n_kv_heads`, heads side by
    side share their keys and values (Ainslie et al. 2023); `rotary` turns queries and keys by
    their positions; `qk_norm` normalises both to mean 0 and variance 1 (Dehghani et al. 2023).
    PyTorch's fused kernel computes the same as the `explicit` form, in less memory; in bfloat16
    on a CPU the explicit form is the faster one. Raises ValueError if heads do not divide evenly,
    or D is odd and to be turned.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        n_kv_heads: int | None = None,
        rotary: bool = False,
        qk_norm: bool = False,
        explicit: bool = False,
    ):
        super().__init__()
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        if d_model % n_heads != 0:
            raise ValueError(f"d_model={d_model} is not divisible by n_heads={n_heads}")
        if n_kv_heads < 1 or n_heads % n_kv_heads != 0:
            raise ValueError(f"n_heads={n_heads} is not divisible by n_kv_heads={n_kv_heads}")
        D = d_model // n_heads
        if rotary and D % 2:
            raise ValueError(f"heads are {D} wide, expected an even width: rotary turns pairs")
        self.d_model, self.n_heads, self.dropout = d_model, n_heads, dropout
        self.n_kv_heads, self.rotary, self.qk_norm = n_kv_heads, rotary, qk_norm
        self.explicit = explicit
        self.widths = (d_model, n_kv_heads * D, n_kv_heads * D)  # of all queries, keys, values
        self.c_attn = nn.Linear(d_model, sum(self.widths), bias=bias)
        self.c_proj = nn.Linear(d_model, d_model, bias=bias)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        context: Float[Tensor, "B S C"] | None = None,
        mask: Bool[Tensor, "... #T #S"] | None = None,
        need_weights: bool = False,
        cache: KeyValueCache | None = None,
        extra_values: Float[Tensor, "B T E"] | None = None,
        causal: bool = False,
    ) -> Float[Tensor, "B T C"] | tuple[Float[Tensor, "B T C"], Float[Tensor, "B H T S"]]:
        """Queries from x; keys and values from x too, or from `context` (cross-attention).

        `mask`, (T, S) or (B, T, S), is the same for all heads. `causal` closes the future as well,
        as `mask & causal_mask(S)[-T:]` would, without a mask in memory. With a `cache`, the S
        positions are those kept and then the T new ones, which are kept too. `extra_values`,
        E = n_kv_heads · D wide, are added to x's values. `need_weights` returns the weights too.
        Raises ValueError for what does not fit.
        """
        B, T, C = x.shape
        if self.d_model != C:
            raise ValueError(f"x is {C} wide, expected d_model={self.d_model}")
        kept = 0 if cache is None else len(cache)
        S = kept + T
        if context is not None:
            self._check_context(x, context, cache, extra_values is not None or causal)
            S = context.shape[1]
        explicit = self.explicit or need_weights
        causal = causal and T > 1  # a single new position may see all there is
        if causal and (explicit or kept or mask is not None):
            past = causal_mask(S, x.device)[-T:]  # (T, S)
            mask, causal = past if mask is None else mask & past, False
        if mask is not None:
            _check_mask(mask, (B, T, S))
            mask = mask.unsqueeze(-3)  # an axis for the heads, before the last two

        if context is None:
            q, k, v = self._split(self.c_attn(x), self.widths)  # (B, H or fewer, T, D)
        else:
            q, k, v = self._project_both(x, context)
        if extra_values is not None:
            v = self._add_values(v, extra_values)
        if self.qk_norm:
            q, k = F.layer_norm(q, q.shape[-1:]), F.layer_norm(k, k.shape[-1:])
        if self.rotary:
            q, k = rotary(q, offset=kept), rotary(k, offset=kept)
        if cache is not None:
            cache.append(k, v)
            k, v = cache.k, cache.v
        if self.n_kv_heads < self.n_heads:
            k, v = (t.repeat_interleave(self.n_heads // self.n_kv_heads, dim=1) for t in (k, v))

        dropout, weights = self.dropout if self.training else 0.0, None
        if explicit:
            heads, weights = scaled_dot_product_attention(q, k, v, mask, dropout)
        else:
            kernel = F.scaled_dot_product_attention
            heads = kernel(q, k, v, attn_mask=mask, dropout_p=dropout, is_causal=causal)
        x = self.c_proj(heads.transpose(1, 2).reshape(B, T, C))  # the heads side by side again
        x = F.dropout(x, self.dropout, self.training)
        return (x, weights) if need_weights else x

    def _check_context(self, x: Tensor, context: Tensor, cache, one_text: bool) -> None:
        (B, _, C), came = x.shape, tuple(context.shape)
        if context.dim() != 3 or (came[0], came[2]) != (B, C):
            raise ValueError(f"context has shape {came}, expected ({B}, any length, {C})")
        if cache is not None:
            raise ValueError("got a cache and a context, expected one of them")
        if self.rotary or one_text:
            raise ValueError("got a context: rotary, causal and extra_values are for one text")

    def _split(self, x: Tensor, widths: tuple[int, ...]) -> list[Tensor]:
        """x, (B, T, sum of widths), cut into parts and each part into heads: (B, H, T, D) each."""
        B, T, _ = x.shape
        D = self.d_model // self.n_heads
        return [part.view(B, T, -1, D).transpose(1, 2) for part in x.split(widths, dim=-1)]

    def _add_values(self, v: Tensor, extra: Tensor) -> Tensor:
        B, H, T, D = v.shape
        if extra.shape != (B, T, H * D):
            came = tuple(extra.shape)
            raise ValueError(f"extra_values have shape {came}, expected {(B, T, H * D)}")
        return v + self._split(extra, self.widths[2:])[0]

    def _project_both(self, x: Tensor, context: Tensor) -> list[Tensor]:
        """Queries of x, and keys and values of the context: (B, H or fewer, T or S, D)."""
        C = self.d_model
        weight, bias = self.c_attn.weight, self.c_attn.bias
        queries = F.linear(x, weight[:C], None if bias is None else bias[:C])
        others = F.linear(context, weight[C:], None if bias is None else bias[C:])
        return self._split(queries, self.widths[:1]) + self._split(others, self.widths[1:])


@contextmanager
def recorded_attention(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Inside, a dict fills with the weights (B, H, T, S) of every MultiHeadAttention that runs.

    Its keys are the modules' names in `model`, in the order of their calls; a second call
    replaces the first. The model computes the same as ever, on the explicit path.
    """
    weights = {}

    def record(name: str, module: nn.Module, stack: ExitStack) -> None:
        def ask(module, args, kwargs):
            return args, {**kwargs, "need_weights": True}

        def keep(module, args, output):
            weights[name] = output[1].detach()
            return output[0]

        stack.callback(module.register_forward_pre_hook(ask, with_kwargs=True).remove)
        stack.callback(module.register_forward_hook(keep).remove)

    with ExitStack() as stack:
        for name, module in model.named_modules():
            if isinstance(module, MultiHeadAttention):
                record(name, module, stack)
        yield weights
