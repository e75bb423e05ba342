"""How many bytes a computation holds at once: what PyTorch has made and not yet dropped."""

import gc
from collections.abc import Callable, Iterable
from typing import Any

from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Alive(TorchDispatchMode):
    """Looks after each operation which tensors are alive; `most` is the largest sum of bytes."""

    def __init__(self, exclude: Iterable[Tensor] = ()):
        super().__init__()
        self.excluded = {tensor.untyped_storage()._cdata for tensor in exclude}
        self.live: dict[int, tuple[StorageWeakRef, int]] = {}
        self.most = 0

    def __torch_dispatch__(
        self, operation: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run an operation, then add up what is alive; a view shares its tensor's memory."""
        results = operation(*args, **(kwargs or {}))
        for tensor in tree_leaves(results):
            if isinstance(tensor, Tensor):
                memory = tensor.untyped_storage()
                self.live[memory._cdata] = StorageWeakRef(memory), memory.nbytes()
        if self._now() > self.most:
            gc.collect()  # a checkpoint's frames point at each other: they wait for this
            self.most = max(self.most, self._now())
        return results

    def _now(self) -> int:
        self.live = {k: v for k, v in self.live.items() if not v[0].expired()}
        return sum(size for k, (_, size) in self.live.items() if k not in self.excluded)


def most_at_once(compute: Callable[[], Any], exclude: Iterable[Tensor] = ()) -> int:
    """The most bytes that compute() holds at once, besides the tensors to `exclude`."""
    gc.freeze()  # so that a collection looks at new objects only
    try:
        with Alive(exclude) as alive:
            compute()
    finally:
        gc.unfreeze()
    return alive.most
