"""The folder of a training run: who may write to it, and what is written besides the checkpoint."""

import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure  # not pyplot: no window, no screen needed
from torch import nn

from scratchformer.data.folders import RUN_FILES, names_in, refuse_another_owner
from scratchformer.files import atomic_write, locked, remove_parts, to_json
from scratchformer.plots import loss_curves
from scratchformer.training import History, distributed
from scratchformer.training.checkpoints import load_weights, read_header, refuse_other_settings


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Keep other runs out of a folder while the block runs; makes the folder if it is missing.

    The system releases the lock when the process ends, in whatever way. In a process group rank 0
    locks for all. Raises ValueError, on all of them, if another run holds the folder.
    """
    with ExitStack() as stack:
        held = False
        if distributed.rank() == 0:
            try:
                stack.enter_context(locked(folder))
            except BlockingIOError:
                held = True
        if distributed.any_process(held):
            raise ValueError(f"another run is writing to {folder}: choose another --out")
        yield


class RunFolder:
    """What a run writes beside its checkpoint: its models, its settings and its losses.

    Only rank 0 writes; all processes make the same calls. Nothing is there before the checkpoint.
    """

    def __init__(self, path: Path, described: dict, tokenizer: Any):
        self.path, self.checkpoint = path, path / "checkpoint.safetensors"
        self.described, self.tokenizer = described, tokenizer

    def check(self, settings: dict, resume: bool) -> dict:
        """The header of the checkpoint to go on from, {} without one.

        Raises ValueError if the folder holds a run that is not to be resumed, or was begun with
        other settings; FileExistsError if it holds what another has written, or has lost its
        checkpoint.
        """
        refuse_another_owner(self.path, "a run")
        if self.checkpoint.exists():
            if not resume:
                raise ValueError(
                    f"{self.path} holds a run: go on with --resume, or choose another --out"
                )
            header = read_header(self.checkpoint)
            refuse_other_settings(self.checkpoint, header["settings"], settings)
            return header
        if present := names_in(self.path, RUN_FILES):
            raise FileExistsError(
                f"{self.path} holds a {present[0]}, and no checkpoint that it belongs to: "
                "choose another --out"
            )
        return {}

    def save_best_of(self, header: dict, model: nn.Module) -> None:
        """Save the checkpoint's model as the best if it is: the run may have died just before."""
        history = History(**header["history"])
        if history.steps and header["step"] == history.steps[best_of(history)]:
            load_weights(self.checkpoint, model)
            self.save(model, self.path / "best")

    def save(self, model: nn.Module, folder: Path) -> None:
        """`model.save` by rank 0."""
        if distributed.rank() == 0:
            model.save(folder)  # type: ignore[operator]  # every model that is trained has it

    def write(self, history: History) -> None:
        """Settings, tokenizer and losses, each replaced as a whole: one can watch a run."""
        for name in RUN_FILES:
            remove_parts(self.path / name)
        with atomic_write(self.path / "run.json") as part:
            part.write_text(to_json(self.described, indent=1), encoding="utf-8")
        with atomic_write(self.path / "tokenizer.json") as part:
            self.tokenizer.save(part)
        with atomic_write(self.path / "history.json") as part:
            part.write_text(to_json(asdict(history), indent=1), encoding="utf-8")
        figure = Figure(figsize=(6.4, 3.6), layout="constrained")
        loss_curves(history, figure.subplots())
        with atomic_write(self.path / "loss.png") as part:
            figure.savefig(part, format="png", dpi=150)


def best_of(history: History) -> int:
    """Which evaluation had the lowest validation loss, the first of equals."""
    losses = history.val_loss
    return min(range(len(losses)), key=lambda i: (math.isnan(losses[i]), losses[i]))
