"""New tensors: of given numbers, of one number, of a range."""

import cmath
import math
from typing import Any

from scratchformer_course.page_torch.dtypes import (
    DEFAULTS,
    FLOAT,
    INTEGER,
    OF_PARTS,
    WIDEST,
    converted,
    dtype,
    int64,
    kind_of,
    rounded,
)
from scratchformer_course.page_torch.layout import broadcast, contiguous, sizes_of
from scratchformer_course.page_torch.missing import lack, torch_error
from scratchformer_course.page_torch.tensor import Tensor, new_tensor, numbers_as, view_of_storage

Number = (bool, int, float, complex)


def placed(out: Tensor, device: Any, requires_grad: bool) -> Tensor:
    """A new tensor, on the processor, as a leaf if that is asked for."""
    if device is not None and str(device) != "cpu":
        lack(f"the device `{device}`")
    if requires_grad and out.dtype.kind < FLOAT:
        text = "Only Tensors of floating point and complex dtype can require gradients"
        raise torch_error(RuntimeError, text)
    return out.requires_grad_() if requires_grad else out


def tensor(
    data: Any, *, dtype: dtype | None = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A tensor of a number, of lists in lists, or a copy of a tensor."""
    if isinstance(data, Tensor):
        kind = dtype or data.dtype
        return placed(
            new_tensor(list(numbers_as(data, kind)), data._shape, kind), device, requires_grad
        )
    numbers: list[Any] = []
    shape: list[int] = []
    kinds: set[int] = set()
    _collect(data, 0, numbers, shape, kinds)
    kind = max(kinds, default=FLOAT)
    target = dtype or DEFAULTS[kind]
    if kind == FLOAT:
        numbers = [float(x) for x in numbers]
    elif kind == INTEGER:
        numbers = [int(x) for x in numbers]
        if target is int64 and any(not -(2**63) <= x < 2**63 for x in numbers):
            raise torch_error(RuntimeError, "Overflow when unpacking long long")
    if kind == INTEGER and target.kind == INTEGER and converted(numbers, int64, target) != numbers:
        lack("numbers that their type cannot hold")
    out = new_tensor(converted(numbers, WIDEST[kind], target), tuple(shape), target)
    return placed(out, device, requires_grad)


def _collect(data: Any, depth: int, numbers: list, shape: list[int], kinds: set[int]) -> None:
    """Append the numbers of nested lists, and find their shape and kinds."""
    if isinstance(data, Tensor):
        if data.numel() != 1:
            text = "only one element tensors can be converted to Python scalars"
            raise torch_error(ValueError, text)
        data = data.item()
    if isinstance(data, (list, tuple, range)):
        if len(shape) == depth:
            if numbers:
                lack("`torch.tensor` of ragged lists")
            shape.append(len(data))
        elif shape[depth] != len(data):
            text = f"expected sequence of length {shape[depth]} at dim {depth} (got {len(data)})"
            raise torch_error(ValueError, text)
        for part in data:
            _collect(part, depth + 1, numbers, shape, kinds)
    elif isinstance(data, Number):
        if depth != len(shape):
            lack("`torch.tensor` of ragged lists")
        kinds.add(kind_of(data))
        numbers.append(data)
    elif isinstance(data, str):
        if depth and not numbers:
            raise torch_error(ValueError, "too many dimensions 'str'")
        raise torch_error(TypeError, "new(): invalid data type 'str'")
    elif hasattr(data, "__array__") or hasattr(data, "__index__") or hasattr(data, "__float__"):
        lack(f"`torch.tensor` of a {type(data).__name__}")
    else:
        raise torch_error(RuntimeError, f"Could not infer dtype of {type(data).__name__}")


def as_number_tensor(value: Any, kind: dtype) -> Tensor:
    """A tensor as it is; a number, or lists, in this type."""
    return value if isinstance(value, Tensor) else tensor(value, dtype=kind)


def as_tensor(data: Any, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """A tensor as it is, if it is of the type that is asked for; else a new one."""
    if isinstance(data, Tensor):
        return placed(data if dtype is None else data.to(dtype), device, False)
    return tensor(data, dtype=dtype, device=device)


def asarray(obj: Any, *, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """The same as `as_tensor`."""
    return as_tensor(obj, dtype, device)


def is_tensor(obj: Any) -> bool:
    """Whether this is a tensor."""
    return isinstance(obj, Tensor)


def full(
    size: Any,
    fill_value: Any,
    *,
    dtype: dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """One number everywhere."""
    if isinstance(size, int):
        lack("`torch.full` of a single size")
    shape = sizes_of([size])
    for n in shape:
        if n < 0:
            text = f"Trying to create tensor with negative dimension {n}: {list(shape)}"
            raise torch_error(RuntimeError, text)
    number = fill_value.item() if isinstance(fill_value, Tensor) else fill_value
    kind = dtype or DEFAULTS[kind_of(number)]
    numbers = converted([number], WIDEST[kind_of(number)], kind) * math.prod(shape)
    return placed(new_tensor(numbers, shape, kind), device, requires_grad)


def _filled(number: float, sizes: tuple, named: dict[str, Any]) -> Tensor:
    shape = sizes_of((named.pop("size"),) if "size" in named else sizes)
    kind = named.pop("dtype", None) or DEFAULTS[FLOAT]
    return full(shape, number, dtype=kind, **named)


def zeros(*size: Any, **named: Any) -> Tensor:
    """Zeros of a shape."""
    if any(isinstance(n, int) and n < 0 for n in size):
        raise torch_error(RuntimeError, "zeros: Dimension size must be non-negative.")
    return _filled(0.0, size, named)


def ones(*size: Any, **named: Any) -> Tensor:
    """Ones of a shape."""
    return _filled(1.0, size, named)


def empty(*size: Any, **named: Any) -> Tensor:
    """Memory for a shape; real PyTorch leaves in it what was there, and this one zeros."""
    named.pop("memory_format", None)
    return _filled(0.0, size, named)


def _like(x: Tensor, number: Any, named: dict[str, Any]) -> Tensor:
    kind = named.pop("dtype", None) or x.dtype
    out = full(x._shape, number, dtype=kind, **named)
    if x.is_contiguous() or sorted(x._strides, reverse=True) == list(x._strides):
        return out
    order = sorted(range(x.ndim), key=lambda axis: -x._strides[axis])
    if 0 in x._strides:
        return out
    strides = [0] * x.ndim
    for axis, stride in zip(order, contiguous(tuple(x._shape[i] for i in order)), strict=True):
        strides[axis] = stride
    return view_of_storage(out._storage, x._shape, tuple(strides), 0, kind)


def zeros_like(x: Tensor, **named: Any) -> Tensor:
    """Zeros in the shape and type of another tensor."""
    return _like(x, 0, named)


def ones_like(x: Tensor, **named: Any) -> Tensor:
    """Ones in the shape and type of another tensor."""
    return _like(x, 1, named)


def empty_like(x: Tensor, **named: Any) -> Tensor:
    """Memory in the shape and type of another tensor."""
    return _like(x, 0, named)


def full_like(x: Tensor, fill_value: Any, **named: Any) -> Tensor:
    """One number in the shape and type of another tensor."""
    return _like(x, fill_value, named)


def new_zeros(x: Tensor, *size: Any, **named: Any) -> Tensor:
    """Zeros in the type of another tensor."""
    return zeros(*size, **{"dtype": x.dtype, **named})


def new_ones(x: Tensor, *size: Any, **named: Any) -> Tensor:
    """Ones in the type of another tensor."""
    return ones(*size, **{"dtype": x.dtype, **named})


def new_empty(x: Tensor, *size: Any, **named: Any) -> Tensor:
    """Memory in the type of another tensor."""
    return empty(*size, **{"dtype": x.dtype, **named})


def new_full(x: Tensor, size: Any, fill_value: Any, **named: Any) -> Tensor:
    """One number in the type of another tensor."""
    return full(size, fill_value, **{"dtype": x.dtype, **named})


def new_tensor_(x: Tensor, data: Any, **named: Any) -> Tensor:
    """A tensor of lists in the type of another tensor."""
    return tensor(data, **{"dtype": x.dtype, **named})


def eye(
    n: int,
    m: int | None = None,
    *,
    dtype: dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Ones on the diagonal."""
    columns = n if m is None else m
    kind = dtype or DEFAULTS[FLOAT]
    numbers = [int(i == j) for i in range(n) for j in range(columns)]
    out = new_tensor(converted(numbers, int64, kind), (n, columns), kind)
    return placed(out, device, requires_grad)


def arange(
    start: Any,
    end: Any = None,
    step: Any = 1,
    *,
    dtype: dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers from `start` (or 0) to below `end`."""
    start, end = (0, start) if end is None else (start, end)
    parts = [x.item() if isinstance(x, Tensor) else x for x in (start, end, step)]
    kind = dtype or DEFAULTS[max(INTEGER, *map(kind_of, parts))]
    first, last, step = parts
    if step == 0:
        raise torch_error(RuntimeError, "step must be nonzero")
    if (last - first) / step < 0:
        text = "upper bound and lower bound inconsistent with step sign"
        raise torch_error(RuntimeError, text)
    numbers = [first + i * step for i in range(math.ceil((last - first) / step))]
    source = WIDEST[max(INTEGER, *map(kind_of, parts))]
    if kind.kind == INTEGER:
        numbers = [int(x) for x in numbers]
        source = int64
    out = new_tensor(converted(numbers, source, kind), (len(numbers),), kind)
    return placed(out, device, requires_grad)


def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    dtype: dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers at equal distances, both ends among them."""
    if steps < 0:
        raise torch_error(RuntimeError, "number of steps must be non-negative")
    first, last = float(start), float(end)
    kind = dtype or DEFAULTS[FLOAT]
    step = (last - first) / (steps - 1) if steps > 1 else 0.0
    (step,) = rounded([step], kind) if kind.kind == FLOAT else [step]
    halves = [(first + step * i, last - step * (steps - 1 - i)) for i in range(steps)]
    numbers = [
        from_end if i >= steps // 2 and steps > 1 else from_start
        for i, (from_start, from_end) in enumerate(halves)
    ]
    out = new_tensor(converted(numbers, WIDEST[FLOAT], kind), (steps,), kind)
    return placed(out, device, requires_grad)


def logspace(start: Any, end: Any, steps: int, base: float = 10.0, **named: Any) -> Tensor:
    """Powers of a base, whose exponents are at equal distances."""
    return base ** linspace(start, end, steps, **named)


def _pairs(row: int, col: int, keeps: Any) -> Tensor:
    found = [(i, j) for i in range(row) for j in range(col) if keeps(j - i)]
    numbers = [i for i, _ in found] + [j for _, j in found]
    return new_tensor(numbers, (2, len(found)), int64)


def tril_indices(row: int, col: int, offset: int = 0) -> Tensor:
    """The indices on and below a diagonal: (2, n)."""
    return _pairs(row, col, lambda distance: distance <= offset)


def triu_indices(row: int, col: int, offset: int = 0) -> Tensor:
    """The indices on and above a diagonal: (2, n)."""
    return _pairs(row, col, lambda distance: distance >= offset)


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Coordinates of a grid, one tensor for each axis."""
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    n, shape = len(tensors), [x.numel() for x in tensors]
    grids = [
        x.reshape([-1 if i == axis else 1 for i in range(n)]).expand(shape)
        for axis, x in enumerate(tensors)
    ]
    is_turned = indexing == "xy" and n > 1
    return tuple(grid.transpose(0, 1) for grid in grids) if is_turned else tuple(grids)


def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """Complex numbers from their sizes and angles."""
    if abs.requires_grad or angle.requires_grad:
        lack("slopes of `torch.polar`")
    if abs.dtype is not angle.dtype or abs.dtype not in OF_PARTS:
        lack("`torch.polar` of these types")
    size, turn = (x.expand(broadcast(abs._shape, angle._shape)) for x in (abs, angle))
    numbers = list(map(cmath.rect, size._numbers(), turn._numbers()))
    kind = OF_PARTS[abs.dtype]
    return new_tensor(rounded(numbers, kind), size._shape, kind)


def complex_(real: Tensor, imag: Tensor) -> Tensor:
    """Complex numbers from their parts."""
    if real.requires_grad or imag.requires_grad or real._shape != imag._shape:
        lack("`torch.complex` of such tensors")
    numbers = list(map(complex, real._numbers(), imag._numbers()))
    return new_tensor(numbers, real._shape, OF_PARTS[real.dtype])
