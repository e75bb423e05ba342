"""A process of its own for each answer of a notebook, bounded in seconds, memory and rights.

On Linux it has namespaces of its own, where the system grants them: no network, a read-only disk,
and no process but its own. Everywhere it has an empty folder, none of the variables of the
environment that may hold secrets, and the hook of `guard.py`. What it prints goes nowhere.

The verdict is made beside the student's code, in one process, since many checks look at objects.
Values, however, are compared by who asks (`points.py`), and most changes of a check are noticed.
A student who knows the interpreter well could still forge a verdict where an exercise has no cases,
and read what is readable. A grade on which much depends wants a container around it all.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import secrets
import subprocess
import sys
import tempfile
from typing import Any

from scratchformer.files import cache_folder
from scratchformer_course.teaching import guard

START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
START += "from scratchformer_course.teaching.examiner import main; main()"
ISOLATED = ["unshare", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child"]
PATIENCE = 60.0  # seconds that a process may take to start
ALIKE = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "PYTHONHASHSEED": "0", "MPLBACKEND": "Agg"}
KEPT = ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH", "LANG", "TIKTOKEN_CACHE_DIR")


@functools.cache
def isolation() -> list[str]:
    """The command before the command that gives a process namespaces of its own, if one may."""
    with contextlib.suppress(OSError):
        if subprocess.run([*ISOLATED, "true"], capture_output=True).returncode == 0:
            return ISOLATED
    return []


def examine(
    cells: list[str], chapter: str, number: str, seed: int, seconds: float
) -> dict[str, Any]:
    """What `examiner.py` says of the answer to exercise `number` in these cells.

    Keys: "state", "message", "values", and "changed", the name of a part of the checker that is no
    longer what it was. A process that ends without an answer has the state "try again". Raises
    RuntimeError if none can be started.
    """
    word = secrets.token_hex(16)
    job = {"cells": cells, "chapter": chapter, "number": number, "seed": seed, "word": word}
    job |= {"seconds": seconds, "is_isolated": bool(isolation())}
    path = json.dumps([os.path.abspath(folder) for folder in sys.path])
    why = "The notebook ends the process in which it is graded, or fills its memory."
    late = f"It did not end within {seconds:g} seconds: is there a loop that never ends?"
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        reply, errors = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(2))
        try:
            subprocess.run(
                [*isolation(), sys.executable, "-s", "-B", "-c", START, path],
                input=json.dumps(job).encode(),
                stdout=reply,
                stderr=errors,
                cwd=folder,
                env=_environment(folder),
                start_new_session=True,
                timeout=seconds + PATIENCE,
            )
        except subprocess.TimeoutExpired:
            why = late
        reply.seek(0)
        errors.seek(0)
        said, told = reply.read(guard.LARGEST), errors.read(guard.LARGEST).decode(errors="replace")
    if "Traceback" in told:
        raise RuntimeError(f"no process for exercise {number}: {told.splitlines()[-1]}")
    for line in reversed(said.splitlines()):
        if line.startswith(word.encode()):
            with contextlib.suppress(ValueError):  # it is cut off
                answer = json.loads(line.partition(b" ")[2])
                if isinstance(answer, dict) and "changed" in answer:
                    return answer
            why = f"Its values are too large: more than {guard.LARGEST // 2**20} MB."
            break
    return {"state": "try again", "message": late if b"Timeout (" in said else why}


def _environment(folder: str) -> dict[str, str]:
    """What a student's process knows of this one's variables."""
    course = {k: v for k, v in os.environ.items() if k in KEPT or k.startswith("SCRATCHFORMER_")}
    places = dict.fromkeys(("HOME", "USERPROFILE", "TMPDIR", "TEMP", "TMP"), folder)
    cache = {"SCRATCHFORMER_CACHE": os.path.abspath(cache_folder())}
    return {**course, **places, **cache, **ALIKE}
