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

from scratchformer.data.whole_files import written_whole
from scratchformer.models.pretrained import load_tensors


def save_checkpoint(
    path: str | Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    generator: torch.Generator,
    state: dict,
) -> None:
    """Write weights, the optimiser's memory, random states and `state` (JSON) to `path`.

    Parts that killed writers left beside it are removed: a checkpoint has one writer.
    """
    path = Path(path)
    for part in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
        part.unlink(missing_ok=True)
    tensors = {f"model.{name}": tensor for name, tensor in _tensors(model).items()}
    for i, memory in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{i}.{name}": tensor for name, tensor in memory.items()}
    tensors |= {"random.batches": generator.get_state(), "random.torch": torch.get_rng_state()}
    device = next(model.parameters()).device
    if device.type == "cuda":
        tensors["random.cuda"] = torch.cuda.get_rng_state(device)
    tensors = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    with written_whole(path) as part:
        safetensors.torch.save_file(tensors, part, {"state": json.dumps(state)})


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
) -> dict:
    """Put all that `save_checkpoint` wrote back into place, torch's own generators included.

    Returns the `state`. Raises ValueError, and changes nothing, if the file is no checkpoint or
    of another model; FileNotFoundError if it is missing.
    """
    state = read_state(path)
    tensors, memories = safetensors.torch.load_file(path), {}
    saved = {k.removeprefix("model."): t for k, t in tensors.items() if k.startswith("model.")}
    load_tensors(_tensors(model), saved, path)
    for key, tensor in tensors.items():
        if key.startswith("optimizer."):
            _, i, name = key.split(".")
            memories.setdefault(int(i), {})[name] = tensor
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": memories, "param_groups": groups})
    generator.set_state(tensors["random.batches"])
    torch.set_rng_state(tensors["random.torch"])
    device = next(model.parameters()).device
    if device.type == "cuda" and "random.cuda" in tensors:
        torch.cuda.set_rng_state(tensors["random.cuda"], device)
    return state


def _tensors(model: nn.Module) -> dict[str, torch.Tensor]:
    """Parameters and buffers by name, a shared one (a tied output head) only once."""
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}
