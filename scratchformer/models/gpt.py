"""GPT: token and position embeddings, a stack of causal blocks, logits for the next token.

Architecture, initialisation and parameter names are GPT-2's (Radford et al. 2019); what has been
found since is an option, off by default, that chapter 14 explains and measures. Losses belong to
training and sampling to generation.
"""

import math
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from scratchformer.attention import KeyValueCache
from scratchformer.blocks import TransformerBlock, make_norm
from scratchformer.models.lookback import BigramEmbedding, PreviousTokens, Smear
from scratchformer.models.pretrained import (
    from_hugging_face,
    load_tensors,
    read_model,
    save_model,
)
from scratchformer.models.sizes import check_sizes


@dataclass(frozen=True)
class GPTConfig:
    """The size of a GPT and its options. Raises ValueError for sizes that cannot be built."""

    vocab_size: int  # rows of the embedding, and logits for each position: the tokenizer decides
    context_length: int  # the furthest a prediction can look back; cost grows with its square
    d_model: int  # width of the stream of vectors that all blocks read from and add to
    n_heads: int  # attention patterns side by side in a block; each d_model / n_heads wide
    n_layers: int  # blocks on top of each other: steps of computation for each token
    dropout: float = 0.0  # for a corpus seen many times over; a short run needs none
    bias: bool = True  # GPT-2 has biases in linear layers and norms; False is as good, and faster
    # Options younger than GPT-2
    norm: str = "layer"  # or "rms"
    norm_weights: bool = True  # a learned factor for each channel after a norm
    embedding_norm: bool = False  # the sum of a token's embeddings is normalised too
    activation: str = "gelu_tanh"  # "relu2", "swiglu" and others: `blocks.ACTIVATIONS`
    positions: str = "learned"  # or "rotary"
    n_kv_heads: int | None = None  # fewer than n_heads share keys and values: a smaller cache
    qk_norm: bool = False  # queries and keys of one size: attention saturates later
    explicit_attention: bool = False  # no fused kernel: faster on a CPU for short bfloat16 texts
    tied: bool = True  # False: the output head has a matrix of its own
    zero_init: bool = False  # what adds to the stream starts at 0, an untied head too
    smear: int = 0  # how many previous tokens are mixed into each, by a matrix for each distance
    bigram_rows: int = 0  # rows of a table with a vector for each pair of tokens
    value_embeddings: bool = False  # each block adds a vector of the token's own to its values

    def __post_init__(self):
        sizes = ("vocab_size", "context_length", "d_model", "n_heads", "n_layers", "n_kv_heads")
        check_sizes(self, *sizes)
        if self.n_kv_heads and self.n_heads % self.n_kv_heads:
            raise ValueError(
                f"n_heads={self.n_heads} is not divisible by n_kv_heads={self.n_kv_heads}"
            )
        if self.positions not in ("learned", "rotary"):
            raise ValueError(f"positions={self.positions!r}, expected 'learned' or 'rotary'")
        for name in ("smear", "bigram_rows"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}={getattr(self, name)}, expected 0 (none) or more")


class GPT(nn.Module):
    """A decoder-only transformer: logits at position t depend on the tokens up to t only."""

    def __init__(self, config: GPTConfig):
        super().__init__()
        c = self.config = config
        self.wte = nn.Embedding(c.vocab_size, c.d_model)
        if c.positions == "learned":
            self.wpe = nn.Embedding(c.context_length, c.d_model)
        if c.bigram_rows:
            self.bigrams = BigramEmbedding(c.bigram_rows, c.vocab_size, c.d_model)
        if c.embedding_norm:
            self.ln_e = make_norm(c.d_model, c.norm, c.norm_weights, c.bias)
        if c.smear:
            self.smear = Smear(c.smear, c.d_model)
        self.drop = nn.Dropout(c.dropout)
        options = {"norm_kind": c.norm, "norm_weights": c.norm_weights, "activation": c.activation}
        options |= {"n_kv_heads": c.n_kv_heads, "qk_norm": c.qk_norm}
        options |= {"rotary": c.positions == "rotary", "explicit": c.explicit_attention}
        self.h = nn.ModuleList(
            TransformerBlock(c.d_model, c.n_heads, c.dropout, c.bias, **options)
            for _ in range(c.n_layers)
        )
        if c.value_embeddings:
            width = c.d_model // c.n_heads * (c.n_kv_heads or c.n_heads)
            self.values = nn.ModuleList(nn.Embedding(c.vocab_size, width) for _ in self.h)
        self.ln_f = make_norm(c.d_model, c.norm, c.norm_weights, c.bias)
        self.lm_head = nn.Linear(c.d_model, c.vocab_size, bias=False)
        if c.tied:
            self.lm_head.weight = self.wte.weight  # a token is read and written the same way
        self._initialise()

    def _initialise(self) -> None:
        c = self.config
        # 2 n_layers projections add to the stream; scaled down, their sum starts no larger
        # than one of them would (Radford et al. 2019, section 2.3).
        into_stream = 0.02 / math.sqrt(2 * c.n_layers)
        zero = ("c_proj.weight", "lm_head.weight") if c.zero_init else ()
        for name, p in self.named_parameters():
            if name.endswith(("bias", *zero)) or name.startswith(("smear", "bigrams", "values")):
                nn.init.zeros_(p)
            elif c.zero_init and name.startswith("h.") and p.dim() == 2:
                nn.init.normal_(p, std=0.5 / math.sqrt(p.shape[1]))  # about 0.02 at GPT-2's width
            elif p.dim() >= 2:
                nn.init.normal_(p, std=into_stream if name.endswith("c_proj.weight") else 0.02)

    @property
    def context_length(self) -> int:
        """The most tokens that `forward` takes."""
        return self.config.context_length

    def new_cache(self) -> list[KeyValueCache | PreviousTokens]:
        """An empty cache for each block, to be given to `forward` again and again.

        Behind them, a model whose embeddings look back keeps the previous tokens.
        """
        caches = [KeyValueCache(self.context_length) for _ in self.h]
        back = self.config.smear + (1 if self.config.bigram_rows else 0)  # smeared pairs add up
        return [*caches, PreviousTokens(back)] if back else caches

    def forward(
        self, ids: Int[Tensor, "B T"], cache: list[KeyValueCache | PreviousTokens] | None = None
    ) -> Float[Tensor, "B T V"]:
        """Logits of each next token; with a `cache`, ids follow the positions that it holds.

        Raises ValueError if that is more than the context length in all.
        """
        kept = len(cache[0]) if cache else 0
        S = kept + ids.shape[1]
        if self.context_length < S:
            raise ValueError(
                f"got {S} tokens, expected at most context_length={self.context_length}"
            )
        x = self.drop(self._embed(ids, kept, cache))  # (B, T, C)
        for i, block in enumerate(self.h):
            values = self.values[i](ids) if self.config.value_embeddings else None
            x = block(x, causal=True, cache=cache[i] if cache else None, extra_values=values)
        return self.lm_head(self.ln_f(x))

    def _embed(self, ids: Tensor, kept: int, cache: list | None) -> Tensor:
        """What the first block reads of the T new tokens, (B, T, C)."""
        T, c = ids.shape[1], self.config
        if cache and (c.smear or c.bigram_rows):
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
            x = x + self.wpe(torch.arange(kept, kept + T, device=ids.device))  # (B, T, C) + (T, C)
        return x

    def save(self, folder: str | Path) -> None:
        """Write config.json and model.safetensors, which `from_pretrained` reads, to `folder`."""
        save_model(folder, self, asdict(self.config))

    @classmethod
    def from_pretrained(cls, source: str | Path) -> "GPT":
        """A GPT with weights from a folder, `save`'s or Hugging Face's GPT-2, or from their hub.

        A `source` that is no folder, such as "gpt2" (0.5 GB), is downloaded once by
        huggingface_hub. Raises ValueError for another architecture or files that do not fit, and
        OSError, which says what to do, if the source cannot be had.
        """
        config, weights = read_model(source)
        try:
            if "model_type" in config:  # Hugging Face's
                config, weights = from_hugging_face(config, weights)
            model = cls(GPTConfig(**config))
        except (TypeError, KeyError) as error:
            raise ValueError(f"{source} holds no GPT: {error!r} in its config.json") from error
        load_tensors(dict(model.named_parameters()), weights, source)
        return model.eval()
