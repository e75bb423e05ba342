"""Operations along axes: sums, means, the largest, softmax, running sums."""

import builtins
import math
from collections.abc import Callable
from typing import Any

from scratchformer_course.page_torch.arithmetic import BINARY
from scratchformer_course.page_torch.choices import where
from scratchformer_course.page_torch.dtypes import (
    BOOL,
    FLOAT,
    bool_,
    dtype,
    int64,
    rounded,
)
from scratchformer_course.page_torch.layout import Shape, axes_of, axis_of, places
from scratchformer_course.page_torch.missing import lack, torch_error
from scratchformer_course.page_torch.sorting import Pair
from scratchformer_course.page_torch.tape import named, record
from scratchformer_course.page_torch.tensor import Tensor, new_tensor

Dims = Any  # an axis, several, or None for all


def refuse_empty(name: str, x: Tensor, dim: Dims) -> None:
    """Raise if there is no number along an axis of which one is to be chosen."""
    for axis in axes_of(dim, x.ndim):
        if x.ndim and x._shape[axis] == 0:
            text = f"{name}(): Expected reduction dim"
            if dim is not None:
                raise torch_error(IndexError, f"{text} {axis} to have non-zero size.")
            text += " to be specified for input.numel() == 0."
            if name.startswith("arg"):
                raise torch_error(IndexError, text)
            text += " Specify the reduction dim with the 'dim' argument."
            raise torch_error(RuntimeError, text)


def groups(x: Tensor, axes: tuple[int, ...]) -> list[list]:
    """The numbers that lie along these axes, for each index of the others."""
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    if axes == tuple(range(len(kept), x.ndim)) and x.is_contiguous():  # they lie in a row
        numbers, n = x._numbers(), math.prod(x._shape[axis] for axis in axes)
        rows = math.prod(x._shape[axis] for axis in kept)
        return [numbers[i * n : (i + 1) * n] for i in range(rows)]

    def strided(some: Any) -> tuple[Shape, Shape]:
        return tuple(x._shape[i] for i in some), tuple(x._strides[i] for i in some)

    inner = places(*strided(axes))
    own = x._storage.numbers
    return [[own[start + step] for step in inner] for start in places(*strided(kept), x._offset)]


def without(shape: Shape, axes: tuple[int, ...], keepdim: bool) -> Shape:
    """The shape that is left, or with axes of size 1."""
    sizes = enumerate(shape)
    return tuple(1 if i in axes else n for i, n in sizes if keepdim or i not in axes)


def reduced(x: Tensor, dim: Dims, keepdim: bool, function: Callable, kind: dtype) -> Tensor:
    """A function of all the numbers along some axes."""
    if not isinstance(keepdim, bool):
        lack("a `keepdim` that is no bool")
    axes = axes_of(dim, x.ndim)
    numbers = [function(group) for group in groups(x, axes)]
    return new_tensor(rounded(numbers, kind), without(x._shape, axes, keepdim), kind)


def stretched_back(slope: Tensor, x: Tensor, dim: Dims) -> Tensor:
    """The slope of a result along some axes, at all the numbers that went into it."""
    axes = axes_of(dim, x.ndim)
    return slope.reshape(without(x._shape, axes, True)).expand(x._shape)


def sum_(
    x: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: dtype | None = None
) -> Tensor:
    """The sum along axes."""
    kind = dtype or (int64 if x.dtype.kind < FLOAT else x.dtype)
    source = x if dtype is None else x.to(dtype)
    zero = 0 if kind.kind < FLOAT else 0.0
    out = reduced(source, dim, keepdim, lambda group: builtins.sum(group, zero), kind)
    name = "SumBackward0" if dim is None else "SumBackward1"
    return record(out, name, (source, lambda slope: stretched_back(slope, source, dim)))


def mean(
    x: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: dtype | None = None
) -> Tensor:
    """The mean along axes."""
    source = x if dtype is None else x.to(dtype)
    if source.dtype.kind < FLOAT:
        raise torch_error(
            RuntimeError,
            "mean(): could not infer output dtype. Input dtype must be either a floating point or "
            f"complex dtype. Got: {source.dtype.word}",
        )
    n = math.prod(x._shape[axis] for axis in axes_of(dim, x.ndim))
    average = lambda group: builtins.sum(group, 0.0) / n if n else math.nan  # noqa: E731
    out = reduced(source, dim, keepdim, average, source.dtype)
    name = "MeanBackward0" if dim is None else "MeanBackward1"
    return record(out, name, (source, lambda slope: stretched_back(slope / n, source, dim)))


def var(
    x: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float = 1,
) -> Tensor:
    """The mean square distance from the mean along axes; divided by n - 1, unless `correction`."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if unbiased is not None:
        correction = int(unbiased)
    if x.dtype.kind != FLOAT:
        text = "std and var only support floating point and complex dtypes"
        raise torch_error(RuntimeError, text)
    n = math.prod(x._shape[axis] for axis in axes_of(dim, x.ndim))
    freedom = max(n - correction, 0)

    def one(group: list) -> float:
        centre = builtins.sum(group) / len(group) if group else math.nan
        total = builtins.sum((number - centre) ** 2 for number in group)
        return total / freedom if freedom else (math.inf if total > 0 else math.nan)

    out = reduced(x, dim, keepdim, one, x.dtype)

    def back(slope: Tensor) -> Tensor:
        centred = x.detach() - mean(x.detach(), dim, True)
        return stretched_back(slope, x, dim) * centred * (2 / freedom if freedom else math.nan)

    return record(out, "VarBackward0", (x, back, x))


def std(
    x: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float = 1,
) -> Tensor:
    """The root of the variance along axes."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    square = var(x, dim, unbiased, keepdim, correction=correction)
    out = square.detach().sqrt()

    def of_square(slope: Tensor) -> Tensor:
        return where(out == 0, 0.0, slope / (2 * out.detach()))

    return record(out, "StdBackward0", (square, of_square, out))


def prod(
    x: Tensor, dim: int | None = None, keepdim: bool = False, *, dtype: dtype | None = None
) -> Tensor:
    """The product along an axis."""
    kind = dtype or (int64 if x.dtype.kind < FLOAT else x.dtype)
    out = reduced(x, dim, keepdim, math.prod, kind)

    def back(slope: Tensor) -> Tensor:
        if not all(x._numbers()):
            lack("slopes of `torch.prod` where a factor is 0")
        return stretched_back(slope * out.detach(), x, dim) / x.detach()

    return record(out, "ProdBackward0" if dim is None else "ProdBackward1", (x, back, x))


def any_(x: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """Whether any number along axes is not 0."""
    return reduced(x, dim, keepdim, builtins.any, bool_)


def all_(x: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """Whether no number along axes is 0."""
    return reduced(x, dim, keepdim, builtins.all, bool_)


def count_nonzero(x: Tensor, dim: Dims = None) -> Tensor:
    """How many numbers along axes are not 0."""
    return reduced(x, dim, False, lambda group: builtins.sum(map(bool, group)), int64)


# ---- the largest


def _best_of(better: Callable) -> Callable:
    """The best number of a list; nan, if one is among them."""

    def best(group: list) -> Any:
        return next((x for x in group if x != x), None) or better(group) if group else math.nan

    return best


LARGEST, SMALLEST = _best_of(builtins.max), _best_of(builtins.min)


def _extreme(name: str, best: Callable) -> Callable:
    def operation(x: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
        refuse_empty(name, x, dim)
        out = reduced(x, dim, keepdim, best, x.dtype)

        def back(slope: Tensor) -> Tensor:
            hit = x.detach() == stretched_back(out.detach(), x, dim)
            share = hit / hit.sum(axes_of(dim, x.ndim), keepdim=True)
            return share * stretched_back(slope, x, dim)

        return record(out, f"{name.capitalize()}Backward0", (x, back, x, out))

    operation.__name__ = name
    return operation


amax, amin = _extreme("amax", LARGEST), _extreme("amin", SMALLEST)


def _place_of(name: str, best: Callable) -> Callable:
    def operation(
        x: Tensor, dim: int | None = None, keepdim: bool = False, *, of_bools: bool = False
    ) -> Tensor:
        if x.dtype.kind == BOOL and not of_bools:
            raise torch_error(RuntimeError, f"{name}(): does not support bool input")
        refuse_empty(name, x, dim)

        def one(group: list) -> int:
            winner = best(group)
            return next(i for i, n in enumerate(group) if n == winner or n != n)

        return reduced(x, dim, keepdim, one, int64)

    operation.__name__ = name
    return operation


argmax, argmin = _place_of("argmax", LARGEST), _place_of("argmin", SMALLEST)


def shared(x: Tensor, out: Tensor) -> Callable[[Tensor], Tensor]:
    """The slope of the best number of all, in equal parts at those that are equal to it."""

    def back(slope: Tensor) -> Tensor:
        (best,), own = out._numbers(), x._numbers()
        hits = [number == best or (best != best and number != number) for number in own]
        part = slope.item() / builtins.sum(hits)
        numbers = [part if is_hit else 0.0 for is_hit in hits]
        return new_tensor(rounded(numbers, slope.dtype), x._shape, slope.dtype)

    return back


def _best(name: str, extreme: Callable, place_of: Callable, of_two: Callable) -> Callable:
    def operation(x: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
        if isinstance(dim, Tensor) or other is not None:
            return of_two(x, dim if other is None else other)
        if dim is None:
            refuse_empty(name, x, dim)
            out = extreme(x.detach())
            return record(out, f"{name.capitalize()}Backward1", (x, shared(x, out), x, out))
        at = place_of(x, dim, True, of_bools=True)
        values = x.gather(axis_of(dim, x.ndim), at) if x.ndim else x.clone()
        if not keepdim and x.ndim:
            values, at = values.squeeze(dim), at.squeeze(dim)
        named(values, f"{name.capitalize()}Backward0")
        return Pair.named(name)((values, at))

    operation.__name__ = name
    return operation


max_ = _best("max", amax, argmax, BINARY["maximum"])
min_ = _best("min", amin, argmin, BINARY["minimum"])


# ---- exponentials


# ---- running sums
