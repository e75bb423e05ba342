"""One plain training loop for all models.

`fit` knows neither data nor losses: it is given batches, and a function that computes a loss.
`train` gives it windows of a text and the loss of a language model. Nothing is printed: pass a
callback to watch.
"""

import math
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Integer
from torch import Tensor, nn

from scratchformer.data.batches import RandomBatches, WindowSampler
from scratchformer.files import remove_parts
from scratchformer.training import distributed
from scratchformer.training.checkpoints import (
    History,
    TrainingState,
    load_checkpoint,
    save_checkpoint,
)
from scratchformer.training.config import TrainingConfig, make_optimizer
from scratchformer.training.losses import evaluate, token_loss

Batch = tuple[Tensor, ...]
Loss = Callable[..., tuple[Tensor, Tensor]]
MAY_CHANGE = ("checkpoint_every", "compile")  # settings that a resumed run may change


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
    trained = distributed.parallelize(model, config.seed, config.compile)
    loss = distributed.sum_over_processes(loss)
    optimizer = make_optimizer(model, config)
    state = TrainingState(model, optimizer, sampler)
    settings = _settings(config, model) | (identity or {})
    if checkpoint:
        _begin(checkpoint, state, settings, resume)
    distributed.check_same(state.step, "the step they begin at")
    model.train()
    with _signals_held_back() as signals:
        while state.step < config.steps:
            start = time.perf_counter()
            for group in optimizer.param_groups:
                group["lr"] = config.learning_rate(state.step, group["initial_lr"])
            step_batches = _take(sampler, config.gradient_accumulation_steps, model)
            step_batches = distributed.sync_on_last(trained, step_batches)
            totals = update(trained, optimizer, step_batches, loss, config.clip, config.precision)
            state.totals.append(torch.stack(totals))
            state.step += 1
            state.evaluated = _is_due(state.step, config.evaluate_every, config)
            if state.evaluated:
                train_loss = _train_loss(state, config)  # waits for the GPU: then the clock is read
            state.seconds += time.perf_counter() - start
            if state.evaluated:
                state.record(train_loss, _validation_loss(validate, state.step, config))
            saves = config.checkpoint_every or config.evaluate_every
            if _is_due(state.step, saves, config) or state.is_first_evaluation:
                _save(checkpoint, state, settings, config)
            for callback in callbacks:
                callback(state)
            if distributed.any_process(bool(signals)):
                _save(checkpoint, state, settings, config)
                raise KeyboardInterrupt(f"stopped after step {state.step} of {config.steps}")
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
    return train_on(
        batches,
        model,
        val_ids,
        config,
        batch_size,
        {"context_length": context_length, **options, "tokens": [len(train_ids), len(val_ids)]},
        callbacks=callbacks,
        checkpoint=checkpoint,
        resume=resume,
    )


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


def _settings(config: TrainingConfig, model: nn.Module) -> dict:
    """What a resumed run must share: the training settings and the model's sizes."""
    settings = {k: v for k, v in asdict(config).items() if k not in MAY_CHANGE}
    model_config = getattr(model, "config", None)
    if is_dataclass(model_config) and not isinstance(model_config, type):
        settings["model"] = asdict(model_config)
    return settings


def _begin(checkpoint: str | Path, state: TrainingState, settings: dict, resume: bool) -> None:
    """Go on from the checkpoint if it exists and `resume` is set; refuse what cannot be resumed."""
    if not (hasattr(state.batches, "state_dict") and hasattr(state.batches, "load_state_dict")):
        raise ValueError("the batches cannot be resumed, expected state_dict and load_state_dict")
    if Path(checkpoint).exists():
        if not resume:
            raise FileExistsError(f"{checkpoint} holds a run: pass resume=True, or move it away")
        load_checkpoint(checkpoint, state, settings)
    if distributed.rank() == 0:
        remove_parts(checkpoint)


def _save(
    checkpoint: str | Path | None, state: TrainingState, settings: dict, config: TrainingConfig
) -> None:
    if checkpoint:
        _refuse_no_numbers(state, config)
        save_checkpoint(checkpoint, state, settings)


def _train_loss(state: TrainingState, config: TrainingConfig) -> float:
    _refuse_no_numbers(state, config)
    return state.mean_loss()


def _validation_loss(
    validate: Callable[[], float] | None, step: int, config: TrainingConfig
) -> float | None:
    loss = validate() if validate else None
    if loss is not None and not math.isfinite(loss):
        raise _no_number("the validation loss", loss, step, config)
    return loss


def _refuse_no_numbers(state: TrainingState, config: TrainingConfig) -> None:
    """Raise FloatingPointError if a loss since the last evaluation, or a weight, is no number."""
    first = state.step - len(state.totals)
    for i, (nats, _) in enumerate(torch.stack(state.totals).tolist() if state.totals else []):
        if not math.isfinite(nats):
            raise _no_number("the loss", nats, first + i + 1, config)
    for name, p in state.model.named_parameters():
        if p.requires_grad and not p.isfinite().all():
            worst = p[~p.isfinite()][0].item()
            raise _no_number(f"a weight of {name}", worst, state.step, config)


def _no_number(what: str, value: float, step: int, config: TrainingConfig) -> FloatingPointError:
    rate = f"{config.learning_rate(step - 1):.3g}"
    return FloatingPointError(
        f"{what} is {value} at step {step}, with a learning rate of {rate}: the run ends, and what "
        "was saved before it stays"
    )


def _is_due(step: int, every: int | None, config: TrainingConfig) -> bool:
    return step == config.steps or bool(every and step % every == 0)


def _take(sampler: Iterator[Batch], n: int, model: nn.Module) -> Iterator[Batch]:
    """This process's rows of the next `n` batches, for a GPU in memory that it reads by itself."""
    pin = next(model.parameters()).device.type == "cuda"
    for _ in range(n):
        batch = next(sampler, None)
        if batch is None:
            raise ValueError("the batches have ended, expected an endless sampler")
        batch = distributed.shard_rows(batch)
        yield tuple(t.pin_memory() if pin and t.device.type == "cpu" else t for t in batch)


@contextmanager
def _signals_held_back() -> Iterator[list[int]]:
    """Ctrl-C, `kill` and a terminal that closes wait for the step in progress, so that a run stops
    where it can be saved. What is ignored, as under nohup, stays so.

    The list holds the signals that came. A second one raises KeyboardInterrupt at once; of several
    processes none stops at once, as the second signal may be torchrun's copy of the first. Python
    allows handlers in the main thread only; elsewhere signals act as they always do.
    """
    received: list[int] = []
    alone = distributed.world_size() == 1

    def hold(number: int, frame) -> None:
        if received and alone:
            raise KeyboardInterrupt
        received.append(number)

    if threading.current_thread() is not threading.main_thread():
        yield received
        return
    numbers = [getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP")]
    heard = [n for n in numbers if n is not None and signal.getsignal(n) != signal.SIG_IGN]
    before = {number: signal.signal(number, hold) for number in heard}
    restore = True
    try:
        yield received
    except RuntimeError:
        # A lost process ends the others by this error. Torchrun then sends them a signal, which
        # must not come before they have said why they end.
        restore = alone
        raise
    finally:
        for number, handler in before.items() if restore else ():
            signal.signal(number, handler)
