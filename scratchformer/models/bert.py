"""BERT: post-norm blocks in which every token sees every other, and a head that fills in blanks.

Architecture and initialisation are those of Devlin et al. 2019, names as in `GPT`. There is no
pooler: a classifier puts a layer of its own on `encode`. Hiding tokens is `data.masking`'s job.
"""

from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from scratchformer.blocks import TransformerBlock, check_sizes
from scratchformer.data.real_model import MINILM, find_real_model
from scratchformer.models.bert_files import bert_from_hugging_face
from scratchformer.models.pretrained import load_model, save_model
from scratchformer.shipped import shipped_folder

NORM_EPS = 1e-12  # of all layer norms (Devlin et al. 2019, their code)


@dataclass(frozen=True)
class BERTConfig:
    """The size of a BERT. Raises ValueError for a size that cannot be built."""

    vocab_size: int  # special tokens such as [MASK] included
    context_length: int  # positions that have an embedding: the longest input
    d_model: int  # width of the stream of vectors
    n_heads: int  # attention patterns side by side in a block; each d_model / n_heads wide
    n_layers: int  # blocks on top of each other
    dropout: float = 0.0  # BERT has 0.1; a short run needs none
    n_segments: int = 2  # parts of an input told apart by an embedding: sentence A, sentence B
    d_ff: int | None = None  # inner width of the feed-forward network, 4 d_model if None

    def __post_init__(self):
        check_sizes(self, "n_segments", "d_ff")


class BERT(nn.Module):
    """An encoder: the vector, and the logits, at each position depend on the whole input."""

    def __init__(self, config: BERTConfig):
        super().__init__()
        c = self.config = config
        self.wte = nn.Embedding(c.vocab_size, c.d_model)
        self.wpe = nn.Embedding(c.context_length, c.d_model)
        self.wse = nn.Embedding(c.n_segments, c.d_model)
        self.ln_e = nn.LayerNorm(c.d_model)
        self.drop = nn.Dropout(c.dropout)
        self.h = nn.ModuleList(
            TransformerBlock(
                c.d_model, c.n_heads, c.dropout, norm_first=False, d_ff=c.d_ff, activation="gelu"
            )
            for _ in range(c.n_layers)
        )
        # The masked-token head: one more layer, then the tied embedding and a bias for each token.
        self.transform = nn.Sequential(
            nn.Linear(c.d_model, c.d_model), nn.GELU(), nn.LayerNorm(c.d_model)
        )
        self.lm_head = nn.Linear(c.d_model, c.vocab_size)
        self.lm_head.weight = self.wte.weight
        for module in self.modules():
            if isinstance(module, nn.LayerNorm):
                module.eps = NORM_EPS
        for name, p in self.named_parameters():
            if p.dim() >= 2:
                nn.init.normal_(p, std=0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(p)

    @property
    def context_length(self) -> int:
        """The most tokens that `forward` takes."""
        return self.config.context_length

    def encode(
        self,
        ids: Int[Tensor, "B T"],
        segments: Int[Tensor, "B T"] | None = None,
        mask: Bool[Tensor, "... #T #T"] | None = None,
    ) -> Float[Tensor, "B T C"]:
        """A vector for each token. `segments` says which part it belongs to, all to 0 by default.

        `mask` is True where a token (row) may attend to another (column); pass
        `padding_mask(ids, pad_id)` when there is padding. Raises ValueError for too long an input.
        """
        T = ids.shape[1]
        if self.context_length < T:
            raise ValueError(
                f"got {T} tokens, expected at most context_length={self.context_length}"
            )
        if segments is None:
            segments = torch.zeros_like(ids)
        positions = torch.arange(T, device=ids.device)
        x = self.wte(ids) + self.wpe(positions) + self.wse(segments)  # (B, T, C)
        x = self.drop(self.ln_e(x))
        for block in self.h:
            x = block(x, mask)
        return x

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        segments: Int[Tensor, "B T"] | None = None,
        mask: Bool[Tensor, "... #T #T"] | None = None,
    ) -> Float[Tensor, "B T V"]:
        """Logits for what stands, or stood, at each position; arguments as in `encode`."""
        return self.lm_head(self.transform(self.encode(ids, segments, mask)))

    def save(self, folder: str | Path) -> None:
        """Write config.json and model.safetensors, which `from_pretrained` reads, to `folder`."""
        save_model(folder, self)

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> "BERT":
        """A BERT that `save` has written. Raises ValueError for files that do not fit."""
        return load_model(folder, cls, BERTConfig)

    @classmethod
    def pretrained(cls, name: str) -> "BERT":
        """A small BERT that travels with the package, or a published one, whose files are fetched.

        "english-german": a word a token, and the words are in `shipped_words(name)`. Its weights
        are float16 on disk and float32 here. "all-minilm-l6-v2": 22,565,376 weights of
        sentence-transformers, made for `encode` alone; its tokenizer is `WordPiece.pretrained`.
        Raises ValueError for another name, and OSError for files that cannot be had.
        """
        if name == MINILM:
            folder = find_real_model(name).parent
            return load_model(folder, cls, BERTConfig, bert_from_hugging_face)
        return cls.from_pretrained(shipped_folder(name))
