"""One plain training loop for all models.

`fit` knows neither data nor losses: it is given batches, and a function that computes a loss. What
lets a run survive is around it, in resuming.py. `train` gives it windows of a text and the loss of
a language model. Nothing is printed: pass a callback to watch.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Integer
from torch import Tensor, nn

from scratchformer.data.batches import RandomBatches, WindowSampler
from scratchformer.training import distributed
from scratchformer.training.checkpoints import History, TrainingState
from scratchformer.training.config import TrainingConfig, make_optimizer
from scratchformer.training.losses import evaluate, token_loss
from scratchformer.training.resuming import is_due, refuse_no_number, resumable, settings_of

Batch = tuple[Tensor, ...]
Loss = Callable[..., tuple[Tensor, Tensor]]


def update(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    batches: Iterable[Batch],
    loss: Loss,
    clip: float = 1.0,
    precision: str = "float32",
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """One step of the optimiser on several batches, as if they were one.

    `loss(model, *batch)` returns a sum in nats and the number of targets in it. The gradient is
    that of the mean over the targets of all batches, clipped to the norm `clip`. Returns the nats
    and the number of targets, on the model's device.
    """
    device = next(model.parameters()).device
    nats = targets = torch.zeros((), device=device)
    optimizer.zero_grad(set_to_none=True)
    for batch in batches:
        with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bfloat16"):
            tensors = [tensor.to(device, non_blocking=True) for tensor in batch]
            batch_nats, batch_targets = loss(model, *tensors)
        batch_nats.backward()  # adds this batch's gradients to those of the batches before
        nats, targets = nats + batch_nats.detach(), targets + batch_targets.to(device)
    n = targets.clamp(min=1)
    for p in model.parameters():
        if p.grad is not None:
            p.grad /= n  # the gradient of the sum becomes that of the mean
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return nats, targets


def fit(
    model: nn.Module,
    batches: Iterator[Batch] | Callable[[torch.Generator], Batch],
    loss: Loss,
    config: TrainingConfig,
    *,
    validate: Callable[[], float] | None = None,
    callbacks: Sequence[Callable[[TrainingState], object]] = (),
    checkpoint: str | Path | None = None,
    resume: bool = False,
    identity: dict | None = None,
) -> History:
    """Train `model` in place on `batches`, as `config` says; it stays in training mode.

    `batches` is a sampler (see data/batches.py), or a function that draws a batch, a tuple of
    tensors, from a generator. `loss(model, *batch)` returns a sum in nats and the number of
    targets in it. At every evaluation `validate()` is called; each of the `callbacks` is called
    after every step (see `TrainingState`).

    With a `checkpoint` path the run is saved there. Ctrl-C or `kill` lets the step in progress end,
    saves the run and raises KeyboardInterrupt. `resume=True` goes on from the file, if there is
    one, as if nothing had happened. `identity` holds more settings (JSON) that a resumed run must
    share: ValueError if they differ. FileExistsError rather than overwrite a checkpoint,
    FloatingPointError rather than save a weight, or record a loss, that is no number.
    """
    sampler = batches if isinstance(batches, Iterator) else RandomBatches(batches, config.seed)
    to_train = distributed.parallelize(model, config.seed, config.compile)
    loss = distributed.sum_over_processes(loss)
    optimizer = make_optimizer(model, config)
    state = TrainingState(model, optimizer, sampler)
    settings = settings_of(config, model, identity)
    with resumable(state, config, settings, checkpoint, resume) as (save, stop):
        model.train()
        while state.step < config.steps:
            start = time.perf_counter()
            for group in optimizer.param_groups:
                group["lr"] = config.learning_rate(state.step, group["initial_lr"])
            step_batches = _take(sampler, config.gradient_accumulation_steps, model)
            step_batches = distributed.sync_on_last(to_train, step_batches)
            totals = update(to_train, optimizer, step_batches, loss, config.clip, config.precision)
            state.totals.append(torch.stack(totals))
            state.step += 1
            state.evaluated = is_due(state.step, config.evaluate_every, config)
            if state.evaluated:
                refuse_no_number(state, config)
                train_loss = state.mean_loss()  # waits for the GPU: then the clock is read
            state.seconds += time.perf_counter() - start
            if state.evaluated:
                val_loss = validate() if validate else None
                refuse_no_number(state, config, val_loss)
                state.record(train_loss, val_loss)
            for callback in (save, *callbacks, stop):
                callback(state)
    return state.history


def train(
    model: nn.Module,
    train_ids: Integer[Tensor, " N"],
    val_ids: Integer[Tensor, " M"],
    *,
    batch_size: int,
    context_length: int,
    sampling: Mapping[str, Any] | None = None,
    callbacks: Sequence[Callable[[TrainingState], object]] = (),
    checkpoint: str | Path | None = None,
    resume: bool = False,
    **settings,
) -> History:
    """`fit` for a language model: windows of `train_ids`, evaluated on all of `val_ids`.

    `settings` are TrainingConfig's: steps, lr and seed are needed. `batch_size` counts the windows
    of all processes together. `sampling` holds options of WindowSampler, such as {"replacement":
    False}. Raises what `train_on`, TrainingConfig and WindowSampler raise.
    """
    config, options = TrainingConfig(**settings), dict(sampling or {})
    batches = WindowSampler(train_ids, batch_size, context_length, config.seed, **options)
    tokens = [len(train_ids), len(val_ids)]
    identity = {"context_length": context_length, **options, "tokens": tokens}
    run = {"callbacks": callbacks, "checkpoint": checkpoint, "resume": resume}
    return train_on(batches, model, val_ids, config, batch_size, identity, **run)


def train_on(
    batches: Any,
    model: nn.Module,
    val_ids: Integer[Tensor, " M"],
    config: TrainingConfig,
    batch_size: int,
    identity: Mapping[str, Any],
    **options,
) -> History:
    """`fit` for a language model, on windows that a sampler of any class draws, `batch_size` each.

    `batches` says in `context_length` how long its longest windows are: so long are those of an
    evaluation, which reads all of `val_ids`. `identity` has what else a resumed run must share, and
    `options` are those of `fit`. Raises what `fit` raises, and ValueError for fewer than two
    `val_ids` or fewer windows than processes.
    """
    if batch_size < (n := distributed.world_size()):
        raise ValueError(f"batch_size={batch_size}, expected one for each of {n} processes")
    if len(val_ids) < 2:  # or it would be found out after the last step
        raise ValueError(f"val_ids hold {len(val_ids)} tokens, expected at least 2")
    rows = min(64, max(1, batch_size // n))
    return fit(
        model,
        batches,
        lambda model, x, y: token_loss(model(x), y),
        config,
        validate=lambda: evaluate(model, val_ids, batches.context_length, rows, config.precision),
        identity={"batch_size": batch_size, **identity},
        **options,
    )


def _take(sampler: Iterator[Batch], n: int, model: nn.Module) -> Iterator[Batch]:
    """This process's rows of the next `n` batches, for a GPU in memory that it reads by itself."""
    pin = next(model.parameters()).device.type == "cuda"
    for _ in range(n):
        batch = next(sampler, None)
        if batch is None:
            raise ValueError("the batches have ended, expected an endless sampler")
        batch = distributed.shard_rows(batch)
        yield tuple(t.pin_memory() if pin and t.device.type == "cpu" else t for t in batch)
