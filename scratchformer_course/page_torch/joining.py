"""Tensors put together, copied, and turned into other types."""

import itertools
import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

from scratchformer_course.page_torch.arithmetic import laid_out, summed_to
from scratchformer_course.page_torch.creation import zeros
from scratchformer_course.page_torch.dtypes import FLOAT, dtype, promote
from scratchformer_course.page_torch.layout import Size, axis_of, broadcast, sizes_of
from scratchformer_course.page_torch.missing import lack, torch_error
from scratchformer_course.page_torch.tape import named, record
from scratchformer_course.page_torch.tensor import Tensor, new_tensor, numbers_as


def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors one behind the other, along an axis."""
    if isinstance(tensors, Tensor):
        text = "cat(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor"
        raise torch_error(TypeError, text)
    parts = list(tensors)
    if not parts:
        text = "torch.cat(): expected a non-empty list of Tensors"
        raise torch_error(ValueError, text)
    for i, part in enumerate(parts):
        if not isinstance(part, Tensor):
            kind = type(part).__name__
            text = f"expected Tensor as element {i} in argument 0, but got {kind}"
            raise torch_error(TypeError, text)
        if not part._shape:
            text = f"zero-dimensional tensor (at position {i}) cannot be concatenated"
            raise torch_error(RuntimeError, text)
    kind = reduce(promote, (part.dtype for part in parts))
    skipped = [part for part in parts if part._shape == (0,)]
    parts = [part for part in parts if part._shape != (0,)] or parts[:1]
    first = parts[0]
    axis = axis_of(dim, first.ndim)
    for i, part in enumerate(parts):
        if part.ndim != first.ndim:
            text = "Tensors must have same number of dimensions: got"
            raise torch_error(RuntimeError, f"{text} {first.ndim} and {part.ndim}")
        for other, (size, own) in enumerate(zip(first._shape, part._shape, strict=True)):
            if other != axis and size != own:
                raise torch_error(
                    RuntimeError,
                    f"Sizes of tensors must match except in dimension {axis}. Expected size {size} "
                    f"but got size {own} for tensor number {i} in the list.",
                )
    lists = [(numbers_as(part, kind), math.prod(part._shape[axis:])) for part in parts]
    numbers: list = []
    for i in range(math.prod(first._shape[:axis])):
        for own, n in lists:
            numbers += own[i * n : (i + 1) * n]
    sizes = [part._shape[axis] for part in parts]
    shape = (*first._shape[:axis], sum(sizes), *first._shape[axis + 1 :])
    starts = itertools.accumulate(sizes, initial=0)
    edges = [
        (part, lambda g, at=at, x=part: g.narrow(axis, at, x._shape[axis]).to(x.dtype))
        for part, at in zip(parts, starts, strict=False)
    ]
    if len(skipped) < len(tensors):
        edges += [(part, lambda g, x=part: x._filled_with(0.0)) for part in skipped]
    return record(new_tensor(numbers, shape, kind), "CatBackward0", *edges)


def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors of one shape along a new axis."""
    if isinstance(tensors, Tensor):
        lack("`torch.stack` of a tensor")
    parts = list(tensors)
    if not parts:
        raise torch_error(RuntimeError, "stack expects a non-empty TensorList")
    for i, part in enumerate(parts):
        if not isinstance(part, Tensor):
            kind = type(part).__name__
            text = f"expected Tensor as element {i} in argument 0, but got {kind}"
            raise torch_error(TypeError, text)
        if part._shape != parts[0]._shape:
            raise torch_error(
                RuntimeError,
                f"stack expects each tensor to be equal size, but got {list(parts[0]._shape)} at "
                f"entry 0 and {list(part._shape)} at entry {i}",
            )
    axis = axis_of(dim, parts[0].ndim + 1)
    out = cat([part.unsqueeze(axis) for part in parts], axis)
    return named(out, "StackBackward0")


def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Rows below each other."""
    return cat([x if x.ndim > 1 else x.reshape(1, -1) for x in tensors], 0)


def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Columns beside each other."""
    parts = [x if x.ndim else x.reshape(1) for x in tensors]
    return cat(parts, 0 if parts[0].ndim == 1 else 1)


def block_diag(*tensors: Tensor) -> Tensor:
    """Matrices along a diagonal, and zeros elsewhere."""
    blocks = [x if x.ndim == 2 else x.reshape(1, -1) for x in tensors]
    kind = reduce(promote, (block.dtype for block in blocks))
    out = zeros(sum(len(b) for b in blocks), sum(b._shape[1] for b in blocks), dtype=kind)
    row = column = 0
    for block in blocks:
        out[row : row + block._shape[0], column : column + block._shape[1]] = block
        row, column = row + block._shape[0], column + block._shape[1]
    return out


def diag(x: Tensor, diagonal: int = 0) -> Tensor:
    """The diagonal of a matrix, or a matrix with this diagonal."""
    if x.ndim == 2:
        return x.diagonal(diagonal).clone()
    if x.ndim != 1:
        text = f"diag(): Supports 1D or 2D tensors. Got {x.ndim}D"
        raise torch_error(RuntimeError, text)
    n = len(x) + abs(diagonal)
    out = zeros(n, n, dtype=x.dtype)
    out.diagonal(diagonal).copy_(x)
    return out


def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """All stretched to one shape."""
    shape = broadcast(*(x._shape for x in tensors))
    return tuple(x.expand(shape) for x in tensors)


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape to which tensors of these shapes would be stretched."""
    return Size(
        broadcast(
            *(sizes_of([shape] if not isinstance(shape, int) else (shape,)) for shape in shapes)
        )
    )


def sum_to_size(x: Tensor, *size: Any) -> Tensor:
    """The sum over all axes that stretching to the shape of x would repeat."""
    return summed_to(x, new_tensor([0.0], sizes_of(size), x.dtype))


# ---- copies and types


def clone(x: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy in memory of its own."""
    out = laid_out(new_tensor(list(x._numbers()), x._shape, x.dtype), x)
    return record(out, "CloneBackward0", (x, lambda slope: slope))


def contiguous(x: Tensor) -> Tensor:
    """The numbers in order, without gaps: x itself, or a copy."""
    if x.is_contiguous():
        return x
    out = new_tensor(list(x._numbers()), x._shape, x.dtype)
    return record(out, "CloneBackward0", (x, lambda slope: slope))


def to(x: Tensor, *given: Any, **named: Any) -> Tensor:
    """The numbers in another type; x itself, if it is of that type."""
    kind, copies = named.pop("dtype", None), named.pop("copy", False)
    places = [named.pop("device", None)]
    named.pop("non_blocking", None)
    if named:
        lack(f"`Tensor.to({', '.join(named)})`")
    for one in given:
        if isinstance(one, Tensor):
            kind = one.dtype
        elif isinstance(one, dtype):
            kind = one
        else:
            places.append(one)
    if any(place is not None and str(place) != "cpu" for place in places):
        lack(f"the device `{places[-1]}`")
    if kind is None or kind is x.dtype:
        return clone(x) if copies else x
    out = laid_out(new_tensor(list(numbers_as(x, kind)), x._shape, kind), x)
    if kind.kind < FLOAT:
        return out
    return record(out, "ToCopyBackward0", (x, lambda slope: to(slope, x.dtype)))


def type_(x: Tensor, dtype: dtype | None = None) -> Any:
    """The type in words, or the numbers in another type."""
    return f"torch.{x.dtype.word}Tensor" if dtype is None else to(x, dtype)


def type_as(x: Tensor, other: Tensor) -> Tensor:
    """The numbers in the type of another tensor."""
    return to(x, other.dtype)


def cpu(x: Tensor) -> Tensor:
    """The tensor itself: it is on the processor."""
    return x


def to_dense(x: Tensor) -> Tensor:
    """The tensor itself: it is not sparse."""
    return x


def conj(x: Tensor) -> Tensor:
    """The conjugate of complex numbers; real ones as they are."""
    if not x.is_complex():
        return x
    out = new_tensor([z.conjugate() for z in x._numbers()], x._shape, x.dtype)
    return record(out, "ConjBackward0", (x, conj))


def get_device(x: Tensor) -> int:
    """-1: the processor."""
    return -1
