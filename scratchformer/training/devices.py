"""Whether a device computes what the CPU does: one small batch tells, before a run is given to it.

A driver or a kernel that is wrong raises no error; the loss only ends higher than it should.
"""

import copy
import math

import torch
from jaxtyping import Integer
from torch import Tensor, nn

from scratchformer.training.losses import token_loss


def name_of(device: torch.device) -> str:
    """How people call a device: with the GPU's name if it has one."""
    return f"cuda ({torch.cuda.get_device_name(device)})" if device.type == "cuda" else device.type


def difference_from_cpu(
    model: nn.Module, ids: Integer[Tensor, " N"], context_length: int, device: torch.device
) -> str | None:
    """What `device` gets otherwise than the CPU for the first `ids`, or None if nothing.

    Loss and gradients of copies of `model`, without dropout, on at most two windows of 64 tokens.
    Different orders of adding change the fifth digit or so; a per cent is a difference.
    """
    T = min(context_length, 64, len(ids) - 1)
    rows = min(2, (len(ids) - 1) // T)
    part = ids[: rows * T + 1].long()
    batch = part[:-1].view(rows, T), part[1:].view(rows, T)
    loss, gradients = _loss_and_gradients(model, batch, torch.device("cpu"))
    try:
        device_loss, device_gradients = _loss_and_gradients(model, batch, device)
    except RuntimeError as error:  # an operation that it does not know, for example
        return str(error).strip().split("\n")[0]
    if not abs(device_loss - loss) <= 1e-3 * abs(loss):
        return f"the loss of a small batch is {device_loss:.4f} there, and {loss:.4f} on the CPU"
    length = math.sqrt(sum(g.square().sum().item() for g in gradients.values()))
    for name, g in gradients.items():
        if not (device_gradients[name] - g).norm() <= 1e-2 * g.norm() + 1e-4 * length:
            return f"the gradient of {name} is another there than on the CPU"
    return None


def _loss_and_gradients(
    model: nn.Module, batch: tuple[Tensor, Tensor], device: torch.device
) -> tuple[float, dict[str, Tensor]]:
    """The mean loss of a batch, and the gradient of each parameter, computed on a device."""
    moved = copy.deepcopy(model).to(device).eval()
    x, y = (tensor.to(device) for tensor in batch)
    nats, targets = token_loss(moved(x), y)
    (nats / targets).backward()
    parameters = {name: p.grad for name, p in moved.named_parameters() if p.grad is not None}
    return (nats / targets).item(), {name: g.cpu() for name, g in parameters.items()}
