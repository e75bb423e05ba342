"""One plain training loop for all language models, and the honest loss: on the whole split.

No checkpoints, no mixed precision, one device. Nothing is printed: pass `on_evaluate` to watch.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor, nn

from scratchformer.data.batches import random_batch


@dataclass(frozen=True)
class History:
    """What `train` saw: one entry in each list for each evaluation."""

    steps: list[int] = field(default_factory=list)  # optimiser steps done so far
    train_loss: list[float] = field(default_factory=list)  # mean batch loss since the last entry
    val_loss: list[float] = field(default_factory=list)  # nats per token, whole validation split
    seconds: list[float] = field(default_factory=list)  # time in training, evaluation left out


@contextmanager
def eval_mode(model: nn.Module) -> Iterator[None]:
    """No dropout and no gradients inside; the model's mode is restored afterwards."""
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(was_training)


def evaluate(
    model: nn.Module, ids: Int[Tensor, " N"], context_length: int, batch_size: int = 64
) -> float:
    """Nats per token over all of `ids`: every token but the first is predicted exactly once.

    The split is cut into consecutive windows of `context_length`, the last one shorter, so a
    token sees what precedes it in its window. Raises ValueError for fewer than two tokens.
    """
    if context_length < 1:
        raise ValueError(f"context_length={context_length}, expected at least 1")
    if len(ids) < 2:
        raise ValueError(f"got {len(ids)} tokens, expected at least 2: one to predict from")
    device = next(model.parameters()).device
    ids = ids.to(device).long()
    x, y = ids[:-1], ids[1:]
    whole = len(x) // context_length * context_length  # tokens in full windows
    windows = zip(
        x[:whole].view(-1, context_length).split(batch_size),
        y[:whole].view(-1, context_length).split(batch_size),
        strict=True,
    )
    total = 0.0
    with eval_mode(model):
        for xb, yb in (*windows, (x[None, whole:], y[None, whole:])):
            if xb.numel():
                total += F.cross_entropy(
                    model(xb).flatten(0, 1), yb.flatten(), reduction="sum"
                ).item()
    return total / len(x)


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict]:
    """Two groups for AdamW: matrices decay, biases and norms (one dimension) do not."""
    parameters = list(model.parameters())
    return [
        {"params": [p for p in parameters if p.dim() >= 2], "weight_decay": weight_decay},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]


def train(
    model: nn.Module,
    train_ids: Int[Tensor, " N"],
    val_ids: Int[Tensor, " M"],
    *,
    steps: int,
    batch_size: int,
    context_length: int,
    lr: float,
    seed: int,
    weight_decay: float = 0.1,
    warmup: int = 0,
    schedule: Literal["linear", "constant"] = "linear",
    evaluate_every: int | None = None,
    on_evaluate: Callable[[int, float, float], None] | None = None,
) -> History:
    """Train `model` in place with AdamW(0.9, 0.95) on random windows of `train_ids`.

    The rate rises over `warmup` steps to `lr`, then falls to 0 in a straight line or stays
    (`schedule`). `seed` fixes the batches; dropout draws from torch's own generator. The model
    is evaluated on all of `val_ids` every `evaluate_every` steps and after the last one, and
    `on_evaluate(step, train_loss, val_loss)` is called each time. Raises ValueError for an
    unknown schedule, or a warm-up as long as the run.
    """
    if schedule not in ("linear", "constant"):
        raise ValueError(f"schedule={schedule!r}, expected 'linear' or 'constant'")
    if not 0 <= warmup < steps:
        raise ValueError(f"warmup={warmup}, expected 0 or more and fewer than steps={steps}")
    if batch_size < 1:
        raise ValueError(f"batch_size={batch_size}, expected at least 1")
    device = next(model.parameters()).device
    optimizer = torch.optim.AdamW(
        parameter_groups(model, weight_decay), lr=lr, betas=(0.9, 0.95), fused=True
    )
    generator = torch.Generator().manual_seed(seed)
    history, losses, seconds, start = History(), [], 0.0, time.perf_counter()
    model.train()
    for step in range(steps):
        rising = min(1.0, (step + 1) / (warmup + 1))
        falling = min(1.0, (steps - step) / (steps - warmup)) if schedule == "linear" else 1.0
        for group in optimizer.param_groups:
            group["lr"] = lr * rising * falling
        x, y = random_batch(train_ids, batch_size, context_length, generator)
        logits = model(x.to(device))
        loss = F.cross_entropy(logits.flatten(0, 1), y.to(device).flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.detach())  # kept on the device: reading it would wait for the GPU
        done = step + 1
        if done == steps or (evaluate_every and done % evaluate_every == 0):
            train_loss = torch.stack(losses).mean().item()
            seconds += time.perf_counter() - start
            val_loss = evaluate(model, val_ids, context_length)
            history.steps.append(done)
            history.train_loss.append(train_loss)
            history.val_loss.append(val_loss)
            history.seconds.append(seconds)
            if on_evaluate:
                on_evaluate(done, train_loss, val_loss)
            losses, start = [], time.perf_counter()
    return history
