"""Chapter 09's block without one of its parts, with tuned rivals -> measurements/block_parts.json.

Usage: python -m lab.block_parts [--quick | --write]

`deep` trains stacks of four blocks on a table of a hundred rules, with residuals and
without, at every rate of RATES and from both STARTS: `default` is PyTorch's, `he` draws the
weights of all linear layers with variance 1 / fan_in (2 / fan_in after an activation) and starts
all biases at 0. `fresh` sends two texts through layers that nobody trained, and stores how far the
texts are from each other, how far the characters of a text are from their mean, and the size of
the numbers.
"""

import argparse
import itertools
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lab import runs
from scratchformer.attention import MultiHeadAttention, causal_mask
from scratchformer.blocks import FeedForward, TransformerBlock

RATES, STARTS, SEEDS = (0.0003, 0.001, 0.003, 0.01), ("default", "he"), 3
EARLY, STEPS, BATCH = 300, 1000, 32
C, HEADS, BLOCKS, T, TESTED = 32, 4, 4, 6, 1000
LAYERS = (0, 1, 2, 4, 8, 16)  # those at which `fresh` looks
TEXTS = ("the old king sleeps, and nobody", "may wake him until the sun is up")
SETTINGS = runs.settings_of(
    globals(), "RATES STARTS SEEDS STEPS EARLY BATCH HEADS BLOCKS LAYERS TEXTS"
)
SETTINGS |= {"d_model": C}


def no_residual(block: TransformerBlock, x: Tensor, mask: Tensor) -> Tensor:
    return block.mlp(block.ln_2(block.attn(block.ln_1(x), mask=mask)))


def whole(block: TransformerBlock, x: Tensor, mask: Tensor) -> Tensor:
    return block(x, mask)


WAYS: dict[str, Callable[..., Tensor]] = {"the block": whole, "no residual": no_residual}


def he_start(module: nn.Module) -> None:
    """All linear layers of a block anew: the variance is kept, and biases are 0."""
    for name, layer in module.named_modules():
        if isinstance(layer, nn.Linear):
            gain = 2.0 if name.endswith("mlp.c_proj") else 1.0
            nn.init.normal_(layer.weight, std=(gain / layer.in_features) ** 0.5)
            nn.init.zeros_(layer.bias)


class Stack(nn.Module):
    """Words and places, blocks, a last norm and a last layer."""

    def __init__(self, way: Callable[..., Tensor], wide: int, heads: int, blocks: int):
        super().__init__()
        self.way = way
        self.words, self.places = nn.Embedding(21, wide), nn.Embedding(T, wide)
        self.blocks = nn.ModuleList(TransformerBlock(wide, heads) for _ in range(blocks))
        self.ln_f, self.head = nn.LayerNorm(wide), nn.Linear(wide, 10)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.words(ids) + self.places.weight
        for block in self.blocks:
            x = self.way(block, x, causal_mask(T))
        return self.head(self.ln_f(x[:, -1]))


def court(n: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Texts (n, 6) that name a king and an hour, and what is due then, of ten things: (n,)."""
    rules = torch.randint(10, (10, 10), generator=torch.Generator().manual_seed(7))
    king, hour = torch.randint(10, (2, n), generator=generator)
    early = torch.randint(0, 2, (n,), generator=generator)
    late = torch.randint(2, 5, (n,), generator=generator)
    ids, rows = torch.full((n, T), 20), torch.arange(n)
    ids[rows, early], ids[rows, late] = king, 10 + hour
    return ids, rules[king, hour]


def trained(net: Stack, rate: float, seed: int, steps: int, batch: int) -> list[float]:
    """The share of right answers after the early steps and after all."""
    optimizer = torch.optim.AdamW(net.parameters(), lr=rate, fused=True)
    generator, shares = torch.Generator().manual_seed(seed), []
    for step in range(1, steps + 1):
        ids, due = court(batch, generator)
        optimizer.zero_grad()
        F.cross_entropy(net(ids), due).backward()
        optimizer.step()
        if step in (min(EARLY, steps), steps):
            ids, due = court(TESTED, torch.Generator().manual_seed(1000))
            with torch.no_grad():
                shares.append(round((net(ids).argmax(dim=1) == due).float().mean().item(), 3))
    return [shares[0], shares[-1]]


def deep_trial(name: str, start: str, rate: float, seed: int, steps: int) -> list[float]:
    torch.manual_seed(seed)
    net = Stack(WAYS[name], C, HEADS, BLOCKS)
    if start == "he":
        he_start(net.blocks)
    return trained(net, rate, seed, steps, BATCH)


@torch.no_grad()
def fresh(stream: bool, norm: bool, start: str, causal: bool, seed: int) -> list[list[float]]:
    """After each of LAYERS: texts apart, characters apart (both relative), size."""
    torch.manual_seed(seed)
    length = min(map(len, TEXTS))
    ids = torch.tensor([[ord(c) for c in text[:length]] for text in TEXTS])
    x = torch.randn(128, C)[ids]  # (2, T, C)
    mask, spreads = causal_mask(length) if causal else None, []
    for n in range(max(LAYERS) + 1):
        if n > 0:
            pair = nn.ModuleDict({"attn": MultiHeadAttention(C, HEADS), "mlp": FeedForward(C)})
            for layer in pair.modules():
                if start == "zero" and isinstance(layer, nn.Linear):
                    nn.init.zeros_(layer.bias)
            if start == "he":
                he_start(pair)
            for name, part in pair.items():
                read = F.layer_norm(x, (C,)) if norm else x
                written = part(read, mask=mask) if name == "attn" else part(read)
                x = x + written if stream else written
        if n in LAYERS:
            texts = (x[0] - x[1]).norm() / x[0].norm()
            characters = (x - x.mean(dim=1, keepdim=True)).norm() / x.norm()
            spreads.append([float(f"{value.item():.3g}") for value in (texts, characters, x.std())])
    return spreads


def measure(options: argparse.Namespace) -> dict:
    """`deep`: name -> start -> rate -> shares of each seed. `fresh`: of each seed."""
    seeds, steps = (1, 3) if options.quick else (SEEDS, STEPS)
    untrained = {}
    both = (False, True)
    for stream, norm, start, causal in itertools.product(
        both, both, ("default", "zero", "he"), both
    ):
        parts = [(stream, "stream"), (norm, "norm"), (causal, "mask")]
        name = ", ".join([*(part for has, part in parts if has), start])
        untrained[name] = [fresh(stream, norm, start, causal, seed) for seed in range(seeds)]
        print(name, untrained[name], flush=True)
    deep: dict[str, dict] = {}
    for name, start, rate in itertools.product(WAYS, STARTS, RATES):
        tries = [deep_trial(name, start, rate, seed, steps) for seed in range(seeds)]
        deep.setdefault(name, {}).setdefault(start, {})[rate] = tries
        print(name, start, rate, tries, flush=True)
    return {"deep": deep, "fresh": untrained}


main = runs.script(__doc__, "block_parts", measure, SETTINGS, threads=1)


if __name__ == "__main__":
    main()
