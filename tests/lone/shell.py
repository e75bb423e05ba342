"""Run notebooks, each in a process and a namespace of its own, which all have PyTorch from here.

Reads the paths of notebooks from stdin, runs all cells in the notebook's folder until one fails,
and prints a line for each: the error as JSON, or null. That a real kernel runs the same cells is
what tests of stored outputs show; here 24 of them would import the same libraries again.
"""

import importlib
import json
import os
import sys
import traceback
from pathlib import Path

import IPython.core.interactiveshell
import torch  # noqa: F401  (imported once, for all)


def error_of(notebook: Path) -> str | None:
    """The cell that failed and its traceback, if one did."""
    os.chdir(notebook.parent)
    sys.path[0] = ""
    importlib.invalidate_caches()
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    shell = IPython.core.interactiveshell.InteractiveShell.instance()
    for source in ("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"):
        result = shell.run_cell(source, store_history=True)
        if error := result.error_before_exec or result.error_in_exec:
            return "".join([source, "\n\n", *traceback.format_exception(error)])[:6000]
    return None


def main() -> None:
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"  # as a kernel has it
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what cells print
    for line in sys.stdin:
        read, write = os.pipe()
        child = os.fork()
        if not child:
            os.write(write, json.dumps(error_of(Path(line.strip()))).encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as pipe:
            answer = pipe.read()
        os.waitpid(child, 0)
        print(answer or '"the process has died"', file=answers, flush=True)


if __name__ == "__main__":
    main()
