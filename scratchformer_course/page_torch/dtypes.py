"""Types of numbers: what each can hold, and in which of them two tensors meet.

Numbers are Python's own. After each operation they are rounded to what the type can hold, so a
float32 tensor holds float32 numbers, in double the room.
"""

import math
import struct
from array import array
from functools import reduce

BOOL, INTEGER, FLOAT, COMPLEX = range(4)  # kinds, in the order in which they win


class dtype:
    """A type of numbers, such as `torch.float32`."""

    def __init__(self, name: str, kind: int, itemsize: int, word: str, c_name: str):
        self.name, self.kind, self.itemsize = name, kind, itemsize
        self.word = word  # in errors: "Float"
        self.c_name = c_name  # in other errors: "float"
        self.is_floating_point, self.is_complex = kind == FLOAT, kind == COMPLEX
        self.is_signed = name not in ("bool", "uint8")

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name

    def __deepcopy__(self, _: dict) -> "dtype":
        return self


bool_ = dtype("bool", BOOL, 1, "Bool", "bool")
uint8 = dtype("uint8", INTEGER, 1, "Byte", "unsigned char")
int8 = dtype("int8", INTEGER, 1, "Char", "signed char")
int16 = dtype("int16", INTEGER, 2, "Short", "short")
int32 = dtype("int32", INTEGER, 4, "Int", "int")
int64 = dtype("int64", INTEGER, 8, "Long", "long int")
float16 = dtype("float16", FLOAT, 2, "Half", "c10::Half")
bfloat16 = dtype("bfloat16", FLOAT, 2, "BFloat16", "c10::BFloat16")
float32 = dtype("float32", FLOAT, 4, "Float", "float")
float64 = dtype("float64", FLOAT, 8, "Double", "double")
complex64 = dtype("complex64", COMPLEX, 8, "ComplexFloat", "c10::complex<float>")
complex128 = dtype("complex128", COMPLEX, 16, "ComplexDouble", "c10::complex<double>")

ORDER = [bool_, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64]
ORDER += [complex64, complex128]
RANK = {kind: rank for rank, kind in enumerate(ORDER)}
DEFAULTS = {BOOL: bool_, INTEGER: int64, FLOAT: float32, COMPLEX: complex64}  # changed by a setter
WIDEST = {BOOL: bool_, INTEGER: int64, FLOAT: float64, COMPLEX: complex128}
REAL = {complex64: float32, complex128: float64}
OF_PARTS = {float32: complex64, float64: complex128}


def kind_of(number: complex) -> int:
    """The kind of a Python number."""
    if isinstance(number, bool):
        return BOOL
    return INTEGER if isinstance(number, int) else FLOAT if isinstance(number, float) else COMPLEX


def promote(a: dtype, b: dtype) -> dtype:
    """The type that holds the numbers of both."""
    if {a, b} == {float16, bfloat16}:
        return float32
    if {a, b} == {uint8, int8}:
        return int16
    if {a, b} == {float64, complex64}:
        return complex128
    return a if RANK[a] >= RANK[b] else b


def meeting(tensors: list[tuple[dtype, int]], numbers: list[complex]) -> dtype:
    """The type in which tensors, given as (dtype, number of axes), and Python numbers meet.

    Tensors with axes outweigh those without, and these outweigh numbers, unless their kind wins.
    """
    by_weight = [
        [kind for kind, n_axes in tensors if n_axes],
        [kind for kind, n_axes in tensors if not n_axes],
        [DEFAULTS[kind_of(number)] for number in numbers],
    ]
    met: dtype | None = None
    for kinds in by_weight:
        if kinds:
            of_group = reduce(promote, kinds)
            if met is None or of_group.kind > met.kind:
                met = (
                    of_group
                    if met is None or of_group.kind < FLOAT
                    else promote_kind(met, of_group)
                )
    assert met is not None
    return met


def promote_kind(met: dtype, winner: dtype) -> dtype:
    """The winner's kind, with the width of float64 or complex128 where `met` has it."""
    return promote(met, winner) if met.kind == FLOAT and winner.kind == COMPLEX else winner


def rounded(numbers: list, kind: dtype) -> list:
    """The numbers, which are of the type's kind, as the type holds them."""
    if kind is float32:
        return array("f", numbers).tolist()
    if kind is float64:
        return [float(x) for x in numbers]
    if kind is int64:
        fits = not numbers or -(2**63) <= min(numbers) <= max(numbers) < 2**63
        return numbers if fits else [_wrapped(x, kind) for x in numbers]
    if kind is bool_:
        return [bool(x) for x in numbers]
    if kind.kind == INTEGER:
        return [_wrapped(x, kind) for x in numbers]
    if kind is bfloat16:
        return [_as_bfloat16(x) for x in numbers]
    if kind is float16:
        return [_as_float16(x) for x in numbers]
    if kind is complex64:
        return [complex(*array("f", (x.real, x.imag))) for x in numbers]
    return [complex(x) for x in numbers]


def converted(numbers: list, source: dtype, target: dtype) -> list:
    """Numbers of one type as numbers of another; what is behind the point is cut off."""
    if source is target:
        return numbers
    if target.kind == BOOL:
        return [bool(x) for x in numbers]
    if target.kind < COMPLEX and source.kind == COMPLEX:
        numbers = [x.real for x in numbers]
    if target.kind == INTEGER:
        return rounded([int(x) if abs(x) < 2**63 else -(2**63) for x in numbers], target)
    if target.kind == FLOAT and source.kind >= FLOAT:
        return rounded(numbers, target)
    if target.kind == FLOAT:
        return rounded([_as_float(x) for x in numbers], target)
    return rounded([complex(x) for x in numbers], target)


def _as_float(number: complex) -> float:
    try:
        return float(number)  # type: ignore[arg-type]
    except OverflowError:
        return math.inf if number > 0 else -math.inf  # type: ignore[operator]


def _wrapped(number: int, kind: dtype) -> int:
    """What an integer type keeps of a number that it cannot hold: its last bits."""
    bits = 8 * kind.itemsize
    number &= (1 << bits) - 1
    return number - (1 << bits) if kind.is_signed and number >> (bits - 1) else number


def _as_float16(number: float) -> float:
    try:
        return struct.unpack("<e", struct.pack("<e", number))[0]
    except OverflowError:
        return math.copysign(math.inf, number)


def _as_bfloat16(number: float) -> float:
    """The upper half of a float32, rounded to the nearest even one."""
    number = array("f", [number])[0]
    if not math.isfinite(number):
        return number
    (bits,) = struct.unpack("<I", struct.pack("<f", number))
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    return struct.unpack("<f", struct.pack("<I", bits))[0]
