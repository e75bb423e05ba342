"""One plain training loop for all models, and the honest loss: on the whole split.

The loop knows neither data nor losses: it is given a function that draws a batch and one that
says how surprised the model is. One device. Nothing is printed: pass a callback to watch.
"""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from jaxtyping import Int
from torch import Tensor, nn

from scratchformer.data.batches import random_batch
from scratchformer.training.checkpoints import load_checkpoint, read_state, save_checkpoint
from scratchformer.training.losses import token_loss
from scratchformer.training.schedules import learning_rate


@dataclass(frozen=True)
class History:
    """What `fit` saw: one entry in each list for each evaluation."""

    steps: list[int] = field(default_factory=list)  # optimiser steps done so far
    train_loss: list[float] = field(default_factory=list)  # nats per target since the last entry
    val_loss: list[float] = field(default_factory=list)  # what `validate` said; empty without
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
                total += token_loss(model(xb), yb)[0].item()
    return total / len(x)


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict]:
    """Two groups for AdamW: matrices decay, biases and norms (one dimension) do not."""
    parameters = list(model.parameters())
    return [
        {"params": [p for p in parameters if p.dim() >= 2], "weight_decay": weight_decay},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]


def fit(
    model: nn.Module,
    batch: Callable[[torch.Generator], tuple[Tensor, ...]],
    loss: Callable[..., tuple[Tensor, Tensor]],
    *,
    steps: int,
    lr: float,
    seed: int,
    weight_decay: float = 0.1,
    betas: tuple[float, float] = (0.9, 0.95),
    eps: float = 1e-8,
    warmup: int = 0,
    schedule: str = "linear",
    clip: float = 1.0,
    accumulate: int = 1,
    precision: str = "float32",
    validate: Callable[[], float] | None = None,
    evaluate_every: int | None = None,
    on_step: Callable[[int], None] | None = None,
    on_evaluate: Callable[[int, float, float | None], None] | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: int | None = None,
    resume: bool = False,
) -> History:
    """Train `model` in place with AdamW on what `batch` draws and `loss` measures.

    `batch(generator)` returns tensors, and takes all its randomness from the generator, which
    `seed` starts; dropout draws from torch's own. `loss(model, *tensors)` returns a sum in nats
    and the number of targets in it: the gradient is that of their mean over `accumulate` batches
    together, exactly as if they were one, and is clipped to the norm `clip`. `warmup` and
    `schedule` are `learning_rate`'s. `precision="bfloat16"` computes the losses under autocast.
    After every `evaluate_every` steps, and the last, `validate()` is called, and then
    `on_evaluate(step, train_loss, val_loss)`.

    With a `checkpoint` path the run is saved there every `checkpoint_every` steps (by default at
    each evaluation), at the end, and after the step in progress when Ctrl-C or a polite kill
    stops it; `resume=True` goes on from the file, if there is one, exactly as if nothing had
    happened. Raises ValueError for settings that make no sense or differ from the checkpoint's,
    and FileExistsError rather than overwrite a checkpoint that was not to be resumed.
    """
    if accumulate < 1:
        raise ValueError(f"accumulate={accumulate}, expected at least 1")
    if precision not in ("float32", "bfloat16"):
        raise ValueError(f"precision={precision!r}, expected 'float32' or 'bfloat16'")
    rates = {"lr": lr, "steps": steps, "warmup": warmup, "schedule": schedule}
    learning_rate(0, **rates)  # raises what is wrong before anything is done
    settings = rates | {"seed": seed, "weight_decay": weight_decay, "betas": list(betas)}
    settings |= {"eps": eps, "clip": clip, "accumulate": accumulate, "precision": precision}
    settings |= {"evaluate_every": evaluate_every}
    device = next(model.parameters()).device
    groups = parameter_groups(model, weight_decay)
    optimizer = torch.optim.AdamW(groups, lr=lr, betas=betas, eps=eps, fused=True)
    generator = torch.Generator().manual_seed(seed)
    history, losses, first = History(), [], 0
    if checkpoint and Path(checkpoint).exists():
        if not resume:
            raise FileExistsError(f"{checkpoint} holds a run: pass resume=True, or move it away")
        _check_settings(checkpoint, settings)
        state = load_checkpoint(checkpoint, model, optimizer, generator)
        history, first = History(**state["history"]), state["step"]
        losses = [torch.tensor(loss, device=device) for loss in state["losses"]]

    def save(done: int) -> None:
        state = {"step": done, "settings": settings, "history": asdict(history)}
        state["losses"] = [loss.item() for loss in losses]
        save_checkpoint(checkpoint, model, optimizer, generator, state)

    model.train()
    start = time.perf_counter() - (history.seconds[-1] if history.seconds else 0.0)
    with _stop_after_the_step() as stopped:
        for step in range(first, steps):
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(step, **rates)
            optimizer.zero_grad(set_to_none=True)
            total, count = 0.0, 0
            for _ in range(accumulate):
                tensors = [tensor.to(device) for tensor in batch(generator)]
                with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bfloat16"):
                    part, n = loss(model, *tensors)
                part.backward()
                total, count = total + part.detach(), count + n
            count = count.clamp(min=1)
            for p in model.parameters():
                if p.grad is not None:
                    p.grad /= count  # from the gradient of the sum to that of the mean
            nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
            losses.append(total / count)  # kept on the device: reading it would wait for the GPU
            done = step + 1
            if on_step:
                on_step(done)
            evaluates = done == steps or bool(evaluate_every and done % evaluate_every == 0)
            if evaluates:
                train_loss, losses = torch.stack(losses).mean().item(), []
                history.steps.append(done)
                history.train_loss.append(train_loss)
                history.seconds.append(time.perf_counter() - start)
                val_loss = validate() if validate else None
                if validate:
                    history.val_loss.append(val_loss)
                if on_evaluate:
                    on_evaluate(done, train_loss, val_loss)
                start = time.perf_counter() - history.seconds[-1]
            due = done % checkpoint_every == 0 if checkpoint_every else evaluates
            if checkpoint and (due or stopped or done == steps):
                save(done)
            if stopped:
                raise KeyboardInterrupt(f"stopped after step {done} of {steps}")
    return history


def train(
    model: nn.Module,
    train_ids: Int[Tensor, " N"],
    val_ids: Int[Tensor, " M"],
    *,
    batch_size: int,
    context_length: int,
    **settings,
) -> History:
    """`fit` for a language model: random windows of `train_ids`, evaluated on all of `val_ids`.

    `settings` are `fit`'s: steps, lr and seed are needed. Raises ValueError as `fit` does.
    """
    if batch_size < 1:
        raise ValueError(f"batch_size={batch_size}, expected at least 1")
    return fit(
        model,
        lambda generator: random_batch(train_ids, batch_size, context_length, generator),
        lambda model, x, y: token_loss(model(x), y),
        validate=lambda: evaluate(model, val_ids, context_length),
        **settings,
    )


def _check_settings(checkpoint: str | Path, settings: dict) -> None:
    before = read_state(checkpoint)["settings"]
    for name, value in settings.items():
        if before[name] != value:
            raise ValueError(
                f"{checkpoint} is of a run with {name}={before[name]!r}, got {name}={value!r}: "
                "a run resumes with the settings it began with"
            )


@contextmanager
def _stop_after_the_step() -> Iterator[list[int]]:
    """Hold back Ctrl-C and `kill` until a step is done: the list holds those that came.

    A second one stops at once. Python allows this in the main thread only; elsewhere they act
    as they always do.
    """
    stopped = []

    def hold(number: int, frame) -> None:
        if stopped:
            raise KeyboardInterrupt
        stopped.append(number)

    if threading.current_thread() is not threading.main_thread():
        yield stopped
        return
    before = {number: signal.signal(number, hold) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
