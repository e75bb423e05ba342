"""Cases that are drawn: other sizes, signs, orders and ties, and the same ones every time."""

import functools
import random
from collections.abc import Callable
from typing import Any


def drawn(n: int, make: Callable[[random.Random], Any]) -> Callable[..., list]:
    """A function that gives n cases; `make` draws one, with a seed of its own.

    They stand beside the cases of a table that are written out, and refuse what those let pass.
    Called with another number to start the seeds at, it gives n others (for a grade).
    """
    return functools.cache(lambda start=0: [make(random.Random(start + i)) for i in range(n)])


def normal(draw: random.Random, *shape: int, scale: float = 1.0) -> Any:
    """A float32 tensor of normal numbers, drawn from the same source."""
    import torch

    generator = torch.Generator().manual_seed(draw.getrandbits(32))
    return scale * torch.randn(shape, generator=generator)


def integers(draw: random.Random, end: int, *shape: int) -> Any:
    """An int64 tensor of ids from 0 to below `end`."""
    import torch

    return torch.randint(end, shape, generator=torch.Generator().manual_seed(draw.getrandbits(32)))
