"""The tensor itself: a list of numbers, and how to read it. Operations are in files of their own.

They are attached to the class in `__init__.py`, so that `x.sum(0)` and `torch.sum(x, 0)` are one
function.
"""

from collections.abc import Callable
from typing import Any

from scratchformer_course.page_torch.dtypes import (
    COMPLEX,
    FLOAT,
    converted,
    dtype,
    float32,
    float64,
)
from scratchformer_course.page_torch.layout import (
    Shape,
    Size,
    axis_of,
    contiguous,
    is_contiguous,
)
from scratchformer_course.page_torch.missing import lack, torch_error
from scratchformer_course.page_torch.storage import CPU, Bytes, Device, Storage
from scratchformer_course.page_torch.tape import (
    NO_SLOPES,
    Node,
    carry_back,
    first_slope,
    node_of,
)
from scratchformer_course.page_torch.values import Values

counting: list[Callable[[], None]] = []  # called for each tensor that is made (function_mode.py)


class Tensor(Values):
    """Numbers in a grid, as `torch.Tensor`."""

    dtype: dtype
    layout = "torch.strided"
    is_cpu = True
    is_cuda = is_meta = is_sparse = is_quantized = is_nested = is_mps = False
    _base: "Tensor | None" = None  # what a view looks into
    _node: Node | None = None
    _node_of_leaf: Node | None = None
    _is_leaf_with_slopes = False
    _seen = 0  # the count of changes when a view's node was written
    _is_one_of_many = ""  # the operation that gave several views at once

    def __init_subclass__(cls) -> None:
        if cls.__module__.partition(".")[0] != "scratchformer_course":
            lack("subclasses of `torch.Tensor`")

    def __init__(self, *_: Any, **__: Any):
        """Its fields are set by `view_of_storage`."""

    def __new__(cls, *given: Any, **named: Any) -> "Tensor":
        lack("`torch.Tensor(…)`")

    # ---- shape and memory

    @property
    def shape(self) -> Size:
        """The size of each axis."""
        return Size(self._shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._shape)

    @property
    def device(self) -> Device:
        """Always the processor."""
        return CPU

    @property
    def itemsize(self) -> int:
        """The bytes of a number."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all numbers."""
        return self.numel() * self.dtype.itemsize

    def numel(self) -> int:
        """The number of numbers."""
        return Size(self._shape).numel()

    nelement = numel

    def dim(self) -> int:
        """The number of axes."""
        return len(self._shape)

    ndimension = dim

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the size of one axis."""
        return self.shape if dim is None else self._shape[axis_of(dim, self.ndim)]

    def stride(self, dim: int | None = None) -> Any:
        """How far the next number of each axis lies, or of one."""
        return self._strides if dim is None else self._strides[axis_of(dim, self.ndim)]

    def storage_offset(self) -> int:
        """Where the first number lies."""
        return self._offset

    def element_size(self) -> int:
        """The bytes of a number."""
        return self.dtype.itemsize

    def untyped_storage(self) -> Bytes:
        """The memory that views share."""
        return Bytes(self._storage, self.dtype.itemsize)

    def data_ptr(self) -> int:
        """A number that tensors share if they begin at the same place of the same memory."""
        return id(self._storage) + self._offset * self.dtype.itemsize

    def is_contiguous(self) -> bool:
        """Whether the numbers lie in order."""
        return is_contiguous(self._shape, self._strides)

    def is_floating_point(self) -> bool:
        """Whether the numbers are floating-point numbers."""
        return self.dtype.kind == FLOAT

    def is_complex(self) -> bool:
        """Whether the numbers are complex."""
        return self.dtype.kind == COMPLEX

    def is_signed(self) -> bool:
        """Whether the numbers may be negative."""
        return self.dtype.is_signed

    def __deepcopy__(self, memo: dict) -> "Tensor":
        if self._node is not None:
            text = "Only Tensors created explicitly by the user (graph leaves) support the deepcopy"
            raise torch_error(
                RuntimeError,
                f"{text} protocol at the moment.  If you were attempting to deepcopy a module, this"
                " may be because of a torch.nn.utils.weight_norm usage, see "
                "https://github.com/pytorch/pytorch/pull/103001",
            )
        copy = new_tensor(list(self._numbers()), self._shape, self.dtype, type(self))
        copy._is_leaf_with_slopes = self._is_leaf_with_slopes
        if self.grad is not None and type(self) is Tensor:
            copy.grad = self.grad.clone()
        memo[id(self)] = copy
        return copy

    # ---- slopes

    _grad: "Tensor | None" = None

    @property
    def grad(self) -> "Tensor | None":
        """The sum of the slopes that have arrived."""
        return self._grad

    @grad.setter
    def grad(self, slope: "Tensor | None") -> None:
        is_usual = isinstance(slope, Tensor) and slope is not self
        if slope is not None and not (
            is_usual and slope._shape == self._shape and slope.dtype is self.dtype
        ):
            lack("such a `.grad`")
        self._grad = slope

    @property
    def requires_grad(self) -> bool:
        """Whether slopes are carried back to or through this tensor."""
        return node_of(self) is not None

    @requires_grad.setter
    def requires_grad(self, is_on: bool) -> None:
        if is_on and self.dtype.kind < FLOAT:
            text = "only Tensors of floating point and complex dtype can require gradients"
            raise torch_error(RuntimeError, text)
        if self._node is not None:
            if is_on:
                return
            text = "you can only change requires_grad flags of leaf variables. If you want to use a"
            raise torch_error(
                RuntimeError,
                f"{text} computed variable in a subgraph that doesn't require differentiation use "
                "var_no_grad = var.detach().",
            )
        self._is_leaf_with_slopes = bool(is_on)

    @property
    def is_leaf(self) -> bool:
        """Whether nothing on the tape has computed it."""
        node_of(self)
        return self._node is None

    @property
    def grad_fn(self) -> Node | None:
        """The node of the operation that has computed it."""
        node_of(self)
        return self._node

    @property
    def _version(self) -> int:
        return self._changes[0]

    @property
    def data(self) -> "Tensor":
        """The same memory, of which the tape learns nothing."""
        view = self.detach()
        view._changes = [0]
        return view

    @data.setter
    def data(self, new: "Tensor") -> None:
        for name in ("_storage", "_shape", "_strides", "_offset", "dtype"):
            object.__setattr__(self, name, getattr(new, name))

    def detach(self) -> "Tensor":
        """The same numbers, cut off from the tape."""
        view = view_of_storage(self._storage, self._shape, self._strides, self._offset, self.dtype)
        view._changes = self._changes
        return view

    def detach_(self) -> "Tensor":
        """Cut this tensor off from the tape."""
        self._node, self._is_leaf_with_slopes = None, False
        return self

    def requires_grad_(self, requires_grad: bool = True) -> "Tensor":
        """Have slopes carried back to this leaf."""
        if requires_grad and self.dtype.kind < FLOAT:
            text = "only Tensors of floating point dtype can require gradients"
            raise torch_error(RuntimeError, text)
        self.requires_grad = requires_grad
        return self

    def retain_grad(self) -> None:
        """Keep the slope of a tensor that was computed, too."""
        if node_of(self) is None:
            text = "can't retain_grad on Tensor that has requires_grad=False"
            raise torch_error(RuntimeError, text)
        if self._node is not None and all(x is not self for x in self._node.keeps):
            self._node.keeps.append(self)

    def backward(
        self,
        gradient: "Tensor | None" = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
    ) -> None:
        """Carry slopes back to all leaves, and add them to what their `.grad` holds."""
        if create_graph:
            lack("`create_graph=True`")
        if not self.requires_grad:
            raise torch_error(RuntimeError, NO_SLOPES)
        carry_back([self], [first_slope(self, gradient)], None, bool(retain_graph))

    def _filled_with(self, number: float) -> "Tensor":
        """One number everywhere, in the shape and type of this tensor."""
        return new_tensor(
            converted([number], float64, self.dtype) * self.numel(), self._shape, self.dtype
        )


def view_of_storage(
    storage: Storage, shape: Shape, strides: Shape, offset: int, kind: dtype, cls: type = Tensor
) -> Tensor:
    """A tensor that reads this memory."""
    tensor = object.__new__(cls)
    tensor._storage, tensor._shape, tensor._strides = storage, shape, strides
    tensor._offset, tensor.dtype, tensor._changes = offset, kind, [0]
    for count in counting:
        count()
    return tensor


def new_tensor(numbers: list, shape: Shape, kind: dtype = float32, cls: type = Tensor) -> Tensor:
    """A tensor of these numbers, which its type can hold."""
    return view_of_storage(Storage(numbers), shape, contiguous(shape), 0, kind, cls)


def numbers_as(tensor: Tensor, kind: dtype) -> list:
    """The numbers of a tensor in another type."""
    return converted(tensor._numbers(), tensor.dtype, kind)


def check_float(x: Tensor) -> None:
    """Lack a function for types that real PyTorch refuses with words of its own."""
    if x.dtype.kind < FLOAT:
        lack("this function of whole numbers")
