"""What PyTorch says of itself and of its types."""

import sys
from typing import Any

from scratchformer_course.page_torch import tensor as core
from scratchformer_course.page_torch.arithmetic import common_type
from scratchformer_course.page_torch.dtypes import DEFAULTS, FLOAT, OF_PARTS, dtype, promote
from scratchformer_course.page_torch.missing import lack, torch_error
from scratchformer_course.page_torch.tensor import Tensor

LIMITS = {  # eps, the largest number, the smallest one above 0 with all its digits
    "float16": (2.0**-10, 65504.0, 2.0**-14),
    "bfloat16": (2.0**-7, 3.3895313892515355e38, 2.0**-126),
    "float32": (2.0**-23, 3.4028234663852886e38, 2.0**-126),
    "float64": (2.0**-52, sys.float_info.max, sys.float_info.min),
}


class finfo:
    """The limits of a floating-point type."""

    def __init__(self, type: dtype | None = None):
        kind = type or DEFAULTS[FLOAT]
        if kind.name not in LIMITS:
            text = "torch.finfo() requires a floating point input type. Use torch.iinfo to handle"
            raise torch_error(TypeError, f"{text} 'torch.finfo'")
        self.eps, self.max, self.tiny = LIMITS[kind.name]
        self.min, self.smallest_normal, self.bits = -self.max, self.tiny, 8 * kind.itemsize
        self.dtype = kind.name


class iinfo:
    """The limits of a type of whole numbers."""

    def __init__(self, type: dtype):
        self.bits, self.dtype = 8 * type.itemsize, type.name
        self.max = 2 ** (self.bits - type.is_signed) - 1
        self.min = -(2 ** (self.bits - 1)) if type.is_signed else 0


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The type that holds the numbers of both."""
    return promote(type1, type2)


def result_type(a: Any, b: Any) -> dtype:
    """The type in which two tensors or numbers meet."""
    return common_type(a, b)


def get_default_dtype() -> dtype:
    """The type of new floating-point tensors."""
    return DEFAULTS[FLOAT]


def set_default_dtype(d: dtype) -> None:
    """Set the type of new floating-point tensors."""
    DEFAULTS[FLOAT] = d
    DEFAULTS[FLOAT + 1] = OF_PARTS[d]


def is_floating_point(x: Tensor) -> bool:
    """Whether the numbers are floating-point numbers."""
    return x.is_floating_point()


def is_complex(x: Tensor) -> bool:
    """Whether the numbers are complex."""
    return x.is_complex()


def numel(x: Tensor) -> int:
    """The number of numbers."""
    return x.numel()


def detach(x: Tensor) -> Tensor:
    """The same numbers, cut off from the tape."""
    return x.detach()


def set_printoptions(**_: Any) -> None:
    """Tensors are always printed in the usual way."""
    lack("`torch.set_printoptions`")


def no(*_: Any) -> bool:
    """What a page has not, or does not do."""
    return False


def nothing(*_: Any, **__: Any) -> None:
    """A setting that changes nothing in a page."""


def get_num_threads() -> int:
    """One."""
    return 1


def get_float32_matmul_precision() -> str:
    """The highest: no sum is rounded on the way."""
    return "highest"


def compile(model: Any = None, **_: Any) -> Any:
    """The function as it is."""
    return model if model is not None else lambda function: function


class FunctionMode:
    """`TorchFunctionMode`, which hears of each tensor that is made (not of each call)."""

    def __enter__(self) -> "FunctionMode":
        core.counting.append(self._count)
        return self

    def __exit__(self, *_: object) -> None:
        core.counting.remove(self._count)

    def _count(self) -> None:
        handler = self.__torch_function__  # type: ignore[attr-defined]
        handler(nothing, (), ())
