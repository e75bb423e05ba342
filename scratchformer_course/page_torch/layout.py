"""Where the numbers of a tensor lie: shapes, strides, and the arithmetic of both.

A tensor is a list of numbers, a shape, a stride for each axis and an offset. The number at index
(i, j) lies at offset + i · stride[0] + j · stride[1]. Turning a matrix swaps two strides, a row
begins at another offset, and a number that is used n times has stride 0: no number moves.
"""

import itertools
import math
import operator
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from scratchformer_course.page_torch.missing import torch_error

Shape = tuple[int, ...]


class Size(tuple):
    """A shape, as `tensor.shape` gives it."""

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    def numel(self) -> int:
        """The number of numbers."""
        return math.prod(self)

    def __getitem__(self, key: Any) -> Any:
        part = tuple.__getitem__(self, key)
        return Size(part) if isinstance(key, slice) else part

    def __add__(self, other: tuple) -> "Size":
        return Size(tuple(self) + tuple(other))

    def __radd__(self, other: tuple) -> "Size":
        return Size(tuple(other) + tuple(self))

    def __mul__(self, n: int) -> "Size":
        return Size(tuple(self) * n)

    __rmul__ = __mul__


@lru_cache(10_000)
def contiguous(shape: Shape) -> Shape:
    """The strides of a tensor whose numbers lie one behind the other, the last axis fastest."""
    steps = itertools.accumulate((max(size, 1) for size in shape[:0:-1]), operator.mul, initial=1)
    return tuple(steps)[::-1] if shape else ()


@lru_cache(4_000)
def places(shape: Shape, strides: Shape, offset: int = 0) -> list[int]:
    """Where the numbers of a tensor lie, in the order of its indices. The list is shared."""
    found = [offset]
    for size, stride in zip(shape, strides, strict=True):
        if size != 1:
            steps = [stride * i for i in range(size)]
            found = [start + step for start in found for step in steps]
    return found


def broadcast(*shapes: Shape) -> Shape:
    """The shape to which all of these can be stretched (axes of size 1, and missing first axes)."""
    result: Shape = ()
    for shape in shapes:
        n = max(len(result), len(shape))
        ours, theirs = ((1,) * (n - len(sizes)) + tuple(sizes) for sizes in (result, shape))
        for axis in range(n - 1, -1, -1):
            if ours[axis] != theirs[axis] and 1 not in (ours[axis], theirs[axis]):
                raise torch_error(
                    RuntimeError,
                    f"The size of tensor a ({ours[axis]}) must match the size of tensor b "
                    f"({theirs[axis]}) at non-singleton dimension {axis}",
                )
        result = tuple(b if a == 1 else a for a, b in zip(ours, theirs, strict=True))
    return result


def stretched(shape: Shape, strides: Shape, target: Shape) -> Shape:
    """Strides that read a tensor as if it were of the broadcast shape."""
    missing = len(target) - len(shape)
    sizes = zip(shape, strides, target[missing:], strict=True)
    return (0,) * missing + tuple(step if size == n else 0 for size, step, n in sizes)


def axis_of(dim: int, n_axes: int) -> int:
    """An axis counted from the front; the last one may be given as -1."""
    dim, n = operator.index(dim), max(n_axes, 1)
    if not -n <= dim < n:
        text = f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})"
        raise torch_error(IndexError, text)
    return dim % n


def axes_of(dim: int | Sequence[int] | None, n_axes: int) -> tuple[int, ...]:
    """Axes counted from the front; all if none is given."""
    if dim is None or (not isinstance(dim, int) and not hasattr(dim, "_storage") and not len(dim)):
        return tuple(range(n_axes))
    dims = dim if isinstance(dim, (tuple, list)) else [dim]
    found = [axis_of(one, n_axes) for one in dims]
    for place, axis in enumerate(found):
        if axis in found[:place]:
            text = f"dim {axis} appears multiple times in the list of dims"
            raise torch_error(RuntimeError, text)
    return tuple(found)


def sizes_of(given: Sequence[Any]) -> Shape:
    """A shape that was given as numbers, or as one tuple of them: `view(2, 3)`, `view((2, 3))`."""
    if len(given) == 1 and isinstance(given[0], (tuple, list)):
        given = given[0]
    return tuple(operator.index(size) for size in given)


def resolved(shape: Shape, numel: int) -> Shape:
    """A shape for this many numbers, with the size that is missing in place of -1."""
    invalid = f"shape '{list(shape)}' is invalid for input of size {numel}"
    for size in shape:
        if size < -1:
            raise torch_error(RuntimeError, f"invalid shape dimension {size}")
    if shape.count(-1) > 1:
        raise torch_error(RuntimeError, "only one dimension can be inferred")
    if -1 in shape:
        place = shape.index(-1)
        others = math.prod(shape[:place] + shape[place + 1 :])
        if others == 0 and numel == 0:
            text = (
                f"cannot reshape tensor of 0 elements into shape {list(shape)} because the "
                "unspecified dimension size -1 can be any value and is ambiguous"
            )
            raise torch_error(RuntimeError, text)
        if others == 0 or numel % others:
            raise torch_error(RuntimeError, invalid)
        shape = shape[:place] + (numel // others,) + shape[place + 1 :]
    if math.prod(shape) != numel:
        raise torch_error(RuntimeError, invalid)
    return shape


def strides_of_view(shape: Shape, strides: Shape, target: Shape) -> Shape | None:
    """Strides that read the same numbers in another shape; None if no strides can.

    Axes that lie one behind the other melt into runs; each new axis has to fit into one run.
    """
    if 0 in shape:
        return strides if shape == target else contiguous(target)
    runs: list[list[int]] = []  # [size, stride of the last number]
    for size, stride in zip(shape, strides, strict=True):
        if size == 1:
            continue
        if runs and runs[-1][1] == size * stride:
            runs[-1] = [runs[-1][0] * size, stride]
        else:
            runs.append([size, stride])
    if not runs:  # a single number
        return contiguous(target)
    result: list[int] = []
    remaining, stride = runs.pop()
    for size in reversed(target):
        if remaining == 1 and size != 1 and runs:
            remaining, stride = runs.pop()
        if remaining % size:
            return None
        result.append(stride)
        stride, remaining = stride * size, remaining // size
    return tuple(reversed(result)) if remaining == 1 and not runs else None


def is_contiguous(shape: Shape, strides: Shape) -> bool:
    """Whether the numbers lie in the order of the indices, without gaps."""
    if 0 in shape:
        return True
    pairs = zip(shape, strides, contiguous(shape), strict=True)
    return all(size == 1 or stride == wanted for size, stride, wanted in pairs)


def overlaps(shape: Shape, strides: Shape) -> bool:
    """Whether a number stands at several indices."""
    return any(size > 1 and step == 0 for size, step in zip(shape, strides, strict=True))


def nested(numbers: Sequence, shape: Shape) -> Any:
    """Lists in lists, as `tolist` gives them."""
    if not shape:
        return numbers[0]
    if len(shape) == 1:
        return list(numbers)
    n = math.prod(shape[1:])
    return [nested(numbers[i * n : i * n + n], shape[1:]) for i in range(shape[0])]


def indices(shape: Iterable[int]) -> Iterable[tuple[int, ...]]:
    """All indices of a shape, in order."""
    return itertools.product(*map(range, shape))
