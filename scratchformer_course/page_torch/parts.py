"""Parts of a tensor as views: stretches, rows, windows, diagonals; and pairs as complex numbers."""

from typing import Any

from scratchformer_course.page_torch.dtypes import OF_PARTS, REAL
from scratchformer_course.page_torch.layout import axis_of
from scratchformer_course.page_torch.missing import lack, torch_error
from scratchformer_course.page_torch.tape import record
from scratchformer_course.page_torch.tensor import Tensor, new_tensor
from scratchformer_course.page_torch.views import view_of


def narrow(x: Tensor, dim: int, start: int, length: int) -> Tensor:
    """A stretch of an axis."""
    axis = axis_of(dim, x.ndim)
    start, size = int(start), x._shape[axis]
    start = start + size if start < 0 else start
    if not 0 <= start <= size or start + length > size:
        text = f"start ({start}) + length ({length}) exceeds dimension size ({size})."
        raise torch_error(RuntimeError, text)
    shape = x._shape[:axis] + (length,) + x._shape[axis + 1 :]
    return view_of(x, shape, x._strides, x._offset + start * x._strides[axis], "SliceBackward0")


def select(x: Tensor, dim: int, index: int) -> Tensor:
    """The part at one index of an axis."""
    axis = axis_of(dim, x.ndim)
    return x[(slice(None),) * axis + (index,)]


def unbind(x: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The parts at all indices of an axis."""
    if not x.ndim:
        text = "Dimension specified as 0 but tensor has no dimensions"
        raise torch_error(IndexError, text)
    axis = axis_of(dim, x.ndim)
    shape = x._shape[:axis] + x._shape[axis + 1 :]
    strides = x._strides[:axis] + x._strides[axis + 1 :]
    starts = [x._offset + i * x._strides[axis] for i in range(x._shape[axis])]
    return _many([view_of(x, shape, strides, start, "UnbindBackward0") for start in starts])


def _many(views: list[Tensor]) -> tuple[Tensor, ...]:
    for one in views:
        if one._node is not None:
            one._is_one_of_many = one._node.name().partition("Backward")[0]
    return tuple(views)


def split(x: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Stretches of an axis: of one size, or of these."""
    axis, parts = axis_of(dim, x.ndim), split_size_or_sections
    total = x._shape[axis]
    name = "SplitWithSizesBackward0"
    if isinstance(parts, int):
        if parts < 1:
            text = "split_size can only be 0 if dimension size is 0, but got dimension size of"
            raise (
                torch_error(RuntimeError, f"{text} {total}")
                if not parts
                else torch_error(
                    RuntimeError,
                    f"split expects split_size be non-negative, but got split_size={parts}",
                )
            )
        parts = [min(parts, total - start) for start in range(0, total, parts)] or [0]
        name = "SplitBackward0"
    if sum(parts) != total:
        raise torch_error(
            RuntimeError,
            f"split_with_sizes expects split_sizes to sum exactly to {total} (input tensor's size "
            f"at dimension {axis}), but got split_sizes={list(parts)}",
        )
    views, start = [], x._offset
    for size in parts:
        shape = x._shape[:axis] + (size,) + x._shape[axis + 1 :]
        views.append(view_of(x, shape, x._strides, start, name))
        start += size * x._strides[axis]
    return _many(views)


def chunk(x: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most so many stretches of equal size."""
    if chunks < 1:
        text = f"chunk expects `chunks` to be greater than 0, got: {chunks}"
        raise torch_error(RuntimeError, text)
    return split(x, max(1, -(-x._shape[axis_of(dim, x.ndim)] // chunks)), dim)


def unfold(x: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows of an axis, which may overlap, along a new last axis."""
    axis = axis_of(dimension, x.ndim)
    if size > x._shape[axis]:
        text = f"maximum size for tensor at dimension {axis} is {x._shape[axis]} but size is {size}"
        raise torch_error(RuntimeError, text)
    n_windows = (x._shape[axis] - size) // step + 1
    shape = x._shape[:axis] + (n_windows,) + x._shape[axis + 1 :] + (size,)
    strides = list(x._strides)
    strides[axis] *= step
    return view_of(x, shape, [*strides, x._strides[axis]], x._offset, "UnfoldBackward0")


def diagonal(x: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The numbers on a diagonal, as a last axis."""
    rows, columns = axis_of(dim1, x.ndim), axis_of(dim2, x.ndim)
    if rows == columns:
        text = f"diagonal dimensions cannot be identical {dim1}, {dim2}"
        raise torch_error(RuntimeError, text)
    down, right = max(-offset, 0), max(offset, 0)
    n = max(0, min(x._shape[rows] - down, x._shape[columns] - right))
    kept = [axis for axis in range(x.ndim) if axis not in (rows, columns)]
    start = x._offset + (down * x._strides[rows] + right * x._strides[columns] if n else 0)
    strides = [x._strides[axis] for axis in kept] + [x._strides[rows] + x._strides[columns]]
    return view_of(x, [x._shape[i] for i in kept] + [n], strides, start, "DiagonalBackward0")


def view_as_real(x: Tensor) -> Tensor:
    """Complex numbers as pairs along a last axis (a copy)."""
    kind = REAL[x.dtype]
    parts = [part for z in x._numbers() for part in (z.real, z.imag)]
    out = new_tensor(parts, (*x._shape, 2), kind)
    return record(out, "ViewAsRealBackward0", (x, view_as_complex))


def view_as_complex(x: Tensor) -> Tensor:
    """Pairs along the last axis as complex numbers (a copy)."""
    if x.dtype not in OF_PARTS:
        lack("`torch.view_as_complex` of this type")
    if x._shape[-1:] != (2,):
        raise torch_error(RuntimeError, "Tensor must have a last dimension of size 2")
    if x._strides[-1] != 1:
        raise torch_error(RuntimeError, "Tensor must have a last dimension with stride 1")
    own = x._numbers()
    pairs = [complex(own[i], own[i + 1]) for i in range(0, len(own), 2)]
    out = new_tensor(pairs, x._shape[:-1], OF_PARTS[x.dtype])
    return record(out, "ViewAsComplexBackward0", (x, view_as_real))
