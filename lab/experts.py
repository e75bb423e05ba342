"""Experts on Playhouse, whose floor is known -> measurements/experts.json.

Usage: python -m lab.experts [--quick | --write]

Four models: GPT-2's block; the same with eight experts of half its network's width, of which two
work for each token, so that a token costs as many operations; these experts without the loss that
keeps their work even; and a network four times as wide, which has as many weights as the eight.
Each has its rate chosen on one text by a sweep that goes on until its best rate has a worse
neighbour on both sides; three seeds are then read on another text. Finished runs are kept.
"""

import time

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import clip_grad_norm_

from lab import runs
from scratchformer.blocks import FeedForward
from scratchformer.data.batches import random_batch
from scratchformer.data.playhouse import Playhouse
from scratchformer.tokenizers import CharTokenizer
from scratchformer.training import evaluate, learning_rate
from scratchformer_course.ch19_since_gpt2.model import ChangedGPT, Experts, Sizes
from scratchformer_course.measurements import FOLDER

FILE = FOLDER / "experts.json"
T, BATCH, STEPS, WARMUP, SEEDS = 64, 16, 800, 40, range(3)  # the floor is known for windows of 64
RATES = [0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064]
BALANCE = 0.01  # weight of the routers' loss (Fedus et al. 2021)
KINDS = ("dense", "experts", "without balance", "as many weights")


def build(kind: str, V: int) -> ChangedGPT:
    """A model of one kind, 64 wide with two blocks."""
    sparse = kind in ("experts", "without balance")
    model = ChangedGPT(Sizes(V, T, d_model=64, n_heads=4, n_layers=2), ("experts",) * sparse)
    if kind == "as many weights":
        for block in model.h:
            block.mlp = FeedForward(64, 16 * 64)
            for p in block.mlp.parameters():
                nn.init.normal_(p, std=0.02) if p.dim() == 2 else nn.init.zeros_(p)
            nn.init.normal_(block.mlp.c_proj.weight, std=0.01)
    return model


def trained(kind: str, V: int, ids: Tensor, lr: float, steps: int, seed: int) -> ChangedGPT:
    """One run: AdamW, warm-up and cosine, gradients clipped at 1, as in `since_gpt2.py`."""
    torch.manual_seed(seed)
    model = build(kind, V)
    matrices = [p for p in model.parameters() if p.dim() == 2]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, betas=(0.9, 0.95), fused=True)
    generator = torch.Generator().manual_seed(seed)
    balance = BALANCE if kind == "experts" else 0.0
    for step in range(steps):
        rate = learning_rate(step, lr=lr, steps=steps, warmup=min(WARMUP, steps // 10 + 1))
        for group in optimizer.param_groups:
            group["lr"] = rate
        x, y = random_batch(ids, BATCH, T, generator)  # (B, T) each
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        (loss + balance * model.balance).backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model


@torch.no_grad()
def busiest(model: ChangedGPT, ids: Tensor) -> list[float]:
    """For each block the share of its work that the busiest expert does, on a part of the text."""
    model(ids[: 64 * T].view(64, T))
    return [round(e.share.max().item(), 3) for e in model.modules() if isinstance(e, Experts)]


def main(arguments: list[str] | None = None) -> dict:
    options = runs.command_line(__doc__, FILE.name).parse_args(arguments)
    torch.set_num_threads(1)
    texts = {"train": Playhouse(0).text(2_000_000), "development": Playhouse(1).text(60_000)}
    texts["validation"] = Playhouse(2).text(60_000)
    tok = CharTokenizer.train(texts["train"])
    ids = {name: torch.tensor(tok.encode(text)) for name, text in texts.items()}
    found = runs.read(FILE) if options.write and FILE.exists() else {}
    start = time.process_time() - found.get("cpu_seconds", 0)
    found |= {"command": "python -m lab.experts --write", "steps": STEPS, "batch": BATCH}
    steps, seeds = (4, [0]) if options.quick else (STEPS, SEEDS)

    def keep() -> None:
        found["cpu_seconds"] = round(time.process_time() - start)
        if options.write:
            runs.store(FILE, found | runs.stamp())

    def run(kind: str, split: str, lr: float, seed: int) -> tuple[ChangedGPT, float]:
        model = trained(kind, tok.vocab_size, ids["train"], lr, steps, seed)
        return model, round(evaluate(model, ids[split], T), 4)

    for kind in KINDS:
        own = found.setdefault(kind, {"development": {}, "validation": [], "busiest": []})
        own["parameters"] = sum(p.numel() for p in build(kind, tok.vocab_size).parameters())
        waiting, tried = [0.008, 0.016], own["development"]
        while waiting:  # the least loss is followed until it has a worse neighbour on both sides
            lr = waiting.pop(0)
            if str(lr) not in tried:
                tried[str(lr)] = run(kind, "development", lr, 0)[1]
                keep()
            best = float(min(tried, key=lambda rate: tried[rate]))
            if not waiting:
                i = RATES.index(best)
                waiting = [rate for rate in RATES[max(0, i - 1) : i + 2] if str(rate) not in tried]
        own["rate"] = best
        for seed in list(seeds)[len(own["validation"]) :]:
            model, loss = run(kind, "validation", best, seed)
            own["validation"].append(loss)
            own["busiest"].append(busiest(model, ids["development"]))
            keep()
        print(kind, own, flush=True)
    return found


if __name__ == "__main__":
    main()
