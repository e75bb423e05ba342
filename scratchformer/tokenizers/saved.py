"""Tokenizers on disk: one readable JSON file, written whole or not at all."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from scratchformer.files import atomic_write, read_json

T = TypeVar("T")


def refuse_surrogates(text: str, what: str) -> None:
    """Raise ValueError, with the place, for half a UTF-16 pair: no file could hold it as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        i = error.start
        raise ValueError(
            f"character {i:,} of {what} is {text[i]!r}, half of a pair of UTF-16, expected text "
            "that was decoded without errors"
        ) from None


def write_json(path: str | Path, kind: str, content: dict) -> None:
    """Write `content`, marked as a tokenizer of this `kind`, replacing `path` in one step."""
    text = json.dumps({"tokenizer": kind, **content}, ensure_ascii=False, indent=1)
    with atomic_write(path) as part:
        part.write_text(text, encoding="utf-8")


def load_json(
    path: str | Path, kind: str, make: Callable[..., T], *keys: str, **optional: Any
) -> T:
    """`make` of the values of `keys` in a file that `write_json` wrote.

    Then of those of the `optional` keys; older files lack them, and the given value counts. Raises
    ValueError, which names the file, if it is no such file or is damaged.
    """
    try:
        content = read_json(path)
        saved_kind = content["tokenizer"]
    except (ValueError, KeyError) as error:
        raise ValueError(f"{path} is not a saved tokenizer ({error})") from error
    if saved_kind != kind:
        raise ValueError(f"{path} holds a {saved_kind}, expected a {kind}")
    if missing := [key for key in keys if key not in content]:
        raise ValueError(f"{path} is not a whole {kind}: {missing[0]!r} is missing")
    values = [content[key] for key in keys] + [content.get(k, v) for k, v in optional.items()]
    try:
        return make(*values)
    except (ValueError, TypeError, AttributeError, LookupError) as error:
        raise ValueError(f"{path} is damaged: {error}") from error
