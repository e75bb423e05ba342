"""The transformer block: attention moves information between positions, a small network digests it.

Pre-norm, as in GPT-2: each half reads a normalised copy of the stream and adds its result to it.
No cross-attention and no other norms or activations.
"""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from scratchformer.attention import MultiHeadAttention


class FeedForward(nn.Module):
    """Two linear layers with a GELU between them, the same at every position (GPT-2's `mlp`)."""

    def __init__(
        self, d_model: int, d_ff: int | None = None, dropout: float = 0.0, bias: bool = True
    ):
        super().__init__()
        d_ff = d_ff or 4 * d_model
        self.c_fc = nn.Linear(d_model, d_ff, bias=bias)
        self.gelu = nn.GELU(approximate="tanh")  # the form GPT-2 was trained with
        self.c_proj = nn.Linear(d_ff, d_model, bias=bias)
        self.drop = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "*batch C"]) -> Float[Tensor, "*batch C"]:
        return self.drop(self.c_proj(self.gelu(self.c_fc(x))))


class TransformerBlock(nn.Module):
    """x + attention(norm(x)), then x + feed-forward(norm(x))."""

    def __init__(self, d_model: int, n_heads: int, dropout: float = 0.0, bias: bool = True):
        super().__init__()
        self.ln_1 = nn.LayerNorm(d_model, bias=bias)
        self.attn = MultiHeadAttention(d_model, n_heads, dropout=dropout, bias=bias)
        self.ln_2 = nn.LayerNorm(d_model, bias=bias)
        self.mlp = FeedForward(d_model, dropout=dropout, bias=bias)

    def forward(
        self, x: Float[Tensor, "B T C"], mask: Bool[Tensor, "... #T #T"] | None = None
    ) -> Float[Tensor, "B T C"]:
        """`mask` as in MultiHeadAttention: (T, T) or (B, T, T), True = may attend."""
        x = x + self.attn(self.ln_1(x), mask=mask)
        return x + self.mlp(self.ln_2(x))
