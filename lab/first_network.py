"""Chapter 04's network learning to write -> measurements/first_network.json.

Usage: python -m lab.first_network [--write] [--only run larger rates counted]

run: the chapter's own run, in 64-bit numbers, which write the same text on every processor. At each
of FRAMES the network writes, with the same random numbers; its loss is that of the whole validation
split. larger: the last losses of networks that are wider, or train
for longer. rates: the loss on the development part for each learning rate. counted: n-grams with a
small number added to each count, which the development part chooses.
"""

import argparse
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from lab import runs
from scratchformer.data import load_corpus, train_val_split
from scratchformer.tokenizers import CharTokenizer
from scratchformer_course.ch04_first_network.exercises import right_cross_entropy

FRAMES = (0, 1, 10, 30, 100, 300, 1000, 2000)
LARGER = ((128, 2000), (512, 2000), (128, 8000), (512, 8000))  # hidden numbers and steps, 3 seeds
RATES, ALPHAS, ORDERS = (0.1, 0.3, 1.0, 3.0, 10.0), (1, 0.3, 0.1, 0.03, 0.01), range(1, 7)
BATCH, RATE, SEED, SPEECH = 256, 1.0, 0, 84381  # the speech that was chosen, for its king
PROMPT, WRITTEN = "\nROMEO:\n", 105
TRAINED = {"rate": RATE, "batch": BATCH}
SETTINGS: dict[str, Any] = {
    "run": TRAINED
    | {
        "prompt": PROMPT,
        "seed": SEED,
        "speech": SPEECH,
        "vocab_size": runs.CHARACTERS,
        "frames": FRAMES,
    },
    "larger": TRAINED | {"larger": LARGER},
    "rates": {"rates": RATES, "steps": FRAMES[-1], "batch": BATCH},
    "counted": {"alphas": ALPHAS, "orders": [*ORDERS]},
}


class TextNetwork(nn.Module):
    """The chapter's network, which reads eight characters."""

    def __init__(self, vocab_size: int, hidden: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocab_size, 32)
        self.hidden = nn.Linear(8 * 32, hidden)
        self.out = nn.Linear(hidden, vocab_size)

    def forward(self, ids: Tensor) -> Tensor:
        return self.out(self.hidden(self.embed(ids).flatten(1)).relu())


def new_network(vocab_size: int, hidden: int = 128) -> Any:
    """A network with random weights."""
    return TextNetwork(vocab_size, hidden)


def of_the_page(vocab_size: int) -> Any:
    """The network with the weights that the chapter draws, in 64-bit numbers."""
    generator = torch.Generator().manual_seed(SEED)

    def drawn(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    network = new_network(vocab_size).double()
    with torch.no_grad():
        network.embed.weight.copy_(drawn(vocab_size, 32))
        network.hidden.weight.copy_(drawn(256, 128).T / 16)
        network.out.weight.copy_(drawn(128, vocab_size).T / 100)
        network.hidden.bias.zero_()
        network.out.bias.zero_()
    return network


def train(
    network: nn.Module, train_ids: Tensor, steps: int, seed: int, rate: float = RATE
) -> Iterator[int]:
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
                p.sub_(rate * (1 - step / steps) * p.grad)
                p.grad = None
    yield steps


@torch.no_grad()
def loss_of(network: nn.Module, ids: Tensor) -> float:
    """The mean loss over all windows of a text."""
    nines = ids.unfold(0, 9, 1)
    losses = [right_cross_entropy(network(x[:, :8]), x[:, 8]) * len(x) for x in nines.split(8192)]
    return round(sum(losses).item() / len(nines), 3)


@torch.no_grad()
def frame(network: nn.Module, tok: CharTokenizer, val_ids: Tensor) -> dict:
    """The loss, and what is written."""
    generator, ids = torch.Generator().manual_seed(SPEECH), tok.encode(PROMPT)
    for _ in range(WRITTEN):
        p = network(torch.tensor([ids[-8:]]))[0].softmax(dim=0)
        ids.append(int((p.cumsum(0) < torch.rand(1, generator=generator)).sum()))
    return {"loss": loss_of(network, val_ids), "text": tok.decode(ids)[len(PROMPT) :]}


def texts() -> tuple[CharTokenizer, Tensor, Tensor]:
    """The tokenizer, and the ids of the training and of the validation text."""
    text = load_corpus("tinyshakespeare").text
    tok = CharTokenizer.train(text)
    return tok, *train_val_split(torch.tensor(tok.encode(text)), 0.9)


def run(_: argparse.Namespace) -> dict:
    """Train once, and look at the network at each of FRAMES."""
    tok, train_ids, val_ids = texts()
    network, frames = of_the_page(tok.vocab_size), []
    for step in train(network, train_ids, FRAMES[-1], SEED):
        if step in FRAMES:
            frames.append({"step": step, **frame(network, tok, val_ids)})
            print(f"{step:5} {frames[-1]['loss']:.3f} {frames[-1]['text']!r}")
    return {"frames": frames}


def larger(_: argparse.Namespace) -> dict:
    """Other numbers of hidden numbers and steps, three seeds each."""
    tok, train_ids, val_ids = texts()
    frames = []
    for hidden, steps in LARGER:
        losses = []
        for seed in range(3):
            torch.manual_seed(seed)
            network = new_network(tok.vocab_size, hidden)
            for _step in train(network, train_ids, steps, seed):
                pass
            losses.append(loss_of(network, val_ids))
        parameters = runs.size(network)
        frames.append(
            {"hidden": hidden, "steps": steps, "parameters": parameters, "losses": losses}
        )
        print(frames[-1], flush=True)
    return {"runs": frames}


def rates(_: argparse.Namespace) -> dict:
    """The loss on the development part, the last tenth of the training text, for each rate."""
    tok, train_ids, _val = texts()
    core_ids, dev_ids = train_val_split(train_ids, 0.9)
    by_rate = {}
    for rate in RATES:
        network = of_the_page(tok.vocab_size)
        for _step in train(network, core_ids, FRAMES[-1], SEED, rate):
            pass
        loss = loss_of(network, dev_ids)
        by_rate[f"{rate:g}"] = loss if math.isfinite(loss) else None
        print(f"rate {rate:g}: {loss}", flush=True)
    return {"development": by_rate}


def counted(_: argparse.Namespace) -> dict:
    """For strings of n characters: the number to add to each count, and the validation loss."""
    tok, train_ids, val_ids = texts()
    train_text, val = (tok.decode(part.tolist()) for part in (train_ids, val_ids))
    core, dev = (tok.decode(part.tolist()) for part in train_val_split(train_ids, 0.9))
    by_order = {}
    for n in ORDERS:
        scores = {alpha: ngram_loss(core, dev, n, alpha, tok.vocab_size) for alpha in ALPHAS}
        alpha = min(ALPHAS, key=scores.__getitem__)
        loss = ngram_loss(train_text, val, n, alpha, tok.vocab_size)
        by_order[str(n)] = {"alpha": alpha, "loss": round(loss, 3)}
        print(n, by_order[str(n)], flush=True)
    return {"orders": by_order}


def ngram_loss(text: str, scored: str, n: int, alpha: float, vocab_size: int) -> float:
    """The loss over `scored` of counts in `text`, with alpha added to each."""
    strings, pasts = count(text, n), count(text, n - 1)
    asked = count(scored, n)
    losses = (
        times * math.log((pasts[s[:-1]] + alpha * vocab_size) / (strings[s] + alpha))
        for s, times in asked.items()
    )
    return sum(losses) / asked.total()


def count(text: str, n: int) -> Counter:
    """How often each string of n characters occurs."""
    return Counter(text[i : i + n] for i in range(len(text) - n + 1))


PARTS = {"run": run, "larger": larger, "rates": rates, "counted": counted}
main = runs.script(__doc__, "first_network", PARTS, SETTINGS)


if __name__ == "__main__":
    main()
