"""Numbers taken to other places: flip, roll, repeat, and the triangles of a matrix."""

import math
from collections.abc import Callable
from typing import Any

from scratchformer_course.page_torch.dtypes import int64
from scratchformer_course.page_torch.gathering import index_select
from scratchformer_course.page_torch.layout import Shape, axes_of, axis_of, sizes_of
from scratchformer_course.page_torch.missing import torch_error
from scratchformer_course.page_torch.taking import taken
from scratchformer_course.page_torch.tape import record
from scratchformer_course.page_torch.tensor import Tensor, new_tensor


def _moved(x: Tensor, move: Callable[[Tensor], Tensor], name: str) -> Tensor:
    """What a move of the places 0, 1, 2, … makes of the numbers of x."""
    order = move(new_tensor(list(range(x.numel())), x._shape, int64))
    like = x if name == "FlipBackward0" else None
    return taken(x, order._numbers(), order._shape, name, like=like)


def flip(x: Tensor, *given: Any, dims: Any = None) -> Tensor:
    """Some axes from the last index to the first."""
    axes = axes_of(sizes_of(given if dims is None else (dims,)), x.ndim)

    def move(order: Tensor) -> Tensor:
        for axis in axes:
            back = list(range(x._shape[axis]))[::-1]
            order = index_select(order, axis, new_tensor(back, (len(back),), int64))
        return order

    return _moved(x, move, "FlipBackward0")


def fliplr(x: Tensor) -> Tensor:
    """The columns from the last to the first."""
    return flip(x, 1)


def flipud(x: Tensor) -> Tensor:
    """The rows from the last to the first."""
    return flip(x, 0)


def roll(x: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """Numbers moved along axes; what falls out at the end comes in at the front."""
    if dims is None:
        return roll(x.flatten(), shifts, 0).view(x._shape)
    pairs = [(shifts, dims)] if isinstance(dims, int) else zip(shifts, dims, strict=True)

    def move(order: Tensor) -> Tensor:
        for shift, dim in pairs:
            n = order._shape[axis_of(dim, x.ndim)]
            ids = [(i - int(shift)) % n for i in range(n)]
            order = index_select(order, dim, new_tensor(ids, (n,), int64))
        return order

    return _moved(x, move, "RollBackward0")


def repeat(x: Tensor, *repeats: Any) -> Tensor:
    """Copies of the whole tensor beside each other, so many along each axis."""
    times = sizes_of(repeats)
    if len(times) < x.ndim:
        text = "Number of dimensions of repeat dims can not be smaller than number of dimensions of"
        raise torch_error(RuntimeError, f"{text} tensor")

    def move(order: Tensor) -> Tensor:
        order = order.view((1,) * (len(times) - x.ndim) + x._shape)
        for axis, n in enumerate(times):
            ids = list(range(order._shape[axis])) * n
            order = index_select(order, axis, new_tensor(ids, (len(ids),), int64))
        return order

    return _moved(x, move, "RepeatBackward0")


def tile(x: Tensor, *dims: Any) -> Tensor:
    """`repeat`, where first axes may be left out."""
    times = sizes_of(dims)
    return repeat(x, (1,) * (x.ndim - len(times)) + times)


def repeat_interleave(
    x: Tensor, repeats: Any, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Each part of an axis repeated, one copy behind the other."""
    if dim is None:
        x, dim = x.flatten(), 0
    axis = axis_of(dim, x.ndim)
    times = repeats.tolist() if isinstance(repeats, Tensor) else repeats
    times = [times] * x._shape[axis] if isinstance(times, int) else times
    times = times * x._shape[axis] if len(times) == 1 else times
    if len(times) != x._shape[axis]:
        text = "repeats must have the same size as input along dim, but got repeats.size(0) ="
        text = f"{text} {len(times)} and input.size({dim}) = {x._shape[axis]}"
        raise torch_error(RuntimeError, text)
    ids = [i for i, n in enumerate(times) for _ in range(n)]
    return index_select(x, axis, new_tensor(ids, (len(ids),), int64))


def _mask(shape: Shape, keeps: Callable[[int, int], bool]) -> list[bool]:
    """A mask over the last two axes, from row and column, repeated for the others."""
    rows, columns = shape[-2:]
    mask = [keeps(i, j) for i in range(rows) for j in range(columns)]
    return mask * math.prod(shape[:-2])


def tril(x: Tensor, diagonal: int = 0) -> Tensor:
    """Zeros above a diagonal."""
    return _triangle(x, lambda i, j: j - i <= diagonal, "tril")


def triu(x: Tensor, diagonal: int = 0) -> Tensor:
    """Zeros below a diagonal."""
    return _triangle(x, lambda i, j: j - i >= diagonal, "triu")


def _triangle(x: Tensor, keeps: Callable[[int, int], bool], name: str) -> Tensor:
    if x.ndim < 2:
        text = f"{name}: input tensor must have at least 2 dimensions"
        raise torch_error(RuntimeError, text)
    mask = _mask(x._shape, keeps)

    def masked(y: Tensor) -> Tensor:
        zero = type(y._numbers()[0])(0) if mask else 0
        numbers = [n if kept else zero for n, kept in zip(y._numbers(), mask, strict=True)]
        return new_tensor(numbers, y._shape, y.dtype)

    return record(masked(x), f"{name.capitalize()}Backward0", (x, masked))
