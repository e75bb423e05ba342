"""A run between two steps, and the same on disk: all that the next step depends on, in one file.

The file is replaced as a whole. Tensors are in the safetensors format, everything else is JSON in
the same file's header: no pickle, and no second file that could disagree.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn

from scratchformer.files import to_json
from scratchformer.models.pretrained import load_tensors, refuse_other_shapes
from scratchformer.models.tensor_files import read_record, read_tensors, write_tensors
from scratchformer.training import distributed


@dataclass(frozen=True)
class History:
    """What a run reported: one entry in each list for each evaluation."""

    steps: list[int] = field(default_factory=list)  # optimiser steps done so far
    train_loss: list[float] = field(default_factory=list)  # nats per target since the last entry
    val_loss: list[float] = field(default_factory=list)  # what `validate` said; empty without
    seconds: list[float] = field(default_factory=list)  # in training alone, so far


@dataclass
class TrainingState:
    """What the next step of a run depends on, random states aside, and what the run has reported.

    `fit` calls each of its callbacks with this object after every step. By then the step has been
    evaluated and saved, if it was to be: a callback that raises loses no more than a kill at that
    moment would. `evaluated` says whether the last entry of `history` is of this step. A callback
    may read everything; to change the model is to change the run.
    """

    model: nn.Module
    optimizer: torch.optim.Optimizer
    batches: Iterator[tuple[Tensor, ...]]
    history: History = field(default_factory=History)
    step: int = 0  # steps done
    seconds: float = 0.0  # time in training
    # nats and targets of each step since the last evaluation, (2,)
    totals: list[Tensor] = field(default_factory=list)
    evaluated: bool = False

    @property
    def is_first_evaluation(self) -> bool:
        """Whether this step is the first that was evaluated: callbacks may keep its model."""
        return self.evaluated and len(self.history.steps) == 1

    def mean_loss(self) -> float:
        """Nats per target since the last evaluation; waits for the GPU, and begins anew."""
        nats, targets = torch.stack(self.totals).sum(dim=0).tolist()
        self.totals = []
        return nats / max(targets, 1.0)

    def record(self, train_loss: float, val_loss: float | None) -> None:
        """Add an entry of this step to the history."""
        self.history.steps.append(self.step)
        self.history.train_loss.append(train_loss)
        self.history.seconds.append(self.seconds)
        if val_loss is not None:
            self.history.val_loss.append(val_loss)


def save_checkpoint(path: str | Path, state: TrainingState, settings: dict) -> None:
    """Write a run to `path`, with the `settings` (JSON) that it may only be resumed with.

    In a process group all processes must call this, and return when the file is there. Rank 0
    writes what one process would, and the random states of the others.
    Raises OSError if the disk is full; then the file is what it was.
    """
    tensors = {f"model.{name}": tensor for name, tensor in _tensors(state.model).items()}
    for i, memory in state.optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{i}.{name}": tensor for name, tensor in memory.items()}
    if hasattr(state.batches, "state_dict"):
        tensors |= {f"batches.{name}": t for name, t in state.batches.state_dict().items()}
    for kind, random in _random_states(state.model).items():
        for rank, random_state in enumerate(distributed.all_gather(random)):
            tensors[f"random.{kind}.{rank}"] = random_state
    if distributed.rank() == 0:
        totals = [pair.tolist() for pair in state.totals]
        header = {"step": state.step, "seconds": state.seconds, "totals": totals}
        header |= {"settings": settings, "history": asdict(state.history)}
        write_tensors(path, tensors, header)
    distributed.barrier()


def read_header(path: str | Path) -> dict:
    """Step, history, settings … of a checkpoint, without its tensors.

    Raises ValueError if the file is no checkpoint, FileNotFoundError if there is none.
    """
    header = read_record(path)
    if "step" not in header:
        raise ValueError(f"{path} is not a checkpoint, expected one that `fit` has written")
    return header


def load_checkpoint(path: str | Path, state: TrainingState, settings: dict) -> None:
    """Put all that `save_checkpoint` wrote back into `state`, torch's own generators included.

    There may be another number of processes than wrote it: those it has no random state for keep
    theirs. Raises ValueError, and changes nothing, if the file is damaged, or is of a run with
    other `settings`, another model or another optimiser; FileNotFoundError if there is none.
    """
    header = read_header(path)
    refuse_other_settings(path, header["settings"], settings)
    tensors, _ = read_tensors(path)
    model, optimizer = state.model, state.optimizer
    current, saved = _tensors(model), _model_tensors(tensors)
    refuse_other_shapes(current, saved, path)
    memories = _optimizer_memories(path, tensors, optimizer)
    load_tensors(current, saved, path)
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": memories, "param_groups": groups})
    batches = {k.split(".")[1]: t for k, t in tensors.items() if k.startswith("batches.")}
    state.batches.load_state_dict(batches)  # type: ignore[attr-defined]  # `fit` has seen it
    for kind in _random_states(model):
        name = f"random.{kind}.{distributed.rank()}"
        if name in tensors:
            _random_source(kind).set_rng_state(tensors[name])
    device = next(model.parameters()).device
    state.history, state.step = History(**header["history"]), header["step"]
    state.seconds = header["seconds"]
    state.totals = [torch.tensor(pair, device=device) for pair in header["totals"]]


def load_weights(path: str | Path, model: nn.Module) -> None:
    """Put the model of a checkpoint into place, and nothing else. Raises as `load_checkpoint`."""
    tensors, _ = read_tensors(path)
    load_tensors(_tensors(model), _model_tensors(tensors), path)


def refuse_other_settings(path: str | Path, before: dict, settings: dict) -> None:
    """Raise ValueError if a run that was begun with other settings would go on with these."""
    before, settings = (json.loads(to_json(table)) for table in (before, settings))
    for name, value in settings.items():
        if (was := before.get(name, "nothing")) != value:
            raise ValueError(
                f"{path} is of a run with {name}={was!r}, got {name}={value!r}: "
                "a run resumes with the settings it began with"
            )


def _optimizer_memories(
    path: str | Path, tensors: dict[str, Tensor], optimizer: torch.optim.Optimizer
) -> dict[int, dict[str, Tensor]]:
    """What the optimiser remembers of each parameter: copies, or the file would stay mapped."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    memories: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        if key.startswith("optimizer."):
            _, i, name = key.split(".")
            p = parameters[int(i)] if int(i) < len(parameters) else None
            if p is None or (name != "step" and tensor.shape != p.shape):
                raise ValueError(f"{path} is of another optimiser: {key} is {tuple(tensor.shape)}")
            memories.setdefault(int(i), {})[name] = tensor.clone()
    return memories


def _model_tensors(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The model's part of a checkpoint."""
    return {k.removeprefix("model."): t for k, t in tensors.items() if k.startswith("model.")}


def _random_states(model: nn.Module) -> dict[str, Tensor]:
    """What dropout draws from on this process: the CPU's generator, and a GPU's."""
    kinds = {"cpu", next(model.parameters()).device.type}
    return {kind: _random_source(kind).get_rng_state() for kind in sorted(kinds)}


def _random_source(kind: str):
    """The module with the random state of a device: torch itself, torch.cuda or torch.mps."""
    return torch if kind == "cpu" else getattr(torch, kind)


def _tensors(model: nn.Module) -> dict[str, Tensor]:
    """What `state_dict` holds, a shared tensor (a tied output head) only once.

    Raises ValueError if that is more than tensors.
    """
    state = model.state_dict(keep_vars=True)
    if odd := [name for name, value in state.items() if not isinstance(value, Tensor)]:
        raise ValueError(f"{odd[0]} of the model is no tensor, expected what a checkpoint can hold")
    first = {id(tensor): name for name, tensor in reversed(state.items())}
    return {name: tensor for name, tensor in state.items() if first[id(tensor)] == name}
