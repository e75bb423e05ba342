"""Views: the same numbers, read in another way. Only strides, shape and offset are new."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from scratchformer_course.page_torch import tensor as core
from scratchformer_course.page_torch.bits import packed, unpacked
from scratchformer_course.page_torch.dtypes import dtype as Kind
from scratchformer_course.page_torch.dtypes import rounded
from scratchformer_course.page_torch.layout import (
    Shape,
    axes_of,
    axis_of,
    contiguous,
    overlaps,
    places,
    resolved,
    sizes_of,
    strides_of_view,
)
from scratchformer_course.page_torch.missing import lack, torch_error
from scratchformer_course.page_torch.tape import is_grad_enabled, record
from scratchformer_course.page_torch.tensor import Tensor, new_tensor

Sizes = Sequence[Any]


def view_of(
    x: Tensor, shape: Sequence[int], strides: Sequence[int], offset: int, name: str
) -> Tensor:
    """A view of x, and how the slope of x follows from its own."""
    out = core.view_of_storage(x._storage, tuple(shape), tuple(strides), offset, x.dtype)
    out._base = x if x._base is None else x._base
    out._changes, out._seen = x._changes, x._version
    if is_grad_enabled():
        if x._is_leaf_with_slopes and overlaps(x._shape, x._strides):
            lack("slopes at a tensor that was expanded")
        record(out, name, (x, lambda slope: spread(x._shape, order_in(x, out), slope)))
    return out


def order_in(x: Tensor, view: Tensor) -> list[int]:
    """Which numbers of x, in its order, a view shows."""
    shown = places(view._shape, view._strides, view._offset)
    if x.is_contiguous():
        return [place - x._offset for place in shown]
    order = {place: i for i, place in enumerate(places(x._shape, x._strides, x._offset))}
    return [order[place] for place in shown]


def spread(shape: Shape, order: list[int], slope: Tensor) -> Tensor:
    """Zeros of a shape, to which the numbers of a slope are added at places of its order."""
    sums: list[Any] = [0.0] * math.prod(shape)
    for place, number in zip(order, slope._numbers(), strict=True):
        sums[place] += number
    return new_tensor(rounded(sums, slope.dtype), shape, slope.dtype)


def cleared(slope: Tensor, order: list[int]) -> Tensor:
    """A copy of a slope that is 0 at these places of its order."""
    numbers = list(slope._numbers())
    for place in order:
        numbers[place] = 0.0
    return new_tensor(numbers, slope._shape, slope.dtype)


def into_base(view: Tensor) -> Callable[[Tensor], Tensor]:
    """The slope of the tensor into which a view looks, from that of the view."""
    base = view._base
    return functools.partial(spread, base._shape, order_in(base, view))


Tensor._into_base = into_base


def expand(x: Tensor, *sizes: Any) -> Tensor:
    """Axes of size 1 repeated, and new axes in front, without a copy; -1 keeps a size."""
    target = sizes_of(sizes)
    extra = len(target) - x.ndim
    if extra < 0:
        word = f"torch.{x.dtype.word}Tensor{{{list(x._shape)}}}"
        raise torch_error(
            RuntimeError,
            f"expand({word}, size={list(target)}): the number of sizes provided ({len(target)}) "
            f"must be greater or equal to the number of dimensions in the tensor ({x.ndim})",
        )
    shape, strides = [], []
    for axis, size in enumerate(target):
        old, stride = (
            (x._shape[axis - extra], x._strides[axis - extra]) if axis >= extra else (1, 0)
        )
        if size == -1 and axis < extra:
            raise torch_error(
                RuntimeError,
                f"The expanded size of the tensor ({size}) isn't allowed in a leading, non-existing"
                f" dimension {axis}",
            )
        size = old if size == -1 else size
        if old not in (1, size):
            raise torch_error(
                RuntimeError,
                f"The expanded size of the tensor ({size}) must match the existing size ({old}) at "
                f"non-singleton dimension {axis}.  Target sizes: {list(target)}.  Tensor sizes: "
                f"{list(x._shape)}",
            )
        shape.append(size)
        strides.append(stride if old == size else 0)
    return view_of(x, shape, strides, x._offset, "ExpandBackward0")


def expand_as(x: Tensor, other: Tensor) -> Tensor:
    """x stretched to the shape of another tensor."""
    return expand(x, other._shape)


def broadcast_to(x: Tensor, size: Sizes) -> Tensor:
    """x stretched to a shape."""
    return expand(x, *sizes_of([size] if isinstance(size, (tuple, list)) else size))


def permute(x: Tensor, *dims: Any) -> Tensor:
    """The axes in another order."""
    order = sizes_of(dims)
    if len(order) != x.ndim:
        raise torch_error(
            RuntimeError,
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {x.ndim} is not equal"
            f" to len(dims) = {len(order)}",
        )
    axes = [axis_of(dim, x.ndim) for dim in order]
    if len(set(axes)) < len(axes):
        raise torch_error(RuntimeError, "permute(): duplicate dims are not allowed.")
    return _reordered(x, axes, "PermuteBackward0")


def _reordered(x: Tensor, axes: Sequence[int], name: str) -> Tensor:
    shape, strides = [x._shape[axis] for axis in axes], [x._strides[axis] for axis in axes]
    return view_of(x, shape, strides, x._offset, name)


def transpose(x: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two axes swapped."""
    a, b = axis_of(dim0, x.ndim), axis_of(dim1, x.ndim)
    axes = list(range(x.ndim))
    if axes:
        axes[a], axes[b] = axes[b], axes[a]
    return _reordered(x, axes, "TransposeBackward0")


def swapaxes(x: Tensor, axis0: int, axis1: int) -> Tensor:
    """Two axes swapped."""
    return transpose(x, axis0, axis1)


swapdims = swapaxes


def t(x: Tensor) -> Tensor:
    """A matrix turned."""
    if x.ndim > 2:
        text = f"t() expects a tensor with <= 2 dimensions, but self is {x.ndim}D"
        raise torch_error(RuntimeError, text)
    return _reordered(x, range(x.ndim)[::-1], "TBackward0")


def turned(x: Tensor) -> Tensor:
    """`x.T`: the axes from the last to the first."""
    return _reordered(x, range(x.ndim)[::-1], "PermuteBackward0")


def movedim(x: Tensor, source: Any, destination: Any) -> Tensor:
    """Axes moved to other places, the others in their order."""
    sources = axes_of([source] if isinstance(source, int) else source, x.ndim)
    targets = axes_of([destination] if isinstance(destination, int) else destination, x.ndim)
    others = iter(axis for axis in range(x.ndim) if axis not in sources)
    moved = dict(zip(targets, sources, strict=True))
    axes = [moved[axis] if axis in moved else next(others) for axis in range(x.ndim)]
    return _reordered(x, axes, "PermuteBackward0")


def unsqueeze(x: Tensor, dim: int) -> Tensor:
    """A new axis of size 1."""
    axis = axis_of(dim, x.ndim + 1)
    stride = x._shape[axis] * x._strides[axis] if axis < x.ndim else 1
    shape = x._shape[:axis] + (1,) + x._shape[axis:]
    strides = x._strides[:axis] + (stride,) + x._strides[axis:]
    return view_of(x, shape, strides, x._offset, "UnsqueezeBackward0")


def squeeze(x: Tensor, dim: Any = None) -> Tensor:
    """Without axes of size 1: all of them, or these."""
    axes = [axis for axis in axes_of(dim, x.ndim) if x.ndim and x._shape[axis] == 1]
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    return _reordered(x, kept, "SqueezeBackward0" if dim is None else "SqueezeBackward1")


def view(x: Tensor, *sizes: Any, dtype: Kind | None = None) -> Tensor:
    """The same numbers in another shape; or their bits as another type (a copy)."""
    kind = sizes[0] if sizes and isinstance(sizes[0], Kind) else dtype
    if kind is not None:
        return reinterpreted(x, kind)
    target = resolved(sizes_of(sizes), x.numel())
    strides = strides_of_view(x._shape, x._strides, target)
    if strides is None:
        raise torch_error(
            RuntimeError,
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead.",
        )
    return view_of(x, target, strides, x._offset, "ViewBackward0")


def reinterpreted(x: Tensor, kind: Kind) -> Tensor:
    """The bits of x as another type: a copy here, a view in real PyTorch."""
    if not x.is_contiguous() or not x.ndim or x.requires_grad:
        lack("`Tensor.view(dtype)` of such a tensor")
    size = x._shape[-1] * x.dtype.itemsize
    if size % kind.itemsize:
        text = f"self.size(-1) must be divisible by {kind.itemsize // x.dtype.itemsize} to view"
        raise torch_error(RuntimeError, text)
    shape = (*x._shape[:-1], size // kind.itemsize)
    return new_tensor(unpacked(packed(x._numbers(), x.dtype), kind), shape, kind)


def view_as(x: Tensor, other: Tensor) -> Tensor:
    """The same numbers in the shape of another tensor."""
    return view(x, other._shape)


def reshape(x: Tensor, *shape: Any) -> Tensor:
    """The same numbers in another shape: a view if strides can do it, else a copy."""
    target = resolved(sizes_of(shape), x.numel())
    strides = strides_of_view(x._shape, x._strides, target)
    if strides is not None:
        return view_of(x, target, strides, x._offset, "ViewBackward0")
    copy = x.contiguous()
    return view_of(copy, target, contiguous(target), 0, "UnsafeViewBackward0")


def reshape_as(x: Tensor, other: Tensor) -> Tensor:
    """The same numbers in the shape of another tensor."""
    return reshape(x, other._shape)


def flatten(x: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Some axes, one behind the other, as one."""
    start, end = axis_of(start_dim, x.ndim), axis_of(end_dim, x.ndim)
    if not x.ndim:
        return reshape(x, 1)
    if start > end:
        text = "flatten() has invalid args: start_dim cannot come after end_dim"
        raise torch_error(RuntimeError, text)
    if start == end:
        return x
    middle = math.prod(x._shape[start : end + 1])
    return reshape(x, x._shape[:start] + (middle,) + x._shape[end + 1 :])


def ravel(x: Tensor) -> Tensor:
    """All numbers in one axis."""
    return flatten(x.contiguous())


def unflatten(x: Tensor, dim: int, sizes: Sizes) -> Tensor:
    """One axis as several."""
    axis, parts = axis_of(dim, x.ndim), sizes_of([tuple(sizes)])
    if parts.count(-1) == 1:
        known = -math.prod(parts)
        if known and x._shape[axis] % known == 0:
            parts = tuple(x._shape[axis] // known if size == -1 else size for size in parts)
    if math.prod(parts) != x._shape[axis]:
        raise torch_error(
            RuntimeError,
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {axis} "
            f"({x._shape[axis]}) in the input tensor",
        )
    return view(x, x._shape[:axis] + parts + x._shape[axis + 1 :])
