"""Operations on each number by itself: exp, tanh, relu, … and choices between two numbers."""

import cmath
import math
import operator
from collections.abc import Callable
from typing import Any

from scratchformer_course.page_torch.arithmetic import (
    laid_out,
)
from scratchformer_course.page_torch.dtypes import (
    BOOL,
    COMPLEX,
    DEFAULTS,
    FLOAT,
    INTEGER,
    REAL,
    bool_,
    rounded,
)
from scratchformer_course.page_torch.missing import lack, torch_error
from scratchformer_course.page_torch.operators import divided
from scratchformer_course.page_torch.tape import record
from scratchformer_course.page_torch.tensor import Tensor, new_tensor, numbers_as

UNARY: dict[str, Callable] = {}  # by name; `__init__.py` makes methods of them
INPUT, RESULT = "input", "result"


def unary(
    name: str,
    compute: Callable,
    slope: Callable | None = None,
    *,
    saves: str = INPUT,
    least: int = FLOAT,
    of_complex: Callable | None = None,
    node: str = "",
) -> Callable:
    """An operation on each number. `slope` is that of a number, from it and the result.

    It is False where nothing is carried back, whatever the slope of the result is.
    """

    def operation(x: Tensor) -> Tensor:
        kind = x.dtype if x.dtype.kind >= least else DEFAULTS[least]
        own = numbers_as(x, kind)
        function = compute if kind.kind < COMPLEX else of_complex
        if function is None:
            lack(f"`torch.{name}` of complex numbers")
        numbers = rounded(_mapped(function, own), kind)
        out = laid_out(new_tensor(numbers, x._shape, kind), x)
        if slope is None or kind.kind != FLOAT:
            return _refused(out, x, name) if kind.kind == COMPLEX else out

        def back(g: Tensor) -> Tensor:
            factors = _mapped(slope, own, numbers)
            pairs = zip(g._numbers(), factors, strict=True)
            slopes = [0.0 if factor is False else number * factor for number, factor in pairs]
            return new_tensor(rounded(slopes, g.dtype), x._shape, g.dtype)

        saved = [x] if saves == INPUT else [out] if saves else []
        return record(out, node or f"{name.capitalize()}Backward0", (x, back, *saved))

    operation.__name__ = name
    UNARY[name] = operation
    return operation


def _refused(out: Tensor, x: Tensor, name: str) -> Tensor:
    """Slopes of complex numbers are known for sums, products and changes of view alone."""

    def back(_: Tensor) -> Tensor:
        lack(f"slopes of `torch.{name}` at complex numbers")

    return record(out, "", (x, back))


def _mapped(function: Callable, *numbers: list) -> list:
    """A function of each number; inf and nan for those at which Python raises."""
    try:
        return list(map(function, *numbers))
    except (ArithmeticError, ValueError):
        return [_at(function, *some) for some in zip(*numbers, strict=True)]


def _at(function: Callable, *some: Any) -> Any:
    """f(x); where Python raises, inf if the result is too large, and nan if there is none."""
    try:
        return function(*some)
    except ArithmeticError:
        return math.inf
    except ValueError:
        return math.nan


def _log(log: Callable) -> Callable:
    return lambda x: log(x) if x else -math.inf


def _rounded_by(function: Callable) -> Callable:
    def one(x: Any) -> Any:
        if isinstance(x, int) or not math.isfinite(x):
            return x
        return math.copysign(float(function(x)), x)

    return one


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def _sign(x: Any) -> Any:
    return type(x)((x > 0) - (x < 0))


ROOT_HALF, ROOT = math.sqrt(0.5), math.sqrt(2 / math.pi)
CUBIC = 0.044715


def _gelu(x: float) -> float:
    return 0.5 * x * (1 + math.erf(x * ROOT_HALF)) if x != -math.inf else -0.0


def _slope_of_gelu(x: float, _: float) -> float:
    density = math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    return 0.5 * (1 + math.erf(x * ROOT_HALF)) + x * density


def _gelu_by_tanh(x: float) -> float:
    return 0.5 * x * (1 + math.tanh(ROOT * (x + CUBIC * x**3)))


def _slope_of_gelu_by_tanh(x: float, _: float) -> float:
    t = math.tanh(ROOT * (x + CUBIC * x**3))
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * ROOT * (1 + 3 * CUBIC * x * x)


unary("exp", math.exp, lambda x, y: y, saves=RESULT, of_complex=cmath.exp)
unary("exp2", lambda x: 2.0**x, lambda x, y: y * math.log(2), saves=RESULT)
unary("expm1", math.expm1, lambda x, y: y + 1, saves=RESULT)
unary("log", _log(math.log), lambda x, y: divided(1.0, x))
unary("log2", _log(math.log2), lambda x, y: divided(1.0, x * math.log(2)))
unary("log10", _log(math.log10), lambda x, y: divided(1.0, x * math.log(10)))
unary("log1p", lambda x: math.log1p(x) if x != -1 else -math.inf, lambda x, y: divided(1.0, 1 + x))
unary("sqrt", math.sqrt, lambda x, y: divided(0.5, y), saves=RESULT, of_complex=cmath.sqrt)
unary("rsqrt", lambda x: 1 / math.sqrt(x), lambda x, y: -0.5 * y**3, saves=RESULT)
unary("sin", math.sin, lambda x, y: math.cos(x), of_complex=cmath.sin)
unary("cos", math.cos, lambda x, y: -math.sin(x), of_complex=cmath.cos)
unary("tan", math.tan, lambda x, y: 1 + y * y, saves=RESULT)
unary("asin", math.asin, lambda x, y: 1 / math.sqrt(1 - x * x))
unary("acos", math.acos, lambda x, y: -1 / math.sqrt(1 - x * x))
unary("atan", math.atan, lambda x, y: 1 / (1 + x * x))
unary("sinh", math.sinh, lambda x, y: math.cosh(x))
unary("cosh", math.cosh, lambda x, y: math.sinh(x))
unary("tanh", math.tanh, lambda x, y: 1 - y * y, saves=RESULT)
sigmoid = unary("sigmoid", _sigmoid, lambda x, y: y * (1 - y), saves=RESULT)
unary("erf", math.erf, lambda x, y: 2 / math.sqrt(math.pi) * math.exp(-x * x))
unary("reciprocal", lambda x: divided(1.0, x), lambda x, y: -y * y, saves=RESULT)
negative = unary("neg", lambda x: -x, lambda x, y: -1.0, saves="", least=INTEGER)
unary("square", lambda x: x * x, lambda x, y: 2 * x, least=INTEGER, node="PowBackward0")
unary("floor", _rounded_by(math.floor), lambda x, y: False, saves="", least=INTEGER)
unary("ceil", _rounded_by(math.ceil), lambda x, y: False, saves="", least=INTEGER)
unary("trunc", _rounded_by(math.trunc), lambda x, y: False, saves="", least=INTEGER)
unary("frac", lambda x: x - math.trunc(x), lambda x, y: 1.0, saves="")
unary("sign", _sign, lambda x, y: False, saves="", least=INTEGER)
relu = unary(
    "relu",
    lambda x: x if x > 0 or x != x else type(x)(0),
    lambda x, y: False if y <= 0 else 1.0,
    saves=RESULT,
    least=INTEGER,
)
gelu = unary("gelu", _gelu, _slope_of_gelu)
gelu_by_tanh = unary("gelu_by_tanh", _gelu_by_tanh, _slope_of_gelu_by_tanh, node="GeluBackward0")
silu = unary(
    "silu",
    lambda x: x * _sigmoid(x),
    lambda x, y: _sigmoid(x) * (1 + x * (1 - _sigmoid(x))),
)
softplus = unary(
    "softplus",
    lambda x: x + math.log1p(math.exp(-x)) if x > 0 else math.log1p(math.exp(x)),
    lambda x, y: _sigmoid(x),
)
logsigmoid = unary(
    "logsigmoid",
    lambda x: -math.log1p(math.exp(-x)) if x > 0 else x - math.log1p(math.exp(x)),
    lambda x, y: _sigmoid(-x),
    node="LogSigmoidBackward0",
)
_absolute = unary("abs", abs, lambda x, y: _sign(x), least=INTEGER)
_nearest = unary("round", _rounded_by(round), lambda x, y: False, saves="", least=INTEGER)


def neg(x: Tensor) -> Tensor:
    """-x."""
    if x.dtype.kind == BOOL:
        raise torch_error(
            RuntimeError,
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
            "invert a mask, use the `~` or `logical_not()` operator instead.",
        )
    if x.dtype.kind == COMPLEX:
        out = new_tensor([-z for z in x._numbers()], x._shape, x.dtype)
        return record(out, "NegBackward0", (x, neg))
    return negative(x)


def abs_(x: Tensor) -> Tensor:
    """The size of each number."""
    if x.dtype.kind != COMPLEX:
        return _absolute(x)
    kind = REAL[x.dtype]
    out = new_tensor(rounded([abs(z) for z in x._numbers()], kind), x._shape, kind)
    return _refused(out, x, "abs")


def round_(x: Tensor, decimals: int = 0) -> Tensor:
    """The nearest whole numbers, and of two the even one; or with so many decimals."""
    if not decimals:
        return _nearest(x)
    scale = 10.0**decimals
    numbers = [round(number * scale) / scale for number in x._numbers()]
    out = new_tensor(rounded(numbers, x.dtype), x._shape, x.dtype)
    return record(out, "RoundBackward1", (x, lambda slope: slope * 0))


def tests(name: str, test: Callable, of_complex: Callable) -> None:
    """An operation that answers with True or False for each number."""

    def operation(x: Tensor) -> Tensor:
        function = of_complex if x.dtype.kind == COMPLEX else test
        return laid_out(new_tensor(list(map(function, x._numbers())), x._shape, bool_), x)

    operation.__name__ = name
    UNARY[name] = operation


tests("isnan", math.isnan, cmath.isnan)
tests("isinf", math.isinf, cmath.isinf)
tests("isfinite", math.isfinite, cmath.isfinite)
tests("logical_not", operator.not_, operator.not_)


def bitwise_not(x: Tensor) -> Tensor:
    """`~x`: True for False, or all bits of a whole number turned."""
    if x.dtype.kind == BOOL:
        return UNARY["logical_not"](x)
    if x.dtype.kind != INTEGER:
        text = "~ (operator.invert) is only implemented on integer and Boolean-type tensors"
        raise torch_error(TypeError, text)
    return new_tensor(rounded([~n for n in x._numbers()], x.dtype), x._shape, x.dtype)


# ---- choices
