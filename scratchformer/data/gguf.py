"""GGUF, the file in which llama.cpp keeps a model: settings, tokenizer and packed weights in one.

The layout, and the ways in which weights are packed, are described by the makers of ggml
(github.com/ggml-org/ggml, docs/gguf.md). All numbers are little-endian. Nothing here needs torch.
"""

import math
import struct
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

# Kind of a setting -> how it is packed; 8 is a string, 9 an array
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?"}
SCALARS |= {10: "Q", 11: "q", 12: "d"}
# Kind of a tensor -> its name, and the weights and bytes of a block
KINDS = {0: ("F32", 1, 4), 1: ("F16", 1, 2), 3: ("Q4_1", 32, 20), 8: ("Q8_0", 32, 34)}


class Packed(NamedTuple):
    """A tensor as it lies in the file."""

    kind: int
    shape: tuple[int, ...]  # rows first, as in torch; the file has it the other way round
    blocks: np.ndarray  # uint8 (blocks, bytes of a block), mapped from the file


class _Reader:
    """Reads one value after another; what lies beyond the end raises ValueError."""

    def __init__(self, data: np.ndarray):
        self.data, self.offset = memoryview(data), 0  # type: ignore[arg-type]

    def take(self, code: str) -> Any:
        (value,) = struct.unpack_from("<" + code, self.data, self.offset)
        self.offset += struct.calcsize("<" + code)
        return value

    def text(self) -> str:
        return str(self.bytes(self.take("Q")), "utf-8")

    def bytes(self, length: int) -> memoryview:
        if length > len(self.data) - self.offset:
            raise ValueError("it is cut short")
        self.offset += length
        return self.data[self.offset - length : self.offset]

    def value(self, kind: int) -> Any:
        if kind == 8:
            return self.text()
        if kind != 9:
            return self.take(SCALARS[kind])
        kind, length = self.take("I"), self.take("Q")
        if length > len(self.data):
            raise ValueError("it is cut short")
        return [self.value(kind) for _ in range(length)]


def read_gguf(path: str | Path) -> tuple[dict[str, Any], dict[str, Packed]]:
    """The settings and the packed tensors of a GGUF file, version 3.

    Raises ValueError for another file, one that is cut short, or weights that are packed in
    another way than F32, F16, Q4_1 and Q8_0; FileNotFoundError if there is none.
    """
    data = np.memmap(path, np.uint8, "r") if Path(path).stat().st_size else np.zeros(0, np.uint8)
    reader = _Reader(data)
    try:
        magic, version = bytes(reader.bytes(4)), reader.take("I")
        if magic != b"GGUF" or version != 3:
            raise ValueError(f"it begins {magic!r}, version {version}: expected b'GGUF', version 3")
        n_tensors, n_settings = reader.take("Q"), reader.take("Q")
        settings = {reader.text(): reader.value(reader.take("I")) for _ in range(n_settings)}
        tensor_infos = []
        for _ in range(n_tensors):
            name = reader.text()
            shape = tuple(reader.take("Q") for _ in range(reader.take("I")))[::-1]
            tensor_infos.append((name, shape, reader.take("I"), reader.take("Q")))
        alignment = settings.get("general.alignment", 32)
        distinct = len({name for name, *_ in tensor_infos}) == n_tensors
        if not isinstance(alignment, int) or alignment < 1 or not distinct:
            raise ValueError(f"general.alignment={alignment!r}, or two tensors of one name")
        start = -(-reader.offset // alignment) * alignment
        return settings, {name: _packed(data, start, name, *info) for name, *info in tensor_infos}
    except (ValueError, TypeError, KeyError, struct.error, RecursionError) as error:
        raise ValueError(f"{path} is not a GGUF file that can be read: {error}") from error


def _packed(
    data: np.ndarray, start: int, name: str, shape: tuple[int, ...], kind: int, offset: int
) -> Packed:
    if kind not in KINDS:
        names = ", ".join(known for known, _, _ in KINDS.values())
        raise ValueError(f"{name} is packed as kind {kind}, expected one of {names}")
    _, block_weights, block_bytes = KINDS[kind]
    n = math.prod(shape)
    packed = data[start + offset : start + offset + n // block_weights * block_bytes]
    if n % block_weights or len(packed) != n // block_weights * block_bytes:
        raise ValueError(f"{name} of shape {shape} is cut short")
    return Packed(kind, shape, packed.reshape(-1, block_bytes))


def unpack(tensor: Packed) -> np.ndarray:
    """The weights as float32, of the tensor's shape.

    Q8_0: 32 whole numbers of 8 bits, times a scale. Q4_1: 32 whole numbers from 0 to 15, times a
    scale, plus a minimum. Scale and minimum are float16 and stand before them; of two numbers in a
    byte the lower four bits belong to the first half of the block.
    """
    name, blocks = KINDS[tensor.kind][0], tensor.blocks

    def float16_at(start: int) -> np.ndarray:  # (blocks, 1)
        return blocks[:, start : start + 2].copy().view(np.float16).astype(np.float32)

    if name == "F32":
        weights = blocks.copy().view(np.float32)
    elif name == "F16":
        weights = float16_at(0)
    elif name == "Q8_0":
        weights = float16_at(0) * blocks[:, 2:].view(np.int8)
    else:  # Q4_1
        weights = float16_at(0) * np.hstack((blocks[:, 4:] & 15, blocks[:, 4:] >> 4))
        weights += float16_at(2)
    return weights.reshape(tensor.shape)
