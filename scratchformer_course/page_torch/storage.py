"""The memory of tensors, and what is told of it."""

from typing import Any

from scratchformer_course.page_torch.bits import packed
from scratchformer_course.page_torch.missing import lack


class Storage:
    """The numbers that a tensor and its views share."""

    def __init__(self, numbers: list):
        self.numbers = numbers


class Bytes:
    """What `untyped_storage()` gives: the memory, by size and address alone."""

    def __init__(self, storage: Storage, itemsize: int):
        self.storage, self.itemsize = storage, itemsize

    def nbytes(self) -> int:
        """The memory of the tensor and its views."""
        return len(self.storage.numbers) * self.itemsize

    size = __len__ = nbytes

    def data_ptr(self) -> int:
        """A number that no other memory has."""
        return id(self.storage)


class Packed:
    """What `numpy()` gives: the bytes in memory, and nothing else of an array."""

    def __init__(self, tensor: Any):
        self.tensor = tensor

    @property
    def data(self) -> bytes:
        """The bytes of the numbers, in order."""
        return packed(self.tensor._numbers(), self.tensor.dtype)

    def tobytes(self) -> bytes:
        """The bytes of the numbers, in order."""
        return self.data

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__array__":
            raise AttributeError(name)
        lack("`Tensor.numpy`")

    def _is_used(self, *_: Any) -> Any:
        lack("`Tensor.numpy`")

    __getitem__ = __len__ = __iter__ = __add__ = __radd__ = __sub__ = __rsub__ = _is_used
    __mul__ = __rmul__ = __truediv__ = __eq__ = __lt__ = __gt__ = __float__ = __int__ = _is_used
    __repr__ = __bool__ = __matmul__ = _is_used


class Device:
    """The processor: there is no other one in a page."""

    def __init__(self, type: Any = "cpu", index: int | None = None):
        name, _, number = str(type).partition(":")
        if name not in ("cpu", "cuda", "mps", "meta"):
            lack(f"the device `{type}`")
        self.type, self.index = name, int(number) if number else index

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(self.type)


CPU = Device()
