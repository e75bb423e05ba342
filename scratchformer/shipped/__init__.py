"""What travels with the package already trained: models, checkpoints and their tokenizers.

Each folder holds tokenizer.json and record.json: how it was trained and what it scored. A model's
has model.safetensors in float16 (`GPT.pretrained(name)`; `benchmarks/ship.py` writes it), and one
with a model at many steps has checkpoints.safetensors (`load_checkpoints(name)`;
`benchmarks/time_machine.py`).
"""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
MODEL, CHECKPOINTS = "model.safetensors", "checkpoints.safetensors"
KINDS = {MODEL: "shipped model", CHECKPOINTS: "shipped checkpoints"}


def shipped_folder(name: str, file: str = MODEL) -> Path:
    """The folder of this name, with this file in it. Raises ValueError if there is none."""
    names = sorted(path.parent.name for path in FOLDER.glob(f"*/{file}"))
    if name not in names:
        kind = KINDS.get(file, f"shipped {file}")
        raise ValueError(f"no {kind} {name!r}: there are {', '.join(names) or 'none'}")
    return FOLDER / name


def shipped_record(name: str) -> dict[str, Any]:
    """How it was trained, and what it scored. Raises ValueError for an unknown name."""
    file = "record.json"
    return json.loads((shipped_folder(name, file) / file).read_text(encoding="utf-8"))
