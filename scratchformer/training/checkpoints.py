"""A run on disk: all that the next step depends on, in one file that is replaced whole.

Tensors are in the safetensors format, everything else is JSON in the same file's header: no
pickle, and no second file that could disagree. Which settings a run has is for the loop to say.
"""

import glob
import json
from pathlib import Path

import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from torch import nn

from scratchformer.files import atomic_write
from scratchformer.models.pretrained import load_tensors, refuse_other_shapes
from scratchformer.training.distributed import ALONE, Workers, like


def save_checkpoint(
    path: str | Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    generator: torch.Generator,
    state: dict,
    workers: Workers = ALONE,
) -> None:
    """Write weights, the optimiser's memory, random states and `state` (JSON) to `path`.

    All `workers` must call this, and return when the file is there: rank 0 writes what one process
    would, shards put together, and the random states of the others. Parts that killed writers left
    beside it are removed: a checkpoint has one writer.
    """
    tensors = {f"model.{name}": tensor for name, tensor in _tensors(model).items()}
    for i, memory in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{i}.{name}": tensor for name, tensor in memory.items()}
    tensors = workers.whole(tensors)
    tensors["random.batches"] = generator.get_state()
    for kind, random in _random_states(model).items():
        for rank, one in enumerate(workers.gather(random)):
            tensors[f"random.{kind}.{rank}" if rank else f"random.{kind}"] = one
    if workers.rank == 0:
        path = Path(path)
        for part in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
            part.unlink(missing_ok=True)
        tensors = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
        with atomic_write(path) as part:
            safetensors.torch.save_file(tensors, part, {"state": json.dumps(state)})
    workers.wait()


def read_state(path: str | Path) -> dict:
    """The `state` of a checkpoint; ValueError if the file is none, FileNotFoundError if missing."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no checkpoint {path}")
    try:
        with safe_open(path, "pt") as file:
            return json.loads(file.metadata()["state"])
    except (SafetensorError, TypeError, KeyError, ValueError) as error:
        raise ValueError(f"{path} is not a whole checkpoint ({error})") from error


def load_checkpoint(
    path: str | Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    generator: torch.Generator,
    workers: Workers = ALONE,
) -> dict:
    """Put all that `save_checkpoint` wrote back into place, torch's own generators included.

    There may be another number of `workers` than wrote it: those it has no random state for keep
    theirs. Returns the `state`. Raises ValueError, and changes nothing, if the file is no
    checkpoint or of another model or optimiser; FileNotFoundError if it is missing.
    """
    state = read_state(path)
    tensors, memories = safetensors.torch.load_file(path), {}
    own, saved = _tensors(model), _saved_model(tensors, model)
    refuse_other_shapes(own, saved, path)
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    for key, tensor in tensors.items():
        if key.startswith("optimizer."):
            _, i, name = key.split(".")
            p = parameters[int(i)] if int(i) < len(parameters) else None
            if p is None or (name != "step" and tensor.shape != p.shape):
                raise ValueError(f"{path} is of another optimiser: {key} is {tuple(tensor.shape)}")
            memories.setdefault(int(i), {})[name] = like(tensor, p)
    load_tensors(own, saved, path)
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": memories, "param_groups": groups})
    generator.set_state(tensors["random.batches"])
    suffix = f".{workers.rank}" if workers.rank else ""
    if f"random.torch{suffix}" in tensors:
        torch.set_rng_state(tensors[f"random.torch{suffix}"])
    device = next(model.parameters()).device
    if device.type == "cuda" and f"random.cuda{suffix}" in tensors:
        torch.cuda.set_rng_state(tensors[f"random.cuda{suffix}"], device)
    return state


def load_weights(path: str | Path, model: nn.Module) -> None:
    """Put the model of a checkpoint into place, and nothing else. Raises as `load_checkpoint`."""
    read_state(path)
    saved = _saved_model(safetensors.torch.load_file(path), model)
    load_tensors(_tensors(model), saved, path)


def _saved_model(tensors: dict[str, torch.Tensor], model: nn.Module) -> dict[str, torch.Tensor]:
    """The model's part of a checkpoint, in shards where the model is in shards."""
    own = _tensors(model)
    saved = {k.removeprefix("model."): t for k, t in tensors.items() if k.startswith("model.")}
    return {name: like(tensor, own.get(name)) for name, tensor in saved.items()}


def _random_states(model: nn.Module) -> dict[str, torch.Tensor]:
    """What dropout draws from on this process."""
    states, device = {"torch": torch.get_rng_state()}, next(model.parameters()).device
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    return states


def _tensors(model: nn.Module) -> dict[str, torch.Tensor]:
    """Parameters and buffers by name, a shared one (a tied output head) only once."""
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}
