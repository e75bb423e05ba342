"""The bits of numbers read as another type, as `view(torch.int32)` does."""

import array
import struct

from scratchformer_course.page_torch.dtypes import dtype
from scratchformer_course.page_torch.missing import lack

CODES = {"bool": "?", "uint8": "B", "int8": "b", "int16": "h", "int32": "i", "int64": "q"}
CODES |= {"float16": "e", "float32": "f", "float64": "d"}


def packed(numbers: list, kind: dtype) -> bytes:
    """The bytes of numbers, as they lie in memory."""
    if kind.name not in CODES:
        lack(f"the bits of `torch.{kind.name}`")
    return struct.pack(f"<{len(numbers)}{CODES[kind.name]}", *numbers)


def unpacked(data: bytes, kind: dtype) -> list:
    """The numbers that these bytes are."""
    if kind.name not in CODES:
        lack(f"the bits of `torch.{kind.name}`")
    if CODES[kind.name] in array.typecodes:
        return array.array(CODES[kind.name], data).tolist()
    return list(struct.unpack(f"<{len(data) // kind.itemsize}{CODES[kind.name]}", data))
