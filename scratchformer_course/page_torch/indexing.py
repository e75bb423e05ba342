"""Indices: `x[1:, None]` is a view, `x[ids]` and `x[mask]` take numbers out into new memory."""

import math
import operator
from typing import Any

from scratchformer_course.page_torch.creation import as_number_tensor, tensor
from scratchformer_course.page_torch.dtypes import (
    BOOL,
    FLOAT,
    INTEGER,
    WIDEST,
    converted,
    int64,
    kind_of,
)
from scratchformer_course.page_torch.inplace import assign, in_place
from scratchformer_course.page_torch.layout import (
    Shape,
    broadcast,
    contiguous,
    indices,
    places,
)
from scratchformer_course.page_torch.missing import lack, torch_error
from scratchformer_course.page_torch.taking import taken, written
from scratchformer_course.page_torch.tensor import Tensor, new_tensor
from scratchformer_course.page_torch.views import view_of

VALID = (
    "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
    "indices (got {})"
)
NO_AXES = (
    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ "
    "to convert a 0-dim tensor to a number"
)
Advanced = list[tuple[int, Tensor]]  # axis of the view, and ids or a mask


def get_item(x: Tensor, key: Any) -> Tensor:
    """`x[key]`."""
    view, advanced = _basic(x, key if isinstance(key, tuple) else (key,))
    if not advanced:
        return view
    order, shape = _targets(view, advanced)
    return taken(view, order, shape, "IndexBackward0", advanced[0][1])


def set_item(x: Tensor, key: Any, value: Any) -> None:
    """`x[key] = value`."""
    if type(value) in (int, float) and not x.requires_grad and _set_number(x, key, value):
        return
    view, advanced = _basic(x, key if isinstance(key, tuple) else (key,))
    if value is None or isinstance(value, (list, tuple, str)):
        kind = type(value).__name__
        raise torch_error(TypeError, f"can't assign a {kind} to a torch.{x.dtype.word}Tensor")
    value = as_number_tensor(value, x.dtype)
    if not advanced:
        assign(view, value)
        return
    target = x if view._shape == x._shape and view._strides == x._strides else view
    order, shape = _targets(view, advanced)
    while value.ndim > len(shape) and value._shape[0] == 1:
        value = value[0]
    try:
        stretched = value.expand(shape)
    except RuntimeError:
        raise torch_error(
            RuntimeError,
            f"shape mismatch: value tensor of shape {list(value._shape)} cannot be broadcast to "
            f"indexing result of shape {list(shape)}",
        ) from None
    in_place(lambda before: written(before, order, stretched, False, "IndexPutBackward0"), "")(
        target
    )


def _set_number(x: Tensor, key: Any, number: float) -> bool:
    """Write one number at whole indices, without a view; whether the key was of that kind."""
    keys = key if isinstance(key, tuple) else (key,)
    if len(keys) != x.ndim or not keys or any(type(i) is not int for i in keys):
        return False
    place = x._offset
    for i, size, stride in zip(keys, x._shape, x._strides, strict=True):
        if not -size <= i < size:
            return False
        place += i % size * stride
    (x._storage.numbers[place],) = converted([number], WIDEST[kind_of(number)], x.dtype)
    x._changes[0] += 1
    return True


def _is_ids(key: Any) -> bool:
    """Whether a part of a key is ids or a mask, not a single index."""
    if isinstance(key, Tensor):
        return bool(key._shape) or key.dtype.kind != INTEGER
    return isinstance(key, (list, tuple, range))


def _n_axes(key: Any) -> int:
    """How many axes a part of a key uses up."""
    if key is None or key is Ellipsis or isinstance(key, bool):
        return 0
    return key.ndim if isinstance(key, Tensor) and key.dtype.kind == BOOL else 1


def _basic(x: Tensor, keys: tuple) -> tuple[Tensor, Advanced]:
    """The view that indices, slices, None and `...` give; ids and masks, by axis of the view."""
    if any(isinstance(key, list) and key and isinstance(key[0], list) for key in keys):
        lack("lists of lists as an index")
    keys = tuple(tensor(key) if isinstance(key, (list, tuple)) and key else key for key in keys)
    used = sum(map(_n_axes, keys))
    if used and not x.ndim:
        raise torch_error(IndexError, NO_AXES)
    if used > x.ndim:
        raise torch_error(IndexError, f"too many indices for tensor of dimension {x.ndim}")
    if not any(key is Ellipsis for key in keys):
        keys = (*keys, Ellipsis)
    shape: list[int] = []
    strides: list[int] = []
    offset, axis, name = x._offset, 0, "AliasBackward0"
    advanced: Advanced = []

    def keep(n: int) -> None:
        nonlocal axis
        shape.extend(x._shape[axis : axis + n])
        strides.extend(x._strides[axis : axis + n])
        axis += n

    for key in keys:
        if key is None:
            shape.append(1)
            strides.append(0)
            name = "UnsqueezeBackward0"
        elif key is Ellipsis:
            keep(x.ndim - used)
        elif isinstance(key, slice):
            start, step, size = _sliced(key, x._shape[axis])
            if (start, step, size) != (0, 1, x._shape[axis]):
                name = "SliceBackward0"
            offset += start * x._strides[axis]
            shape.append(size)
            strides.append(x._strides[axis] * step)
            axis += 1
        elif isinstance(key, bool):
            lack("an index of True or False")
        elif _is_ids(key):
            ids = key if isinstance(key, Tensor) else tensor(list(key), dtype=int64)
            if ids.dtype.kind >= FLOAT:
                text = "tensors used as indices must be long, int, byte or bool tensors"
                raise torch_error(IndexError, text)
            if not ids._shape:  # a mask without axes keeps all or nothing, along a new axis
                ids = ids.reshape(1)
                shape.append(1)
                strides.append(0)
                advanced.append((len(shape) - 1, ids))
                continue
            advanced.append((len(shape), ids))
            keep(_n_axes(ids))
        else:
            offset += _single(key, x._shape[axis], axis) * x._strides[axis]
            axis += 1
            name = "SelectBackward0"
    _stride_of_new_axes(shape, strides, keys, advanced)
    return view_of(x, shape, strides, offset, name), advanced


def _stride_of_new_axes(shape: list[int], strides: list[int], keys: tuple, advanced: Any) -> None:
    """Give axes that `None` has made the stride that real PyTorch gives them."""
    axis = 0
    new = []
    for key in keys:
        if key is None:
            new.append(axis)
        if key is Ellipsis:
            axis = len(shape) - sum(1 for k in keys[keys.index(Ellipsis) + 1 :] if _is_kept(k))
        elif _is_kept(key):
            axis += 1 if not isinstance(key, Tensor) or key.dtype.kind != BOOL else key.ndim
    for place in reversed(new):
        behind = place + 1
        strides[place] = shape[behind] * strides[behind] if behind < len(shape) else 1


def _is_kept(key: Any) -> bool:
    return key is None or isinstance(key, slice) or _is_ids(key)


def _sliced(key: slice, size: int) -> tuple[int, int, int]:
    """Start, step and size of a slice."""
    parts = (
        part if part is None else operator.index(part) for part in (key.start, key.stop, key.step)
    )
    start, stop, step = parts
    if step is not None and step <= 0:
        raise torch_error(ValueError, "step must be greater than zero")
    found = range(*slice(start, stop, step).indices(size))
    return (found.start if len(found) else min(found.start, size)), found.step, len(found)


def _single(key: Any, size: int, axis: int) -> int:
    """A single index, counted from the front."""
    if isinstance(key, str):
        raise torch_error(TypeError, "new(): invalid data type 'str'")
    if not hasattr(key, "__index__"):
        raise torch_error(IndexError, VALID.format(type(key).__name__))
    index = operator.index(key)
    if not -size <= index < size:
        text = f"index {index} is out of bounds for dimension {axis} with size {size}"
        raise torch_error(IndexError, text)
    return index % size


def _targets(view: Tensor, advanced: Advanced) -> tuple[list[int], Shape]:
    """Which numbers of the view ids and masks mean, in its order, and the shape of what they give.

    Their common shape stands where the first of them stood, or in front if they are not neighbours.
    """
    found: Advanced = []
    for axis, ids in advanced:
        if ids.dtype.kind != BOOL:
            found.append((axis, ids))
            continue
        for i, size in enumerate(ids._shape):
            if view._shape[axis + i] != size:
                raise torch_error(
                    IndexError,
                    f"The shape of the mask {list(ids._shape)} at index {i} does not match the "
                    f"shape of the indexed tensor {list(view._shape)} at index {axis + i}",
                )
        found += [(axis + i, one) for i, one in enumerate(nonzero(ids).unbind(1))]
    is_empty = 0 in [n for i, n in enumerate(view._shape) if i not in [axis for axis, _ in found]]
    for axis, ids in [] if is_empty else found:
        for index in ids._numbers():
            if not -view._shape[axis] <= index < view._shape[axis]:
                raise torch_error(
                    IndexError,
                    f"index {index} is out of bounds for dimension {axis} with size "
                    f"{view._shape[axis]}",
                )
    try:
        shape = broadcast(*(ids._shape for _, ids in found))
    except RuntimeError:
        shapes = ", ".join(str(list(ids._shape)) for _, ids in found)
        text = "shape mismatch: indexing tensors could not be broadcast together with shapes"
        raise torch_error(IndexError, f"{text} {shapes}") from None
    strides = contiguous(view._shape)
    axes = [axis for axis, _ in found]
    sums = [0] * math.prod(shape)
    for axis, ids in found:
        stride, size = strides[axis], view._shape[axis]
        steps = (index % max(size, 1) * stride for index in ids.expand(shape)._numbers())
        sums = [place + step for place, step in zip(sums, steps, strict=True)]
    are_neighbours = axes == list(range(axes[0], axes[-1] + 1))
    first = axes[0] if are_neighbours else 0
    before = [axis for axis in range(view.ndim) if axis not in axes and axis < first]
    after = [axis for axis in range(view.ndim) if axis not in axes and axis >= first]
    heads, tails = (
        places(tuple(view._shape[i] for i in kept), tuple(strides[i] for i in kept))
        for kept in (before, after)
    )
    order = [head + middle + tail for head in heads for middle in sums for tail in tails]
    return order, (*(view._shape[i] for i in before), *shape, *(view._shape[i] for i in after))


def nonzero(x: Tensor, *, as_tuple: bool = False) -> Any:
    """The indices of all numbers that are not 0: (n, axes), or a column for each axis."""
    found = [at for at, number in zip(indices(x._shape), x._numbers(), strict=True) if number]
    columns = [at[axis] for axis in range(x.ndim) for at in found]
    out = new_tensor(columns, (x.ndim, len(found)), int64).transpose(0, 1).detach()
    return out.unbind(1) if as_tuple else out


def argwhere(x: Tensor) -> Tensor:
    """The indices of all numbers that are not 0."""
    return nonzero(x)
