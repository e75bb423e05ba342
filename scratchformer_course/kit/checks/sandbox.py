"""Where a check runs: with fixed seeds, and with an alarm that ends a loop without end.

It is no security sandbox: code of strangers belongs in a container.
"""

import contextlib
import random
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from typing import Any

LIMIT = 5.0  # seconds for a whole check
SEED = 0


class TooLate(BaseException):
    """The alarm: a learner's `except Exception` does not catch it."""


@contextlib.contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raise `TooLate` inside after these seconds (0: never), then each second until it gets out.

    Windows has no such alarm, and only the main thread hears it: elsewhere a loop without end goes
    on until the reader interrupts it. A page ends the worker in which Python runs (page-python.js).
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or not hasattr(signal, "setitimer"):
        yield
        return

    def ring(signal_number: int, frame: Any) -> None:
        files = (above.f_code.co_filename for above, _ in traceback.walk_stack(frame))
        if not any("importlib" in file for file in files):  # half a module would stay
            raise TooLate

    handler = signal.signal(signal.SIGALRM, ring)
    timer = signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        try:
            yield
        finally:  # the alarm may ring even now, and then the outer `finally` has a second
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, handler)


@contextlib.contextmanager
def seeded() -> Iterator[None]:
    """Fixed seeds inside, for Python, NumPy and PyTorch; after it, their states of before."""
    states = [(random.setstate, random.getstate())]
    random.seed(SEED)
    if numpy := sys.modules.get("numpy"):
        states.append((numpy.random.set_state, numpy.random.get_state()))
        numpy.random.seed(SEED)
    if torch := sys.modules.get("torch"):
        states.append((torch.set_rng_state, torch.get_rng_state()))
        torch.default_generator.manual_seed(SEED)  # `torch.manual_seed` would reset GPUs too
    try:
        yield
    finally:
        for put_back, state in states:
            put_back(state)
