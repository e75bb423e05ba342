"""nanoGPT's setting for a CPU, computed as its own code computes it: the rival of the speedrun.

`taken_apart.py` runs it; nothing here is run by itself.
"""

import math
import statistics
import time
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from scratchformer.blocks import FeedForward
from scratchformer.models import GPT, GPTConfig
from scratchformer.training import parameter_groups

POINTS = 25  # of a loss curve
NANOGPT: dict[str, Any] = {  # its README's command for a CPU, and what the configuration file adds
    "model": {"context_length": 64, "d_model": 128, "n_heads": 4, "n_layers": 4, "bias": False},
    "batch_size": 12,
    "steps": 2000,
    "lr": 1e-3,
    "lowest_lr": 1e-4,
    "warmup": 100,
    "betas": (0.9, 0.99),
    "weight_decay": 0.1,
    "clip": 1.0,
}


def reference(vocab_size: int) -> GPT:
    """What nanoGPT computes: GPT-2 without biases, and the exact GELU."""
    model = GPT(GPTConfig(vocab_size, **NANOGPT["model"]))
    for layer in model.modules():
        if isinstance(layer, FeedForward):
            layer.activation = nn.GELU()
    return model


def reference_rate(step: int, steps: int) -> float:
    """nanoGPT's schedule: a straight rise, then half a cosine down to a tenth of the peak."""
    peak, low, warmup = NANOGPT["lr"], NANOGPT["lowest_lr"], NANOGPT["warmup"]
    if step < warmup:
        return peak * (step + 1) / (warmup + 1)
    progress = (step - warmup) / (steps - warmup)
    return low + (peak - low) * (1 + math.cos(math.pi * progress)) / 2


def reference_run(ids, vocab_size: int, seed: int, steps: int | None = None) -> tuple:
    """Train nanoGPT's way: the model and its curve. `steps` stops before the schedule's end."""
    N, T, B = NANOGPT["steps"], NANOGPT["model"]["context_length"], NANOGPT["batch_size"]
    torch.manual_seed(seed)
    model = reference(vocab_size)
    groups = parameter_groups(model, NANOGPT["weight_decay"])
    optimizer = torch.optim.AdamW(groups, lr=NANOGPT["lr"], betas=NANOGPT["betas"])
    losses, seconds, start = [], [], time.perf_counter()
    for step in range(steps or N):
        for group in optimizer.param_groups:
            group["lr"] = reference_rate(step, N)
        starts = torch.randint(len(ids) - T, (B,))
        x = torch.stack([ids[i : i + T] for i in starts])
        y = torch.stack([ids[i + 1 : i + 1 + T] for i in starts])
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), NANOGPT["clip"])
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.item())
        seconds.append(time.perf_counter() - start)
    every = max(1, len(losses) // POINTS)
    ends = range(every, len(losses) + 1, every)
    means = [statistics.mean(losses[i - every : i]) for i in ends]
    return model, curve(list(ends), means, [seconds[i - 1] for i in ends])


def curve(steps: list[int], losses: list[float], seconds: list[float]) -> dict:
    """The training loss on the way, and the seconds so far."""
    return {
        "steps": list(steps),
        "train_loss": [round(loss, 3) for loss in losses],
        "seconds": [round(t, 3) for t in seconds],
    }
