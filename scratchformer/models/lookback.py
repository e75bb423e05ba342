"""What a token's vector takes from the tokens just before it, ahead of any attention.

Options of the GPT in chapter 14: next to nothing to compute, and the first block need not learn to
look one place back. Only tokens before come in, so the model stays causal.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn


class Smear(nn.Module):
    """Mix the vectors of the last `n` tokens into each one: a causal convolution that starts at 0.

    x at t becomes x(t) + Σ W_k x(t - k) over k = 1 … n; before the start there is nothing.
    """

    def __init__(self, n: int, d_model: int):
        super().__init__()
        self.back = nn.ModuleList(nn.Linear(d_model, d_model, bias=False) for _ in range(n))
        for linear in self.back:
            nn.init.zeros_(linear.weight)

    def forward(self, x: Float[Tensor, "B S C"]) -> Float[Tensor, "B S C"]:
        S, mixed = x.shape[1], x
        for k, linear in enumerate(self.back[:S], start=1):
            mixed = mixed + F.pad(linear(x[:, : S - k]), (0, 0, k, 0))  # (B, S, C): k zeros first
        return mixed


class BigramEmbedding(nn.Module):
    """A vector for each pair of neighbouring tokens, (previous, current), from a table of `rows`.

    With fewer rows than pairs, pairs share rows by their remainder. The first token of a text,
    which has none before it, gets its row as if after token 0.
    """

    def __init__(self, rows: int, vocab_size: int, d_model: int):
        super().__init__()
        self.vocab_size = vocab_size
        self.table = nn.Embedding(rows, d_model)

    def forward(self, ids: Int[Tensor, "B S"]) -> Float[Tensor, "B S C"]:
        ids = ids.long()  # the product below may exceed 32 bits
        previous = F.pad(ids[:, :-1], (1, 0))  # (B, S)
        return self.table((previous * self.vocab_size + ids) % self.table.num_embeddings)


class PreviousTokens:
    """The last `n` tokens read so far, for a text that is continued piece by piece."""

    def __init__(self, n: int):
        self.n, self.ids = n, None

    def prepend(self, ids: Int[Tensor, "B T"]) -> Int[Tensor, "B S"]:
        """Those kept before `ids`, S = T + at most n; then the last n of all are kept.

        Raises ValueError for a batch of another size.
        """
        if self.ids is not None:
            if len(self.ids) != len(ids):
                raise ValueError(f"the cache is of a batch of {len(self.ids)}, got {len(ids)}")
            ids = torch.cat((self.ids, ids), dim=1)
        self.ids = ids[:, max(0, ids.shape[1] - self.n) :]
        return ids
