"""The transformer block: attention moves information between positions, a small network digests it.

One block serves all architectures: pre-norm as in GPT-2, post-norm as in the paper and in BERT,
and with cross-attention in a decoder that reads an encoder's output.
"""

from collections.abc import Callable

import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from scratchformer.attention import KeyValueCache, MultiHeadAttention


class SquaredReLU(nn.Module):
    """max(0, x)², whose slope grows with x (So et al. 2021)."""

    def forward(self, x: Float[Tensor, "*batch F"]) -> Float[Tensor, "*batch F"]:
        return F.relu(x).square()


class SwiGLU(nn.Module):
    """SiLU of one half of the channels times the other half (Shazeer 2020)."""

    def forward(self, x: Float[Tensor, "*batch twoF"]) -> Float[Tensor, "*batch F"]:
        gate, value = x.chunk(2, dim=-1)
        return F.silu(gate) * value


ACTIVATIONS = {
    "gelu_tanh": lambda: nn.GELU(approximate="tanh"),  # the form GPT-2 was trained with
    "gelu": nn.GELU,  # BERT
    "relu": nn.ReLU,  # Vaswani et al. 2017
    "relu2": SquaredReLU,
    "swiglu": SwiGLU,
}


def make_norm(
    d_model: int,
    kind: str = "layer",
    weights: bool = True,
    bias: bool = True,
    eps: float = 1e-5,
) -> nn.Module:
    """A normalisation of the last axis, d_model wide.

    "layer" subtracts the mean and divides by the standard deviation; "rms" divides by the root
    mean square alone (Zhang & Sennrich 2019). Learned `weights` scale each channel afterwards, and
    with `bias` a LayerNorm also shifts it. Raises ValueError for an unknown kind.
    """
    if kind == "layer":
        return nn.LayerNorm(d_model, eps=eps, elementwise_affine=weights, bias=bias)
    if kind == "rms":
        return nn.RMSNorm(d_model, eps=eps, elementwise_affine=weights)
    raise ValueError(f"norm={kind!r}, expected 'layer' or 'rms'")


class FeedForward(nn.Module):
    """Two linear layers with an activation between them, the same at every position.

    GPT-2's `mlp` with its names. `d_ff` is 4 d_model unless given; "swiglu" has two matrices of
    this width before the activation, and by default a third less of it, so that the parameters
    stay as many. Raises ValueError for an unknown activation.
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int | None = None,
        dropout: float = 0.0,
        bias: bool = True,
        activation: str = "gelu_tanh",
    ):
        super().__init__()
        if activation not in ACTIVATIONS:
            raise ValueError(f"activation={activation!r}, expected one of {', '.join(ACTIVATIONS)}")
        halves = 2 if activation == "swiglu" else 1
        d_ff = (4 * d_model if halves == 1 else 8 * d_model // 3) if d_ff is None else d_ff
        self.c_fc = nn.Linear(d_model, halves * d_ff, bias=bias)
        self.activation = ACTIVATIONS[activation]()
        self.c_proj = nn.Linear(d_ff, d_model, bias=bias)
        self.drop = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "*batch C"]) -> Float[Tensor, "*batch C"]:
        return self.drop(self.c_proj(self.activation(self.c_fc(x))))


class TransformerBlock(nn.Module):
    """Self-attention, cross-attention if asked for, feed-forward: each adds to the stream x.

    `norm="pre"`: x + f(norm(x)), as in GPT-2. `norm="post"`: norm(x + f(x)), as in Vaswani et al.
    2017, section 3.1, and BERT. `norm_kind` and `norm_weights` are `make_norm`'s; `n_kv_heads`,
    `rotary`, `qk_norm` and `explicit` are the self-attention's. Raises ValueError for an unknown
    norm or activation.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        d_ff: int | None = None,
        norm: str = "pre",
        activation: str = "gelu_tanh",
        cross_attention: bool = False,
        norm_eps: float = 1e-5,
        norm_kind: str = "layer",
        norm_weights: bool = True,
        n_kv_heads: int | None = None,
        rotary: bool = False,
        qk_norm: bool = False,
        explicit: bool = False,
    ):
        super().__init__()
        if norm not in ("pre", "post"):
            raise ValueError(f"norm={norm!r}, expected 'pre' or 'post'")
        self.norm = norm
        norms = (d_model, norm_kind, norm_weights, bias, norm_eps)
        self.ln_1 = make_norm(*norms)
        self.attn = MultiHeadAttention(
            d_model, n_heads, dropout, bias, n_kv_heads, rotary, qk_norm, explicit
        )
        if cross_attention:
            self.ln_cross = make_norm(*norms)
            self.cross_attn = MultiHeadAttention(d_model, n_heads, dropout, bias)
        self.ln_2 = make_norm(*norms)
        self.mlp = FeedForward(d_model, d_ff, dropout=dropout, bias=bias, activation=activation)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        mask: Bool[Tensor, "... #T #S"] | None = None,
        context: Float[Tensor, "B U C"] | None = None,
        context_mask: Bool[Tensor, "... #T #U"] | None = None,
        cache: KeyValueCache | None = None,
        extra_values: Float[Tensor, "B T E"] | None = None,
        causal: bool = False,
    ) -> Float[Tensor, "B T C"]:
        """Masks, `cache`, `extra_values` and `causal` as in MultiHeadAttention.

        `context` is what the cross-attention reads. Raises ValueError if it is missing there, or
        given to a block that has none.
        """
        if hasattr(self, "cross_attn") != (context is not None):
            expected = "a context" if context is None else "none: it was built without"
            raise ValueError(f"the block's cross-attention expected {expected}")
        attention = {"mask": mask, "cache": cache, "extra_values": extra_values, "causal": causal}
        x = self._add(x, self.ln_1, lambda x: self.attn(x, **attention))
        if context is not None:
            x = self._add(x, self.ln_cross, lambda x: self.cross_attn(x, context, context_mask))
        return self._add(x, self.ln_2, self.mlp)

    def _add(
        self, x: Float[Tensor, "B T C"], norm: nn.Module, f: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "B T C"]:
        return x + f(norm(x)) if self.norm == "pre" else norm(x + f(x))
