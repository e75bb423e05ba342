"""A run that survives: it goes on from a checkpoint, and ends where it can be saved.

What a resumed run must share with the one that was stopped is in its settings. A loss or a weight
that is no number ends a run before it is saved.
"""

import math
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from pathlib import Path

import torch
from torch import nn

from scratchformer.files import remove_parts
from scratchformer.training import distributed
from scratchformer.training.checkpoints import TrainingState, load_checkpoint, save_checkpoint
from scratchformer.training.config import TrainingConfig

MAY_CHANGE = ("checkpoint_every", "compile")  # settings that a resumed run may change
Callback = Callable[[TrainingState], None]


def settings_of(config: TrainingConfig, model: nn.Module, identity: dict | None = None) -> dict:
    """What a resumed run must share: training settings, the model's sizes, and the `identity`."""
    settings = {k: v for k, v in asdict(config).items() if k not in MAY_CHANGE}
    model_config = getattr(model, "config", None)
    if is_dataclass(model_config) and not isinstance(model_config, type):
        settings["model"] = asdict(model_config)
    return settings | (identity or {})


def is_due(step: int, every: int | None, config: TrainingConfig) -> bool:
    """Whether a step is one of every so many, or the last."""
    return step == config.steps or bool(every and step % every == 0)


@contextmanager
def resumable(
    state: TrainingState,
    config: TrainingConfig,
    settings: dict,
    checkpoint: str | Path | None,
    resume: bool,
) -> Iterator[tuple[Callback, Callback]]:
    """Go on from the `checkpoint`, if it exists and `resume` is set; hold signals back inside.

    Yields two functions to be called after every step: one saves the run when that is due, the
    other, if a signal has come, saves it and raises KeyboardInterrupt. Raises what `fit` raises.
    """
    if checkpoint:
        if not {"state_dict", "load_state_dict"} <= {*dir(state.batches)}:
            what = "expected state_dict and load_state_dict"
            raise ValueError(f"the batches cannot be resumed, {what}")
        if Path(checkpoint).exists():
            if not resume:
                raise FileExistsError(f"{checkpoint} holds a run: pass resume=True, or move it")
            load_checkpoint(checkpoint, state, settings)
        if distributed.rank() == 0:
            remove_parts(checkpoint)
    distributed.check_same(state.step, "the step they begin at")

    def save(state: TrainingState, always: bool = False) -> None:
        due = is_due(state.step, config.checkpoint_every or config.evaluate_every, config)
        if checkpoint and (due or always or state.is_first_evaluation):
            refuse_no_number(state, config)
            save_checkpoint(checkpoint, state, settings)

    def stop(state: TrainingState) -> None:
        if distributed.any_process(bool(signals)):
            save(state, always=True)
            raise KeyboardInterrupt(f"stopped after step {state.step} of {config.steps}")

    with _signals_held_back() as signals:
        yield save, stop


def refuse_no_number(
    state: TrainingState, config: TrainingConfig, val_loss: float | None = None
) -> None:
    """Raise FloatingPointError if a loss since the last evaluation, or a weight, is no number."""
    totals = torch.stack(state.totals).tolist() if state.totals else []
    first = state.step - len(totals) + 1
    values = [("the loss", nats, step) for step, (nats, _) in enumerate(totals, first)]
    values += [("the validation loss", val_loss or 0.0, state.step)]
    for name, p in state.model.named_parameters():
        if p.requires_grad:
            values += [
                (f"a weight of {name}", x, state.step) for x in p[~p.isfinite()][:1].tolist()
            ]
    for what, value, step in values:
        if not math.isfinite(value):
            rate = f"{config.learning_rate(step - 1):.3g}"
            raise FloatingPointError(
                f"{what} is {value} at step {step}, with a learning rate of {rate}: the run ends, "
                "and what was saved before it stays"
            )


@contextmanager
def _signals_held_back() -> Iterator[list[int]]:
    """Ctrl-C, `kill` and a terminal that closes wait for the step in progress, so that a run stops
    where it can be saved. Under nohup a closed terminal is ignored, as ever.

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
    hangup = {getattr(signal, "SIGHUP", signal.SIGTERM)}
    heard = {number for number in hangup if signal.getsignal(number) != signal.SIG_IGN}
    before = {n: signal.signal(n, hold) for n in {signal.SIGINT, signal.SIGTERM, *heard}}
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
