"""The folder of a training run: who may write to it, and what is written besides the checkpoint."""

import json
import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path

from matplotlib.figure import Figure  # not pyplot: no window, no screen needed
from torch import nn

from scratchformer.data.folders import RUN_FILES, names_in, refuse_another_owner
from scratchformer.files import atomic_write, locked, remove_parts, to_json
from scratchformer.plots import loss_curves
from scratchformer.training import History, distributed
from scratchformer.training.checkpoints import load_weights, read_header
from scratchformer.training.resuming import MAY_CHANGE

BEGUN = ("run.json", "tokenizer.json")  # written before the first step


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
    """run.json, the best and the last model, history.json and loss.png of a run.

    Only rank 0 writes; all processes make the same calls.
    """

    def __init__(self, path: Path):
        self.path, self.checkpoint = path, path / "checkpoint.safetensors"
        self.before: dict[Path, bytes | None] = {}  # what `begin` has replaced
        self.has_stepped = False

    def check(self, settings: dict, resume: bool) -> dict:
        """The header of the checkpoint to go on from, {} without one.

        Raises ValueError if the folder holds a run that is not to be resumed, or was begun with
        other settings or other data; FileNotFoundError if it does not say with which, or has lost
        its checkpoint; FileExistsError if it holds the files of another owner.
        """
        refuse_another_owner(self.path, "a run")
        if names_in(self.path / "best", ("run.json", self.checkpoint.name)):
            raise FileExistsError(
                f"{self.path / 'best'} holds a run of its own, and would get this one's best "
                "model: choose another --out"
            )
        if not (present := names_in(self.path, RUN_FILES)):
            return {}
        if not names_in(self.path, ("run.json", self.checkpoint.name)):
            raise FileExistsError(
                f"{self.path} holds a {present[0]}, and no run that it belongs to: "
                "choose another --out"
            )
        if not resume:
            raise ValueError(
                f"{self.path} holds a run: go on with --resume, or choose another --out"
            )
        before = self._read_settings()
        if not self.checkpoint.exists():  # killed before the first was written, or deleted
            if trained := [name for name in present if name not in BEGUN]:
                raise FileNotFoundError(
                    f"{self.checkpoint} is missing, and without it --resume would begin anew and "
                    f"replace {trained[0]}: choose another --out"
                )
            return {}
        for table, entries in json.loads(to_json(settings)).items():
            for key in {**before.get(table, {}), **entries}.keys() - {*MAY_CHANGE}:
                was, now = (d.get(key, "nothing") for d in (before.get(table, {}), entries))
                if was != now:
                    raise ValueError(
                        f"{self.path} holds a run with {table}.{key} = {was!r}, got {now!r}: "
                        "a run goes on with what it began with"
                    )
        return read_header(self.checkpoint)

    def _read_settings(self) -> dict[str, dict]:
        path = self.path / "run.json"
        try:
            before = json.loads(to_json(json.loads(path.read_text(encoding="utf-8"))))
            if not all(isinstance(before[table], dict) for table in ("data", "model", "training")):
                raise ValueError("not a table")
            return before
        except FileNotFoundError:
            raise FileNotFoundError(f"{path} is missing: nothing says how the run began") from None
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path} is damaged ({error}): the run cannot be resumed") from error

    def begin(self, settings: dict, tokenizer) -> None:
        """Write what a run needs to be resumed; remove what killed writers have left."""
        paths = [self.path / name for name in BEGUN]
        self.before = {path: path.read_bytes() if path.exists() else None for path in paths}
        for name in RUN_FILES:
            remove_parts(self.path / name)
        with atomic_write(self.path / "run.json") as part:
            part.write_text(to_json(settings, indent=1), encoding="utf-8")
        with atomic_write(self.path / "tokenizer.json") as part:
            tokenizer.save(part)

    def undo(self) -> None:
        """After a failure: take `begin` back if no step has been done, or nothing saved."""
        saved = set(names_in(self.path, RUN_FILES)) - {*BEGUN}
        if not (self.has_stepped and saved):
            for path, data in self.before.items():
                if data is None:
                    path.unlink(missing_ok=True)
                elif not path.exists() or path.read_bytes() != data:
                    with atomic_write(path) as part:
                        part.write_bytes(data)

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

    def write_losses(self, history: History) -> None:
        """history.json and loss.png, replaced as a whole, so that one can watch a run."""
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
