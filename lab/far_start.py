"""What SmolLM2 answers from places far out, for chapter 08 -> measurements/far_start.json.

Usage: python -m lab.far_start [--quick | --write]

`found` has for each pair of `ANGLES` and `MOVED`, and each of `STARTS`: the answer, and by how
much any logit of the first token differs from the one at place 0. Computed by Python's class; in a
page the model of `real_model/` does the same.
"""

import argparse
from unittest.mock import patch

import torch
from torch import Tensor

from lab import runs
from scratchformer.generation import chat
from scratchformer.models import Llama, llama
from scratchformer.tokenizers import ByteBPE

MODEL, QUESTION, MOST = "smollm2-135m-instruct", "What is the capital of France?", 12
STARTS = (0, 1_000, 100_000, 1_000_000, 10_000_000, 20_000_000, 30_000_000, 50_000_000, 100_000_000)
ANGLES, MOVED = ("float32", "float64"), ("queries and keys", "queries alone")
SETTINGS = {"model": MODEL, "question": QUESTION, "most": MOST, "starts": STARTS, "angles": ANGLES,
            "moved": MOVED}  # fmt: skip


def turn(x: Tensor, start: int, base: float, dtype: torch.dtype) -> Tensor:
    """`rotate_halves`, with angles of this type."""
    T, D = x.shape[-2:]
    rate = base ** -(torch.arange(0, D, 2, dtype=dtype) / D)  # (D/2,)
    angle = torch.outer(torch.arange(start, start + T, dtype=dtype), rate)  # (T, D/2)
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    a, b = x.chunk(2, dim=-1)  # (B, H, T, D/2) each
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


class Placed:
    """The model, whose texts begin where they are told to."""

    def __init__(self) -> None:
        self.model, self.tok = Llama.pretrained(MODEL), ByteBPE.pretrained(MODEL)

    def answer(self, first: int, angles: str, moved: str) -> tuple[str, Tensor]:
        """The answer, and the logits of its first token."""
        logits: list[Tensor] = []
        dtype = getattr(torch, angles)
        n_heads = self.model.config.n_heads

        def later(x: Tensor, start: int, base: float) -> Tensor:
            moves = moved == MOVED[0] or x.shape[1] == n_heads  # keys have fewer heads
            return turn(x, start + first * moves, base, dtype)

        hook = self.model.register_forward_hook(lambda _, __, z: logits.append(z[0, -1]))
        with patch.object(llama, "rotate_halves", later):
            said = chat(self.model, self.tok, QUESTION, max_new_tokens=MOST)
        hook.remove()
        return said, logits[0]


@torch.no_grad()
def measure(options: argparse.Namespace) -> dict:
    placed = Placed()
    found: list[list] = []
    for angles in ANGLES:
        found.append([])
        for moved in MOVED:
            answers = [
                placed.answer(first, angles, moved)
                for first in STARTS[: 2 if options.quick else None]
            ]
            at_0 = answers[0][1]
            found[-1].append(
                [[said, round((z - at_0).abs().max().item(), 4)] for said, z in answers]
            )
    return {"found": found}


main = runs.script(__doc__, "far_start", measure, SETTINGS, threads=1)


if __name__ == "__main__":
    main()
