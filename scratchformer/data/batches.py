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

    After `double_after` batches the windows are twice as long, and a batch has half as many.
    After `tail_after` batches each window is replaced, with the chance `tail_chance`, by one drawn
    at random from the tail of the text, its last `tail_share`: what is scored later may continue
    there. Raises ValueError if `ids` are too few for one batch, or an option has no sense.
    """

    def __init__(
        self,
        ids: Integer[Tensor, "N"],
        batch_size: int,
        context_length: int,
        seed: int,
        replacement: bool = True,
        double_after: int | None = None,
        tail_after: int | None = None,
        tail_share: float = 0.1,
        tail_chance: float = 0.15,
    ):
        _check_options(batch_size, double_after, tail_after, tail_share, tail_chance)
        self.ids, self.seed, self.replacement = ids, seed, replacement
        self.double_after, self.tail_after = double_after, tail_after
        self.tail_chance = tail_chance
        self.tail_start = round((1 - tail_share) * len(ids)) if tail_after is not None else 0
        sizes = [(batch_size, context_length)]
        if double_after is not None:
            sizes.append((batch_size // 2, 2 * context_length))
        for _, T in sizes:
            _check_context(ids[self.tail_start :], T)
        if not replacement:
            self._passes = [_Passes(len(ids), B, T, seed) for B, T in sizes]
            self.batches_per_pass = self._passes[0].batches
        self.sizes = sizes
        self.generator = torch.Generator().manual_seed(seed)
        self.position = 0  # how many batches have been taken

    def __iter__(self) -> "WindowSampler":
        return self

    def __next__(self) -> tuple[Int64[Tensor, "B T"], Int64[Tensor, "B T"]]:
        position, self.position = self.position, self.position + 1
        long = self.double_after is not None and position >= self.double_after
        B, T = self.sizes[long]
        if self.replacement:
            starts = torch.randint(len(self.ids) - T, (B,), generator=self.generator)
        else:
            starts = self._passes[long].starts(position - (self.double_after or 0) * long)
        if self.tail_after is not None and position >= self.tail_after:
            generator = _generator_of(self.seed, position)
            tail = torch.randint(self.tail_start, len(self.ids) - T, (B,), generator=generator)
            replaced = torch.rand(B, generator=generator) < self.tail_chance
            starts = torch.where(replaced, tail, starts)  # (B,)
        return _windows_at(self.ids, starts, T)

    def state_dict(self) -> dict[str, Tensor]:
        """The state of the generator, and how many batches have been taken."""
        return {"generator": self.generator.get_state(), "position": torch.tensor(self.position)}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Go on where `state` was taken, by a sampler of the same ids, sizes and seed."""
        self.generator.set_state(state["generator"])
        self.position = int(state["position"])


class _Passes:
    """The starts of windows, batch after batch, so that none comes twice in a pass over N ids."""

    def __init__(self, N: int, batch_size: int, context_length: int, seed: int):
        self.batch_size, self.context_length, self.seed = batch_size, context_length, seed
        self.windows = (N - context_length) // context_length  # in a pass, at any offset
        self.batches = self.windows // batch_size  # in a pass
        if self.batches < 1:
            raise ValueError(
                f"got {N} ids, expected at least {(batch_size + 1) * context_length} for "
                f"a batch of {batch_size} windows of {context_length} without replacement"
            )
        self._shuffled: tuple[int, Tensor] | None = None  # a pass, and the starts of its windows

    def starts(self, n: int) -> Int64[Tensor, "B"]:
        """The starts of batch `n`, counted from 0."""
        epoch, batch = divmod(n, self.batches)
        if self._shuffled is None or self._shuffled[0] != epoch:
            self._shuffled = epoch, self._shuffle(epoch)
        return self._shuffled[1][batch * self.batch_size : (batch + 1) * self.batch_size]

    def _shuffle(self, epoch: int) -> Int64[Tensor, "W"]:
        """The starts of a pass's windows. They depend on the seed and the pass alone."""
        generator = _generator_of(self.seed, epoch)
        offset = torch.randint(self.context_length, (), generator=generator)
        order = torch.randperm(self.windows, generator=generator)  # (W,)
        return offset + self.context_length * order


def _generator_of(seed: int, n: int) -> torch.Generator:
    return torch.Generator().manual_seed((1_000_003 * seed + n) % 2**63)


def _check_options(
    batch_size: int,
    double_after: int | None,
    tail_after: int | None,
    tail_share: float,
    tail_chance: float,
) -> None:
    least = 1 if double_after is None else 2
    if batch_size < least:
        raise ValueError(f"batch_size={batch_size}, expected at least {least}")
    for name, value in (("double_after", double_after), ("tail_after", tail_after)):
        if value is not None and value < 0:
            raise ValueError(f"{name}={value}, expected a number of batches, 0 or more")
    if not 0 < tail_share <= 1:
        raise ValueError(f"tail_share={tail_share}, expected more than 0 and at most 1")
    if not 0 <= tail_chance <= 1:
        raise ValueError(f"tail_chance={tail_chance}, expected 0 to 1")


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
