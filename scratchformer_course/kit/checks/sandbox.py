"""Where a check runs: a small interface, and a thread behind it, bounded in time and memory.

A page has no threads: Python runs in a worker of the browser there, which the page can end.

It is no security sandbox: a function that deletes files does so, one that ends the process too, and
a call into C that never comes back holds everything. Such an answer needs a process of its own.
"""

from __future__ import annotations

import contextlib
import contextvars
import ctypes
import sys
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from scratchformer_course.kit.checks.state import own_state

LIMIT = 5.0  # seconds for a whole check
MEMORY = 600 * 2**20  # bytes that the process may grow by during a check
PAUSE = 0.02  # seconds between two looks at the worker
_left: list[threading.Thread] = []  # threads that could not be stopped
_worker: contextvars.ContextVar[Callable[[], Worker | None]] = contextvars.ContextVar("worker")


@dataclass(frozen=True)
class Ended:
    """How a piece of work ended: its result, or in `problem` the limit that it reached."""

    result: Any = None
    problem: str = ""
    is_stopped: bool = True  # False if it still runs


class Runner(Protocol):
    """Where a check runs: in a thread, in a process of its own, or, in a page, in the only thread.

    What runs returns a `Verdict`, which can be sent from one process to another.
    """

    def __call__(self, work: Callable[[], Any], limit: float) -> Ended:
        """Do the work, for about `limit` seconds at most; it raises no error of its own."""


def in_thread(work: Callable[[], Any], limit: float) -> Ended:
    """The runner of notebooks: it shares the memory, and gives back each state it may change."""
    with own_state():
        worker = Worker(work, limit)
        worker.start()
        is_stopped = worker.finish()
    if not is_stopped:
        _left.append(worker)
    return Ended(worker.result, worker.problem, is_stopped)


def in_turn(work: Callable[[], Any], limit: float) -> Ended:
    """The runner of a page: in the only thread, where every line looks at the clock."""
    traced = sys.gettrace()
    with own_state():
        worker = Worker(work, limit, is_traced=True)
        try:
            worker.run()
        finally:
            sys.settrace(traced)
    return Ended(worker.result, "" if worker.result is not None else worker.problem)


usual: Runner = in_turn if sys.platform == "emscripten" else in_thread


def memory() -> int:
    """Bytes of memory that this process holds now; 0 where the system does not tell.

    It calls nothing that is written in Python: a learner's function may have replaced `len`.
    """
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * 4096
    except (OSError, ValueError):
        return 0


class Worker(threading.Thread):
    """Runs `work` and keeps its result; `problem` says which limit ended it, if one did."""

    def __init__(self, work: Callable[[], Any], limit: float, is_traced: bool = False):
        super().__init__(daemon=True)
        self.work, self.problem = work, ""
        self.result: Any = None
        # before Python 3.11 some loops never let another thread run
        self.is_traced = is_traced or sys.version_info < (3, 11)
        self.events = 0
        self.limit, self.deadline, self.allowed = limit, time.monotonic() + limit, memory() + MEMORY
        self.context = contextvars.copy_context()  # so that prints reach the learner's own cell
        self.context.run(_worker.set, weakref.ref(self))  # a plain one would be a circle

    def look(self) -> None:
        """Set `problem` once the time or the memory is spent."""
        if time.monotonic() > self.deadline:
            self.problem = f"did not come back within {self.limit:g} seconds"
        elif memory() > self.allowed and not any(thread.is_alive() for thread in _left):
            self.problem = f"filled more than {MEMORY // 2**20} MB of memory"

    def run(self) -> None:
        """Called by the new thread, if there is one."""
        if self.is_traced:
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
    """Whether who asks runs for a worker that has reached a limit."""
    worker = _worker.get(lambda: None)()
    return worker is not None and bool(worker.problem)
