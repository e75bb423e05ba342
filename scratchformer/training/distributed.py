"""Several processes that train one model: PyTorch's engine behind the few calls the loop makes.

Each process draws every batch whole, from the same generator, and keeps its share of the rows:
what is learned does not depend on how many processes there are. `torchrun` starts them and says
to each which one it is; without it there is one process, and nothing here does anything.
"""

import itertools
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import torch
import torch.distributed as dist
from jaxtyping import Shaped
from torch import Tensor, nn

T = TypeVar("T")
CONNECTIONS = itertools.count()  # of this process; all of them count alike
LOST = re.compile(r"gloo|nccl|connection|socket|peer|timed? ?out|\bstore\b", re.IGNORECASE)


@dataclass(frozen=True)
class Workers:
    """The processes that train one model, as seen from one of them. Alone by default."""

    rank: int = 0  # which of them this is; rank 0 writes files and speaks
    size: int = 1  # how many there are
    here: int = 0  # which of those on this machine
    device: torch.device | None = None  # where this one computes; None: where the model is
    parallel: str = "ddp"  # or "fsdp": each keeps 1/size of weights, gradients and memory

    @property
    def shards(self) -> bool:
        """Whether the weights are spread over the processes."""
        return self.parallel == "fsdp" and self.size > 1

    def wrap(self, model: nn.Module, seed: int, compile: bool = False) -> nn.Module:
        """What to call for a loss, so that backward passes exchange gradients: their mean.

        With DDP a wrapper around `model`, which must be on its device; with FSDP `model` itself,
        whose parameters are shards from here on. Dropout differs from process to process.
        """
        if self.rank:
            torch.manual_seed(seed + (self.rank << 32))
        if self.shards:
            self._shard(model)
        if compile:
            model = torch.compile(model)
        if self.size > 1 and not self.shards:
            ids = [self.device] if self.device and self.device.type == "cuda" else None
            return nn.parallel.DistributedDataParallel(model, device_ids=ids)
        return model

    def _shard(self, model: nn.Module) -> None:
        from torch.distributed.device_mesh import init_device_mesh

        try:
            from torch.distributed.fsdp import fully_shard
        except ImportError as error:
            raise ValueError("parallel='fsdp' needs torch 2.6 or newer") from error

        kind = self.device.type if self.device else next(model.parameters()).device.type
        mesh = init_device_mesh(kind, (self.size,))
        for module in reversed(list(model.modules())):  # from the inside out
            if isinstance(module, nn.ModuleList):
                for block in module:  # one at a time is whole in the forward and backward pass
                    fully_shard(block, mesh=mesh)
        fully_shard(model, mesh=mesh)

    def share(self, batch: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """This process's rows of a batch that all of them have drawn."""
        if self.size == 1:
            return batch
        if len(rows := {len(tensor) for tensor in batch}) > 1 or min(rows) < self.size:
            counts = ", ".join(str(len(tensor)) for tensor in batch)
            raise ValueError(
                f"got a batch with {counts} rows, expected as many in all its tensors, and at "
                f"least one for each of {self.size} processes"
            )
        return tuple(tensor.tensor_split(self.size)[self.rank] for tensor in batch)

    def deal(self, parts: Sequence[T]) -> Iterator[tuple[T, int]]:
        """Every part to one process: (part, 1). All get as many: the last may come as (part, 0).

        Where weights are spread, a model computes on all processes or not at all.
        """
        for start in range(0, len(parts), self.size):
            i = start + self.rank
            yield (parts[i], 1) if i < len(parts) else (parts[-1], 0)

    def in_turn(self, model: nn.Module, batches: Iterable[T]) -> Iterator[T]:
        """The batches; only the last one's backward pass exchanges gradients, those of all."""
        if self.size == 1:
            yield from batches
            return
        *before, last = batches
        with model.no_sync() if hasattr(model, "no_sync") else _unshared(model):
            yield from before
        yield last

    def sum(self, tensor: Shaped[Tensor, "..."]) -> Shaped[Tensor, "..."]:
        """`tensor` with those of the other processes added, in place."""
        if self.size > 1:
            dist.all_reduce(tensor)
        return tensor

    def any(self, flag: bool) -> bool:
        """Whether it is true for one of them. The GPU is not waited for."""
        if self.size == 1:
            return flag
        return self.sum(torch.tensor(float(flag))).item() > 0

    def wait(self) -> None:
        """Until all processes are here."""
        self.any(False)

    @contextmanager
    def one_first(self) -> Iterator[None]:
        """One process of each machine runs the block, and may download; then the others do."""
        if self.here:
            self.wait()
        yield
        if not self.here:
            self.wait()

    def agree(self, number: int, what: str) -> None:
        """Raise ValueError if another process has another number."""
        numbers = [int(n) for n in self.gather(torch.tensor(number))]
        if len(set(numbers)) > 1:
            raise ValueError(
                f"the processes differ in {what}: {numbers}. Each must see the same files"
            )

    def gather(self, tensor: Shaped[Tensor, "..."]) -> list[Shaped[Tensor, "..."]]:
        """The tensors of all processes, in the order of their ranks."""
        if self.size == 1:
            return [tensor]
        tensors = [torch.empty_like(tensor) for _ in range(self.size)]
        dist.all_gather(tensors, tensor)
        return tensors

    def whole(self, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        """The tensors as one process would have them, put together on rank 0; nothing elsewhere.

        One after the other, and in main memory: all of them may outgrow a device.
        """
        result = {}
        for name, tensor in tensors.items():
            if hasattr(tensor, "full_tensor"):
                tensor = tensor.detach().full_tensor()
                tensor = tensor.cpu() if self.rank == 0 else None
            if self.rank == 0:
                result[name] = tensor
        return result


ALONE = Workers()


def like(tensor: Tensor, own: Tensor | None) -> Tensor:
    """`tensor`, or its shard of this process if `own`, whose place it takes, is a shard."""
    if not hasattr(own, "full_tensor") or tensor.shape != own.shape:
        return tensor
    from torch.distributed.tensor import distribute_tensor

    whole = tensor.to(own.device)
    return distribute_tensor(whole, own.device_mesh, own.placements, src_data_rank=None)


def restarted() -> bool:
    """Whether torchrun has started this process in place of one that failed."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0


@contextmanager
def connected(device: str = "auto", parallel: str = "ddp") -> Iterator[Workers]:
    """The processes that `torchrun` has started, connected while the block runs; or one alone.

    They talk by NCCL on GPUs, one process a GPU, and by gloo on CPUs. Raises ValueError for a
    device that is not there, ConnectionError when another process is lost.
    """
    if parallel not in ("ddp", "fsdp"):
        raise ValueError(f"parallel={parallel!r}, expected 'ddp' or 'fsdp'")
    launched = {"RANK", "WORLD_SIZE", "MASTER_ADDR"} <= os.environ.keys()
    rank, size, here = (
        int(os.environ.get(name, default)) if launched else int(default)
        for name, default in (("RANK", "0"), ("WORLD_SIZE", "1"), ("LOCAL_RANK", "0"))
    )
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device.startswith("cuda:") and size > 1:
        raise ValueError(f"device={device!r}, expected 'cuda': each process has a GPU of its own")
    if device == "cuda" and size > 1:
        if here >= (there := torch.cuda.device_count()):
            raise ValueError(f"process {here} of this machine has no GPU: it has {there}")
        device = f"cuda:{here}"
    try:
        place = torch.empty(0, device=device).device
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"device={device!r}: {error}") from error
    if size == 1:
        yield Workers(device=place, parallel=parallel)
        return
    if place.type == "cuda":
        torch.cuda.set_device(place)
    try:
        store, _, _ = next(dist.rendezvous("env://", rank, size))
        # Or a later connection, or a restarted process (PyTorch issue 167288), may find addresses
        # of the one before. Only on one machine are all processes restarted equally often.
        start = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        start = start if os.environ.get("GROUP_WORLD_SIZE") == "1" else "?"
        store = dist.PrefixStore(f"start {start}, connection {next(CONNECTIONS)}", store)
        backend = "cpu:gloo,cuda:nccl" if place.type == "cuda" else "gloo"
        dist.init_process_group(backend, store=store, rank=rank, world_size=size)
        yield Workers(rank, size, here, place, parallel)
    except RuntimeError as error:
        if isinstance(error, dist.DistError) or LOST.search(str(error)):
            first = re.sub(r"\[/[^]]*\] *", "", str(error)).strip().split("\n")[0].split(". ")[0]
            raise ConnectionError(f"another process is out of reach ({first})") from error
        raise
    dist.destroy_process_group()  # not after an error: there may be nobody to answer


@contextmanager
def _unshared(model: nn.Module) -> Iterator[None]:
    """FSDP's `no_sync`: gradients add up whole, on each process for itself."""
    model.set_requires_gradient_sync(False)
    try:
        yield
    finally:
        model.set_requires_gradient_sync(True)
