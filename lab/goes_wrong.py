"""What the page "A run that goes wrong" tells of single runs -> measurements/goes_wrong.json.

Usage: python -m lab.goes_wrong [--quick | --write] [--only PART]

A GPT of chapter 11, on windows of 32 characters, with PyTorch's AdamW. Losses are on development.

one_batch  the step repeated on one batch: its loss, the least there is, the loss on other text, and
           two programs with a fault
starts     100 steps at a rate of 0.01: with a warm-up, a clip, both or neither, and how far the
           first step moves the matrices, as a share of their length
bad_batch  a batch of one letter alone after 150 healthy steps: what three steps do to the loss,
           with and without a clip, for two values of beta2; and how often a clip acts before that
tab        the trainer of the page "Train it in this tab", in Node.js, with its rates times a
           factor: the loss on validation, null where it is no number
"""

import argparse
import math
import shutil
from collections import Counter, defaultdict
from functools import partial
from itertools import product
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from lab import runs
from lab.tab import in_node
from lab.taken_apart import Runner
from scratchformer.data.batches import random_batch
from scratchformer.models import GPT, GPTConfig
from scratchformer.training import evaluate
from scratchformer_course.tab_trainer.race import CONFIG, TRAINING

T, B, SEEDS = 32, 16, range(3)
SIZES: dict[str, Any] = {"context_length": T, "d_model": 64, "n_heads": 4, "n_layers": 2}
ONE_BATCH: dict[str, Any] = {"rate": 0.003, "steps": 300, "steps_with_fault": 150}
STARTS: dict[str, Any] = {"rate": 0.01, "steps": 100, "warmup": 50, "clip": 1.0}
BAD_BATCH: dict[str, Any] = {"rate": 0.004, "warmup": 20, "after": 150, "betas2": (0.95, 0.999)}
FACTORS = (0.125, 1.0, 8.0)
SETTINGS: dict[str, Any] = {
    name: SIZES | {"batch": B, "seeds": [*SEEDS]} | part
    for name, part in (("one_batch", ONE_BATCH), ("starts", STARTS), ("bad_batch", BAD_BATCH))
}
SETTINGS["tab"] = {"config": CONFIG, "training": TRAINING, "factors": FACTORS, "seeds": [*SEEDS]}


class Run:
    """A fresh GPT and its AdamW; `step` makes a step and gives the loss and the gradient's norm."""

    def __init__(self, V: int, seed: int, lr: float, beta2: float = 0.95):
        torch.manual_seed(seed)
        self.model, self.lr, self.done = GPT(GPTConfig(V, **SIZES)), lr, 0
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr, (0.9, beta2))
        self.generator = torch.Generator().manual_seed(seed)

    def batch(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        return random_batch(ids, B, T, self.generator)  # (B, T) each

    def step(
        self, x: Tensor, y: Tensor, warmup: int = 0, clip: float = math.inf, fault: str = ""
    ) -> tuple[float, float]:
        rate = self.lr * min(1, (self.done + 1) / (warmup + 1))
        self.optimizer.param_groups[0]["lr"], self.done = rate, self.done + 1
        logits = self.model(x)  # (B, T, V)
        if fault == "a softmax too many":
            logits = logits.softmax(dim=-1)
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
        if fault != "slopes never zeroed":
            self.optimizer.zero_grad()
        loss.backward()
        norm = clip_grad_norm_(self.model.parameters(), clip)
        self.optimizer.step()
        return loss.item(), norm.item()


def least_loss(x: Tensor, y: Tensor) -> float:
    """The least possible loss on a batch: windows that begin alike may go on differently."""
    after: dict[tuple, Counter] = defaultdict(Counter)
    for window, targets in zip(x.tolist(), y.tolist(), strict=True):
        for t, target in enumerate(targets):
            after[tuple(window[: t + 1])][target] += 1
    nats = 0.0
    for seen in after.values():
        nats -= sum(n * math.log(n / seen.total()) for n in seen.values())
    return nats / y.numel()


def one_batch_part(splits: dict, V: int, shorter: int) -> dict:
    ids, scored = splits["development"]

    def last_loss(steps: int, fault: str = "") -> tuple[float, Run, Tensor, Tensor]:
        run = Run(V, 0, ONE_BATCH["rate"])
        x, y = run.batch(ids)
        losses = [run.step(x, y, fault=fault)[0] for _ in range(max(1, steps // shorter) + 1)]
        return losses[-1], run, x, y

    reached, run, x, y = last_loss(ONE_BATCH["steps"])
    return {
        "reached": round(reached, 4),
        "least": round(least_loss(x, y), 4),
        "elsewhere": round(evaluate(run.model, scored, T), 3),
        "faults": {
            fault: round(last_loss(ONE_BATCH["steps_with_fault"], fault)[0], 3)
            for fault in ("", "a softmax too many", "slopes never zeroed")
        },
    }


def matrices(model: GPT) -> Tensor:
    return torch.cat([p.detach().flatten() for p in model.parameters() if p.dim() == 2])  # (N,)


def starts_part(splits: dict, V: int, shorter: int) -> dict:
    ids, scored = splits["development"]
    warmup, clip = {"warmup": STARTS["warmup"]}, {"clip": STARTS["clip"]}
    found = {}
    for name, how in {
        "neither": {},
        "clip": clip,
        "warm-up": warmup,
        "both": clip | warmup,
    }.items():
        moved, losses, clipped = [], [], 0
        for seed in SEEDS:
            run = Run(V, seed, STARTS["rate"])
            before = matrices(run.model)
            run.step(*run.batch(ids), **how)
            moved.append(round(((matrices(run.model) - before).norm() / before.norm()).item(), 4))
            for _ in range(STARTS["steps"] // shorter - 1):
                clipped += run.step(*run.batch(ids), **how)[1] > STARTS["clip"]
            losses.append(round(evaluate(run.model, scored, T), 3))
        found[name] = {"moved": moved, "losses": losses, "longer_than_clip": clipped}
        print(name, found[name], flush=True)
    return {"ways": found}


def bad_batch_part(splits: dict, V: int, shorter: int) -> dict:
    ids, scored = splits["development"]
    found: dict[str, dict] = {}
    for beta2, clip in product(BAD_BATCH["betas2"], (math.inf, 1.0)):
        jumps, times, shares = [], [], []
        for seed in SEEDS:
            run, how = Run(V, seed, BAD_BATCH["rate"], beta2), {"warmup": BAD_BATCH["warmup"]}
            healthy = BAD_BATCH["after"] // shorter
            norms = [run.step(*run.batch(ids), clip=clip, **how)[1] for _ in range(healthy)]
            before = evaluate(run.model, scored, T)
            x, _ = run.batch(ids)
            letter = torch.full_like(x, int(ids.bincount(minlength=V).argmin()))
            norm = run.step(letter, letter, clip=clip, **how)[1]
            for _ in range(2):
                run.step(*run.batch(ids), clip=clip, **how)
            jumps.append(round(evaluate(run.model, scored, T) - before, 3))
            times.append(round(norm / sorted(norms[-50:])[len(norms[-50:]) // 2], 1))
            shares.append(round(sum(norm > 1 for norm in norms) / len(norms), 3))
        name = "no clip" if clip == math.inf else "clip"
        result = {"jumps": jumps, "times_as_long": times, "share_longer_than_1": shares}
        found.setdefault(str(beta2), {})[name] = result
        print(beta2, name, result, flush=True)
    return {"beta2": found}


def tab_part(options: argparse.Namespace) -> dict:
    runner = Runner(options.quick)
    found: dict[str, list] = {str(factor): [] for factor in FACTORS}
    if not shutil.which("node"):
        return {"factors": found}
    for factor, seed in product(FACTORS, SEEDS):
        rates = {name: TRAINING[name] * factor for name in ("lr", "muon_lr")}
        few = {"steps": 3} if options.quick else {}
        loss = in_node(runner, seed, CONFIG, TRAINING | rates | few)["loss"]
        found[str(factor)].append(None if loss is None else round(loss, 3))
        print(factor, seed, loss, flush=True)
    return {"factors": found}


def measure(part: Any, options: argparse.Namespace) -> dict:
    """A part, with a shorter text to score."""
    splits, V = runs.load_splits(write=options.write)
    ids, scored = splits["development"]
    splits["development"] = ids, scored[:10_001]
    return part(splits, V, 50 if options.quick else 1)


PARTS: dict[str, runs.Part] = {
    "one_batch": partial(measure, one_batch_part),
    "starts": partial(measure, starts_part),
    "bad_batch": partial(measure, bad_batch_part),
    "tab": tab_part,
}
main = runs.script(__doc__, "goes_wrong", PARTS, SETTINGS, threads=1)


if __name__ == "__main__":
    main()
