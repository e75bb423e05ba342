"""Where a real model keeps a capital; by which heads it copies -> measurements/real_capitals.json.

Usage: python -m lab.real_capitals [--quick | --write]

Block 24 and its head 5 were found with France and Italy. CAPITALS has other countries, in FRAMES
that end where the capital is due; each text receives what the model found in the same text about
the next country. Counted is in how many texts the new capital becomes likelier than the old one.

swapped   head of the block -> in how many texts, by that head's 64 numbers at the last place
moved     block -> [by the whole vector at the country, by that at the last place], first frame
read      block -> in how many of the first frame's texts the vector at the country lies nearest to
          the same country's in the second frame
says      heads of all blocks that make the model say Rome of France
silenced  all heads, FIVE, others of their blocks -> [loss, share right] on the second half of
          random tokens that are read twice
"""

import argparse
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lab import runs
from lab.inside import changed, recorded, replaced
from scratchformer.models import Llama
from scratchformer.models.heads import silenced
from scratchformer.tokenizers import ByteBPE

MODEL, BLOCK, HEAD = "smollm2-135m-instruct", 24, 5
CAPITALS = {
    "Spain": "Madrid",
    "Canada": "Ottawa",
    "Russia": "Moscow",
    "Kenya": "Nairobi",
    "Norway": "Oslo",
    "Cuba": "Havana",
    "Poland": "Warsaw",
    "Austria": "Vienna",
    "Iraq": "Baghdad",
    "Ireland": "Dublin",
    "Portugal": "Lisbon",
    "China": "Beijing",
    "Egypt": "Cairo",
}
FRAMES = (
    "The capital of {} is",
    "Everybody knows that the capital city of {} is called",
    "Q: What is the capital of {}?\nA: The capital is",
    "I have never been to {}, but I know that its capital is",
)
FIVE = [(19, 7), (18, 4), (18, 5), (19, 8), (18, 6)]
DRAWS = 5
SETTINGS = {"model": MODEL, "head": [BLOCK, HEAD], "capitals": CAPITALS, "frames": FRAMES,
            "five": FIVE, "draws": DRAWS}  # fmt: skip


class Capitals:
    """The model, and what it makes of a text."""

    def __init__(self) -> None:
        self.model, self.tok = Llama.pretrained(MODEL).eval(), ByteBPE.pretrained(MODEL)

    def ids(self, text: str) -> Tensor:
        return torch.tensor([self.tok.encode(text)])

    def first(self, word: str) -> int:
        return self.tok.encode(" " + word)[0]

    def heads(self, block: int) -> nn.Module:
        """The layer whose input are the results of a block's heads, side by side."""
        return self.model.layers[block - 1].get_submodule("self_attn.o_proj")

    @torch.no_grad()
    def vectors(self, ids: Tensor, block: int, of_heads: bool = False) -> Tensor:
        """(1, T, C): the vectors after a block, or the results of its heads."""
        module = self.heads(block) if of_heads else self.model.layers[block - 1]
        with recorded(module, inputs=of_heads) as tensors:
            self.model(ids)
        return tensors[0]

    @torch.no_grad()
    def with_head(self, ids: Tensor, block: int, head: int, other: Tensor) -> Tensor:
        """The logits if this head's numbers at the last place come from another text."""
        D = self.model.config.D
        place = np.s_[:, -1, D * (head - 1) : D * head]
        with changed(self.heads(block), replaced(place, other[place]), inputs=True):
            return self.model(ids)[0, -1]

    @torch.no_grad()
    def with_vector(self, ids: Tensor, block: int, place: int, other: Tensor) -> Tensor:
        """The logits if one vector after a block comes from another text."""
        with changed(self.model.layers[block - 1], replaced(np.s_[:, place], other[:, place])):
            return self.model(ids)[0, -1]

    def pairs(self, frame: str) -> list[tuple[Tensor, Tensor, int, int]]:
        """(ids, the next country's ids, the old capital's token, the new one's)."""
        texts = [self.ids(frame.format(name)) for name in CAPITALS]
        capitals = [self.first(capital) for capital in CAPITALS.values()]
        following = texts[1:] + texts[:1], capitals[1:] + capitals[:1]
        return [
            (ids, other, old, new)
            for ids, old, other, new in zip(texts, capitals, *following, strict=True)
        ]


def swapped(capitals: Capitals, frames: Sequence[str], heads: Sequence[int]) -> dict[str, int]:
    counts = dict.fromkeys(map(str, heads), 0)
    for ids, other, old, new in (pair for frame in frames for pair in capitals.pairs(frame)):
        theirs = capitals.vectors(other, BLOCK, of_heads=True)
        for head in heads:
            logits = capitals.with_head(ids, BLOCK, head, theirs)
            counts[str(head)] += int(logits[new] > logits[old])
    return counts


def moved(capitals: Capitals, block: int) -> list[int]:
    counts = [0, 0]
    for ids, other, old, new in capitals.pairs(FRAMES[0]):
        theirs = capitals.vectors(other, block)
        for i, place in enumerate((-2, -1)):
            logits = capitals.with_vector(ids, block, place, theirs)
            counts[i] += int(logits[new] > logits[old])
    return counts


def read(capitals: Capitals, block: int) -> int:
    """In how many texts of the first frame the country is told from its vector."""
    rows = []
    for frame in FRAMES[:2]:
        place = len(capitals.tok.encode(frame.partition("{}")[0].rstrip()))
        texts = [capitals.ids(frame.format(name)) for name in CAPITALS]
        x = torch.stack([capitals.vectors(ids, block)[0, place] for ids in texts])
        rows.append(F.normalize(x - x.mean(dim=0), dim=1))
    nearest = (rows[0] @ rows[1].T).argmax(dim=1)
    return int((nearest == torch.arange(len(CAPITALS))).sum())


def says_rome(capitals: Capitals, blocks: Sequence[int]) -> list[str]:
    france, italy = (capitals.ids(FRAMES[0].format(name)) for name in ("France", "Italy"))
    rome, heads = capitals.first("Rome"), range(1, capitals.model.config.n_heads + 1)
    return [
        f"{block}.{head}"
        for block in blocks
        for theirs in [capitals.vectors(italy, block, of_heads=True)]
        for head in heads
        if capitals.with_head(france, block, head, theirs).argmax() == rome
    ]


@torch.no_grad()
def copying(model: Llama, draws: int) -> dict[str, Any]:
    half = torch.randint(1000, 40_000, (4, 50), generator=torch.Generator().manual_seed(1))
    ids = torch.cat([half, half], dim=1)

    def measured(heads: Sequence[tuple[int, int]]) -> list[float]:
        with silenced(model, heads):
            logits = model(ids[:, :-1])[:, 50:]
        right = (logits.argmax(dim=-1) == ids[:, 51:]).float().mean().item()
        return [round(x, 3) for x in (F.cross_entropy(logits.mT, ids[:, 51:]).item(), right)]

    rest = [(b, h) for b in (18, 19) for h in range(1, 10) if (b, h) not in FIVE]
    others = [random.Random(seed).sample(rest, len(FIVE)) for seed in range(draws)]
    return {"all": measured([]), "five": measured(FIVE), "others": [measured(x) for x in others]}


def measure(options: argparse.Namespace) -> dict[str, Any]:
    capitals, quick = Capitals(), options.quick
    every = range(1, capitals.model.config.n_layers + 1)
    blocks, heads = (BLOCK - 1, BLOCK), range(1, capitals.model.config.n_heads + 1)
    return {
        "swapped": swapped(capitals, FRAMES[: 1 if quick else None], [HEAD] if quick else heads),
        "moved": {str(block): moved(capitals, block) for block in blocks},
        "read": {str(block): read(capitals, block) for block in blocks},
        "says": says_rome(capitals, [BLOCK] if quick else every),
        "silenced": copying(capitals.model, 1 if quick else DRAWS),
    }


main = runs.script(__doc__, "real_capitals", measure, SETTINGS, threads=1)


if __name__ == "__main__":
    main()
