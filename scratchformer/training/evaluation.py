"""The honest loss: on a whole split, without dropout."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Integer
from torch import Tensor, nn

from scratchformer.training import distributed
from scratchformer.training.losses import token_loss


@contextmanager
def eval_mode(model: nn.Module) -> Iterator[None]:
    """No dropout and no gradients inside; afterwards each submodule is in its own mode again."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, mode in modes:
            module.training = mode


def evaluate(
    model: nn.Module,
    ids: Integer[Tensor, " N"],
    context_length: int,
    batch_size: int = 64,
    precision: str = "float32",
) -> float:
    """Nats per token over all of `ids`: every token but the first is predicted exactly once.

    The split is cut into consecutive windows of `context_length`, the last one shorter, so a
    token sees what precedes it in its window. `precision="bfloat16"` computes matrix products
    under autocast. In a process group the processes share the windows: all of them must call
    this, and all get the same. Raises ValueError for fewer than two tokens, or an
    unknown precision.
    """
    if min(context_length, batch_size) < 1:
        sizes = f"context_length={context_length}, batch_size={batch_size}"
        raise ValueError(f"{sizes}, expected at least 1")
    if precision not in ("float32", "bfloat16"):
        raise ValueError(f"precision={precision!r}, expected 'float32' or 'bfloat16'")
    if len(ids) < 2:
        raise ValueError(f"got {len(ids)} tokens, expected at least 2: one to predict from")
    device = next(model.parameters()).device
    n = len(ids) - 1  # predictions
    in_full_windows = n // context_length * context_length
    stride = batch_size * context_length
    batches = [
        (start, min(start + stride, in_full_windows), context_length)
        for start in range(0, in_full_windows, stride)
    ]
    if in_full_windows < n:
        batches.append((in_full_windows, n, n - in_full_windows))
    total = 0.0
    with (
        eval_mode(model),
        torch.autocast(device.type, torch.bfloat16, enabled=precision == "bfloat16"),
    ):
        for (start, stop, width), counts in distributed.split_evenly(batches):
            part = ids[start : stop + 1].long().to(device)  # a file of ids is read bit by bit
            x, y = part[:-1].view(-1, width), part[1:].view(-1, width)
            total += counts * token_loss(model(x), y)[0].item()
    return distributed.all_reduce(torch.tensor(total, dtype=torch.float64)).item() / n
