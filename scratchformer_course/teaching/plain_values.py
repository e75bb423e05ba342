"""Values on their way out of a student's process: JSON, and tensors as safetensors.

Nothing that is read here can run code, whoever has written it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from scratchformer_course.kit.checks.compare import is_tensor


def pack(values: list) -> str:
    """Text that `unpack` reads; a value of a kind that cannot be sent becomes `...`."""
    tensors: dict[str, Any] = {}
    tree = [_packed(value, tensors) for value in values]
    blob = b""
    if tensors:
        from safetensors.torch import save

        blob = save(tensors)
    return json.dumps([tree, base64.b64encode(blob).decode()])


def _packed(value: Any, tensors: dict[str, Any]) -> Any:
    """The value for JSON, in which each list begins with the name of its kind."""
    if is_tensor(value):
        name = str(len(tensors))
        dense = value.detach() if value.layout.__repr__() == "torch.strided" else value.to_dense()
        tensors[name] = dense.cpu().contiguous().clone()
        return ["tensor", name]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes):
        return ["bytes", value.hex()]
    if isinstance(value, list | tuple):
        kind = "list" if isinstance(value, list) else "tuple"
        return [kind, *(_packed(item, tensors) for item in value)]
    if isinstance(value, Mapping):
        return ["dict", *([_packed(k, tensors), _packed(v, tensors)] for k, v in value.items())]
    if hasattr(value, "tolist"):  # NumPy's
        return _packed(value.tolist(), tensors)
    return ["other"]


def unpack(text: str) -> list:
    """The values of `pack`. ValueError if this is no such text."""
    try:
        tree, blob = json.loads(text)
        tensors = {}
        if blob:
            from safetensors.torch import load

            tensors = load(base64.b64decode(blob))
        return [_unpacked(each, tensors) for each in tree]
    except Exception as error:
        raise ValueError(f"expected packed values, got {text[:40]!r}") from error


def _unpacked(part: Any, tensors: dict[str, Any]) -> Any:
    match part:
        case ["tensor", name]:
            return tensors[name]
        case ["bytes", digits]:
            return bytes.fromhex(digits)
        case ["list", *items]:
            return [_unpacked(item, tensors) for item in items]
        case ["tuple", *items]:
            return tuple(_unpacked(item, tensors) for item in items)
        case ["dict", *pairs]:
            return {_unpacked(k, tensors): _unpacked(v, tensors) for k, v in pairs}
        case [*_]:
            return ...
    return part
