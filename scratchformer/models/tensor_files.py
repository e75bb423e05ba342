"""Tensors and a record on disk: one safetensors file, written in one step, with a checksum.

Those of others may lie in several, with an index.

Models and checkpoints of training runs are such files. It knows neither; what the record says is
for its writer to choose. There is no pickle.
"""

import json
import zlib
from pathlib import Path

import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from scratchformer.files import atomic_write, read_json, remove_parts, to_json

RECORD = "scratchformer"  # the header's entry that is ours
INDEX = "model.safetensors.index.json"  # which of several files a tensor is in, for a large model


def write_tensors(
    path: str | Path, tensors: dict[str, Tensor], record: dict, **metadata: str
) -> None:
    """Write tensors, and a `record` for JSON in the file's header, to `path` in one step.

    Record and checksum are one entry of the header, since the order of several would vary, and the
    same model could be two different files. `metadata` is for entries that other programs look
    for. After an error or a crash `path` is what it was. What killed writers left beside it is
    removed: a file has one writer at a time. Raises OSError if the disk is full.
    """
    remove_parts(path)
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    record = json.loads(to_json(record))
    entry = {"crc32": _checksum(record, tensors), "record": record}
    try:
        with atomic_write(path) as part:
            safetensors.torch.save_file(tensors, part, {RECORD: json.dumps(entry), **metadata})
    except SafetensorError as error:  # what it makes of a full disk
        raise OSError(f"{path} cannot be written: {error}") from error


def read_record(path: str | Path) -> dict:
    """The record in a file's header; {} in a file of another writer. Errors are `read_tensors`'."""
    return _read_entry(path)["record"]


def read_tensors(path: str | Path) -> tuple[dict[str, Tensor], dict]:
    """The tensors, mapped from the file, and the record; {} in a file of another writer.

    Raises ValueError if the file is no safetensors file, is cut short, or holds other numbers than
    those that were written; FileNotFoundError if there is none.
    """
    entry = _read_entry(path)
    tensors = safetensors.torch.load_file(path)
    if "crc32" in entry and entry["crc32"] != _checksum(entry["record"], tensors):
        raise ValueError(f"{path} is damaged: its numbers are not those that were written")
    return tensors, entry["record"]


def shards_of(index: Path) -> dict[str, list[str]]:
    """The files that an index names, all beside it, and the tensors in each."""
    names: dict[str, list[str]] = {}
    for tensor, file in read_json(index)["weight_map"].items():
        if Path(file).name != file or "\\" in file or ":" in file:
            raise ValueError(f"{index.name} names {file!r}, expected a file beside it")
        names.setdefault(file, []).append(tensor)
    return names


def read_shards(index: Path) -> dict[str, Tensor]:
    """All tensors of the files that an index names; each must hold those that the index says."""
    weights: dict[str, Tensor] = {}
    try:
        shards = shards_of(index)
    except (KeyError, AttributeError) as error:
        raise ValueError(f"{index.name} is no index of weights: {error!r}") from error
    for file, names in shards.items():
        shard, _ = read_tensors(index.with_name(file))
        if others := set(names) ^ set(shard):
            name = min(others)
            where = "is" if name in shard else "is not"
            raise ValueError(f"{name} {where} in {file}, and {index.name} says otherwise")
        weights |= shard
    return weights


def _read_entry(path: str | Path) -> dict:
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no file {path}")
    try:
        with safe_open(path, "pt") as file:
            text = (file.metadata() or {}).get(RECORD, '{"record": {}}')
        entry = json.loads(text)
        dict(entry["record"])
    except (SafetensorError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"{path} is not a complete safetensors file ({error})") from error
    return entry


def _checksum(record: dict, tensors: dict[str, Tensor]) -> str:
    """CRC-32 of the record, and of names and bytes in the order of the names."""
    crc = zlib.crc32(json.dumps(record).encode())
    for name in sorted(tensors):
        data = tensors[name].reshape(-1).view(torch.uint8).numpy().data
        crc = zlib.crc32(data, zlib.crc32(name.encode(), crc))
    return f"{crc:08x}"
