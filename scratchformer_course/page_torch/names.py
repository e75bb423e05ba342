"""What real PyTorch knows. A name of these that is missing here is not a reader's mistake.

`names.json` is written by `python -m scratchformer_course.page_torch.names` where PyTorch is
installed, and a test compares the two.
"""

import json
from pathlib import Path

FILE = Path(__file__).with_name("names.json")
KNOWN: dict[str, frozenset[str]] = {}


def installed() -> dict[str, list[str]]:
    """The public names of the installed PyTorch, by where they stand."""
    import torch

    rooms = {
        "torch": torch,
        "Tensor": torch.Tensor,
        "nn": torch.nn,
        "functional": torch.nn.functional,
        "init": torch.nn.init,
        "utils": torch.nn.utils,
        "optim": torch.optim,
        "linalg": torch.linalg,
        "autograd": torch.autograd,
    }
    classes = [x for x in vars(torch.nn).values() if isinstance(x, type)]
    modules = [x for x in classes if issubclass(x, torch.nn.Module)]
    own = {name for x in modules for name in (*dir(x), *getattr(x, "__annotations__", ()))}
    own |= {name for x in modules for name in getattr(x, "__constants__", ())}
    found = {"modules": sorted(name for name in own if not name.startswith("_"))}
    return found | {
        room: sorted(name for name in dir(of) if not name.startswith("_"))
        for room, of in rooms.items()
    }


if FILE.is_file():
    KNOWN |= {
        room: frozenset(text.split()) for room, text in json.loads(FILE.read_text("utf-8")).items()
    }

if __name__ == "__main__":
    rooms = {room: " ".join(names) for room, names in installed().items()}
    FILE.write_text(json.dumps(rooms, indent=1) + "\n", encoding="utf-8")
