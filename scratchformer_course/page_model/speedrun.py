"""The speedrun's model: a GPT with what has been found since GPT-2, to be read from top to bottom.

Each idea has a switch in `SpeedrunConfig`, so that its worth can be measured. With all of them
off, this is GPT without dropout, and with other settings it is Llama; tests hold both. Beside what
chapter 19 tells of Llama:

- rotary positions in place of a learned table (Su et al. 2021)
- queries and keys normalised before they meet (Henry et al. 2020; Dehghani et al. 2023)
- squared ReLU in place of GELU (So et al. 2021)
- norms without learned weights, and a norm of the embeddings
- what adds to the stream starts at zero (Zhang et al. 2019), and so does an untied output head
- smear and bigram embeddings: the last tokens, ahead of any attention (Jordan et al. 2024)
- value embeddings: every block sees the token itself in its values (Zhou et al. 2024)

Attention is written out as the equation. On a CPU, for
short texts in bfloat16, that takes a third of the time of PyTorch's fused kernel, at 256 positions
two thirds.
"""

import math
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from scratchformer.attention import KeyValueCache
from scratchformer.models.llama import SwiGLU, rotate_halves
from scratchformer.models.pretrained import load_model, save_model
from scratchformer.positions import rotary
from scratchformer_course.page_model.experts import Experts
from scratchformer_course.page_model.speedrun_config import SpeedrunConfig

__all__ = ["SpeedrunConfig", "SpeedrunGPT"]


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
    """Causal self-attention, written out, with the switches that concern it."""

    def __init__(self, config: SpeedrunConfig):
        super().__init__()
        c = self.config = config
        self.widths = (c.d_model, c.kv_heads * c.D, c.kv_heads * c.D)  # of queries, keys, values
        self.c_attn = nn.Linear(c.d_model, sum(self.widths), bias=c.bias)
        self.c_proj = nn.Linear(c.d_model, c.d_model, bias=c.bias)
        if c.qk_norm_weights:
            self.q_norm, self.k_norm = nn.RMSNorm(c.D, eps=1e-5), nn.RMSNorm(c.D, eps=1e-5)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        extra_values: Float[Tensor, "B T C"] | None = None,
        cache: KeyValueCache | None = None,
    ) -> Float[Tensor, "B T C"]:
        """`extra_values` are added to x's own. A `cache` holds the positions before x."""
        c = self.config
        q, k, v = self.c_attn(x).split(self.widths, dim=-1)
        if extra_values is not None:
            v = v + extra_values
        q, k, v = (t.unflatten(-1, (-1, c.D)).transpose(1, 2) for t in (q, k, v))
        if c.qk_norm_weights:
            q, k = self.q_norm(q), self.k_norm(k)
        elif c.qk_norm:
            q, k = F.layer_norm(q, q.shape[-1:]), F.layer_norm(k, k.shape[-1:])
        offset = 0 if cache is None else len(cache)
        if c.positions == "rotary":
            q, k = rotary(q, offset), rotary(k, offset)
        elif c.positions == "rotary_halves":
            q, k = (rotate_halves(t, offset, 10_000.0) for t in (q, k))
        if cache is not None:
            cache.append(k, v)
            k, v = cache.k, cache.v
        group = c.n_heads // c.kv_heads
        if group > 1:
            k, v = (t.repeat_interleave(group, dim=1) for t in (k, v))
        explicit = c.explicit_attention and c.window is None
        heads, _ = self.attend(q, k, v) if explicit else self.attend_fused(q, k, v)
        return self.c_proj(heads.transpose(1, 2).flatten(2))

    def attend_fused(
        self,
        q: Float[Tensor, "B H T D"],
        k: Float[Tensor, "B H S D"],
        v: Float[Tensor, "B H S D"],
    ) -> tuple[Float[Tensor, "B H T D"], None]:
        """What `attend` gives, by PyTorch's kernel, in a window or without: no weights."""
        (T, S), window = (q.shape[-2], k.shape[-2]), self.config.window
        if T == S and (window is None or window >= T):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True), None
        seen = torch.ones(T, S, dtype=torch.bool, device=q.device).tril(S - T)
        seen = seen if window is None else seen.triu(S - T + 1 - window)
        return F.scaled_dot_product_attention(q, k, v, seen), None

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

    def __init__(self, config: SpeedrunConfig, d_ff: int):
        super().__init__()
        c = self.config = config
        self.c_fc = nn.Linear(c.d_model, d_ff, bias=c.bias)
        self.c_proj = nn.Linear(d_ff, c.d_model, bias=c.bias)

    def forward(self, x: Float[Tensor, "*batch C"]) -> Float[Tensor, "*batch C"]:
        x = self.c_fc(x)
        squared = self.config.activation == "relu2"
        return self.c_proj(F.relu(x).square() if squared else F.gelu(x, approximate="tanh"))


def make_norm(config: SpeedrunConfig) -> nn.Module:
    """A norm of the stream, with or without learned weights."""
    C, weights = config.d_model, config.norm_weights
    if config.norm == "rms":
        return nn.RMSNorm(C, eps=1e-5, elementwise_affine=weights)
    return nn.LayerNorm(C, elementwise_affine=weights, bias=config.bias)


def make_network(config: SpeedrunConfig) -> nn.Module:
    """A block's feed-forward network, or experts with as many operations a token."""
    c, share = config, config.n_active if config.n_experts else 1

    def make() -> nn.Module:
        if c.activation == "swiglu":  # about as many weights as the two matrices of MLP
            return SwiGLU(c.d_model, round(8 * c.d_model / 3) // share)
        return MLP(c, 4 * c.d_model // share)

    return Experts(c.d_model, c.n_experts, c.n_active, make) if c.n_experts else make()


class Block(nn.Module):
    """Attention and MLP, each behind a norm, each added to the stream."""

    def __init__(self, config: SpeedrunConfig):
        super().__init__()
        self.ln_1, self.attn = make_norm(config), Attention(config)
        self.ln_2, self.mlp = make_norm(config), make_network(config)

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
        for name, p in self.named_parameters():
            adds = name.endswith(("c_proj.weight", "down_proj.weight"))
            zero = c.zero_init and (adds or name == "lm_head.weight")
            if zero or name.endswith("bias") or name.startswith(("smear", "bigrams", "values")):
                nn.init.zeros_(p)
            elif c.wide_init and name.startswith("h.") and p.dim() == 2 and not adds:
                nn.init.normal_(p, std=0.5 / math.sqrt(p.shape[1]))  # about 0.02 at GPT-2's width
            elif p.dim() == 2:
                nn.init.normal_(p, std=into_stream if adds else 0.02)

    @property
    def context_length(self) -> int:
        """The most tokens that `forward` takes."""
        return self.config.context_length

    @property
    def balance(self) -> Tensor:
        """The routers' losses of the last call, together; zero without experts."""
        routers = [m.balance for m in self.modules() if isinstance(m, Experts)]
        return torch.stack(routers).sum() if routers else torch.zeros(())

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
