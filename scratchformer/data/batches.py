"""Batches of windows out of one long row of token ids: drawn at random, or dealt like cards.

Nothing is padded or moved to another device.
"""

import torch
from jaxtyping import Int64, Integer
from torch import Tensor


def random_batch(
    ids: Integer[Tensor, "N"],
    batch_size: int,
    context_length: int,
    generator: torch.Generator | None = None,
) -> tuple[Int64[Tensor, "B T"], Int64[Tensor, "B T"]]:
    """Inputs x and targets y: B windows of T = `context_length` ids, y one position later than x.

    Every start is equally likely, and windows may overlap. Raises ValueError if `ids` does not
    hold one window and its last target.
    """
    if not 0 < context_length < len(ids):
        raise ValueError(
            f"context_length={context_length} must be at least 1, and less than the number of "
            f"ids, {len(ids)}: the last target lies one past the window"
        )
    starts = torch.randint(len(ids) - context_length, (batch_size,), generator=generator)
    index = starts[:, None] + torch.arange(context_length)  # (B, 1) + (T,) -> (B, T)
    return ids[index].long(), ids[index + 1].long()


class Dealer:
    """Batches in which, pass by pass over `ids`, no window comes twice: like cards of a deck.

    Each pass cuts `ids` into consecutive windows from a random offset on and deals them in random
    order; the few left over when no whole batch remains are not used in that pass. Batch number
    `position` depends on the `seed` and the number alone. Raises ValueError if `ids` are too few
    for one batch, or a size is below 1.
    """

    def __init__(self, ids: Integer[Tensor, "N"], batch_size: int, context_length: int, seed: int):
        if batch_size < 1 or context_length < 1:
            sizes = f"batch_size={batch_size}, context_length={context_length}"
            raise ValueError(f"{sizes}, expected at least 1")
        self.windows = (len(ids) - context_length) // context_length  # whatever the offset
        self.batches = self.windows // batch_size  # in a pass
        if self.batches < 1:
            raise ValueError(
                f"got {len(ids)} ids, expected at least {(batch_size + 1) * context_length} for "
                f"a batch of {batch_size} windows of {context_length} without a repetition"
            )
        self.ids, self.batch_size, self.context_length = ids, batch_size, context_length
        self.seed, self.position, self.deck = seed, 0, (None, None)  # deck: its pass, its starts

    def __call__(
        self, generator: torch.Generator | None = None
    ) -> tuple[Int64[Tensor, "B T"], Int64[Tensor, "B T"]]:
        """The next x and y, as `random_batch` gives them; the `generator` has no say."""
        B, T = self.batch_size, self.context_length
        number, batch = divmod(self.position, self.batches)
        if self.deck[0] != number:
            shuffle = torch.Generator().manual_seed(1_000_003 * self.seed + number)
            offset = torch.randint(T, (), generator=shuffle)
            self.deck = number, offset + T * torch.randperm(self.windows, generator=shuffle)
        starts = self.deck[1][batch * B : (batch + 1) * B]  # (B,)
        self.position += 1
        index = starts[:, None] + torch.arange(T)  # (B, T)
        return self.ids[index].long(), self.ids[index + 1].long()
