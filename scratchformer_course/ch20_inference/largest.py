"""How much a computation holds: its largest tensor, and all new ones together."""

import weakref
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class LargestTensor(TorchDispatchMode):
    """Inside `with LargestTensor() as seen:` seen.numbers is the size of the largest result.

    `seen.new` leaves out views of what was given, and `seen.most` is the most that new tensors
    held together.
    """

    def __init__(self) -> None:
        super().__init__()
        self.numbers = self.new = self.most = self.held = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple = (), kwargs: Any = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        given = {x.untyped_storage().data_ptr() for x in args if isinstance(x, torch.Tensor)}
        for each in out if isinstance(out, tuple | list) else (out,):
            if isinstance(each, torch.Tensor):
                self.numbers = max(self.numbers, each.numel())
                if each.untyped_storage().data_ptr() not in given:
                    self._hold(each)
        return out

    def _hold(self, tensor: torch.Tensor) -> None:
        n = tensor.numel()
        self.new, self.held = max(self.new, n), self.held + n
        self.most = max(self.most, self.held)
        weakref.finalize(tensor, self._release, n)

    def _release(self, n: int) -> None:
        self.held -= n
