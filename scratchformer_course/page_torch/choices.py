"""Choices between two numbers, and whether two are the same."""

import cmath
import math
from typing import Any

from scratchformer_course.page_torch.arithmetic import (
    common_shape,
    common_type,
    laid_out,
    numbers_of,
    summed_to,
)
from scratchformer_course.page_torch.creation import Number, tensor
from scratchformer_course.page_torch.dtypes import (
    COMPLEX,
    FLOAT,
    INTEGER,
    bool_,
    float16,
    int64,
    rounded,
)
from scratchformer_course.page_torch.information import finfo
from scratchformer_course.page_torch.layout import Shape, broadcast
from scratchformer_course.page_torch.missing import lack, torch_error
from scratchformer_course.page_torch.operators import maximum, minimum
from scratchformer_course.page_torch.tape import record
from scratchformer_course.page_torch.tensor import Tensor, new_tensor, numbers_as


def clamp(x: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """Each number, or the nearest bound if it lies outside."""
    if min is None and max is None:
        text = "torch.clamp: At least one of 'min' or 'max' must not be None"
        raise torch_error(RuntimeError, text)
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        x = x if min is None else maximum(x, min)
        return x if max is None else minimum(x, max)
    low, high = (-math.inf if min is None else min), (math.inf if max is None else max)
    kind = common_type(x, *(bound for bound in (min, max) if bound is not None))
    own = numbers_as(x, kind)
    numbers = [
        n if n != n else high if n > high or low > high else low if n < low else n for n in own
    ]
    out = laid_out(new_tensor(rounded(numbers, kind), x._shape, kind), x)

    def back(slope: Tensor) -> Tensor:
        pairs = zip(slope._numbers(), own, strict=True)
        inside = [s if low <= n <= high else 0.0 for s, n in pairs]
        return new_tensor(inside, x._shape, slope.dtype).to(x.dtype)

    return record(out, "ClampBackward1", (x, back, x))


def clamp_min(x: Tensor, min: Any) -> Tensor:
    """No number below a bound."""
    return clamp(x, min)


def clamp_max(x: Tensor, max: Any) -> Tensor:
    """No number above a bound."""
    return clamp(x, None, max)


def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """One where the condition is True, the other elsewhere; or the indices where it is True."""
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    if condition.dtype is not bool_:
        text = "where expected condition to be a boolean tensor, but got a tensor with dtype"
        raise torch_error(RuntimeError, f"{text} {condition.dtype.word}")
    return _chosen(condition, input, other, "WhereBackward0")


def _chosen(condition: Tensor, a: Any, b: Any, name: str) -> Tensor:
    kind = common_type(a, b)
    shape = broadcast(common_shape(condition), *(x._shape for x in (a, b) if isinstance(x, Tensor)))
    choice = list(numbers_of(condition, bool_, shape))
    triples = zip(choice, numbers_of(a, kind, shape), numbers_of(b, kind, shape), strict=True)
    out = new_tensor(rounded([x if c else y for c, x, y in triples], kind), shape, kind)

    def edge(target: Tensor, side: bool) -> tuple:
        def back(slope: Tensor) -> Tensor:
            pairs = zip(choice, slope._numbers(), strict=True)
            part = [number if c is side else 0.0 for c, number in pairs]
            return summed_to(new_tensor(part, shape, slope.dtype), target)

        return target, back, condition

    if name == "WhereBackward0":
        out = laid_out(out, condition, a, b)
    edges = [edge(x, side) for x, side in ((a, True), (b, False)) if isinstance(x, Tensor)]
    return record(out, name, *edges)


def where_method(x: Tensor, condition: Tensor, other: Any) -> Tensor:
    """`x.where(condition, other)`: x where the condition is True."""
    return where(condition, x, other)


def masked_fill(x: Tensor, mask: Tensor, value: Any) -> Tensor:
    """One number where a mask is True."""
    if not isinstance(mask, Tensor):
        lack("`masked_fill` with such a mask")
    if mask.dtype is not bool_:
        text = "masked_fill_ only supports boolean masks, but got mask with dtype"
        raise torch_error(RuntimeError, f"{text} {mask.dtype.c_name}")
    if isinstance(value, Tensor) and value._shape:
        text = "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with"
        raise torch_error(RuntimeError, f"{text} {value.ndim} dimension(s).")
    if isinstance(value, float) and x.dtype.kind == INTEGER and not math.isfinite(value):
        text = f"value cannot be converted to type {_c_type(x)} without overflow"
        raise torch_error(RuntimeError, text)
    if x.dtype is float16 and isinstance(value, Number) and 65504 < abs(value) < math.inf:
        lack("such a value in half precision")
    if not isinstance(value, (Tensor, *Number)):
        lack("`masked_fill` with such a value")
    number = value if isinstance(value, Tensor) else tensor(value, dtype=x.dtype)
    return _chosen(mask, number.to(x.dtype), x, "MaskedFillBackward0")


def _c_type(x: Tensor) -> str:
    return "int64_t" if x.dtype is int64 else x.dtype.c_name


def nan_to_num(
    x: Tensor, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """Numbers in place of nan and inf."""
    if x.dtype.kind < FLOAT:
        return x.clone()
    high = finfo(x.dtype).max if posinf is None else posinf
    low = finfo(x.dtype).min if neginf is None else neginf
    own = x._numbers()
    numbers = [
        nan if n != n else high if n == math.inf else low if n == -math.inf else n for n in own
    ]
    out = new_tensor(rounded(numbers, x.dtype), x._shape, x.dtype)
    return record(out, "NanToNumBackward0", (x, lambda slope: slope * x.detach().isfinite(), x))


def isclose(
    a: Tensor, b: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """Whether numbers differ by at most atol + rtol · |b|."""
    if a.dtype is not b.dtype:
        text = f"{a.dtype.word} did not match {b.dtype.word}"
        raise torch_error(RuntimeError, text)
    shape: Shape = common_shape(a, b)

    finite = cmath.isfinite if a.dtype.kind == COMPLEX else math.isfinite

    def one(x: Any, y: Any) -> bool:
        if x == y or (equal_nan and x != x and y != y):
            return True
        return finite(x) and finite(y) and abs(x - y) <= atol + rtol * abs(y)

    pairs = zip(numbers_of(a, a.dtype, shape), numbers_of(b, b.dtype, shape), strict=True)
    return new_tensor([bool(one(x, y)) for x, y in pairs], shape, bool_)


def allclose(
    a: Tensor, b: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """Whether all numbers differ by at most atol + rtol · |b|."""
    return all(isclose(a, b, rtol, atol, equal_nan)._numbers())


def equal(a: Tensor, b: Tensor) -> bool:
    """Whether shape and all numbers are the same."""
    return a._shape == b._shape and all(map(lambda x, y: x == y, a._numbers(), b._numbers()))


def lerp(a: Tensor, b: Tensor, weight: Any) -> Tensor:
    """Between a (weight 0) and b (weight 1)."""
    return a + weight * (b - a)


def addcmul(x: Tensor, a: Tensor, b: Tensor, *, value: float = 1) -> Tensor:
    """x + value · a · b."""
    return x + value * a * b


def addcdiv(x: Tensor, a: Tensor, b: Tensor, *, value: float = 1) -> Tensor:
    """x + value · a / b."""
    return x + value * a / b
