"""Numbers taken from, or written to, places that another tensor names."""

import operator
from collections.abc import Sequence
from typing import Any

from scratchformer_course.page_torch.creation import as_number_tensor
from scratchformer_course.page_torch.dtypes import int32, int64
from scratchformer_course.page_torch.indexing import _basic, _targets, get_item
from scratchformer_course.page_torch.layout import axis_of, broadcast, contiguous, indices
from scratchformer_course.page_torch.missing import torch_error
from scratchformer_course.page_torch.taking import taken, written
from scratchformer_course.page_torch.tensor import Tensor


def index_select(x: Tensor, dim: int, index: Tensor) -> Tensor:
    """The parts at these indices of an axis."""
    axis = axis_of(dim, x.ndim)
    if index.ndim > 1:
        raise torch_error(IndexError, "index_select(): Index is supposed to be a vector")
    for i in index._numbers():
        if not 0 <= i < x._shape[axis]:
            raise torch_error(IndexError, "index out of range in self")
    order, shape = _targets(x, [(axis, index.reshape(-1))])
    return taken(x, order, shape, "IndexSelectBackward0", index)


def masked_select(x: Tensor, mask: Tensor) -> Tensor:
    """The numbers where a mask is True."""
    shape = broadcast(x._shape, mask._shape)
    return get_item(x.expand(shape), mask.expand(shape))


def _along(x: Tensor, dim: int, index: Tensor, what: str) -> list[int]:
    """The places in the order of x of `x[…, index[…, i, …], …]`."""
    axis, strides = axis_of(dim, x.ndim), contiguous(x._shape)
    if index.dtype not in (int64, int32):
        text = f"{what}(): Expected dtype int32/int64 for index"
        raise torch_error(RuntimeError, text)
    if index.ndim != x.ndim:
        text = "Index tensor must have the same number of dimensions as input tensor"
        raise torch_error(RuntimeError, text)
    for i, (size, limit) in enumerate(zip(index._shape, x._shape, strict=True)):
        if i != axis and size > limit:
            raise torch_error(
                RuntimeError,
                f"Size does not match at dimension {i} expected index {list(index._shape)} to be "
                f"no larger than self {list(x._shape)} apart from dimension {axis}",
            )
    order = []
    for at, i in zip(indices(index._shape), index._numbers(), strict=True):
        if not 0 <= i < x._shape[axis]:
            text = f"index {i} is out of bounds for dimension {axis} with size {x._shape[axis]}"
            raise torch_error(RuntimeError, text)
        at = (*at[:axis], i, *at[axis + 1 :])
        order.append(sum(map(operator.mul, at, strides)))
    return order


def gather(x: Tensor, dim: int, index: Tensor) -> Tensor:
    """Numbers taken along an axis, an index for each: (i, j) gives `x[i, index[i, j]]`."""
    order = _along(x, dim, index, "gather")
    return taken(x, order, index._shape, "GatherBackward0", index)


def take_along_dim(x: Tensor, indices: Tensor, dim: int) -> Tensor:
    """`gather`, with the other axes stretched to those of x."""
    axis = axis_of(dim, x.ndim)
    shape = [n if i == axis else x._shape[i] for i, n in enumerate(indices._shape)]
    return gather(x, dim, indices.expand(shape))


def scatter(x: Tensor, dim: int, index: Tensor, src: Any = None, value: Any = None) -> Tensor:
    """A copy of x with numbers written along an axis, an index for each."""
    src = value if src is None else src
    return _scattered(x, dim, index, src, False, "ScatterBackward0")


def scatter_add(x: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """A copy of x with numbers added along an axis, an index for each."""
    return _scattered(x, dim, index, src, True, "ScatterAddBackward0")


def _scattered(x: Tensor, dim: int, index: Tensor, src: Any, adds: bool, name: str) -> Tensor:
    order = _along(x, dim, index, "scatter")
    if not isinstance(src, Tensor):
        src = as_number_tensor(src, x.dtype).expand(index._shape)
    elif src.dtype is not x.dtype:
        text = "scatter(): Expected self.dtype to be equal to src.dtype"
        raise torch_error(RuntimeError, text)
    elif src._shape != index._shape:
        src = src[tuple(slice(size) for size in index._shape)]
    return written(x, order, src, adds, name)


def index_put(x: Tensor, indices: Sequence, values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy of x with numbers written, or added, at these indices."""
    view, advanced = _basic(x, tuple(indices))
    order, shape = _targets(view, advanced)
    return written(x, order, values.expand(shape), accumulate, "IndexPutBackward0")


def index_add(x: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: float = 1) -> Tensor:
    """A copy of x with parts added at these indices of an axis."""
    order, shape = _targets(x, [(axis_of(dim, x.ndim), index)])
    source = source if alpha == 1 else source * alpha
    return written(x, order, source.expand(shape), True, "IndexAddBackward0")


def index_fill(x: Tensor, dim: int, index: Tensor, value: complex) -> Tensor:
    """A copy of x with one number at these indices of an axis."""
    order, shape = _targets(x, [(axis_of(dim, x.ndim), index)])
    number = as_number_tensor(value, x.dtype).expand(shape)
    return written(x, order, number, False, "IndexFillBackward0")


def index_copy(x: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """A copy of x with parts written at these indices of an axis."""
    order, shape = _targets(x, [(axis_of(dim, x.ndim), index)])
    return written(x, order, source.expand(shape), False, "IndexCopyBackward0")
