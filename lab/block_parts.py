"""Chapter 09's block without one of its parts, with tuned rivals -> measurements/block_parts.json.

Usage: python -m lab.block_parts [--quick | --write]

`parts` trains stacks of four blocks to guess the next character of Tiny Shakespeare: the block, and
the block without one of its parts, in all four blocks. The first SCORED characters of the
development split choose for each of them among RATES and STARTS (seed 0); `losses` are those of
the whole validation split, one a seed. `default` starts as PyTorch does, `he` draws the weights of
all linear layers with variance 1 / fan_in (2 / fan_in after an activation) and starts all biases at
0. `fresh` sends two texts through layers that nobody trained, and stores how far the texts are from
each other, how far the characters of a text are from their mean, and the size of the numbers.
"""

import argparse
import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lab import runs
from scratchformer.attention import MultiHeadAttention, causal_mask
from scratchformer.blocks import FeedForward, TransformerBlock
from scratchformer.training import train

RATES, STARTS, SEEDS = (0.001, 0.003, 0.01, 0.03), ("default", "he"), 3
STEPS, BATCH, SCORED = 300, 16, 20_000
C, HEADS, BLOCKS, CONTEXT = 32, 4, 4, 16
LAYERS = (0, 1, 2, 4, 8, 16)  # those at which `fresh` looks
TEXTS = ("the old king sleeps, and nobody", "may wake him until the sun is up")
SETTINGS = runs.settings_of(
    globals(), "RATES STARTS SEEDS STEPS BATCH SCORED HEADS BLOCKS CONTEXT LAYERS TEXTS"
)
SETTINGS |= {"d_model": C}


def whole(block: TransformerBlock, x: Tensor, mask: Tensor) -> Tensor:
    return block(x, mask)


def no_residual(block: TransformerBlock, x: Tensor, mask: Tensor) -> Tensor:
    return block.mlp(block.ln_2(block.attn(block.ln_1(x), mask=mask)))


def no_norm(block: TransformerBlock, x: Tensor, mask: Tensor) -> Tensor:
    x = x + block.attn(x, mask=mask)
    return x + block.mlp(x)


def no_network(block: TransformerBlock, x: Tensor, mask: Tensor) -> Tensor:
    return x + block.attn(block.ln_1(x), mask=mask)


def no_attention(block: TransformerBlock, x: Tensor, mask: Tensor) -> Tensor:
    return x + block.mlp(block.ln_2(x))


WAYS: dict[str, Callable[..., Tensor]] = {
    "the block": whole,
    "no norm": no_norm,
    "no network": no_network,
    "no attention": no_attention,
    "no residual": no_residual,
}


def he_start(module: nn.Module) -> None:
    """All linear layers of a block anew: the variance is kept, and biases are 0."""
    for name, layer in module.named_modules():
        if isinstance(layer, nn.Linear):
            gain = 2.0 if name.endswith("mlp.c_proj") else 1.0
            nn.init.normal_(layer.weight, std=(gain / layer.in_features) ** 0.5)
            nn.init.zeros_(layer.bias)


class Stack(nn.Module):
    """Characters and positions, blocks, a last norm and a last layer."""

    def __init__(self, way: Callable[..., Tensor], vocab_size: int):
        super().__init__()
        self.way = way
        self.wte, self.wpe = nn.Embedding(vocab_size, C), nn.Embedding(CONTEXT, C)
        self.blocks = nn.ModuleList(TransformerBlock(C, HEADS) for _ in range(BLOCKS))
        self.ln_f, self.lm_head = nn.LayerNorm(C), nn.Linear(C, vocab_size)

    def forward(self, ids: Tensor) -> Tensor:
        T = ids.shape[1]
        x, mask = self.wte(ids) + self.wpe.weight[:T], causal_mask(T)
        for block in self.blocks:
            x = self.way(block, x, mask)
        return self.lm_head(self.ln_f(x))


def trained(
    name: str, split: tuple, vocab_size: int, start: str, lr: float, seed: int, steps: int
) -> float:
    """The loss of a stack of such blocks, on what the split scores."""
    torch.manual_seed(seed)
    net = Stack(WAYS[name], vocab_size)
    if start == "he":
        he_start(net.blocks)
    sizes = {"steps": steps, "batch_size": BATCH, "context_length": CONTEXT}
    options: dict[str, Any] = sizes | {"weight_decay": 0.0}
    return round(train(net, *split, lr=lr, seed=seed, **options).val_loss[-1], 4)


def part_trial(name: str, splits: dict, vocab_size: int, seeds: int, steps: int) -> dict:
    """All starts and rates on the development split, and the best of them on validation."""
    train_ids, scored = splits["development"]
    split = train_ids, scored[:SCORED]
    development: dict[str, dict[float, float]] = {}
    tries = {}
    for start, lr in itertools.product(STARTS, RATES):
        loss = trained(name, split, vocab_size, start, lr, 0, steps)
        development.setdefault(start, {})[lr] = tries[start, lr] = loss
    start, lr = min(tries, key=lambda of: tries[of])
    losses = [
        trained(name, splits["validation"], vocab_size, start, lr, seed, steps)
        for seed in range(seeds)
    ]
    return {"development": development, "start": start, "rate": lr, "losses": losses}


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
    """`parts`: name -> what `part_trial` finds. `fresh`: of each seed."""
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
    splits, vocab_size = runs.load_splits(write=options.write)
    trials = {}
    for name in WAYS:
        trials[name] = part_trial(name, splits, vocab_size, seeds, steps)
        print(name, trials[name], flush=True)
    return {"parts": trials, "fresh": untrained}


main = runs.script(__doc__, "block_parts", measure, SETTINGS, threads=1)


if __name__ == "__main__":
    main()
