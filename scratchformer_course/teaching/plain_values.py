"""Values on their way out of a student's process, as JSON: it runs no code, whoever wrote it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from scratchformer_course.kit.checks.compare import is_tensor


def pack(values: list) -> str:
    """Text that `unpack` reads; a value of a kind that cannot be sent becomes `...`."""
    return json.dumps([_packed(value) for value in values])


def _packed(value: Any) -> Any:
    """The value for JSON, in which each list begins with the name of its kind."""
    if is_tensor(value):
        dense = value.detach().to_dense().flatten()
        return ["tensor", str(value.dtype)[6:], [*value.shape], dense.tolist()]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes):
        return ["bytes", value.hex()]
    if isinstance(value, list | tuple):
        return ["list" if isinstance(value, list) else "tuple", *map(_packed, value)]
    if isinstance(value, Mapping):
        return ["dict", *([_packed(key), _packed(item)] for key, item in value.items())]
    return _packed(value.tolist()) if hasattr(value, "tolist") else ["other"]  # NumPy's


def unpack(text: str) -> list:
    """The values of `pack`. ValueError if this is no such text."""
    try:
        return [_unpacked(each) for each in json.loads(text)]
    except Exception as error:
        raise ValueError(f"expected packed values, got {text[:40]!r}") from error


def _unpacked(part: Any) -> Any:
    match part:
        case ["tensor", dtype, shape, numbers]:
            import torch

            return torch.tensor(numbers, dtype=getattr(torch, dtype)).view(shape)
        case ["bytes", digits]:
            return bytes.fromhex(digits)
        case ["list" | "tuple" as kind, *items]:
            return (list if kind == "list" else tuple)(map(_unpacked, items))
        case ["dict", *pairs]:
            return {_unpacked(key): _unpacked(item) for key, item in pairs}
        case [*_]:
            return ...
    return part
