"""One plain training loop for all models, and the honest loss: on the whole split.

The loop knows neither data nor losses: it is given a function that draws a batch and one that
says how surprised the model is. One device, or several processes by `distributed`. Nothing is
printed: pass a callback to watch.
"""

import math
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, is_dataclass
from pathlib import Path

import torch
from jaxtyping import Float, Integer
from torch import Tensor, nn

from scratchformer.data.batches import Dealer, random_batch
from scratchformer.training.checkpoints import load_checkpoint, read_state, save_checkpoint
from scratchformer.training.distributed import ALONE, Workers
from scratchformer.training.losses import token_loss
from scratchformer.training.muon import Muon, muon_groups
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
    model: nn.Module,
    ids: Integer[Tensor, " N"],
    context_length: int,
    batch_size: int = 64,
    workers: Workers = ALONE,
) -> float:
    """Nats per token over all of `ids`: every token but the first is predicted exactly once.

    The split is cut into consecutive windows of `context_length`, the last one shorter, so a
    token sees what precedes it in its window. Several `workers` share the windows. Raises
    ValueError for fewer than two tokens.
    """
    if min(context_length, batch_size) < 1:
        sizes = f"context_length={context_length}, batch_size={batch_size}"
        raise ValueError(f"{sizes}, expected at least 1")
    if len(ids) < 2:
        raise ValueError(f"got {len(ids)} tokens, expected at least 2: one to predict from")
    device = next(model.parameters()).device
    n = len(ids) - 1  # predictions
    whole = n // context_length * context_length  # those in full windows
    stride = batch_size * context_length
    parts = [(i, min(i + stride, whole), context_length) for i in range(0, whole, stride)]
    if whole < n:
        parts.append((whole, n, n - whole))
    total = 0.0
    with eval_mode(model):
        for (start, stop, width), counts in workers.deal(parts):
            piece = ids[start : stop + 1].long().to(device)  # a file of ids is read bit by bit
            x, y = piece[:-1].view(-1, width), piece[1:].view(-1, width)
            total += counts * token_loss(model(x), y)[0].item()
    return workers.sum(torch.tensor(total, dtype=torch.float64)).item() / n


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict]:
    """Two groups for AdamW: matrices decay, biases and norms (one dimension) do not."""
    parameters = list(model.parameters())
    return [
        {"params": [p for p in parameters if p.dim() >= 2], "weight_decay": weight_decay},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]


def _moved(tensor: Tensor, device: torch.device) -> Tensor:
    """`tensor` on the device, without waiting for a GPU that is still at the step before."""
    if device.type == "cuda" and tensor.device.type == "cpu":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


def update(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    batches: Iterable[tuple[Tensor, ...]],
    loss: Callable[..., tuple[Tensor, Tensor]],
    *,
    clip: float = 1.0,
    precision: str = "float32",
    workers: Workers = ALONE,
) -> Float[Tensor, "2"]:
    """One step of the optimiser on several batches as if they were one; their nats and targets.

    The gradients of the batches' sums add up. Only then are they divided by the number of targets
    in all of them, and clipped to the norm `clip`. Of several `workers`, which make the same step,
    each brings its own rows.
    """
    device = next(model.parameters()).device
    optimizer.zero_grad(set_to_none=True)
    sums = []
    for batch in workers.in_turn(model, batches):
        tensors = [_moved(tensor, device) for tensor in batch]
        with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bfloat16"):
            nats, targets = loss(model, *tensors)
        nats.backward()
        sums.append(torch.stack((nats.detach().float(), targets.to(device).float())))
    total = workers.sum(torch.stack(sums).sum(dim=0))  # (2,)
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    # From the sum's to the mean's. The workers' gradients arrive divided by their number already.
    torch._foreach_div_(gradients, total[1].clamp(min=1) / workers.size)
    if clip < math.inf:
        nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return total  # on the device: to read it here would be to wait for the GPU


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
    muon_lr: float | None = None,
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
    identity: dict | None = None,
    compile: bool = False,
    workers: Workers = ALONE,
) -> History:
    """Train `model` in place with AdamW on what `batch` draws and `loss` measures.

    `batch(generator)` returns tensors, and takes all its randomness from the generator, which
    `seed` starts, or, as a `Dealer`, numbers its batches by a `position`; dropout draws from
    torch's own. `loss(model, *tensors)` returns a sum in nats and the number of targets in it: the
    gradient is that of their mean over `accumulate` batches together, exactly as if they were one,
    and is clipped to the norm `clip`. With a `muon_lr`, the matrices of linear layers take Muon's
    steps at that rate. `warmup` and `schedule` are `learning_rate`'s. `precision="bfloat16"`
    computes the losses under autocast. After every `evaluate_every` steps, and the last,
    `validate()` is called, and then `on_evaluate(step, train_loss, val_loss)`. The model stays in
    training mode.

    With a `checkpoint` path the run is saved there every `checkpoint_every` steps (by default at
    each evaluation), at the end, and after the step in progress when Ctrl-C or a polite kill
    stops it; `resume=True` goes on from the file, if there is one, exactly as if nothing had
    happened. `identity` holds more settings (JSON) that a resumed run must share.

    `compile=True` trains with torch.compile. Several `workers` (see `distributed.connected`) share
    the rows of each batch and end with the same model as one. Raises ValueError for settings that
    make no sense or differ from the checkpoint's, and FileExistsError rather than overwrite a
    checkpoint that was not to be resumed.
    """
    rates = {"lr": lr, "steps": steps, "warmup": warmup, "schedule": schedule}
    settings = rates | {"seed": seed, "weight_decay": weight_decay, "betas": list(betas)}
    settings |= {"eps": eps, "clip": clip, "accumulate": accumulate, "precision": precision}
    settings |= {"muon_lr": muon_lr}
    settings |= {"evaluate_every": evaluate_every, **(identity or {})}
    _refuse_nonsense(settings | {"checkpoint_every": checkpoint_every})
    called = workers.wrap(model, seed, compile)
    if muon_lr:
        kind, groups = Muon, muon_groups(model, lr, muon_lr, weight_decay)
    else:
        kind, groups = torch.optim.AdamW, parameter_groups(model, weight_decay)
    optimizer = kind(groups, lr=lr, betas=betas, eps=eps, fused=True)
    peaks = [group["lr"] for group in optimizer.param_groups]
    generator = torch.Generator().manual_seed(seed)
    history, first, spent = History(), 0, 0.0  # spent: seconds in training
    sums = []  # nats and targets of each step since the last evaluation, (2,)
    if checkpoint and Path(checkpoint).exists():
        if not resume:
            raise FileExistsError(f"{checkpoint} holds a run: pass resume=True, or move it away")
        _refuse_other_settings(checkpoint, settings)
        state = load_checkpoint(checkpoint, model, optimizer, generator, workers)
        history, first, spent = (
            History(**state["history"]),
            state["step"],
            state.get("seconds", 0.0),
        )
        device = next(model.parameters()).device
        sums = [torch.tensor(pair, device=device) for pair in state["sums"]]
        if hasattr(batch, "position"):  # a Dealer's batches are numbered
            batch.position = first * accumulate
    workers.agree(first, "the step they begin at")

    model.train()
    start = time.perf_counter() - spent
    with _stop_after_the_step(at_once=workers.size == 1) as stopped:
        for step in range(first, steps):
            for group, peak in zip(optimizer.param_groups, peaks, strict=True):
                group["lr"] = learning_rate(step, **rates | {"lr": peak})
            batches = (workers.share(batch(generator)) for _ in range(accumulate))
            options = {"clip": clip, "precision": precision, "workers": workers}
            sums.append(update(called, optimizer, batches, loss, **options))
            done = step + 1
            if on_step:
                on_step(done)
            evaluates = done == steps or bool(evaluate_every and done % evaluate_every == 0)
            if evaluates:
                nats, targets = torch.stack(sums).sum(dim=0).tolist()
                train_loss, sums = nats / max(targets, 1.0), []
                history.steps.append(done)
                history.train_loss.append(train_loss)
                spent = time.perf_counter() - start
                history.seconds.append(spent)
                val_loss = validate() if validate else None
                if validate:
                    history.val_loss.append(val_loss)
            else:
                spent = time.perf_counter() - start
            # Asked once: a signal that comes while saving ends the next step.
            stop = workers.any(bool(stopped))
            due = done % checkpoint_every == 0 if checkpoint_every else evaluates
            if checkpoint and (due or stop or done == steps):
                state = {"step": done, "settings": settings, "history": asdict(history)}
                state |= {"sums": [pair.tolist() for pair in sums], "seconds": spent}
                save_checkpoint(checkpoint, model, optimizer, generator, state, workers)
            if evaluates and on_evaluate:  # after saving: what it does may fail
                on_evaluate(done, train_loss, val_loss)
            start = time.perf_counter() - spent  # evaluating, saving and showing are no training
            if stop:
                raise KeyboardInterrupt(f"stopped after step {done} of {steps}")
    return history


def train(
    model: nn.Module,
    train_ids: Integer[Tensor, " N"],
    val_ids: Integer[Tensor, " M"],
    *,
    batch_size: int,
    context_length: int,
    deal: bool = False,
    workers: Workers = ALONE,
    **settings,
) -> History:
    """`fit` for a language model: random windows of `train_ids`, evaluated on all of `val_ids`.

    With `deal=True` no window comes twice in a pass over `train_ids` (see `Dealer`). `settings`
    are `fit`'s: steps, lr and seed are needed. `batch_size` counts the windows of all `workers`
    together. Raises ValueError as `fit` does.
    """
    if batch_size < workers.size:
        least = "1" if workers.size == 1 else f"one for each of {workers.size} processes"
        raise ValueError(f"batch_size={batch_size}, expected at least {least}")
    if len(val_ids) < 2:  # or it would be found out after the last step
        raise ValueError(f"val_ids hold {len(val_ids)} tokens, expected at least 2")
    identity = {"batch_size": batch_size, "context_length": context_length}
    identity |= {"tokens": [len(train_ids), len(val_ids)], "deal": deal}
    if is_dataclass(config := getattr(model, "config", None)):
        identity["model"] = asdict(config)
    rows = min(64, max(1, batch_size // workers.size))
    if deal:
        batch = Dealer(train_ids, batch_size, context_length, settings["seed"])
    else:

        def batch(generator):
            return random_batch(train_ids, batch_size, context_length, generator)

    return fit(
        model,
        batch,
        lambda model, x, y: token_loss(model(x), y),
        validate=lambda: evaluate(model, val_ids, context_length, rows, workers),
        identity=identity,
        workers=workers,
        **settings,
    )


def _refuse_nonsense(settings: dict) -> None:
    """Raise ValueError for a value that no run can have, before anything is done."""
    for name in ("steps", "accumulate", "evaluate_every", "checkpoint_every"):
        if settings[name] is not None and settings[name] < 1:
            raise ValueError(f"{name}={settings[name]}, expected at least 1")
    for name in ("lr", "muon_lr", "clip"):
        if settings[name] is None:
            continue
        if not settings[name] > 0 or (name != "clip" and settings[name] == math.inf):
            raise ValueError(f"{name}={settings[name]}, expected more than 0")
    if not settings["weight_decay"] >= 0:
        raise ValueError(f"weight_decay={settings['weight_decay']}, expected 0 or more")
    if settings["precision"] not in ("float32", "bfloat16"):
        raise ValueError(f"precision={settings['precision']!r}, expected 'float32' or 'bfloat16'")
    learning_rate(0, **{name: settings[name] for name in ("lr", "steps", "warmup", "schedule")})


def _refuse_other_settings(checkpoint: str | Path, settings: dict) -> None:
    before = read_state(checkpoint)["settings"]
    for name, value in settings.items():
        if name not in before:
            raise ValueError(f"{checkpoint} says nothing of {name}: another version began the run")
        if before[name] != value:
            raise ValueError(
                f"{checkpoint} is of a run with {name}={before.get(name)!r}, got {name}={value!r}: "
                "a run resumes with the settings it began with"
            )


@contextmanager
def _stop_after_the_step(at_once: bool = True) -> Iterator[list[int]]:
    """Hold back Ctrl-C and `kill` until a step is done: the list holds those that came.

    A second one stops `at_once`, unless it may be torchrun's copy of the first. Python allows this
    in the main thread only; elsewhere they act as they always do.
    """
    stopped = []

    def hold(number: int, frame) -> None:
        if stopped and at_once:
            raise KeyboardInterrupt
        stopped.append(number)

    if threading.current_thread() is not threading.main_thread():
        yield stopped
        return
    before = {number: signal.signal(number, hold) for number in (signal.SIGINT, signal.SIGTERM)}
    restore = True
    try:
        yield stopped
    except RuntimeError:
        restore = at_once  # one of several ends: torchrun's signal must not come before its words
        raise
    finally:
        for number, handler in before.items() if restore else ():
            signal.signal(number, handler)
