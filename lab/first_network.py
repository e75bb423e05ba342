"""Chapter 04's network learning to write -> measurements/first_network.json.

Usage: python -m lab.first_network [--write]

The chapter's own run, seed 0: at each of FRAMES the network writes, with the same random numbers,
and names what follows OPENING; its loss is that of the whole validation split. The chapter compares
its last loss with the one stored here. Beside it, the last losses of networks that are wider, or
train for longer.
"""

import argparse
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from lab import runs
from scratchformer.data import load_corpus, train_val_split
from scratchformer.tokenizers import CharTokenizer
from scratchformer_course.ch04_first_network.exercises import right_cross_entropy
from scratchformer_course.measurements import FOLDER

FILE = FOLDER / "first_network.json"
FRAMES = (0, 1, 10, 30, 100, 300, 1000, 2000)
LARGER = ((128, 2000), (512, 2000), (128, 8000), (512, 8000))  # hidden numbers and steps, 3 seeds
BATCH, RATE, SEED = 256, 1.0, 0
PROMPT, WRITTEN, OPENING, SHOWN = "\nROMEO:\n", 180, "First Ci", 5
SETTINGS: dict[str, Any] = {
    "prompt": PROMPT,
    "opening": OPENING,
    "rate": RATE,
    "seed": SEED,
    "batch": BATCH,
    "vocab_size": runs.CHARACTERS,
    "frames": FRAMES,
    "larger": LARGER,
}


class Network(nn.Module):
    """The worked answer to the chapter's exercise."""

    def __init__(self, vocab_size: int, hidden: int = 128):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, 32)
        self.hidden = nn.Linear(8 * 32, hidden)
        self.out = nn.Linear(hidden, vocab_size)

    def forward(self, ids: Tensor) -> Tensor:
        return self.out(self.hidden(self.embed(ids).flatten(1)).relu())


def train(network: Network, train_ids: Tensor, steps: int, seed: int) -> Iterator[int]:
    """Yields the number of the step before each one, and at last `steps`."""
    generator = torch.Generator().manual_seed(seed)
    for step in range(steps):
        yield step
        start = torch.randint(len(train_ids) - 8, (BATCH, 1), generator=generator)
        nine = train_ids[start + torch.arange(9)]
        right_cross_entropy(network(nine[:, :8]), nine[:, 8]).backward()
        with torch.no_grad():
            for p in network.parameters():
                assert p.grad is not None
                p.sub_(RATE * (1 - step / steps) * p.grad)
                p.grad = None
    yield steps


@torch.no_grad()
def loss_of(network: Network, ids: Tensor) -> float:
    """The mean loss over all windows of a text."""
    nines = ids.unfold(0, 9, 1)
    losses = [right_cross_entropy(network(x[:, :8]), x[:, 8]) * len(x) for x in nines.split(8192)]
    return round(sum(losses).item() / len(nines), 3)


@torch.no_grad()
def frame(network: Network, tok: CharTokenizer, val_ids: Tensor) -> dict:
    """The loss, what is written, and the likeliest characters after OPENING."""
    generator, ids = torch.Generator().manual_seed(SEED), tok.encode(PROMPT)
    for _ in range(WRITTEN):
        p = network(torch.tensor([ids[-8:]]))[0].softmax(dim=0)
        ids.append(int(torch.multinomial(p, 1, generator=generator)))
    best = network(torch.tensor([tok.encode(OPENING)]))[0].softmax(dim=0).topk(SHOWN)
    return {
        "loss": loss_of(network, val_ids),
        "text": tok.decode(ids)[len(PROMPT) :],
        "next": [[tok.decode([int(i)]), round(float(p), 3)] for p, i in zip(*best, strict=True)],
    }


def measure(options: argparse.Namespace) -> dict:
    """Train once, and look at the network at each of FRAMES."""
    text = load_corpus("tinyshakespeare").text
    tok = CharTokenizer.train(text)
    train_ids, val_ids = train_val_split(torch.tensor(tok.encode(text)), 0.9)
    torch.manual_seed(SEED)
    network, frames = Network(tok.vocab_size), []
    for step in train(network, train_ids, FRAMES[-1], SEED):
        if step in FRAMES:
            frames.append({"step": step, **frame(network, tok, val_ids)})
            print(f"{step:5} {frames[-1]['loss']:.3f} {frames[-1]['text']!r}")
    larger = []
    for hidden, steps in LARGER:
        losses = []
        for seed in range(3):
            torch.manual_seed(seed)
            network = Network(tok.vocab_size, hidden)
            for _ in train(network, train_ids, steps, seed):
                pass
            losses.append(loss_of(network, val_ids))
        parameters = runs.size(network)
        larger.append(
            {"hidden": hidden, "steps": steps, "parameters": parameters, "losses": losses}
        )
        print(larger[-1], flush=True)
    return {
        "what": "chapter 04's run at some of its steps, and losses of wider and longer ones",
        "frames": frames,
        "larger": larger,
    }


def main(arguments: list[str] | None = None) -> dict:
    return runs.carry_out(__doc__, FILE, measure, arguments, SETTINGS, quick=False)


if __name__ == "__main__":
    main()
