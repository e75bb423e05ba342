"""Run a check in a thread of its own: bounded in time and memory, with its own random numbers.

It is no security sandbox: a function that deletes files does so.
"""

from __future__ import annotations

import contextlib
import contextvars
import ctypes
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

LIMIT = 5.0  # seconds for a whole check
MEMORY = 600 * 2**20  # bytes that the process may grow by during a check
PAUSE = 0.02  # seconds between two looks at the worker


@contextlib.contextmanager
def own_randomness() -> Iterator[None]:
    """Fixed global seeds inside (the verdict depends on no one's seed), the old states after."""
    generators: list[tuple[Callable, Callable, Callable]]
    generators = [(random.getstate, random.seed, random.setstate)]
    if numpy := sys.modules.get("numpy"):
        generators.append((numpy.random.get_state, numpy.random.seed, numpy.random.set_state))
    if torch := sys.modules.get("torch"):
        seed = torch.default_generator.manual_seed  # torch.manual_seed would reset GPUs too
        generators.append((torch.get_rng_state, seed, torch.set_rng_state))
    states = [get() for get, _, _ in generators]
    for _, set_seed, _ in generators:
        set_seed(0)
    try:
        yield
    finally:
        for (_, _, restore), state in zip(generators, states, strict=True):
            restore(state)


def memory() -> int:
    """Bytes of memory that this process holds now; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
        return pages * 4096
    except (OSError, ValueError):
        return 0


class Worker(threading.Thread):
    """Runs `work` and keeps its result; `problem` says which limit ended it, if one did."""

    def __init__(self, work: Callable[[], Any], limit: float):
        super().__init__(daemon=True)
        self.work, self.problem = work, ""
        self.result: Any = None
        self.events = 0
        self.limit, self.deadline, self.allowed = limit, time.monotonic() + limit, memory() + MEMORY
        self.context = contextvars.copy_context()  # so that prints reach the learner's own cell

    def look(self) -> None:
        """Set `problem` once the time or the memory is spent."""
        if time.monotonic() > self.deadline:
            self.problem = f"did not come back within {self.limit:g} seconds"
        elif memory() > self.allowed:
            self.problem = f"filled more than {MEMORY // 2**20} MB of memory"

    def run(self) -> None:
        """Called by the new thread."""
        if sys.version_info < (3, 11):  # there some loops never let another thread run
            sys.settrace(self._stop_late)
        # `SystemExit` itself, no subclass: it is the one exception a thread dies of silently.
        with contextlib.suppress(SystemExit):
            self.result = self.context.run(self.work)

    def _stop_late(self, frame: Any, event: str, arg: Any) -> Any:
        self.events += 1
        if self.events % 100 == 0:  # a look reads a file: not at every line
            self.look()
        if self.problem:
            raise SystemExit
        return self._stop_late

    def finish(self) -> bool:
        """Wait for the result, stop the thread at a limit; False if it cannot be stopped."""
        try:
            while self.is_alive() and not self.problem:
                self.join(PAUSE)
                self.look()
            if not self.is_alive() and self.result is not None:
                self.problem = ""  # it ended on its own, if late by one look
        except BaseException:  # the reader interrupts the wait
            self.problem = "was interrupted"
            raise
        finally:
            for _ in range(40):  # again and again: a bare `except:` may swallow the first ones
                if not self.is_alive():
                    break
                ident = ctypes.c_ulong(self.ident or 0)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(SystemExit))
                self.join(0.025)
        return not self.is_alive()


def is_being_stopped() -> bool:
    """Whether the thread that asks is a worker which has reached a limit."""
    return bool(getattr(threading.current_thread(), "problem", ""))
