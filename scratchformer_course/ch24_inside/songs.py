"""Songs that repeat themselves, and small GPTs that learn them.

There are 32 notes. A song goes around a loop of 4 to 8 of them, in an order of its own, and at
every note it may jump: then the next note is any one of the loop.
"""

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from scratchformer.models import GPT, GPTConfig

NOTES, LENGTH, JUMP = 32, 32, 0.15
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"  # a letter or digit for each note


def songs(
    n: int,
    generator: torch.Generator,
    shortest: int = 4,
    longest: int = 8,
    jump: float = JUMP,
    length: int = LENGTH + 1,
) -> Int[Tensor, "n L"]:
    """n songs, with loops of `shortest` to `longest` notes."""
    order = torch.rand(n, NOTES, generator=generator).argsort(dim=1)
    notes = torch.randint(shortest, longest + 1, (n,), generator=generator)  # of each loop
    place = torch.zeros(n, dtype=torch.long)
    played = []
    for _ in range(length):
        played.append(order[torch.arange(n), place])
        anywhere = (torch.rand(n, generator=generator) * notes).long()
        jumps = torch.rand(n, generator=generator) < jump
        place = torch.where(jumps, anywhere, (place + 1) % notes)
    return torch.stack(played, dim=1)


def heard(ids: Int[Tensor, "B L"]) -> Bool[Tensor, "B T"]:
    """Where a note and its next one have followed each other before: there copying is right."""
    pair = NOTES * ids[:, :-1] + ids[:, 1:]  # (B, T)
    return (pair[:, :, None] == pair[:, None, :]).tril(-1).any(dim=2)


def new_model(seed: int, n_layers: int = 2, wide: bool = True) -> GPT:
    """A GPT of width 32 with 4 heads a block, and a head for logits of its own.

    `wide`: the embeddings start 50 times as wide as GPT-2's.
    """
    torch.manual_seed(seed)
    model = GPT(GPTConfig(NOTES, LENGTH, d_model=32, n_heads=4, n_layers=n_layers))
    model.lm_head = nn.Linear(32, NOTES, bias=False)
    if wide:
        nn.init.normal_(model.wte.weight)
        nn.init.normal_(model.wpe.weight)
    return model
