"""Cases that are drawn: other sizes, signs and orders, a far larger one, and one of ties."""

import functools
import random
from collections.abc import Callable
from typing import Any


class Draw(random.Random):
    """What a case is drawn from. One case of a table `is_large`, and another one `has_ties`."""

    is_large = has_ties = False

    def size(self, least: int, most: int, large: int) -> int:
        """A whole number from `least` to `most`, but `large` in the large case."""
        usual = self.randint(least, most)
        return large if self.is_large else usual


def drawn(n: int, make: Callable[[Draw], Any], *, ties: bool = True) -> Callable[..., list]:
    """A function that gives n cases; `make` draws one, with a seed of its own.

    They stand beside the cases of a table that are written out, and refuse what those let pass. The
    last one is large (`Draw.size`), and in the one before it `normal` gives whole multiples of its
    scale, many of which are equal or 0. Let `ties` be False where several answers to those are
    right. Called with another number to start the seeds at, it gives n others (for a grade).
    """

    def case(seed: int, place: int) -> Any:
        draw = Draw(seed)
        draw.is_large, draw.has_ties = place == n - 1, ties and place == n - 2
        return make(draw)

    return functools.cache(lambda start=0: [case(start + i, i) for i in range(n)])


def normal(draw: Draw, *shape: int, scale: float = 1.0) -> Any:
    """A float32 tensor of normal numbers, drawn from the same source."""
    import torch

    generator = torch.Generator().manual_seed(draw.getrandbits(32))
    numbers = torch.randn(shape, generator=generator)
    return scale * (numbers.round() + 0.0 if draw.has_ties else numbers)


def integers(draw: random.Random, end: int, *shape: int) -> Any:
    """An int64 tensor of ids from 0 to below `end`."""
    import torch

    return torch.randint(end, shape, generator=torch.Generator().manual_seed(draw.getrandbits(32)))
