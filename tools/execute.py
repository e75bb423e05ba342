"""`make execute`: run the notebooks in place, in order, and store their outputs.

Usage: python -m tools.execute [NAME …], where a NAME is part of a file's name: `01`, `bpe`.
A notebook that fails is left as it was; the others are still run. Without the real corpora nothing
is run: outputs of their stand-ins are not to be stored.
"""

import math
import os
import sys
import time
import warnings
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

from tools.stand_ins import missing, real_model_is_missing

ROOT = Path(__file__).resolve().parent.parent


def execute(path: Path) -> str | None:
    """Run one notebook and replace its file; the error's last lines if a cell failed.

    Its moment and its facts stay, with the seconds that this execution took.
    """
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,  # what a cell prints is one output, however slowly it came
        extra_arguments=["--log-level=50"],  # the kernel talks to the screen only of disasters
        resources={"metadata": {"path": str(path.parent)}},
    )
    start = time.perf_counter()
    try:
        client.execute()
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        return f"FAILED\n{str(error)[-2000:]}"
    facts = dict(notebook.metadata.get("course", {}))
    facts["seconds"] = about(time.perf_counter() - start, facts.get("seconds", 0))
    notebook.metadata = {
        **({"moment": notebook.metadata.moment} if "moment" in notebook.metadata else {}),
        "course": facts,
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    unfinished = path.with_suffix(".part")
    nbformat.write(notebook, unfinished)
    unfinished.replace(path)
    return None


def about(seconds: float, stored: int) -> int:
    """The time to store: one digit of it, or what is stored if that is off by a third at most."""
    if 2 / 3 <= seconds / (stored or math.inf) <= 4 / 3:
        return stored
    unit = 10 ** math.floor(math.log10(max(seconds, 1)))
    return max(1, round(seconds / unit) * unit)


def main(wanted: list[str]) -> int:
    paths = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))
    paths = [p for p in paths if not wanted or any(name in p.name for name in wanted)]
    if not paths:
        print(f"no notebook is called like {' or '.join(wanted)}")
        return 2
    if absent := missing():
        print(f"not found: {', '.join(absent)}. Connect once, or see book/how_to_use.md")
        return 2
    for path in paths:
        if reason := real_model_is_missing(path):  # its cells would lose their outputs
            print(reason)
            return 2
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ["SCRATCHFORMER_BUDGET"] = "cpu"  # what is stored is the CPU's
    os.environ["SCRATCHFORMER_LIVE"] = "stored"  # the site brings scripts and weights
    warnings.simplefilter("ignore")
    failed = False
    for i, path in enumerate(paths, 1):
        print(f"[{i}/{len(paths)}] {path.name} … ", end="", flush=True)
        start = time.perf_counter()
        error = execute(path)
        print(f"{time.perf_counter() - start:.0f} s {error or ''}", flush=True)
        failed |= error is not None
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
