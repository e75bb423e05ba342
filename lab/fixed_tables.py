"""What tables that are the same for every text can do -> measurements/fixed_tables.json.

Usage: python -m lab.fixed_tables [--quick | --write]

Each position mixes the vectors of the characters before it, as in chapter 05, by one table (T, T)
or by six, which training chooses and which no text changes. The mixtures are read by a linear
layer, or by a layer of ReLU first. Adam's rate is chosen on the development part, by another seed.
"""

import argparse
import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from lab import runs
from scratchformer.data import load_corpus, train_val_split
from scratchformer.tokenizers import CharTokenizer

T, CHANNELS, STEPS, BATCH, SEEDS, RATES = 16, 32, 600, 64, range(3), (0.01, 0.03, 0.1)
READERS = {  # how many tables, and how many hidden numbers (0: no layer of ReLU)
    "one table": (1, 0),
    "one table, then ReLU": (1, 128),
    "six tables, then ReLU": (6, 128),
}
SETTINGS = runs.settings_of(globals(), "T CHANNELS STEPS BATCH SEEDS RATES READERS")


class Mixer(nn.Module):
    """Mixtures by tables that no text changes, and what reads them."""

    def __init__(self, tables: int, hidden: int):
        super().__init__()
        self.scores = nn.Parameter(torch.randn(tables, T, T) * (tables > 1))
        self.embed = nn.Embedding(runs.CHARACTERS, CHANNELS)
        width = tables * CHANNELS
        self.hidden = nn.Linear(width, hidden) if hidden else None
        self.out = nn.Linear(hidden or width, runs.CHARACTERS)

    def forward(self, ids: Tensor) -> Tensor:
        mask = torch.ones(T, T, dtype=torch.bool).tril()
        weights = self.scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
        x = weights @ self.embed(ids).unsqueeze(1)  # one mixture a table
        x = x.transpose(1, 2).flatten(2)
        return self.out(x if self.hidden is None else self.hidden(x).relu())


def loss_of(model: nn.Module, windows: Tensor) -> Tensor:
    return cross_entropy(model(windows[:, :-1]).flatten(0, 1), windows[:, 1:].flatten())


def trained(reader: tuple[int, int], ids: Tensor, rate: float, seed: int, steps: int) -> nn.Module:
    torch.manual_seed(seed)
    model = Mixer(*reader)
    adam = torch.optim.Adam(model.parameters(), lr=rate)
    for step in range(steps):
        adam.param_groups[0]["lr"] = rate * (1 - step / steps)
        starts = torch.randint(len(ids) - T, (BATCH, 1))
        adam.zero_grad()
        loss_of(model, ids[starts + torch.arange(T + 1)]).backward()
        adam.step()
    return model


@torch.no_grad()
def scored(model: nn.Module, ids: Tensor) -> float:
    """The mean loss over all windows of a text, side by side."""
    return round(loss_of(model, ids[: len(ids) // (T + 1) * (T + 1)].view(-1, T + 1)).item(), 3)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    text, steps = load_corpus("tinyshakespeare").text, 5 if options.quick else STEPS
    ids = torch.tensor(CharTokenizer.train(text).encode(text))
    train_ids, val_ids = train_val_split(ids, 0.9)
    core_ids, dev_ids = train_val_split(train_ids, 0.9)
    found = {}
    for name, reader in READERS.items():
        by_rate = {r: scored(trained(reader, core_ids, r, 3, steps), dev_ids) for r in RATES}
        rate = min(RATES, key=by_rate.__getitem__)
        losses = [scored(trained(reader, train_ids, rate, s, steps), val_ids) for s in SEEDS]
        found[name] = {"rate": rate, "development": by_rate, "losses": losses}
        print(name, found[name], flush=True)
    return {"readers": found}


main = runs.script(__doc__ or "", "fixed_tables", measure, SETTINGS, threads=1)

if __name__ == "__main__":
    main()
