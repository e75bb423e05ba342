"""Masked-language modelling: hide some tokens of a text, and keep them as the targets.

The recipe is that of Devlin et al. 2019, section 3.1. It knows no model and no tokenizer.

IGNORED, the mark of a place without a target, is defined here because this module writes it into
targets, and the losses, which only read it, are in a room further right: `training`, which hands
it on.
"""

from collections.abc import Collection

import torch
from jaxtyping import Int64
from torch import Tensor

IGNORED = -100  # no target: padding, or a token that was not hidden; PyTorch's own default


def mask_tokens(
    ids: Int64[Tensor, "*batch T"],
    mask_id: int,
    vocab_size: int,
    special_ids: Collection[int] = (),
    rate: float = 0.15,
    generator: torch.Generator | None = None,
) -> tuple[Int64[Tensor, "*batch T"], Int64[Tensor, "*batch T"]]:
    """What the model reads, and its targets: the chosen tokens, and IGNORED everywhere else.

    Each token is chosen with probability `rate`. Of the chosen ones 80 % become `mask_id`, 10 %
    a random token, and 10 % stay as they are. `special_ids` (padding, separators, …) and `mask_id`
    are never chosen and never put in. Raises ValueError for a rate outside 0 to 1, or if there is
    no ordinary token.
    """
    if not 0 <= rate <= 1:
        raise ValueError(f"rate={rate}, expected a probability")
    if not 0 <= mask_id < vocab_size:
        raise ValueError(f"mask_id={mask_id}, expected 0 to {vocab_size - 1}")
    special = torch.tensor([mask_id, *special_ids], device=ids.device)
    everything = torch.arange(vocab_size, device=ids.device)
    ordinary = everything[~torch.isin(everything, special)]
    if not len(ordinary):
        raise ValueError(f"all {vocab_size} tokens are special, expected some that are not")

    def draw() -> Tensor:  # on the CPU, so that a seed gives the same places on any device
        return torch.rand(ids.shape, generator=generator).to(ids.device)

    chosen = (draw() < rate) & ~torch.isin(ids, special)
    targets = ids.masked_fill(~chosen, IGNORED)
    choice = draw()
    random = ordinary[torch.randint(len(ordinary), ids.shape, generator=generator).to(ids.device)]
    inputs = ids.masked_fill(chosen & (choice < 0.8), mask_id)
    inputs = torch.where(chosen & (choice >= 0.8) & (choice < 0.9), random, inputs)
    return inputs, targets
