"""The operations on two tensors: from sums to comparisons."""

import math
import operator
from collections.abc import Callable
from typing import Any

from scratchformer_course.page_torch.arithmetic import BINARY, binary, common_type, conjugate
from scratchformer_course.page_torch.creation import Number, tensor
from scratchformer_course.page_torch.dtypes import FLOAT, INTEGER, bool_, rounded
from scratchformer_course.page_torch.missing import lack, torch_error
from scratchformer_course.page_torch.tensor import Tensor, new_tensor


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
    out = pow_(a, b if isinstance(a, Tensor) or not isinstance(b, Tensor) else b.contiguous())
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


def _of_tensors(operation: Callable, name: str) -> Callable:
    """The operation, where real PyTorch takes no Python numbers."""

    def call(a: Any, b: Any) -> Any:
        if not isinstance(a, Tensor) or not isinstance(b, Tensor):
            lack(f"`torch.{name}` of a number")
        return operation(a, b)

    return call


BINARY |= {name: _of_tensors(BINARY[name], name) for name in ("maximum", "minimum", "atan2")}
BINARY |= {"add": add, "sub": sub, "div": div, "true_divide": true_divide, "pow": power}
