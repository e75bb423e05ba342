"""Random batches of windows out of one long row of token ids.

It does not shuffle, pad or move anything to another device.
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
