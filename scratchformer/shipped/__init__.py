"""What travels with the package already trained: `GPT.pretrained(name)` and its tokenizer.

Each folder holds model.safetensors in float16, tokenizer.json, and record.json: how it was trained
and what it scored. `benchmarks/ship.py` writes them.
"""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


def shipped_folder(name: str) -> Path:
    """The folder of a shipped model. Raises ValueError if there is none of this name."""
    names = sorted(path.parent.name for path in FOLDER.glob("*/model.safetensors"))
    if name not in names:
        raise ValueError(f"no shipped model {name!r}: there are {', '.join(names) or 'none'}")
    return FOLDER / name


def shipped_record(name: str) -> dict[str, Any]:
    """How a shipped model was trained, and what it scored. Raises as `shipped_folder` does."""
    return json.loads((shipped_folder(name) / "record.json").read_text(encoding="utf-8"))
