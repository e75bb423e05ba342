"""Batches of windows out of one long row of token ids, and samplers that can be resumed.

A sampler is an endless iterator with PyTorch's `state_dict()` and `load_state_dict()`: one that has
loaded a state goes on with the batch that would have come next. Nothing is padded or moved to a
device.
"""

from collections.abc import Callable

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
    _check_context(ids, context_length)
    starts = torch.randint(len(ids) - context_length, (batch_size,), generator=generator)
    return _windows_at(ids, starts, context_length)


class RandomBatches:
    """A sampler of what a function draws: `draw(generator)` returns a tuple of tensors.

    All randomness must come from the generator, which `seed` starts.
    """

    def __init__(self, draw: Callable[[torch.Generator], tuple[Tensor, ...]], seed: int):
        if not callable(draw):
            raise TypeError(
                f"got a {type(draw).__name__}, expected a sampler or a drawing function"
            )
        self.draw, self.generator = draw, torch.Generator().manual_seed(seed)

    def __iter__(self) -> "RandomBatches":
        return self

    def __next__(self) -> tuple[Tensor, ...]:
        return self.draw(self.generator)

    def state_dict(self) -> dict[str, Tensor]:
        """The state of the generator."""
        return {"generator": self.generator.get_state()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Go on where `state` was taken."""
        self.generator.set_state(state["generator"])


class WindowSampler:
    """A sampler of windows: pairs x and y of shape (B, T), as `random_batch` gives them.

    With `replacement` every window is drawn at random. Without it, no token is an input twice in
    one pass over `ids`: each pass cuts `ids` into consecutive windows from a random offset on, and
    takes them in random order. The few windows that do not fill a batch are left out of the pass.
    Raises ValueError if `ids` are too few for one batch, or a size is below 1.
    """

    def __init__(
        self,
        ids: Integer[Tensor, "N"],
        batch_size: int,
        context_length: int,
        seed: int,
        replacement: bool = True,
    ):
        if batch_size < 1:
            raise ValueError(f"batch_size={batch_size}, expected at least 1")
        _check_context(ids, context_length)
        self.ids, self.batch_size, self.context_length = ids, batch_size, context_length
        self.seed, self.replacement = seed, replacement
        self.generator = torch.Generator().manual_seed(seed)
        self.position = 0  # how many batches have been taken
        self.windows_per_pass = (len(ids) - context_length) // context_length  # at any offset
        self.batches_per_pass = self.windows_per_pass // batch_size
        self._pass: tuple[int, Tensor] | None = None  # its number, and the starts of its windows
        if not replacement and self.batches_per_pass < 1:
            raise ValueError(
                f"got {len(ids)} ids, expected at least {(batch_size + 1) * context_length} for "
                f"a batch of {batch_size} windows of {context_length} without replacement"
            )

    def __iter__(self) -> "WindowSampler":
        return self

    def __next__(self) -> tuple[Int64[Tensor, "B T"], Int64[Tensor, "B T"]]:
        position, self.position = self.position, self.position + 1
        B, T = self.batch_size, self.context_length
        if self.replacement:
            return random_batch(self.ids, B, T, self.generator)
        epoch, batch = divmod(position, self.batches_per_pass)
        if self._pass is None or self._pass[0] != epoch:
            self._pass = epoch, self._shuffled_starts(epoch)
        return _windows_at(self.ids, self._pass[1][batch * B : (batch + 1) * B], T)

    def _shuffled_starts(self, epoch: int) -> Int64[Tensor, "W"]:
        """The starts of a pass's windows. They depend on the seed and the pass alone."""
        generator = torch.Generator().manual_seed((1_000_003 * self.seed + epoch) % 2**63)
        offset = torch.randint(self.context_length, (), generator=generator)
        order = torch.randperm(self.windows_per_pass, generator=generator)  # (W,)
        return offset + self.context_length * order

    def state_dict(self) -> dict[str, Tensor]:
        """The state of the generator, and how many batches have been taken."""
        return {"generator": self.generator.get_state(), "position": torch.tensor(self.position)}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Go on where `state` was taken, by a sampler of the same ids, sizes and seed."""
        self.generator.set_state(state["generator"])
        self.position = int(state["position"])


def _check_context(ids: Integer[Tensor, "N"], context_length: int) -> None:
    if not 0 < context_length < len(ids):
        raise ValueError(
            f"context_length={context_length} must be at least 1, and less than the number of "
            f"ids, {len(ids)}: the last target lies one past the window"
        )


def _windows_at(
    ids: Integer[Tensor, "N"], starts: Int64[Tensor, "B"], context_length: int
) -> tuple[Int64[Tensor, "B T"], Int64[Tensor, "B T"]]:
    index = starts[:, None] + torch.arange(context_length)  # (B, 1) + (T,) -> (B, T)
    return ids[index].long(), ids[index + 1].long()
