"""Chapter 06's division by √D, at two widths and many rates -> measurements/widths.json.

Usage: python -m lab.widths [--quick | --write]

A head must learn to undo a turn: of eight random keys it is given one, multiplied by an orthogonal
matrix that no example shows, and has to name that key's digit. `divided` divides its scores by √D;
`plain` does not; `small` does not, and starts from matrices so small that its scores begin as those
of `divided` do. Each rate of RATES is tried with each of SEEDS.
"""

import argparse
import itertools
import math

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from lab import runs

WIDTHS, KINDS = (16, 1024), ("divided", "plain", "small")
RATES, SEEDS, STEPS, BATCH = (0.1, 0.3, 1.0, 3.0, 10.0), range(6), 500, 64
TESTED = 2000
SETTINGS = runs.settings_of(globals(), "WIDTHS RATES SEEDS STEPS BATCH TESTED")


def turn() -> Tensor:
    """The hidden matrix (16, 16), the same in all runs."""
    return torch.linalg.qr(torch.randn(16, 16, generator=torch.Generator().manual_seed(0)))[0]


def questions(n: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Turned keys (n, 1, 16), keys (n, 8, 16), their digits (n, 8), and the right digits (n,)."""
    keys = torch.randn(n, 8, 16, generator=generator)
    digits = torch.randint(10, (n, 8), generator=generator)
    which, row = torch.randint(8, (n,), generator=generator), torch.arange(n)
    return (keys[row, which] @ turn()).unsqueeze(1), keys, digits, digits[row, which]


class Head(nn.Module):
    """One head that asks eight keys. W_q W_kᵀ comes first, which is quick and changes no score."""

    def __init__(self, kind: str, width: int):
        super().__init__()
        shrink = width**-0.25 if kind == "small" else 1.0
        self.W_q = nn.Parameter(torch.randn(16, width) / 4 * shrink)
        self.W_k = nn.Parameter(torch.randn(16, width) / 4 * shrink)
        self.values = nn.Embedding(10, 10)
        self.factor = 1 / math.sqrt(width) if kind == "divided" else 1.0

    def forward(self, asked: Tensor, keys: Tensor, digits: Tensor) -> Tensor:
        scores = asked @ (self.W_q @ self.W_k.T * self.factor) @ keys.mT  # (n, 1, 8)
        return (scores.softmax(dim=-1) @ self.values(digits)).squeeze(1)  # (n, 10)


def trial(kind: str, width: int, rate: float, seed: int, steps: int = STEPS) -> list[float]:
    """The loss on test questions, and the share of right answers, of one head trained by SGD."""
    torch.manual_seed(seed)
    head, generator = Head(kind, width), torch.Generator().manual_seed(seed)
    for _ in range(steps):
        *asked, answer = questions(BATCH, generator)
        cross_entropy(head(*asked), answer).backward()
        with torch.no_grad():
            for p in head.parameters():
                assert p.grad is not None
                p.sub_(rate * p.grad)
                p.grad = None
    *asked, answer = questions(TESTED, torch.Generator().manual_seed(100))
    with torch.no_grad():
        logits = head(*asked)
    right = (logits.argmax(dim=1) == answer).float().mean().item()
    return [round(cross_entropy(logits, answer).item(), 4), round(right, 4)]


def measure(options: argparse.Namespace) -> dict:
    """Width -> kind -> rate -> [loss, share right] of each seed."""
    seeds, steps = (SEEDS[:1], 3) if options.quick else (SEEDS, STEPS)
    by_width: dict[int, dict] = {}
    for width, kind, rate in itertools.product(WIDTHS, KINDS, RATES):
        tries = [trial(kind, width, rate, seed, steps) for seed in seeds]
        by_width.setdefault(width, {}).setdefault(kind, {})[rate] = tries
        print(width, kind, rate, tries, flush=True)
    return {"found": by_width}


main = runs.script(__doc__, "widths", measure, SETTINGS, threads=1)


if __name__ == "__main__":
    main()
