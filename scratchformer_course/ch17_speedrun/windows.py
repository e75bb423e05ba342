"""The batches of the race: windows that grow late in the run, and look at the end of the text."""

import torch
from jaxtyping import Int64, Integer
from torch import Tensor

from scratchformer.data.batches import WindowSampler, random_batch


class RaceWindows:
    """A sampler like WindowSampler, with what may change late in a run.

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
        for name, value in (("double_after", double_after), ("tail_after", tail_after)):
            if value is not None and value < 0:
                raise ValueError(f"{name}={value}, expected a number of batches, 0 or more")
        if not 0 < tail_share <= 1:
            raise ValueError(f"tail_share={tail_share}, expected more than 0 and at most 1")
        if not 0 <= tail_chance <= 1:
            raise ValueError(f"tail_chance={tail_chance}, expected 0 to 1")
        sizes = [(batch_size, context_length)]
        if double_after is not None:
            if batch_size < 2:
                raise ValueError(f"batch_size={batch_size}, expected at least 2 to halve it")
            sizes.append((batch_size // 2, 2 * context_length))
        self.samplers = [WindowSampler(ids, B, T, seed, replacement) for B, T in sizes]
        self.context_length = sizes[-1][1]  # of the longest windows
        self.tail = ids[round((1 - tail_share) * len(ids)) :]
        if tail_after is not None:
            WindowSampler(self.tail, 1, self.context_length, seed)  # refuses too short a tail
        self.seed, self.double_after = seed, double_after
        self.tail_after, self.tail_chance = tail_after, tail_chance
        self.position = 0  # how many batches have been taken

    def __iter__(self) -> "RaceWindows":
        return self

    def __next__(self) -> tuple[Int64[Tensor, "B T"], Int64[Tensor, "B T"]]:
        position, self.position = self.position, self.position + 1
        is_late = self.double_after is not None and position >= self.double_after
        x, y = next(self.samplers[is_late])
        if self.tail_after is None or position < self.tail_after:
            return x, y
        generator = torch.Generator().manual_seed((1_000_003 * self.seed + position) % 2**63)
        B, T = x.shape
        tail_x, tail_y = random_batch(self.tail, B, T, generator)
        is_replaced = torch.rand(B, 1, generator=generator) < self.tail_chance  # (B, 1)
        return torch.where(is_replaced, tail_x, x), torch.where(is_replaced, tail_y, y)

    def state_dict(self) -> dict[str, Tensor]:
        """The states of both samplers, and how many batches have been taken."""
        state = {"position": torch.tensor(self.position)}
        for i, sampler in enumerate(self.samplers):
            state |= {f"{name}_{i}": tensor for name, tensor in sampler.state_dict().items()}
        return state

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Go on where `state` was taken, by a sampler of the same arguments."""
        self.position = int(state["position"])
        for i, sampler in enumerate(self.samplers):
            sampler.load_state_dict(
                {name: state[f"{name}_{i}"] for name in ("generator", "position")}
            )
