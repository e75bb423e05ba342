"""Sums, products, comparisons: operations on two tensors, or on a tensor and a number.

Both meet in one type, and are stretched to one shape. Where one was stretched, its slope is the sum
over all the places at which it was used.
"""

import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

from scratchformer_course.page_torch.creation import Number, tensor
from scratchformer_course.page_torch.dtypes import (
    BOOL,
    COMPLEX,
    DEFAULTS,
    FLOAT,
    INTEGER,
    WIDEST,
    bfloat16,
    bool_,
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
from scratchformer_course.page_torch.missing import lack, torch_error
from scratchformer_course.page_torch.tape import is_grad_enabled, record
from scratchformer_course.page_torch.tensor import Storage, Tensor, new_tensor, view_of_storage

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


# ---- of two numbers


def divided(x: Any, y: Any) -> Any:
    """x / y, and nan or inf where y is 0."""
    try:
        return x / y
    except ZeroDivisionError:
        if isinstance(x, complex):
            return complex(math.nan, math.nan)
        is_nan = x == 0 or x != x
        return math.nan if is_nan else math.copysign(math.inf, x) * math.copysign(1, y)


def _power(x: Any, y: Any) -> Any:
    try:
        if isinstance(y, int) and y < 0:  # of whole numbers
            return {1: 1, -1: -1 if y % 2 else 1}.get(x, 0)
        power = x**y
    except ZeroDivisionError:
        is_odd = y == int(y) and int(y) % 2
        return math.copysign(math.inf, x) if is_odd else math.inf
    except OverflowError:
        return -math.inf if x < 0 and y % 2 else math.inf
    return math.nan if isinstance(power, complex) and not isinstance(x, complex) else power


def _remainder(x: Any, y: Any) -> Any:
    if isinstance(x, int):
        if y == 0:
            raise torch_error(RuntimeError, "ZeroDivisionError")
        return x % y
    if y == 0 or math.isinf(x) or x != x or y != y:
        return math.nan
    if math.isinf(y):
        return x if x * y >= 0 else y
    return x % y


def _floor_divide(x: Any, y: Any) -> Any:
    if isinstance(x, int):
        if y == 0:
            raise torch_error(RuntimeError, "ZeroDivisionError")
        return x // y
    quotient = divided(x, y)
    return float(x // y) if y and math.isfinite(quotient) else quotient


def _larger(x: Any, y: Any) -> Any:
    return x if x != x or (y == y and x >= y) else y


def _smaller(x: Any, y: Any) -> Any:
    return x if x != x or (y == y and x <= y) else y


# ---- slopes of two


def _slope_of_exponent(slope: Tensor, a: Any, b: Any, out: Tensor) -> Tensor:
    if isinstance(a, Tensor):
        logs = [math.log(x) if x > 0 else (-math.inf if x == 0 else math.nan) for x in a._numbers()]
        log = new_tensor(rounded(logs, a.dtype), a._shape, a.dtype)
        return (slope * out * log).masked_fill((a == 0) & (b >= 0), 0.0)
    return slope * out * (math.log(a) if a > 0 else -math.inf if a == 0 else math.nan)


def _slope_of_power(slope: Tensor, a: Any, b: Any, _: Tensor) -> Tensor:
    if isinstance(b, Tensor):
        return (slope * b * a ** (b - 1)).masked_fill(b == 0, 0.0)
    return slope * (b * a ** (b - 1)) if b else slope * 0


def _no_slope(slope: Tensor, a: Any, b: Any, out: Tensor) -> Tensor:
    lack("slopes of this operation")


def _share(slope: Tensor, mine: Any, other: Any) -> Tensor:
    """The slope goes to the winner, and by halves to both where they are equal."""
    mine, other = (x if isinstance(x, Tensor) else tensor(x) for x in (mine, other))
    return (slope / 2).masked_fill(mine != other, 0.0) + slope.masked_fill(mine == other, 0.0)


def _won(mine: Any, other: Any, slope: Tensor, better: Callable) -> Tensor:
    return _share(slope, mine, other).masked_fill(better(other, mine), 0.0)


add_ = binary("add", operator.add, (lambda g, a, b, o: g, lambda g, a, b, o: g))
sub_ = binary("sub", operator.sub, (lambda g, a, b, o: g, lambda g, a, b, o: -g))
mul = binary(
    "mul",
    operator.mul,
    (lambda g, a, b, o: g * conjugate(b), lambda g, a, b, o: g * conjugate(a)),
    needs=("b", "a"),
)
true_divide = binary(
    "div",
    divided,
    (lambda g, a, b, o: g / conjugate(b), lambda g, a, b, o: -g * conjugate(a / b / b)),
    needs=("b", "ab"),
    least=FLOAT,
)
pow_ = binary("pow", _power, (_slope_of_power, _slope_of_exponent), needs=("ab", "abo"))
remainder = binary(
    "remainder",
    _remainder,
    (lambda g, a, b, o: g, lambda g, a, b, o: -g * (a / b).floor()),
    needs=("", "ab"),
)
floor_divide = binary("floor_divide", _floor_divide, (_no_slope, _no_slope))
fmod = binary(
    "fmod",
    lambda x, y: int(math.fmod(x, y)) if isinstance(x, int) else math.fmod(x, y) if y else math.nan,
)
atan2 = binary(
    "atan2",
    math.atan2,
    (lambda g, a, b, o: g * b / (a * a + b * b), lambda g, a, b, o: -g * a / (a * a + b * b)),
    needs=("ab", "ab"),
    least=FLOAT,
)
maximum = binary(
    "maximum",
    _larger,
    (lambda g, a, b, o: _won(a, b, g, operator.gt), lambda g, a, b, o: _won(b, a, g, operator.gt)),
    needs=("ab", "ab"),
)
minimum = binary(
    "minimum",
    _smaller,
    (lambda g, a, b, o: _won(a, b, g, operator.lt), lambda g, a, b, o: _won(b, a, g, operator.lt)),
    needs=("ab", "ab"),
)
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    binary(_name, getattr(operator, _name), result=bool_)
binary("logical_and", lambda x, y: bool(x and y), result=bool_)
binary("logical_or", lambda x, y: bool(x or y), result=bool_)
binary("logical_xor", lambda x, y: bool(x) != bool(y), result=bool_)


def _bitwise(name: str, compute: Callable) -> None:
    inner = binary(name, compute)

    def operation(a: Any, b: Any) -> Any:
        if isinstance(a, (Tensor, *Number)) and isinstance(b, (Tensor, *Number)):
            kind = common_type(a, b)
            if kind.kind > INTEGER:
                text = f"\"{name}_cpu\" not implemented for '{kind.word}'"
                raise torch_error(NotImplementedError, text)
        return inner(a, b)

    operation.__name__ = name
    BINARY[name] = operation


_bitwise("bitwise_and", operator.and_)
_bitwise("bitwise_or", operator.or_)
_bitwise("bitwise_xor", operator.xor)
_bitwise("bitwise_left_shift", operator.lshift)
_bitwise("bitwise_right_shift", operator.rshift)


def power(a: Any, b: Any) -> Any:
    """a to the power of b."""
    if isinstance(b, int) and b < 0 and isinstance(a, Tensor) and a.dtype.kind == INTEGER:
        text = "Integers to negative integer powers are not allowed."
        raise torch_error(RuntimeError, text)
    out = pow_(a, b)
    if isinstance(b, Tensor) and isinstance(out, Tensor) and out._node is not None:
        out._node._name = f"PowBackward{1 if isinstance(a, Tensor) else 2}"
        out._node.saved.append((out, out._version))
        out._node.result = out
    return out


def add(a: Any, b: Any, *, alpha: float = 1) -> Any:
    """a + alpha · b."""
    return add_(a, b if alpha == 1 else mul(b, alpha))


def sub(a: Any, b: Any, *, alpha: float = 1) -> Any:
    """a - alpha · b."""
    are_bool = [isinstance(x, bool) or (isinstance(x, Tensor) and x.dtype is bool_) for x in (a, b)]
    if any(are_bool):
        both = all(are_bool)
        which = "with two bool tensors" if both else "with a bool tensor"
        instead = "`^` or `logical_xor()` operator" if both else "`~` or `logical_not()` operator"
        text = f"Subtraction, the `-` operator, {which} is not supported. "
        if both:
            raise torch_error(RuntimeError, f"{text}Use the {instead} instead.")
        text += f"If you are trying to invert a mask, use the {instead} instead."
        raise torch_error(RuntimeError, text)
    return sub_(a, b if alpha == 1 else mul(b, alpha))


def div(a: Any, b: Any, *, rounding_mode: str | None = None) -> Any:
    """a / b, or rounded: "floor" to below, "trunc" towards 0."""
    if rounding_mode == "floor":
        return floor_divide(a, b)
    quotient = true_divide(a, b)
    if rounding_mode is None:
        return quotient
    kind = common_type(a, b)
    quotient = quotient.trunc()
    return quotient.to(kind) if kind.kind < FLOAT else quotient


BINARY |= {"add": add, "sub": sub, "div": div, "true_divide": true_divide, "pow": power}
