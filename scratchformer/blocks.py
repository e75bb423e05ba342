"""The transformer block: attention moves information, then a small network works on each position.

GPT's block is pre-norm; that of BERT and of the original transformer's encoder is post-norm. A
decoder's block, with cross-attention, is in `models/seq2seq.py`.
"""

from collections.abc import Callable
from typing import Any

from jaxtyping import Bool, Float
from torch import Tensor, nn

from scratchformer.attention import KeyValueCache, MultiHeadAttention

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "gelu_tanh": lambda: nn.GELU(approximate="tanh"),  # the form GPT-2 was trained with
    "gelu": nn.GELU,  # BERT
    "relu": nn.ReLU,  # Vaswani et al. 2017
}


class FeedForward(nn.Module):
    """Two linear layers with an activation between them, the same at every position.

    It is GPT-2's `mlp`, with its names. `d_ff`, the width between the layers, is 4 d_model unless
    given. Raises ValueError for an unknown activation.
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
    """Self-attention, then a feed-forward network: each adds to the stream x.

    With `norm_first` each of the two, f, gives x + f(norm(x)), as in GPT-2. Without it, it gives
    norm(x + f(x)), as in Vaswani et al. 2017, section 3.1, and in BERT. `d_ff` and `activation` are
    the feed-forward network's.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        norm_first: bool = True,
        d_ff: int | None = None,
        activation: str = "gelu_tanh",
    ):
        super().__init__()
        self.norm_first = norm_first
        self.ln_1 = nn.LayerNorm(d_model, bias=bias)
        self.attn = MultiHeadAttention(d_model, n_heads, dropout, bias)
        self.ln_2 = nn.LayerNorm(d_model, bias=bias)
        self.mlp = FeedForward(d_model, d_ff, dropout, bias, activation)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        mask: Bool[Tensor, "... #T #S"] | None = None,
        cache: KeyValueCache | None = None,
        is_causal: bool = False,
    ) -> Float[Tensor, "B T C"]:
        """`mask`, `cache` and `is_causal` are the attention's."""
        options = {"mask": mask, "cache": cache, "is_causal": is_causal}
        if self.norm_first:
            x = x + self.attn(self.ln_1(x), **options)
            return x + self.mlp(self.ln_2(x))
        x = self.ln_1(x + self.attn(x, **options))
        return self.ln_2(x + self.mlp(x))


def check_sizes(config: Any, *more: str) -> None:
    """Raise ValueError if a transformer of this config cannot be built.

    The five sizes that all have, and those named in `more` unless they are None, must be at least
    1, and whole. The heads must share d_model evenly. A dropout must be a probability below 1.
    """
    for name in ("vocab_size", "context_length", "d_model", "n_heads", "n_layers", *more):
        value = getattr(config, name)
        if value is None and name in more:
            continue
        if not isinstance(value, int):
            raise ValueError(f"{name}={value!r}, expected a whole number")
        if value < 1:
            raise ValueError(f"{name}={value}, expected at least 1")
    if config.d_model % config.n_heads != 0:
        raise ValueError(f"d_model={config.d_model} is not divisible by n_heads={config.n_heads}")
    dropout = getattr(config, "dropout", 0.0)
    if not 0 <= dropout < 1:
        raise ValueError(f"dropout={dropout}, expected 0 <= dropout < 1")
