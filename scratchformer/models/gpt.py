"""GPT: token and position embeddings, a stack of causal blocks, logits for the next token.

Architecture, initialisation and parameter names are GPT-2's (Radford et al. 2019), and nothing
else is here: what has been found since has a model of its own. Losses belong to training and
sampling to generation.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from scratchformer.attention import KeyValueCache
from scratchformer.blocks import TransformerBlock, check_sizes
from scratchformer.models.pretrained import load_model, save_model
from scratchformer.shipped import shipped_folder


@dataclass(frozen=True)
class GPTConfig:
    """The size of a GPT. Raises ValueError for a size that cannot be built."""

    vocab_size: int  # rows of the embedding, and logits for each position: the tokenizer decides
    context_length: int  # the furthest a prediction can look back; cost grows with its square
    d_model: int  # width of the stream of vectors that all blocks read from and add to
    n_heads: int  # attention patterns side by side in a block; each d_model / n_heads wide
    n_layers: int  # blocks on top of each other: steps of computation for each token
    dropout: float = 0.0  # for a corpus seen many times over; a short run needs none
    bias: bool = True  # GPT-2 has biases in linear layers and norms; False is as good, and faster

    def __post_init__(self):
        check_sizes(self)


class GPT(nn.Module):
    """A decoder-only transformer: logits at position t depend on the tokens up to t only."""

    def __init__(self, config: GPTConfig):
        super().__init__()
        c = self.config = config
        self.wte = nn.Embedding(c.vocab_size, c.d_model)
        self.wpe = nn.Embedding(c.context_length, c.d_model)
        self.drop = nn.Dropout(c.dropout)
        self.h = nn.ModuleList(
            TransformerBlock(c.d_model, c.n_heads, c.dropout, c.bias) for _ in range(c.n_layers)
        )
        self.ln_f = nn.LayerNorm(c.d_model, bias=c.bias)
        self.lm_head = nn.Linear(c.d_model, c.vocab_size, bias=False)
        self.lm_head.weight = self.wte.weight  # tied: a token is read and written the same way
        self._initialise()

    def _initialise(self) -> None:
        # 2 n_layers projections add to the stream. Scaled down, all of them together start as
        # large as one that is not (Radford et al. 2019, section 2.3).
        into_stream = 0.02 / math.sqrt(2 * self.config.n_layers)
        for name, p in self.named_parameters():
            if name.endswith("bias"):
                nn.init.zeros_(p)
            elif p.dim() == 2:
                nn.init.normal_(p, std=into_stream if name.endswith("c_proj.weight") else 0.02)

    @property
    def context_length(self) -> int:
        """The most tokens that `forward` takes."""
        return self.config.context_length

    def new_cache(self) -> list[KeyValueCache]:
        """An empty cache for each block, to be given to `forward` again and again."""
        return [KeyValueCache(self.context_length) for _ in self.h]

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        cache: list[KeyValueCache] | None = None,
        mask: Bool[Tensor, "B S"] | None = None,
    ) -> Float[Tensor, "B T V"]:
        """Logits: those at place t are for the token after it.

        With a `cache`, ids follow the tokens that it holds: S = cached tokens + T. `mask`, True
        for real tokens, hides padding among all S, wherever it stands. Positions count real
        tokens only, so that padding changes no real token's logits. Raises
        ValueError for more than `context_length` tokens or a mask of another shape.
        """
        old = len(cache[0]) if cache else 0
        S = old + ids.shape[1]
        if self.context_length < S:
            raise ValueError(
                f"got {S} tokens, expected at most context_length={self.context_length}"
            )
        if mask is None:
            positions = torch.arange(old, S, device=ids.device)  # (T,)
        else:
            if mask.dtype != torch.bool:
                raise ValueError(f"mask has dtype {mask.dtype}, expected torch.bool (True = real)")
            if mask.shape != (len(ids), S):
                raise ValueError(f"mask has shape {tuple(mask.shape)}, expected {(len(ids), S)}")
            positions = (mask.cumsum(dim=1) - 1).clamp(min=0)[:, old:]  # (B, T)
            mask = mask.unsqueeze(1)  # (B, 1, S): the same for every query
        x = self.drop(self.wte(ids) + self.wpe(positions))  # (B, T, C)
        for i, block in enumerate(self.h):
            x = block(x, mask, cache=cache[i] if cache else None, is_causal=True)
        return self.lm_head(self.ln_f(x))

    def save(self, folder: str | Path) -> None:
        """Write config.json and model.safetensors, which `from_pretrained` reads, to `folder`."""
        save_model(folder, self)

    @classmethod
    def from_pretrained(cls, source: str | Path) -> "GPT":
        """A GPT with weights from a folder, `save`'s or Hugging Face's GPT-2, or from their hub.

        A `source` that is no folder, such as "gpt2" (0.5 GB), is downloaded once by
        huggingface_hub. Raises ValueError for another architecture or files that do not fit, and
        OSError, which says what to do, if the source cannot be had.
        """
        return load_model(source, cls, GPTConfig)

    @classmethod
    def pretrained(cls, name: str) -> "GPT":
        """A small GPT that travels with the package: "tiny-shakespeare", a character a token.

        Its tokenizer is `CharTokenizer.pretrained(name)`. Its weights are float16 on disk and
        float32 here. Raises ValueError for another name.
        """
        return cls.from_pretrained(shipped_folder(name))
