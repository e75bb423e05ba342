"""What a check may change of its process, put back afterwards: settings, folder, output, numbers.

Inside, the settings are those that a fresh program has, so that a verdict depends on no notebook.
"""

from __future__ import annotations

import builtins
import contextlib
import os
import random
import sys
import warnings
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

SEED = 0


@contextlib.contextmanager
def own_state() -> Iterator[None]:
    """Fixed seeds and default settings inside; all that was there before, after.

    Held are the states of random numbers, PyTorch's and NumPy's settings, what is printed and
    warned of, the working folder, the environment, the import path, the limit of recursion, and
    Python's own functions. Names of other modules that a check replaces stay replaced.
    """
    with contextlib.ExitStack() as after:
        for get, default, put_back in _states():
            with contextlib.suppress(OSError):  # a working folder may be gone
                after.callback(_quietly, put_back, get())
            default()
        yield


def _quietly(put_back: Callable, state: Any) -> None:
    with contextlib.suppress(OSError):
        put_back(state)


def _states() -> Iterator[tuple[Callable, Callable, Callable]]:
    """How each state is read, set to what a check finds, and put back."""

    def as_it_is() -> None:
        pass

    yield random.getstate, lambda: random.seed(SEED), random.setstate
    yield os.getcwd, as_it_is, os.chdir
    yield sys.getrecursionlimit, as_it_is, sys.setrecursionlimit
    yield os.environ.copy, as_it_is, lambda old: _restore(os.environ, old)
    for owner, names in (
        (sys, ("stdin", "stdout", "stderr", "excepthook", "displayhook")),
        (warnings, ("showwarning", "formatwarning")),
    ):
        for name in names:
            get = lambda owner=owner, name=name: getattr(owner, name)  # noqa: E731
            yield get, as_it_is, lambda old, owner=owner, name=name: setattr(owner, name, old)
    for listed in (warnings.filters, sys.path):
        yield (
            lambda listed=listed: [*listed],
            as_it_is,
            lambda old, listed=listed: listed.__setitem__(slice(None), old),
        )
    if numpy := sys.modules.get("numpy"):
        seed = lambda: numpy.random.seed(SEED)  # noqa: E731
        yield numpy.random.get_state, seed, numpy.random.set_state
        yield numpy.get_printoptions, as_it_is, lambda old: numpy.set_printoptions(**old)
    if torch := sys.modules.get("torch"):
        yield from _states_of_torch(torch)
    own = vars(builtins)  # put back first, since all others need them
    yield own.copy, as_it_is, lambda old: _restore(own, old)


def _states_of_torch(torch: Any) -> Iterator[tuple[Callable, Callable, Callable]]:
    seed = torch.default_generator.manual_seed  # `torch.manual_seed` would reset GPUs too
    yield torch.get_rng_state, lambda: seed(SEED), torch.set_rng_state
    set_dtype = torch.set_default_dtype
    yield torch.get_default_dtype, lambda: set_dtype(torch.float32), set_dtype
    determined = torch.use_deterministic_algorithms
    yield (
        lambda: (
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
        ),
        lambda: determined(False),
        lambda old: determined(old[0], warn_only=old[1]),
    )
    anomaly = torch.autograd.set_detect_anomaly
    yield (
        lambda: (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()),
        lambda: anomaly(False),
        lambda old: anomaly(*old),
    )
    yield torch.get_num_threads, lambda: None, torch.set_num_threads
    precision = torch.set_float32_matmul_precision
    yield torch.get_float32_matmul_precision, lambda: precision("highest"), precision
    printed = torch._tensor_str.PRINT_OPTS  # `get_printoptions` is newer than 2.2
    yield vars(printed).copy, lambda: None, vars(printed).update


def _restore(changing: MutableMapping, old: dict) -> None:
    """Make a mapping what it was, without emptying it between."""
    for name in changing.keys() - old.keys():
        del changing[name]
    for name, value in old.items():
        if name not in changing or changing[name] is not value:
            changing[name] = value
