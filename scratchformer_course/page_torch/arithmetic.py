"""Sums, products, comparisons: operations on two tensors, or on a tensor and a number.

Both meet in one type, and are stretched to one shape. Where one was stretched, its slope is the sum
over all the places at which it was used.
"""

import itertools
import math
from collections.abc import Callable
from typing import Any

from scratchformer_course.page_torch.creation import Number
from scratchformer_course.page_torch.dtypes import (
    BOOL,
    COMPLEX,
    DEFAULTS,
    FLOAT,
    WIDEST,
    bfloat16,
    converted,
    dtype,
    float16,
    float32,
    kind_of,
    meeting,
    rounded,
)
from scratchformer_course.page_torch.layout import (
    Shape,
    broadcast,
    contiguous,
    places,
    stretched,
)
from scratchformer_course.page_torch.missing import lack
from scratchformer_course.page_torch.storage import Storage
from scratchformer_course.page_torch.tape import is_grad_enabled, record
from scratchformer_course.page_torch.tensor import Tensor, new_tensor, view_of_storage

A_NUMBER = new_tensor([0.0], ())  # saved in place of a Python number
BINARY: dict[str, Callable] = {}  # by name; `__init__.py` makes methods and operators of them


def common_type(*operands: Any) -> dtype:
    """The type in which tensors and Python numbers meet."""
    tensors = [(x.dtype, x.ndim) for x in operands if isinstance(x, Tensor)]
    return meeting(tensors, [x for x in operands if not isinstance(x, Tensor)])


def common_shape(*operands: Any) -> Shape:
    """The shape to which all are stretched."""
    shapes = [x._shape for x in operands if isinstance(x, Tensor)]
    return shapes[0] if all(shape == shapes[0] for shape in shapes) else broadcast(*shapes)


def numbers_of(x: Any, kind: dtype, shape: Shape) -> Any:
    """The numbers of a tensor, or a number again and again, in this type and shape."""
    if not isinstance(x, Tensor):
        single = float32 if kind in (float16, bfloat16) else kind  # what the operation is done in
        number = converted([x], WIDEST[kind_of(x)], single)[0]
        return itertools.repeat(number, math.prod(shape))
    if x._shape != shape:
        own = x._storage.numbers
        strides = stretched(x._shape, x._strides, shape)
        return converted([own[i] for i in places(shape, strides, x._offset)], x.dtype, kind)
    return converted(x._numbers(), x.dtype, kind)


def laid_out(out: Tensor, *operands: Any) -> Tensor:
    """The result with the strides that real PyTorch gives it: axes in the order of its inputs'."""
    inputs = [x for x in operands if isinstance(x, Tensor) and x.ndim]
    if out.ndim < 2 or all(x._shape == out._shape and x.is_contiguous() for x in inputs):
        return out
    shape = out._shape
    steps = [stretched(x._shape, x._strides, shape) for x in inputs]
    order = list(range(out.ndim))[::-1]  # from the axis that runs fastest
    for i in range(1, out.ndim):
        for place in range(i, 0, -1):
            slower = _runs_slower(order[place - 1], order[place], steps, shape)
            if slower is False:
                break
            if slower:
                order[place - 1], order[place] = order[place], order[place - 1]
    sizes = contiguous(tuple(shape[axis] for axis in reversed(order)))
    strides = tuple(sizes[out.ndim - 1 - order.index(axis)] for axis in range(out.ndim))
    if strides == out._strides:
        return out
    numbers: list[Any] = [None] * len(out._storage.numbers)
    for place, number in zip(places(shape, strides), out._storage.numbers, strict=True):
        numbers[place] = number
    return view_of_storage(Storage(numbers), shape, strides, 0, out.dtype)


def _runs_slower(a: int, b: int, steps: list[Shape], shape: Shape) -> bool | None:
    """Whether axis a has larger strides than b in the first input that tells; None if none does."""
    for strides in steps:
        if strides[a] and strides[b]:
            if strides[a] != strides[b]:
                return strides[a] > strides[b]
            if shape[a] > shape[b]:
                return True
    return None


def summed_to(slope: Tensor, target: Tensor) -> Tensor:
    """The slope of a tensor that was stretched: the sum over all the places where it was used."""
    if slope._shape != target._shape:
        extra = slope.ndim - target.ndim
        own = enumerate(target._shape)
        axes = [i + extra for i, n in own if n == 1 and slope._shape[i + extra] != 1]
        slope = slope.sum([*range(extra), *axes]).reshape(target._shape)
    return slope if slope.dtype is target.dtype else slope.to(target.dtype)


def binary(
    name: str,
    compute: Callable,
    slopes: tuple[Callable, Callable] | None = None,
    *,
    needs: tuple[str, str] = ("", ""),
    least: int = BOOL,
    result: dtype | None = None,
    node: str = "",
) -> Callable:
    """An operation on two, from that on two numbers.

    `slopes` are functions of (slope of the result, a, b, result). `needs` names, for the slope of
    a and for that of b, which of "a", "b" and the result "o" it uses. Types below `least` become
    the default type of that kind.
    """

    def operation(a: Any, b: Any) -> Any:
        if not isinstance(b, (Tensor, *Number)) or not isinstance(a, (Tensor, *Number)):
            if hasattr(a, "__array__") and hasattr(b, "__array__"):
                lack("NumPy")
            return NotImplemented
        kind = common_type(a, b)
        if kind.kind < least:
            kind = DEFAULTS[least]
        shape = common_shape(a, b)
        numbers = list(map(compute, numbers_of(a, kind, shape), numbers_of(b, kind, shape)))
        if result is not None:
            return laid_out(new_tensor(numbers, shape, result), a, b)
        out = laid_out(new_tensor(rounded(numbers, kind), shape, kind), a, b)
        if slopes is None or not is_grad_enabled() or kind.kind < FLOAT:
            return out

        def edge(target: Tensor, rule: Callable, used: str) -> tuple:
            def back(slope: Tensor) -> Tensor:
                return summed_to(rule(slope, cut(a), cut(b), cut(out)), target)

            saved = [{"a": a, "b": b, "o": out}[letter] for letter in used]
            return target, back, *(x if isinstance(x, Tensor) else A_NUMBER for x in saved)

        inputs = zip((a, b), slopes, needs, strict=True)
        edges = [edge(*one) for one in inputs if isinstance(one[0], Tensor)]
        return record(out, node or f"{name.capitalize()}Backward0", *edges)

    operation.__name__ = name
    BINARY[name] = operation
    return operation


def cut(x: Any) -> Any:
    """A tensor without its place on the tape; a number as it is."""
    return x.detach() if isinstance(x, Tensor) else x


def conjugate(x: Any) -> Any:
    """x, with other signs of the imaginary parts."""
    if isinstance(x, Tensor) and x.dtype.kind == COMPLEX:
        return new_tensor([z.conjugate() for z in x._numbers()], x._shape, x.dtype)
    return x
