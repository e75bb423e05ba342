"""CTranslate2's file of a model: named tensors, one after the other, and nothing else is read.

Its makers describe the layout by the program that writes it (github.com/OpenNMT/CTranslate2,
python/ctranslate2/specs/model_spec.py). All numbers are little-endian. Nothing here needs torch.
"""

import math
import struct
from pathlib import Path
from typing import Any

import numpy as np

VERSION = 6
TYPES = {0: "<f4", 1: "i1", 2: "<i2", 3: "<i4", 4: "<f2"}  # by the number that the file has


def read_ctranslate2(path: str | Path) -> dict[str, np.ndarray]:
    """The tensors by name; float16 is made float32, and settings are scalars among them.

    Raises ValueError for another file, another version, or one that is cut short;
    FileNotFoundError if there is none.
    """
    data = Path(path).read_bytes()
    offset = 0

    def take(code: str) -> Any:
        nonlocal offset
        (value,) = struct.unpack_from("<" + code, data, offset)
        offset += struct.calcsize("<" + code)
        return value

    def text() -> str:
        return take(f"{take('H')}s").rstrip(b"\0").decode()

    tensors: dict[str, np.ndarray] = {}
    try:
        if (version := take("I")) != VERSION:
            raise ValueError(f"it begins with version {version}, expected {VERSION}")
        text(), take("I")  # the kind of model, and that kind's version
        for _ in range(take("I")):
            name = text()
            shape = tuple(take("I") for _ in range(take("B")))
            kind, size = np.dtype(TYPES[take("B")]), take("I")
            if size != kind.itemsize * math.prod(shape) or size > len(data) - offset:
                raise ValueError(f"{name} of shape {shape} is cut short")
            tensor = np.frombuffer(data, kind, math.prod(shape), offset).reshape(shape)
            tensors[name] = tensor.astype(np.float32) if kind == np.float16 else tensor
            offset += size
    except (ValueError, KeyError, struct.error) as error:
        raise ValueError(f"{path} is not a CTranslate2 file that can be read: {error}") from error
    return tensors
