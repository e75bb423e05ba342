"""Several processes that train one model, in the words of torch.distributed.

`torchrun` starts the processes. Each draws every batch whole, from the same seed, and keeps its
share of the rows, so that what is learned does not depend on how many there are. Outside of a
`process_group` there is one process, of rank 0, and nothing here does anything.
"""

import itertools
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from jaxtyping import Shaped
from torch import Tensor, nn

T = TypeVar("T")
CONNECTIONS = itertools.count()  # of this process; all processes count alike
LOST = re.compile(r"gloo|nccl|connection|socket|peer|timed? ?out|\bstore\b", re.IGNORECASE)


def rank() -> int:
    """Which of the processes this is. Rank 0 writes files and prints."""
    return dist.get_rank() if dist.is_initialized() else 0


def world_size() -> int:
    """How many processes there are, on all machines."""
    return dist.get_world_size() if dist.is_initialized() else 1


def all_reduce(tensor: Shaped[Tensor, "..."]) -> Shaped[Tensor, "..."]:
    """`tensor` with those of the other processes added, in place."""
    if dist.is_initialized():
        dist.all_reduce(tensor)
    return tensor


def all_gather(tensor: Shaped[Tensor, "..."]) -> list[Shaped[Tensor, "..."]]:
    """The tensors of all processes, in the order of their ranks."""
    if not dist.is_initialized():
        return [tensor]
    tensors = [torch.empty_like(tensor) for _ in range(world_size())]
    dist.all_gather(tensors, tensor)
    return tensors


def any_process(flag: bool) -> bool:
    """Whether `flag` is true for one of the processes. A GPU is not waited for."""
    return all_reduce(torch.tensor(float(flag))).item() > 0


def barrier() -> None:
    """Wait until all processes are here. (dist.barrier would wait for the GPUs as well.)"""
    any_process(False)


def check_same(number: int, what: str) -> None:
    """Raise ValueError if another process has another number."""
    numbers = [int(n) for n in all_gather(torch.tensor(number))]
    if len(set(numbers)) > 1:
        raise ValueError(f"the processes differ in {what}: {numbers}. Each must see the same files")


# --- one step of several processes -------------------------------------------------------------


def parallelize(model: nn.Module, seed: int = 0, compile: bool = False) -> nn.Module:
    """What to call for a loss, so that the backward pass averages gradients over the processes.

    That is a wrapper around `model`, which must be on its device. Dropout differs from process to
    process.
    """
    if rank() > 0:
        torch.manual_seed((seed + (rank() << 32)) % 2**63)
    trained: nn.Module = torch.compile(model) if compile else model  # type: ignore[assignment]
    if world_size() == 1:
        return trained
    device = next(model.parameters()).device
    device_ids = [device] if device.type == "cuda" else None
    return nn.parallel.DistributedDataParallel(trained, device_ids=device_ids)


def sum_over_processes(
    loss: Callable[..., tuple[Tensor, Tensor]],
) -> Callable[..., tuple[Tensor, Tensor]]:
    """`loss`, but with the nats and targets of all processes together.

    Its gradient is that of this process's nats times the number of processes. The mean of these
    gradients, which DDP takes, is the gradient of all nats together.
    """
    if world_size() == 1:
        return loss

    def total_loss(model: nn.Module, *tensors: Tensor) -> tuple[Tensor, Tensor]:
        nats, targets = loss(model, *tensors)
        total = all_reduce(torch.stack((nats.detach(), targets.to(nats))))
        return total[0] + world_size() * (nats - nats.detach()), total[1]

    return total_loss


def shard_rows(batch: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """This process's rows of a batch that all processes have drawn."""
    n = world_size()
    if n == 1:
        return batch
    if len(rows := {len(tensor) for tensor in batch}) > 1 or min(rows) < n:
        counts = ", ".join(str(len(tensor)) for tensor in batch)
        raise ValueError(
            f"got a batch with {counts} rows, expected as many in all its tensors, and at "
            f"least one for each of {n} processes"
        )
    return tuple(tensor.tensor_split(n)[rank()] for tensor in batch)


def sync_on_last(model: Any, batches: Iterable[T]) -> Iterator[T]:
    """The batches. Gradients are averaged in the backward pass of the last one only."""
    if world_size() == 1:
        yield from batches
        return
    *before, last = batches
    with model.no_sync():  # DDP's: gradients add up on each process for itself
        yield from before
    yield last


# --- starting and ending -----------------------------------------------------------------------


def was_restarted() -> bool:
    """Whether torchrun has started this process in place of one that failed."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0


def find_device(device: str = "auto") -> torch.device:
    """A device by its name; "auto" is a GPU, or Apple's, or the CPU. ValueError if it is not there.

    Of several processes each has a GPU of its own, that of its local rank.
    """
    several = _launched_processes() > 1
    if device == "auto":
        mps = torch.backends.mps.is_available() and not several  # gloo and NCCL do not know it
        device = "cuda" if torch.cuda.is_available() else "mps" if mps else "cpu"
    if several:
        if device.startswith("cuda:"):
            raise ValueError(f"device={device!r}, expected 'cuda': each process has its own GPU")
        if device == "cuda":
            local, n_gpus = int(os.environ.get("LOCAL_RANK", "0")), torch.cuda.device_count()
            if local >= n_gpus:
                raise ValueError(f"process {local} of this machine has no GPU: it has {n_gpus}")
            device = f"cuda:{local}"
    try:
        resolved = torch.empty(0, device=device).device
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"device={device!r}: {error}") from error
    if resolved.type == "meta":
        raise ValueError("device='meta' has shapes and no numbers, expected another")
    return resolved


def _launched_processes() -> int:
    """How many processes torchrun has started; 1 without it."""
    launched = {"RANK", "WORLD_SIZE", "MASTER_ADDR"} <= os.environ.keys()
    return int(os.environ["WORLD_SIZE"]) if launched else 1


@contextmanager
def process_group(device: str = "auto") -> Iterator[torch.device]:
    """Connect the processes that torchrun has started while the block runs; yields the device.

    They talk by NCCL on GPUs, one process a GPU, and by gloo on CPUs. Raises ValueError for a
    device that is not there, ConnectionError when another process is lost.
    """
    resolved = find_device(device)
    size = _launched_processes()
    if size == 1:
        yield resolved
        return
    if resolved.type == "cuda":
        torch.cuda.set_device(resolved)
    try:
        _connect(int(os.environ["RANK"]), size, resolved)
        yield resolved
    except RuntimeError as error:
        if isinstance(error, dist.DistError) or LOST.search(str(error)):
            first = re.sub(r"\[/[^]]*\] *", "", str(error)).strip().split("\n")[0].split(". ")[0]
            raise ConnectionError(f"another process is out of reach ({first})") from error
        raise
    dist.destroy_process_group()  # not after an error: there may be nobody to answer


def _connect(own_rank: int, size: int, device: torch.device) -> None:
    one_machine = os.environ.get("GROUP_WORLD_SIZE") == "1"
    store, _, _ = next(dist.rendezvous("env://", own_rank, size))
    # Or a later connection, or a restarted process (PyTorch issue 167288), may find addresses
    # of the one before. Only on one machine are all processes restarted equally often.
    restarts = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") if one_machine else "?"
    store = dist.PrefixStore(f"start {restarts}, connection {next(CONNECTIONS)}", store)
    backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
    dist.init_process_group(backend, store=store, rank=own_rank, world_size=size)
