"""The little of NumPy that exercises use: rows of float64 numbers, and a line through points."""

import builtins
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

from scratchformer_course.page_torch.missing import guarded, lack
from scratchformer_course.page_torch.operators import divided
from scratchformer_course.page_torch.tensor import Tensor

pi, e, inf, nan, newaxis = math.pi, math.e, math.inf, math.nan, None


class float64(float):
    """A single number, as NumPy gives it: a float that says where it comes from."""

    ndim, shape = 0, ()

    def item(self) -> float:
        """The number as a plain float."""
        return float(self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        lack(f"`numpy.float64.{name}`")

    def __repr__(self) -> str:
        return f"np.float64({float(self)!r})"

    def __str__(self) -> str:
        return float.__repr__(self)


class ndarray:
    """A row of float64 numbers."""

    __array_priority__ = 1.0

    def __init__(self, numbers: list[float]):
        self.numbers = numbers

    @property
    def shape(self) -> tuple[int]:
        """The number of numbers."""
        return (len(self.numbers),)

    @property
    def size(self) -> int:
        """The number of numbers."""
        return len(self.numbers)

    def __array__(self) -> Any:
        lack("NumPy")

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[float64]:
        return map(float64, self.numbers)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return ndarray(self.numbers[key])
        if not isinstance(key, int):
            lack("such an index of a NumPy array")
        return float64(self.numbers[key])

    def __repr__(self) -> str:
        lack("printing a NumPy array")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        lack(f"`ndarray.{name}`")

    def tolist(self) -> list[float]:
        """The numbers as a list."""
        return list(self.numbers)

    def sum(self) -> float64:
        """The sum."""
        return sum(self)

    def mean(self) -> float64:
        """The mean."""
        return mean(self)

    def min(self) -> float64:
        """The smallest number."""
        return min(self)

    def max(self) -> float64:
        """The largest number."""
        return max(self)

    def argmin(self) -> int:
        """Where the smallest number is."""
        return argmin(self)


def array(object: Any) -> ndarray:
    """A row of float64 numbers."""
    if isinstance(object, ndarray):
        return ndarray(list(object.numbers))
    if isinstance(object, Tensor) or not hasattr(object, "__iter__"):
        lack("this use of `numpy.array`")
    numbers = list(object)
    if not all(isinstance(x, (int, float)) for x in numbers):
        lack("this use of `numpy.array`")
    return ndarray([float(x) for x in numbers])


asarray = array
for _cls in (float64, ndarray):
    _cls.__module__ = "numpy"


def _flat(a: Any) -> list[float]:
    """All numbers of a row, or of several."""
    rows = [x for x in a if isinstance(x, ndarray)] if isinstance(a, (list, tuple)) else []
    return [x for row in rows for x in row.numbers] if rows else array(a).numbers


def _of_two(compute: Callable) -> Callable:
    """An operation on rows, or on a row and a number."""

    def operation(a: Any, b: Any) -> Any:
        rows = [x if isinstance(x, (int, float)) else array(x).numbers for x in (a, b)]
        sizes = {len(row) for row in rows if isinstance(row, list)}
        if not sizes:
            return float64(compute(*map(float, rows)))
        if len(sizes) > 1:
            lack("NumPy arrays of two sizes")
        (n,) = sizes
        left, right = (row if isinstance(row, list) else [float(row)] * n for row in rows)
        return ndarray([compute(x, y) for x, y in zip(left, right, strict=True)])

    return guarded(operation, "numpy")


def _of_one(compute: Callable) -> Callable:
    def operation(x: Any) -> Any:
        if isinstance(x, (int, float)):
            return float64(compute(float(x)))
        return ndarray([compute(number) for number in array(x).numbers])

    return guarded(operation, "numpy")


def _power(x: float, y: float) -> float:
    if x < 0 and not float(y).is_integer():
        return math.nan
    return math.inf if x == 0 and y < 0 else x**y


add, subtract = _of_two(operator.add), _of_two(operator.sub)
multiply, divide, power = _of_two(operator.mul), _of_two(divided), _of_two(_power)
log = _of_one(lambda x: math.log(x) if x > 0 else -math.inf if x == 0 else math.nan)
log2 = _of_one(lambda x: math.log2(x) if x > 0 else -math.inf if x == 0 else math.nan)
log10 = _of_one(lambda x: math.log10(x) if x > 0 else -math.inf if x == 0 else math.nan)
exp, square = _of_one(math.exp), _of_one(lambda x: x * x)
sqrt = _of_one(lambda x: math.sqrt(x) if x >= 0 else math.nan)
abs = absolute = _of_one(builtins.abs)

for _name, _operation in {
    "add": add, "sub": subtract, "mul": multiply, "truediv": divide, "pow": power,
}.items():  # fmt: skip
    for _cls in (ndarray, float64):
        setattr(_cls, f"__{_name}__", lambda a, b, f=_operation: f(a, b))
        setattr(_cls, f"__r{_name}__", lambda a, b, f=_operation: f(b, a))
for _cls in (ndarray, float64):
    _cls.__neg__ = lambda x: multiply(x, -1.0)  # type: ignore[method-assign, assignment]


def sum(a: Any) -> float64:
    """The sum of a row."""
    return float64(math.fsum(array(a).numbers) if all_finite(a) else builtins.sum(array(a).numbers))


def all_finite(a: Any) -> bool:
    """Whether no number is nan or inf."""
    return all(map(math.isfinite, array(a).numbers))


def mean(a: Any) -> float64:
    """The mean of a row."""
    return float64(sum(a) / len(a))


def min(a: Any) -> float64:
    """The smallest number of a row; nan, if one is among them."""
    own = _flat(a)
    return float64(math.nan if any(x != x for x in own) else builtins.min(own))


def max(a: Any) -> float64:
    """The largest number of a row; nan, if one is among them."""
    own = _flat(a)
    return float64(math.nan if any(x != x for x in own) else builtins.max(own))


def argmin(a: Any) -> int:
    """Where the smallest number of a row is; the first nan, if there is one."""
    own = array(a).numbers
    smallest = min(own)
    return next(i for i, x in enumerate(own) if x == smallest or x != x)


def polyfit(x: Any, y: Any, deg: int) -> ndarray:
    """Slope and start of the line through points whose squared misses are smallest."""
    if deg != 1:
        lack("`numpy.polyfit` of another degree than 1")
    xs, ys = array(x), array(y)
    if not all_finite(xs) or not all_finite(ys) or builtins.len(set(xs.numbers)) < 2:
        lack("`numpy.polyfit` of such points")
    centre, height = mean(xs), mean(ys)
    off = [number - centre for number in xs.numbers]
    products = [d * (number - height) for d, number in zip(off, ys.numbers, strict=True)]
    slope = math.fsum(products) / math.fsum(d * d for d in off)
    return ndarray([float(slope), float(height - slope * centre)])
