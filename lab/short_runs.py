"""Runs of seconds that chapters train on their page, once more, for the page that compares them.

Usage: python -m lab.short_runs [--quick | --write]

The GPT of chapter 10 after its 300 steps, with tables of counts in which a small number is added to
each count, as in chapter 04; and the GPT of chapter 18, which reads tokens of Playhouse,
with the best of its tables. Losses are nats a character. About a minute of two cores.
"""

import argparse
from collections.abc import Iterator

import torch
from torch import Tensor

from lab import runs
from scratchformer.data import Playhouse
from scratchformer.models import GPT, GPTConfig, KneserNey
from scratchformer.tokenizers import ByteBPE
from scratchformer.training import train
from scratchformer_course.ch10_bigram_to_gpt.exercises import RightGPT
from scratchformer_course.measurements import FOLDER

STORED = FOLDER / "short_runs.json"
SETTINGS: dict = {
    "chapter 10": {
        "model": {"vocab_size": runs.CHARACTERS, "context_length": 64}
        | {"d_model": 128, "n_heads": 4, "n_layers": 2},
        "training": {"steps": 300, "warmup": 20, "lr": 0.01, "muon_lr": 0.03}
        | {"batch_size": 16, "context_length": 64, "seed": 0},
        "added": {"2": 0.3, "3": 0.1, "4": 0.03, "5": 0.03, "6": 0.03},  # to each count, by order
    },
    "chapter 18": {
        "model": {"vocab_size": 512, "context_length": 64}
        | {"d_model": 96, "n_heads": 4, "n_layers": 2},
        "training": {"steps": 500, "warmup": 50, "lr": 1e-2, "batch_size": 16, "seed": 0}
        | {"context_length": 64},
        "characters": [1_000_000, 50_000],  # of Playhouse: to train on, and to score
        "orders": [2, 3, 5],
    },
}


def trained(chapter: str, ids: Tensor, scored: Tensor, quick: bool) -> dict:
    """The chapter's run: parameters, steps, and the loss a token on the scored text."""
    sizes, training = SETTINGS[chapter]["model"], SETTINGS[chapter]["training"]
    training = training | ({"steps": 2, "warmup": 1} if quick else {})
    torch.manual_seed(0)
    model = RightGPT(**sizes) if chapter == "chapter 10" else GPT(GPTConfig(**sizes))
    loss = train(model, ids, scored, **training).val_loss[-1]
    parameters = sum(p.numel() for p in model.parameters())
    return {"parameters": parameters, "steps": training["steps"], "loss": loss}


def added_counts(ids: Tensor, scored: Tensor, vocab_size: int) -> Iterator[tuple[str, float]]:
    """Order -> the loss of strings of so many characters, a number added to each count."""
    for order, alpha in SETTINGS["chapter 10"]["added"].items():
        digits = vocab_size ** torch.arange(int(order)).flip(0)
        seen, asked = ((x.unfold(0, int(order), 1) * digits).sum(dim=1) for x in (ids, scored))
        times, of = (how_often(seen // d, asked // d) for d in (1, vocab_size))
        yield order, -((times + alpha) / (of + alpha * vocab_size)).log().mean().item()


def how_often(strings: Tensor, asked: Tensor) -> Tensor:
    known, times = strings.unique(return_counts=True)
    at = torch.searchsorted(known, asked).clamp(max=len(known) - 1)
    return torch.where(known[at] == asked, times[at], 0)


def measure(options: argparse.Namespace) -> dict:
    """Both chapters."""
    splits, vocab_size = runs.load_splits(write=options.write)
    torch.set_num_threads(2)
    found = {"chapter 10": trained("chapter 10", *splits["validation"], options.quick)}
    found["chapter 10"]["counted"] = dict(added_counts(*splits["validation"], vocab_size))
    own = SETTINGS["chapter 18"]
    n, n_scored = (20_000, 5_000) if options.quick else own["characters"]
    text, scored_text = Playhouse(seed=0).text(n), Playhouse(seed=2).text(n_scored)
    tok = ByteBPE.train(text, own["model"]["vocab_size"], ("<|endoftext|>",))
    ids, scored = (torch.tensor(tok.encode(each)) for each in (text, scored_text))
    torch.set_num_threads(1)
    found["chapter 18"] = trained("chapter 18", ids, scored, options.quick)
    a_token = len(scored_text) / len(scored)  # characters
    found["chapter 18"]["loss"] /= a_token
    found["chapter 18"]["counted"] = {
        str(order): KneserNey(order).fit(ids, 512).nats_per_token(scored) / a_token
        for order in own["orders"]
    }
    print(found)
    return found


def main(arguments: list[str] | None = None) -> dict:
    return runs.carry_out(__doc__, STORED, measure, arguments, SETTINGS)


if __name__ == "__main__":
    main()
