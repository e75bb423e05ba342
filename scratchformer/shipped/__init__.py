"""Trained models that travel with the package, and their tokenizers.

Each folder holds model.safetensors in float16 (`GPT.pretrained(name)`; `lab/ship.py` writes it),
tokenizer.json and record.json: how the model was trained and what it scored.
"""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


def shipped_folder(name: str) -> Path:
    """The folder of the model of this name. Raises ValueError if there is none."""
    names = sorted(path.parent.name for path in FOLDER.glob("*/model.safetensors"))
    if name not in names:
        raise ValueError(f"no shipped model {name!r}: there are {', '.join(names) or 'none'}")
    return FOLDER / name


def shipped_record(name: str) -> dict[str, Any]:
    """How it was trained, and what it scored. Raises ValueError for an unknown name."""
    return json.loads((shipped_folder(name) / "record.json").read_text(encoding="utf-8"))
