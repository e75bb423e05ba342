"""What the benchmarks have stored, for chapters to quote: a notebook opened alone has it too.

Each file is written by the script of its name in `lab/`, with `--write`, and holds its
settings and seeds, and where they matter the versions and the hardware. Nothing here measures
anything.
"""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


def load_measurements(name: str) -> dict[str, Any]:
    """What lab/NAME.py has stored. Raises ValueError if there is no such file."""
    file = FOLDER / f"{name}.json"
    if not file.is_file():
        known = ", ".join(sorted(path.stem for path in FOLDER.glob("*.json")))
        raise ValueError(f"no measurements {name!r}: there are {known}")
    return json.loads(file.read_text(encoding="utf-8"))
