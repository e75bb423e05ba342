"""The PyTorch of the page: as much of `torch` as the course's exercises need, in plain Python.

There is no PyTorch for browsers. This one is slow and small, and it says so where it lacks a thing
(missing.py). What it has gives the numbers, types, strides, slopes, random draws and error messages
of PyTorch 2.13 on a processor; tests/page_torch compares the two.

Read it in this order: dtypes, layout, tensor, views, tape, arithmetic. The page *How a tensor
library is made* tells the same as a story.
"""

import sys
from collections.abc import Callable
from math import e, inf, nan, pi
from types import FunctionType, ModuleType
from typing import Any

from scratchformer_course.page_torch import (
    autograd,
    choices,
    creation,
    dtypes,
    gathering,
    generator,
    indexing,
    information,
    inplace,
    joining,
    linalg,
    moves,
    nn,
    operators,
    optim,
    parts,
    pointwise,
    printing,
    products,
    reductions,
    rows,
    sorting,
    views,
)
from scratchformer_course.page_torch.generator import Generator as Generator
from scratchformer_course.page_torch.generator import default_generator as default_generator
from scratchformer_course.page_torch.layout import Size
from scratchformer_course.page_torch.missing import (
    NotInPage,
    guarded,
    lacking,
    missing_from,
    torch_error,
)
from scratchformer_course.page_torch.names import KNOWN
from scratchformer_course.page_torch.other_packages import put_in_place
from scratchformer_course.page_torch.storage import Device as device
from scratchformer_course.page_torch.tape import enable_grad as enable_grad
from scratchformer_course.page_torch.tape import inference_mode as inference_mode
from scratchformer_course.page_torch.tape import is_grad_enabled as is_grad_enabled
from scratchformer_course.page_torch.tape import no_grad as no_grad
from scratchformer_course.page_torch.tape import set_grad_enabled as set_grad_enabled
from scratchformer_course.page_torch.tensor import Tensor

__version__ = "2.13.0"
__all__ = ["NotInPage", "Tensor", "autograd", "e", "inf", "install", "lacking", "linalg", "nan"]
__all__ += ["nn", "no_grad", "optim", "pi"]

dtype, newaxis, strided = dtypes.dtype, None, "torch.strided"
FUNCTIONS = (
    choices, gathering, parts, rows,
    creation, generator, indexing, information, joining, moves, pointwise, products, reductions,
    sorting, views,
)  # fmt: skip
WRITERS = (generator, inplace)  # where a name that ends in _ is an operation in place
SAME = {
    "absolute": "abs", "arccos": "acos", "arcsin": "asin", "arctan": "atan", "clip": "clamp",
    "concat": "cat", "concatenate": "cat", "divide": "div", "fix": "trunc", "ger": "outer",
    "greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le", "multiply": "mul",
    "negative": "neg", "not_equal": "ne", "subtract": "sub", "row_stack": "vstack",
    "moveaxis": "movedim", "arctan2": "atan2",
}  # fmt: skip
OPERATORS = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "pow": "pow", "mod": "remainder",
    "floordiv": "floor_divide", "matmul": "matmul", "and": "bitwise_and", "or": "bitwise_or",
    "xor": "bitwise_xor", "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
}  # fmt: skip
TYPES = {
    "bool": "bool", "uint8": "byte", "int8": "char", "int16": "short", "int32": "int",
    "int64": "long", "float16": "half", "bfloat16": "bfloat16", "float32": "float",
    "float64": "double", "complex64": "cfloat", "complex128": "cdouble",
}  # fmt: skip
METHODS_ALONE = {"where": choices.where_method, "new_tensor": creation.new_tensor_}


def _operations() -> dict[str, Callable]:
    """All operations by the name that real PyTorch gives them."""
    found: dict[str, Callable] = {}
    for module in FUNCTIONS:
        for name, value in vars(module).items():
            if isinstance(value, FunctionType) and value.__module__ == module.__name__:
                is_writer = module in WRITERS and name.endswith("_")
                found[name if is_writer else name.rstrip("_")] = value
    for name in ("copy_", "fill_", "zero_", "fill_diagonal_"):
        found[name] = getattr(inplace, name)
    found |= pointwise.UNARY | {"abs": pointwise.abs_, "neg": pointwise.neg}
    found |= {"round": pointwise.round_} | operators.BINARY
    return found | {name: found[other] for name, other in SAME.items()}


def _attach() -> None:
    """Make functions of this module, methods and operators of all operations."""
    functions = globals()
    for name, operation in _operations().items():
        if name in KNOWN["torch"]:
            is_shaped = name in ("permute", "reshape", "flip", "tile")
            function = _with_one_shape(operation, name) if is_shaped else operation
            functions[name] = guarded(function, f"torch.{name}", has_aliases=not is_shaped)
        if name in KNOWN["Tensor"] and name not in vars(Tensor):
            _attach_method(name, METHODS_ALONE.get(name, operation))
    for name in METHODS_ALONE:
        _attach_method(name, METHODS_ALONE[name])
    for name, operation in _operations().items():
        if operation.__module__ in (views.__name__, parts.__name__):
            continue  # real PyTorch would change the shape of the tensor itself
        if f"{name}_" in KNOWN["Tensor"] and not hasattr(Tensor, f"{name}_"):
            _attach_method(f"{name}_", inplace.in_place(operation, f"{name}_"))
    for name, other in OPERATORS.items():
        operation = products.matmul if other == "matmul" else operators.BINARY[other]
        setattr(Tensor, f"__{name}__", guarded(operation, f"Tensor.{other}"))
        setattr(Tensor, f"__r{name}__", guarded(_reversed(operation), f"Tensor.{other}"))
        in_place = inplace.in_place(operation, f"__i{name}__")
        setattr(Tensor, f"__i{name}__", guarded(in_place, f"Tensor.{other}_"))
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        operation = guarded(operators.BINARY[name], f"Tensor.{name}")
        setattr(Tensor, f"__{name}__", operation)
    unary = {"neg": pointwise.neg, "abs": pointwise.abs_, "invert": pointwise.bitwise_not}
    unary |= {"getitem": indexing.get_item, "setitem": indexing.set_item, "repr": printing.as_text}
    for name, operation in unary.items():
        setattr(Tensor, f"__{name}__", guarded(operation, f"Tensor.__{name}__"))
    Tensor.__pos__ = lambda x: x
    for name in ("size", "stride", "backward", "requires_grad_"):
        _attach_method(name, vars(Tensor)[name])
    for name in dtypes.ORDER:
        functions[name.name] = functions[TYPES[name.name]] = name
        _attach_method(TYPES[name.name], _conversion(name))


def _with_one_shape(operation: Callable, name: str) -> Callable:
    """`torch.permute(x, dims)` takes its sizes as one tuple, where `x.permute(1, 0)` does not."""

    def call(x: Any, *given: Any, **named: Any) -> Any:
        if len(given) > 1 or any(isinstance(one, int) for one in given):
            raise TypeError(f"{name}: expected one tuple")  # told as missing, see `guarded`
        return operation(x, *given, **named)

    return call


def _attach_method(name: str, operation: Callable) -> None:
    """Make a method of an operation."""
    setattr(Tensor, name, guarded(operation, f"Tensor.{name}", has_aliases=True))


def _reversed(operation: Callable) -> Callable:
    return lambda x, other: operation(other, x)


def _conversion(kind: dtypes.dtype) -> Callable:
    return lambda x: joining.to(x, kind)


def _attach_properties() -> None:
    Tensor.T = property(views.turned)
    Tensor.mT = property(_turned_last)
    Tensor.real = property(lambda x: views.view_as_real(x)[..., 0] if x.is_complex() else x)
    Tensor.imag = property(lambda x: views.view_as_real(x)[..., 1])
    Tensor.__getattr__ = _missing_attribute
    for cls in (Tensor, Size, dtype, device, Generator):
        cls.__module__ = "torch"
    device.__name__ = device.__qualname__ = "device"
    nn.Parameter.__module__ = "torch.nn.parameter"


def _turned_last(x: Tensor) -> Tensor:
    if x.ndim == 1:
        text = "tensor.mT is only supported on matrices or batches of matrices. Got"
        raise torch_error(RuntimeError, f"{text} {x.ndim}-D tensor.")
    return x.transpose(-2, -1) if x.ndim else x


def _missing_attribute(_: Tensor, name: str) -> Any:
    if name in KNOWN["Tensor"]:
        missing_from("Tensor", "Tensor")(name)
    raise torch_error(AttributeError, f"'Tensor' object has no attribute '{name}'")


def install() -> None:
    """Let `import torch` find this package, and stand-ins for what the library imports besides."""
    put_in_place(sys.modules[__name__])


_attach()
_attach_properties()
einsum = guarded(products.einsum, "torch.einsum")
finfo, iinfo = information.finfo, information.iinfo
__getattr__ = missing_from("torch", "torch")
cuda, backends = ModuleType("torch.cuda"), ModuleType("torch.backends")
for _name in ("are_deterministic_algorithms_enabled", "is_anomaly_enabled"):
    globals()[_name] = information.no
for _name in ("use_deterministic_algorithms", "set_num_threads", "set_float32_matmul_precision"):
    globals()[_name] = information.nothing
