"""Operations along one axis that need all its numbers: softmax, running sums, lengths."""

import builtins
import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

from scratchformer_course.page_torch.choices import where
from scratchformer_course.page_torch.dtypes import BOOL, FLOAT, REAL, dtype, int64, rounded
from scratchformer_course.page_torch.layout import axes_of, axis_of
from scratchformer_course.page_torch.missing import lack, torch_error
from scratchformer_course.page_torch.reductions import (
    LARGEST,
    Dims,
    amax,
    reduced,
    stretched_back,
    sum_,
    without,
)
from scratchformer_course.page_torch.sorting import in_order
from scratchformer_course.page_torch.tape import named, record
from scratchformer_course.page_torch.tensor import Tensor, new_tensor


def logsumexp(x: Tensor, dim: Dims, keepdim: bool = False) -> Tensor:
    """The logarithm of the sum of exponentials along axes."""
    top = amax(x.detach(), dim, True)
    top = where(top.isfinite(), top, 0.0)
    out = sum_((x - top).exp(), dim, True).log() + top
    out = out if keepdim else out.reshape(without(x._shape, axes_of(dim, x.ndim), False))
    return named(out, "LogsumexpBackward0")


def _row_by_row(x: Tensor, dim: int, function: Callable) -> Tensor:
    """A function from list to list, of the numbers along an axis."""
    axis = axis_of(dim, x.ndim)
    lists = x.movedim(axis, -1) if x.ndim else x
    own, n = lists._numbers(), (x._shape[axis] if x.ndim else 1)
    rows = [function(own[i : i + n]) for i in range(0, len(own), n)] if n else []
    numbers = rounded([number for row in rows for number in row], x.dtype)
    out = new_tensor(numbers, lists._shape, x.dtype)
    return in_order(out, axis) if x.ndim else out


def _exponentials(x: Tensor, dim: int | None, kind: dtype | None, name: str) -> tuple[Tensor, int]:
    x = x if kind is None else x.to(kind)
    if dim is None:
        lack(f"`{name}` without `dim`")
    axis = axis_of(dim, x.ndim)
    name += "_lastdim" if axis in (x.ndim - 1, 0 if not x.ndim else -1) else ""
    if x.dtype.kind < FLOAT and x.numel():
        text = f"\"{name}_kernel_impl\" not implemented for '{x.dtype.word}'"
        raise torch_error(NotImplementedError, text)
    return x, axis


def softmax(x: Tensor, dim: int | None = None, dtype: dtype | None = None) -> Tensor:
    """Exponentials, divided by their sum along an axis."""
    x, axis = _exponentials(x, dim, dtype, "softmax")

    def one(row: list) -> list:
        top = LARGEST(row)
        if math.isinf(top) or top != top:
            return [math.nan] * len(row)
        powers = [math.exp(number - top) for number in row]
        total = builtins.sum(powers)
        return [power / total for power in powers]

    out = _row_by_row(x.detach(), axis, one)

    def back(slope: Tensor) -> Tensor:
        y = out.detach()
        return y * (slope - sum_(slope * y, axis, True))

    return record(out, "SoftmaxBackward0", (x, back, out))


def log_softmax(x: Tensor, dim: int | None = None, dtype: dtype | None = None) -> Tensor:
    """The logarithm of softmax."""
    x, axis = _exponentials(x, dim, dtype, "log_softmax")

    def one(row: list) -> list:
        top = LARGEST(row)
        if math.isinf(top) or top != top:
            return [math.nan] * len(row)
        total = top + math.log(builtins.sum(math.exp(number - top) for number in row))
        return [number - total for number in row]

    out = _row_by_row(x.detach(), axis, one)

    def back(slope: Tensor) -> Tensor:
        return slope - out.detach().exp() * sum_(slope, axis, True)

    return record(out, "LogSoftmaxBackward0", (x, back, out))


def cumsum(x: Tensor, dim: int, *, dtype: dtype | None = None) -> Tensor:
    """The sum of all numbers up to each, along an axis."""
    x = x.to(dtype or (int64 if x.dtype.kind < FLOAT else x.dtype))
    out = _row_by_row(x.detach(), dim, lambda row: list(itertools.accumulate(row)))
    return record(out, "CumsumBackward0", (x, lambda g: cumsum(g.flip(dim), dim).flip(dim)))


def cumprod(x: Tensor, dim: int, *, dtype: dtype | None = None) -> Tensor:
    """The product of all numbers up to each, along an axis."""
    x = x.to(dtype or (int64 if x.dtype.kind < FLOAT else x.dtype))
    out = _row_by_row(x.detach(), dim, lambda row: list(itertools.accumulate(row, operator.mul)))

    def back(g: Tensor) -> Tensor:
        if not all(x._numbers()):
            lack("slopes of `torch.cumprod` where a factor is 0")
        return cumsum((g * out.detach()).flip(dim), dim).flip(dim) / x.detach()

    return record(out, "CumprodBackward0", (x, back, x, out))


def diff(x: Tensor, n: int = 1, dim: int = -1) -> Tensor:
    """Differences of neighbours along an axis."""
    for _ in range(n):
        size = x._shape[axis_of(dim, x.ndim)]
        x = x.narrow(dim, 1, size - 1) - x.narrow(dim, 0, size - 1)
    return x


def norm(
    x: Tensor, p: Any = 2, dim: Dims = None, keepdim: bool = False, dtype: dtype | None = None
) -> Tensor:
    """The p-th root of the sum of p-th powers along axes; with p = 2 the length."""
    if x.dtype.kind == BOOL or x.dtype.kind < FLOAT or x.dtype in REAL or dtype is not None:
        lack("`torch.norm` of this type")
    if p in (math.inf, "inf"):
        return amax(x.abs(), dim, keepdim)
    if p == 1:
        return sum_(x.abs(), dim, keepdim)
    if p not in (2, "fro", None):
        if not isinstance(p, (int, float)) or p <= 0:
            lack(f"`torch.norm` with p = {p!r}")
        return sum_(x.abs() ** p, dim, keepdim) ** (1 / p)
    length = lambda group: math.sqrt(builtins.sum(n * n for n in group))  # noqa: E731
    out = reduced(x, dim, keepdim, length, x.dtype)

    def back(slope: Tensor) -> Tensor:
        n = stretched_back(out.detach(), x, dim)
        return stretched_back(slope, x, dim) * where(n == 0, 0.0, x.detach() / n)

    return record(out, "LinalgVectorNormBackward0", (x, back, x, out))


def median(x: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The middle number, or the lower of two; along an axis with its place."""
    if dim is None:
        return x.flatten().kthvalue((x.numel() + 1) // 2)[0]
    return x.kthvalue((x._shape[axis_of(dim, x.ndim)] + 1) // 2, dim, keepdim)
