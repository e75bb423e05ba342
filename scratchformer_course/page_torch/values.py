"""How numbers leave a tensor: as lists, as single numbers, in conditions and in texts."""

from collections.abc import Iterator
from typing import Any

from scratchformer_course.page_torch.dtypes import INTEGER
from scratchformer_course.page_torch.layout import contiguous, nested, places
from scratchformer_course.page_torch.missing import lack, torch_error
from scratchformer_course.page_torch.storage import Packed


class Values:
    """What Python asks of a tensor, for `Tensor` to derive from."""

    def _numbers(self) -> list:
        """The numbers in the order of their indices. The list is not to be changed."""
        own = self._storage.numbers
        if self._strides == contiguous(self._shape):
            n = self.numel()
            return own if n == len(own) else own[self._offset : self._offset + n]
        return [own[i] for i in places(self._shape, self._strides, self._offset)]

    def tolist(self) -> Any:
        """Lists in lists; a single number without axes."""
        return nested(self._numbers(), self._shape)

    def item(self) -> Any:
        """The number of a tensor that holds one."""
        if self.numel() != 1:
            text = f"a Tensor with {self.numel()} elements cannot be converted to Scalar"
            raise torch_error(RuntimeError, text)
        return self._numbers()[0]

    def numpy(self) -> "Packed":
        """The bytes of the numbers: there is no NumPy in a page."""
        if self.requires_grad:
            text = "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy()"
            raise torch_error(RuntimeError, f"{text} instead.")
        return Packed(self)

    def __array__(self, *_: Any, **__: Any) -> Any:
        lack("NumPy")

    def _single(self) -> Any:
        if self.numel() != 1:
            text = "only one element tensors can be converted to Python scalars"
            raise torch_error(ValueError, text)
        return self.item()

    def __float__(self) -> float:
        return float(self._single())

    def __int__(self) -> int:
        return int(self._single())

    def __complex__(self) -> complex:
        return complex(self._single())

    def __delitem__(self, _: Any) -> None:
        raise torch_error(TypeError, "Tensor does not support deleting items")

    def __index__(self) -> int:
        if self.dtype.kind > INTEGER or self.numel() != 1:
            text = "only integer tensors of a single element can be converted to an index"
            raise torch_error(TypeError, text)
        return int(self.item())

    def __bool__(self) -> bool:
        if self.numel() != 1:
            size = "no values" if self.numel() == 0 else "more than one value"
            raise torch_error(RuntimeError, f"Boolean value of Tensor with {size} is ambiguous")
        return bool(self.item())

    def __len__(self) -> int:
        if not self._shape:
            raise torch_error(TypeError, "len() of a 0-d tensor")
        return self._shape[0]

    def __iter__(self) -> Iterator:
        if not self._shape:
            raise torch_error(TypeError, "iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __contains__(self, number: Any) -> bool:
        if not isinstance(number, (Values, bool, int, float)):
            lack("`in` with this type")
        return bool((self == number).any())

    def __hash__(self) -> int:
        return id(self)

    def __reversed__(self) -> Any:
        return self.flip(0) if self._shape else self

    def __format__(self, spec: str) -> str:
        if self._shape:
            return object.__format__(str(self), spec) if not spec else object.__format__(self, spec)
        return format(self.item(), spec)

    def __reduce_ex__(self, _: Any) -> Any:
        lack("pickling a tensor")
