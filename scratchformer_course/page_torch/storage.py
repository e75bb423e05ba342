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


class Device:
    """The processor: there is no other one in a page."""

    def __init__(self, type: Any = "cpu", index: int | None = None):
        self.type, self.index = str(type).partition(":")[0], index

    def __repr__(self) -> str:
        return f"device(type='{self.type}')"

    def __str__(self) -> str:
        return self.type

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other)

    def __hash__(self) -> int:
        return hash(self.type)


CPU = Device()
