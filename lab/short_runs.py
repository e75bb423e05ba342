"""The run that chapter 18 trains on its page, once more, for the page that compares networks.

Usage: python -m lab.short_runs [--quick | --write]

The GPT of chapter 18, which reads tokens of Playhouse, with the best of its tables. Losses are nats
a character. About a minute of two cores.
"""

import argparse

import torch

from lab import runs
from scratchformer.data import Playhouse
from scratchformer.models import GPT, GPTConfig, KneserNey
from scratchformer.tokenizers import ByteBPE
from scratchformer.training import train
from scratchformer_course.measurements import FOLDER

STORED = FOLDER / "short_runs.json"
SETTINGS: dict = {
    "model": {"vocab_size": 512, "context_length": 64, "d_model": 96, "n_heads": 4, "n_layers": 2},
    "training": {"steps": 500, "warmup": 50, "lr": 1e-2, "batch_size": 16, "seed": 0}
    | {"context_length": 64},
    "characters": [1_000_000, 50_000],  # of Playhouse: to train on, and to score
    "orders": [2, 3, 5],
}


def measure(options: argparse.Namespace) -> dict:
    """Parameters, steps and loss of the network, and the loss of each table."""
    training = SETTINGS["training"] | ({"steps": 2, "warmup": 1} if options.quick else {})
    n, n_scored = (20_000, 5_000) if options.quick else SETTINGS["characters"]
    text, scored_text = Playhouse(seed=0).text(n), Playhouse(seed=2).text(n_scored)
    torch.set_num_threads(2)
    tok = ByteBPE.train(text, SETTINGS["model"]["vocab_size"], ("<|endoftext|>",))
    ids, scored = (torch.tensor(tok.encode(part)) for part in (text, scored_text))
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = GPT(GPTConfig(**SETTINGS["model"]))
    loss = train(model, ids, scored, **training).val_loss[-1]
    a_token = len(scored_text) / len(scored)  # characters
    tables = {order: KneserNey(order).fit(ids, 512) for order in SETTINGS["orders"]}
    counted = {str(n): table.nats_per_token(scored) / a_token for n, table in tables.items()}
    trained = {"parameters": runs.size(model), "steps": training["steps"], "loss": loss / a_token}
    return {"chapter 18": trained | {"counted": counted}}


def main(arguments: list[str] | None = None) -> dict:
    return runs.carry_out(__doc__, STORED, measure, arguments, SETTINGS)


if __name__ == "__main__":
    main()
