"""The speedrun's model: a GPT with what has been found since GPT-2, to be read from top to bottom.

Each idea has a switch in `SpeedrunConfig`, so that its worth can be measured. With all of them
off, this is GPT without dropout, and a test holds the two equal. What is new:

- rotary positions in place of a learned table (Su et al. 2021)
- queries and keys normalised before they meet (Henry et al. 2020; Dehghani et al. 2023)
- squared ReLU in place of GELU (So et al. 2021)
- norms without learned weights, and a norm of the embeddings
- what adds to the stream starts at zero (Zhang et al. 2019), and so does an untied output head
- smear and bigram embeddings: the last tokens, ahead of any attention (Jordan et al. 2024)
- value embeddings: every block sees the token itself in its values (Zhou et al. 2024)

Attention is written out as the equation. On a CPU, for short texts in bfloat16, that takes a
third of the time of PyTorch's fused kernel, at 256 positions two thirds.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from scratchformer.attention import KeyValueCache
from scratchformer.blocks import check_sizes
from scratchformer.models.pretrained import load_model, save_model
from scratchformer.positions import rotary


@dataclass(frozen=True)
class SpeedrunConfig:
    """The sizes, as GPTConfig has them, and the ideas. Raises ValueError for what has no sense."""

    vocab_size: int
    context_length: int
    d_model: int
    n_heads: int
    n_layers: int
    bias: bool = True
    norm_weights: bool = True  # a learned factor for each channel after a norm
    embedding_norm: bool = False  # the sum of a token's embeddings is normalised too
    activation: str = "gelu_tanh"  # or "relu2", the squared ReLU
    positions: str = "learned"  # or "rotary"
    qk_norm: bool = False  # queries and keys of one size: attention saturates later
    tied: bool = True  # False: the output head has a matrix of its own
    zero_init: bool = False  # what adds to the stream starts at 0, an untied head too
    wide_init: bool = False  # other matrices of a block start at 0.5 / √(inputs), not 0.02
    smear: int = 0  # how many previous tokens are mixed into each
    bigram_rows: int = 0  # rows of a table with a vector for each pair of tokens
    bigram_dropout: float = 0.0  # the chance that a position lacks its pair's vector in training
    value_embeddings: bool = False  # each block adds a vector of the token's own to its values

    def __post_init__(self):
        check_sizes(self)
        if self.activation not in ("gelu_tanh", "relu2"):
            raise ValueError(f"activation={self.activation!r}, expected 'gelu_tanh' or 'relu2'")
        if self.positions not in ("learned", "rotary"):
            raise ValueError(f"positions={self.positions!r}, expected 'learned' or 'rotary'")
        if self.positions == "rotary" and self.d_model // self.n_heads % 2:
            D = self.d_model // self.n_heads
            raise ValueError(f"heads are {D} wide, expected an even width: rotary turns pairs")
        for name in ("smear", "bigram_rows"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}={getattr(self, name)}, expected 0 (none) or more")
        if not 0 <= self.bigram_dropout < 1:
            raise ValueError(f"bigram_dropout={self.bigram_dropout}, expected 0 to below 1")


class Smear(nn.Module):
    """Mix the vectors of the last `n` tokens into each one: a causal convolution that starts at 0.

    x at t becomes x(t) + Σ W_k x(t - k) over k = 1 … n; before the start there is nothing.
    """

    def __init__(self, n: int, d_model: int):
        super().__init__()
        self.back = nn.ModuleList(nn.Linear(d_model, d_model, bias=False) for _ in range(n))
        for p in self.parameters():
            nn.init.zeros_(p)

    def forward(self, x: Float[Tensor, "B S C"]) -> Float[Tensor, "B S C"]:
        S, mixed = x.shape[1], x
        for k, linear in enumerate(self.back[:S], start=1):
            mixed = mixed + F.pad(linear(x[:, : S - k]), (0, 0, k, 0))  # (B, S, C): k zeros first
        return mixed


class BigramEmbedding(nn.Module):
    """A vector for each pair of neighbouring tokens, (previous, current), from a table of `rows`.

    With fewer rows than pairs, pairs share rows by their remainder. The first token of a text has
    none before it, and gets its row as if after token 0. In training a position lacks its vector
    with the chance `dropout`, so that the network learns to do without.
    """

    def __init__(self, rows: int, vocab_size: int, d_model: int, dropout: float = 0.0):
        super().__init__()
        self.vocab_size, self.dropout = vocab_size, dropout
        self.table = nn.Embedding(rows, d_model)

    def forward(self, ids: Int[Tensor, "B S"]) -> Float[Tensor, "B S C"]:
        ids = ids.long()  # the product below may exceed 32 bits
        previous = F.pad(ids[:, :-1], (1, 0))  # (B, S)
        pairs = self.table((previous * self.vocab_size + ids) % self.table.num_embeddings)
        if self.training and self.dropout:
            kept = torch.rand(ids.shape, device=ids.device) >= self.dropout  # (B, S)
            pairs = pairs * kept.unsqueeze(-1)
        return pairs


class Attention(nn.Module):
    """Causal self-attention, written out, with rotary positions and normalised queries and keys."""

    def __init__(self, config: SpeedrunConfig):
        super().__init__()
        c = self.config = config
        self.c_attn = nn.Linear(c.d_model, 3 * c.d_model, bias=c.bias)
        self.c_proj = nn.Linear(c.d_model, c.d_model, bias=c.bias)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        extra_values: Float[Tensor, "B T C"] | None = None,
        cache: KeyValueCache | None = None,
    ) -> Float[Tensor, "B T C"]:
        """`extra_values` are added to x's own. A `cache` holds the positions before x."""
        (B, T, _), c = x.shape, self.config
        q, k, v = self.c_attn(x).chunk(3, dim=-1)  # (B, T, C) each
        if extra_values is not None:
            v = v + extra_values
        q, k, v = (t.view(B, T, c.n_heads, -1).transpose(1, 2) for t in (q, k, v))  # (B, H, T, D)
        if c.qk_norm:
            q, k = F.layer_norm(q, q.shape[-1:]), F.layer_norm(k, k.shape[-1:])
        if c.positions == "rotary":
            offset = 0 if cache is None else len(cache)
            q, k = rotary(q, offset), rotary(k, offset)
        if cache is not None:
            cache.append(k, v)
            k, v = cache.k, cache.v
        heads, _ = self.attend(q, k, v)
        return self.c_proj(heads.transpose(1, 2).flatten(2))

    def attend(
        self,
        q: Float[Tensor, "B H T D"],
        k: Float[Tensor, "B H S D"],
        v: Float[Tensor, "B H S D"],
    ) -> tuple[Float[Tensor, "B H T D"], Float[Tensor, "B H T S"]]:
        """Values mixed by weights, and the weights. The T queries are the last of S positions."""
        T, S = q.shape[-2], k.shape[-2]
        scores = q @ k.mT / math.sqrt(q.shape[-1])  # (B, H, T, S)
        # Adding -inf is quicker to differentiate than filling with it.
        future = torch.full((T, S), -math.inf, dtype=scores.dtype, device=q.device)
        weights = (scores + future.triu(S - T + 1)).softmax(dim=-1)
        return weights @ v, weights


class MLP(nn.Module):
    """Two linear layers and a GELU, or max(0, x)², whose slope grows with x."""

    def __init__(self, config: SpeedrunConfig):
        super().__init__()
        c = self.config = config
        self.c_fc = nn.Linear(c.d_model, 4 * c.d_model, bias=c.bias)
        self.c_proj = nn.Linear(4 * c.d_model, c.d_model, bias=c.bias)

    def forward(self, x: Float[Tensor, "B T C"]) -> Float[Tensor, "B T C"]:
        x = self.c_fc(x)
        squared = self.config.activation == "relu2"
        return self.c_proj(F.relu(x).square() if squared else F.gelu(x, approximate="tanh"))


def make_norm(config: SpeedrunConfig) -> nn.LayerNorm:
    """A layer norm, with or without learned weights."""
    return nn.LayerNorm(config.d_model, elementwise_affine=config.norm_weights, bias=config.bias)


class Block(nn.Module):
    """Attention and MLP, each behind a norm, each added to the stream."""

    def __init__(self, config: SpeedrunConfig):
        super().__init__()
        self.ln_1, self.attn = make_norm(config), Attention(config)
        self.ln_2, self.mlp = make_norm(config), MLP(config)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        extra_values: Float[Tensor, "B T C"] | None = None,
        cache: KeyValueCache | None = None,
    ) -> Float[Tensor, "B T C"]:
        x = x + self.attn(self.ln_1(x), extra_values, cache)
        return x + self.mlp(self.ln_2(x))


class PreviousTokens:
    """The last `n` tokens read so far, for a text that is continued piece by piece."""

    def __init__(self, n: int):
        self.n = n
        self.ids: Tensor | None = None

    def prepend(self, ids: Int[Tensor, "B T"]) -> Int[Tensor, "B S"]:
        """Put at most n earlier tokens before `ids`, and remember the last n of all.

        Raises ValueError for a batch of another size.
        """
        if self.ids is not None:
            if len(self.ids) != len(ids):
                raise ValueError(f"the cache is for a batch of {len(self.ids)}, got {len(ids)}")
            ids = torch.cat((self.ids, ids), dim=1)
        self.ids = ids[:, max(0, ids.shape[1] - self.n) :]
        return ids


class SpeedrunGPT(nn.Module):
    """A decoder-only transformer: logits at position t depend on the tokens up to t only."""

    def __init__(self, config: SpeedrunConfig):
        super().__init__()
        c = self.config = config
        self.wte = nn.Embedding(c.vocab_size, c.d_model)
        if c.positions == "learned":
            self.wpe = nn.Embedding(c.context_length, c.d_model)
        if c.bigram_rows:
            self.bigrams = BigramEmbedding(c.bigram_rows, c.vocab_size, c.d_model, c.bigram_dropout)
        if c.embedding_norm:
            self.ln_e = make_norm(c)
        if c.smear:
            self.smear = Smear(c.smear, c.d_model)
        self.h = nn.ModuleList(Block(c) for _ in range(c.n_layers))
        if c.value_embeddings:
            self.values = nn.ModuleList(nn.Embedding(c.vocab_size, c.d_model) for _ in self.h)
        self.ln_f = make_norm(c)
        self.lm_head = nn.Linear(c.d_model, c.vocab_size, bias=False)
        if c.tied:
            self.lm_head.weight = self.wte.weight
        self.initialise()

    def initialise(self) -> None:
        """Draw the weights a run starts with: GPT-2's, or zeros and wider ones."""
        c = self.config
        into_stream = 0.02 / math.sqrt(2 * c.n_layers)
        zero = ("c_proj.weight", "lm_head.weight") if c.zero_init else ()
        for name, p in self.named_parameters():
            if name.endswith(("bias", *zero)) or name.startswith(("smear", "bigrams", "values")):
                nn.init.zeros_(p)
            elif c.wide_init and name.startswith("h.") and p.dim() == 2 and "c_proj" not in name:
                nn.init.normal_(p, std=0.5 / math.sqrt(p.shape[1]))  # about 0.02 at GPT-2's width
            elif p.dim() == 2:
                nn.init.normal_(p, std=into_stream if name.endswith("c_proj.weight") else 0.02)

    @property
    def context_length(self) -> int:
        """The most tokens that `forward` takes."""
        return self.config.context_length

    def new_cache(self) -> list[Any]:
        """An empty KeyValueCache for each block and, behind them, a PreviousTokens."""
        back = self.config.smear + (1 if self.config.bigram_rows else 0)  # smeared pairs add up
        return [*(KeyValueCache(self.context_length) for _ in self.h), PreviousTokens(back)]

    def forward(
        self, ids: Int[Tensor, "B T"], cache: list[Any] | None = None
    ) -> Float[Tensor, "B T V"]:
        """Logits of each next token; with a `cache`, ids follow the tokens that it holds.

        Raises ValueError if that is more than the context length in all.
        """
        old = len(cache[0]) if cache else 0
        S = old + ids.shape[1]
        if self.context_length < S:
            raise ValueError(
                f"got {S} tokens, expected at most context_length={self.context_length}"
            )
        x = self._embed(ids, old, cache)  # (B, T, C)
        for i, block in enumerate(self.h):
            values = self.values[i](ids) if self.config.value_embeddings else None
            x = block(x, values, cache[i] if cache else None)
        return self.lm_head(self.ln_f(x))

    def _embed(self, ids: Int[Tensor, "B T"], old: int, cache: list[Any] | None) -> Tensor:
        """What the first block reads of the T new tokens, (B, T, C)."""
        T, c = ids.shape[1], self.config
        if cache:
            ids = cache[-1].prepend(ids)  # (B, S): the last T of them are new
        x = self.wte(ids)  # (B, S, C)
        if c.bigram_rows:
            x = x + self.bigrams(ids)
        if c.embedding_norm:
            x = self.ln_e(x)
        if c.smear:
            x = self.smear(x)
        x = x[:, -T:]
        if c.positions == "learned":
            places = torch.arange(old, old + T, device=ids.device)
            x = x + self.wpe(places)  # (B, T, C) + (T, C)
        return x

    def save(self, folder: str | Path) -> None:
        """Write config.json and model.safetensors, which `from_pretrained` reads, to `folder`."""
        save_model(folder, self)

    @classmethod
    def from_pretrained(cls, source: str | Path) -> "SpeedrunGPT":
        """A model that `save` wrote to a folder, or a GPT-2; errors are those of GPT's."""
        return load_model(source, cls, SpeedrunConfig)
