"""Encoder and decoder: one stack reads a source, the other writes a target and looks back at it.

The transformer as it was first published (Vaswani et al. 2017): post-norm, ReLU, sinusoidal
positions, one embedding for source, target and output. Losses belong to training, and the search
for an output to generation.
"""

import math
from dataclasses import dataclass

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from scratchformer.attention import CrossAttention, MultiHeadAttention, causal_mask, padding_mask
from scratchformer.blocks import FeedForward, TransformerBlock, check_sizes
from scratchformer.positions import sinusoidal


@dataclass(frozen=True)
class Seq2SeqConfig:
    """The size of a Seq2Seq. Raises ValueError for a size that cannot be built."""

    vocab_size: int  # one vocabulary for source and target, with the three tokens below
    context_length: int  # the longest source or target; fixed waves are made for as many positions
    d_model: int  # width of the stream of vectors in both stacks; even, as waves come in pairs
    n_heads: int  # attention patterns side by side; each d_model / n_heads wide
    n_layers: int  # blocks in the encoder, and as many in the decoder
    d_ff: int | None = None  # inner width of the feed-forward network, 4 d_model if None
    dropout: float = 0.0  # on each sub-layer, and on embeddings + positions; the paper's is 0.1
    pad_id: int = 0  # fills a batch up; no position looks at it
    begin_id: int = 1  # the decoder's first input
    end_id: int = 2  # the decoder's last output

    def __post_init__(self):
        check_sizes(self, "d_ff")
        if self.d_model % 2 != 0:
            raise ValueError(f"d_model={self.d_model}, expected an even number")
        special = {self.pad_id, self.begin_id, self.end_id}
        if len(special) < 3 or min(special) < 0 or max(special) >= self.vocab_size:
            given = f"{self.pad_id}, {self.begin_id} and {self.end_id}"
            raise ValueError(
                f"pad, begin and end are {given}, expected three ids below {self.vocab_size}"
            )


class DecoderBlock(nn.Module):
    """Self-attention, cross-attention, feed-forward: after each, norm(x + f(x)).

    The decoder's layer of Vaswani et al. 2017, section 3.1, in post-norm and with ReLU.
    """

    def __init__(self, d_model: int, n_heads: int, dropout: float = 0.0, d_ff: int | None = None):
        super().__init__()
        self.ln_1 = nn.LayerNorm(d_model)
        self.attn = MultiHeadAttention(d_model, n_heads, dropout)
        self.ln_cross = nn.LayerNorm(d_model)
        self.cross_attn = CrossAttention(d_model, n_heads, dropout)
        self.ln_2 = nn.LayerNorm(d_model)
        self.mlp = FeedForward(d_model, d_ff, dropout, activation="relu")

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        mask: Bool[Tensor, "... #T #T"] | None,
        memory: Float[Tensor, "B S C"],
        memory_mask: Bool[Tensor, "... #T #S"] | None = None,
    ) -> Float[Tensor, "B T C"]:
        """x reads itself through `mask`, then the encoder's `memory` through `memory_mask`."""
        x = self.ln_1(x + self.attn(x, mask=mask))
        x = self.ln_cross(x + self.cross_attn(x, memory, memory_mask))
        return self.ln_2(x + self.mlp(x))


class Seq2Seq(nn.Module):
    """Encoder and decoder: logits at target position t see the source, and the target up to t."""

    positions: Tensor

    def __init__(self, config: Seq2SeqConfig):
        super().__init__()
        c = self.config = config
        self.embedding = nn.Embedding(c.vocab_size, c.d_model)
        waves = sinusoidal(c.context_length, c.d_model)
        self.register_buffer("positions", waves, persistent=False)  # computed, never learned
        self.drop = nn.Dropout(c.dropout)
        self.encoder = nn.ModuleList(
            TransformerBlock(
                c.d_model, c.n_heads, c.dropout, norm_first=False, d_ff=c.d_ff, activation="relu"
            )
            for _ in range(c.n_layers)
        )
        self.decoder = nn.ModuleList(
            DecoderBlock(c.d_model, c.n_heads, c.dropout, c.d_ff) for _ in range(c.n_layers)
        )
        self.lm_head = nn.Linear(c.d_model, c.vocab_size, bias=False)
        self.lm_head.weight = self.embedding.weight  # tied: section 3.4
        self._initialise()

    def _initialise(self) -> None:
        # The paper does not say how. Xavier's keeps the variance from layer to layer; small
        # embeddings make the first predictions even.
        for name, p in self.named_parameters():
            if name == "embedding.weight":
                nn.init.normal_(p, std=0.02)
            elif p.dim() >= 2:
                nn.init.xavier_uniform_(p)
            elif name.endswith("bias"):
                nn.init.zeros_(p)

    def encode(self, source: Int[Tensor, "B S"]) -> Float[Tensor, "B S C"]:
        """The memory: one vector for each source token. Raises ValueError for a long source."""
        mask = padding_mask(source, self.config.pad_id)  # (B, 1, S)
        x = self._embed(source)
        for block in self.encoder:
            x = block(x, mask)
        return x

    def decode(
        self, target: Int[Tensor, "B T"], memory: Float[Tensor, "B S C"], source: Int[Tensor, "B S"]
    ) -> Float[Tensor, "B T V"]:
        """Logits of what follows each target token, which starts with `begin_id`.

        `source` tells where the memory is padding. Raises ValueError for a long target.
        """
        T, pad_id = target.shape[1], self.config.pad_id
        mask = causal_mask(T, target.device) & padding_mask(target, pad_id)  # (B, T, T)
        memory_mask = padding_mask(source, pad_id)  # (B, 1, S)
        x = self._embed(target)
        for block in self.decoder:
            x = block(x, mask, memory, memory_mask)
        return self.lm_head(x)

    def forward(
        self, source: Int[Tensor, "B S"], target: Int[Tensor, "B T"]
    ) -> Float[Tensor, "B T V"]:
        """Logits of what follows each target token, all at once: for training."""
        return self.decode(target, self.encode(source), source)

    def _embed(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T C"]:
        c, T = self.config, ids.shape[1]
        if c.context_length < T:
            raise ValueError(f"got {T} tokens, expected at most context_length={c.context_length}")
        x = self.embedding(ids) * math.sqrt(c.d_model)  # (B, T, C)
        return self.drop(x + self.positions[:T])  # (B, T, C) + (T, C)
