"""Ctrl-C and `kill` wait for the step in progress, so that a run stops where it can be saved."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from scratchformer.training import distributed


@contextmanager
def signals_held_back() -> Iterator[list[int]]:
    """The list holds the signals that came. A second one raises KeyboardInterrupt at once.

    Of several processes none stops at once: the second signal may be torchrun's copy of the
    first. Python allows handlers in the main thread only; elsewhere signals act as they always do.
    """
    received: list[int] = []
    alone = distributed.world_size() == 1

    def hold(number: int, frame) -> None:
        if received and alone:
            raise KeyboardInterrupt
        received.append(number)

    if threading.current_thread() is not threading.main_thread():
        yield received
        return
    before = {number: signal.signal(number, hold) for number in (signal.SIGINT, signal.SIGTERM)}
    restore = True
    try:
        yield received
    except RuntimeError:
        # A lost process ends the others by this error. Torchrun then sends them a signal, which
        # must not come before they have said why they end.
        restore = alone
        raise
    finally:
        for number, handler in before.items() if restore else ():
            signal.signal(number, handler)
