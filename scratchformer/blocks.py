"""The transformer block: attention moves information between positions, a small network digests it.

One block serves all architectures: pre-norm as in GPT-2, post-norm as in the paper and in BERT,
and with cross-attention in a decoder that reads an encoder's output.
"""

from collections.abc import Callable

from jaxtyping import Bool, Float
from torch import Tensor, nn

from scratchformer.attention import KeyValueCache, MultiHeadAttention

ACTIVATIONS = {
    "gelu_tanh": lambda: nn.GELU(approximate="tanh"),  # the form GPT-2 was trained with
    "gelu": nn.GELU,  # BERT
    "relu": nn.ReLU,  # Vaswani et al. 2017
}


class FeedForward(nn.Module):
    """Two linear layers with an activation between them, the same at every position.

    GPT-2's `mlp` with its names. `d_ff` is 4 d_model unless given. Raises ValueError for an
    unknown activation.
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
        d_ff = 4 * d_model if d_ff is None else d_ff
        self.c_fc = nn.Linear(d_model, d_ff, bias=bias)
        self.activation = ACTIVATIONS[activation]()
        self.c_proj = nn.Linear(d_ff, d_model, bias=bias)
        self.drop = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "*batch C"]) -> Float[Tensor, "*batch C"]:
        return self.drop(self.c_proj(self.activation(self.c_fc(x))))


class TransformerBlock(nn.Module):
    """Self-attention, cross-attention if asked for, feed-forward: each adds to the stream x.

    `norm="pre"`: x + f(norm(x)), as in GPT-2. `norm="post"`: norm(x + f(x)), as in Vaswani et al.
    2017, section 3.1, and BERT. Raises ValueError for an unknown norm or activation.
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
    ):
        super().__init__()
        if norm not in ("pre", "post"):
            raise ValueError(f"norm={norm!r}, expected 'pre' or 'post'")
        self.norm = norm
        self.ln_1 = nn.LayerNorm(d_model, eps=norm_eps, bias=bias)
        self.attn = MultiHeadAttention(d_model, n_heads, dropout=dropout, bias=bias)
        if cross_attention:
            self.ln_cross = nn.LayerNorm(d_model, eps=norm_eps, bias=bias)
            self.cross_attn = MultiHeadAttention(d_model, n_heads, dropout=dropout, bias=bias)
        self.ln_2 = nn.LayerNorm(d_model, eps=norm_eps, bias=bias)
        self.mlp = FeedForward(d_model, d_ff, dropout=dropout, bias=bias, activation=activation)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        mask: Bool[Tensor, "... #T #S"] | None = None,
        context: Float[Tensor, "B U C"] | None = None,
        context_mask: Bool[Tensor, "... #T #U"] | None = None,
        cache: KeyValueCache | None = None,
    ) -> Float[Tensor, "B T C"]:
        """Masks as in MultiHeadAttention, True = may attend; `cache` holds earlier positions.

        `context` is what the cross-attention reads. Raises ValueError if it is missing there, or
        given to a block that has none.
        """
        if hasattr(self, "cross_attn") != (context is not None):
            expected = "a context" if context is None else "none: it was built without"
            raise ValueError(f"the block's cross-attention expected {expected}")
        x = self._add(x, self.ln_1, lambda x: self.attn(x, mask=mask, cache=cache))
        if context is not None:
            x = self._add(x, self.ln_cross, lambda x: self.cross_attn(x, context, context_mask))
        return self._add(x, self.ln_2, self.mlp)

    def _add(
        self, x: Float[Tensor, "B T C"], norm: nn.LayerNorm, f: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "B T C"]:
        return x + f(norm(x)) if self.norm == "pre" else norm(x + f(x))
