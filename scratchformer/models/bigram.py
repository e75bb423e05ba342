"""The bigram model: the next token depends on the current one alone, through a table of logits."""

from jaxtyping import Float, Int
from torch import Tensor, nn


class Bigram(nn.Module):
    """Row i of a (V, V) table holds the logits of what follows token i."""

    context_length = 1  # tokens that a prediction looks at; a longer input is welcome

    def __init__(self, vocab_size: int):
        super().__init__()
        self.table = nn.Embedding(vocab_size, vocab_size)

    def forward(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        return self.table(ids)
