"""What a student's process may not do, and how one sees that it has changed its checker.

`refuse` is a hook of Python's own (`sys.addaudithook`), which cannot be removed: no writing, no
deleting, no network, no other process, and no look through the memory at the checker's objects. It
sees what goes through Python; a library written in another language may open a file unseen. On
Linux the process therefore has namespaces of its own where the system grants them
(`student_process.py`), and `read_only` takes the whole disk away from it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from types import FunctionType
from typing import Any

MEMORY = 2**30  # bytes that a student's process may grow by
LARGEST = 2**23  # bytes of its reply
REFUSED = """remove rename rmdir mkdir link symlink truncate chmod chown chflags utime setxattr
removexattr fork forkpty exec spawn posix_spawn system startfile kill killpg""".split()
SINGLE = "sys.settrace sys.setprofile fcntl.ioctl"
UNSEEN = {  # functions that no event tells of
    **dict.fromkeys(("os", "posix"), "memfd_create mkfifo mknod chroot pidfd_open"),
    "faulthandler": "cancel_dump_traceback_later dump_traceback_later",
    "_posixsubprocess": "fork_exec",
}
EVENTS = frozenset([*(f"os.{name}" for name in REFUSED), *SINGLE.split()])
ROOMS = ("socket.", "subprocess.", "shutil.", "ctypes.", "gc.", "pty.", "winreg.", "sqlite3.")
RESTS_ON = """builtins math inspect json json.encoder torch torch.nn.functional
torch.functional""".split()
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def refuse() -> None:
    """From now on, until the process ends, raise PermissionError at what a grade does not need."""

    refused, rooms, writing, error = EVENTS, ROOMS, WRITING, PermissionError

    def hook(event: str, args: tuple) -> None:  # looks up no name that a notebook can replace
        if event == "open":
            if args[2] & writing:
                raise error("a graded notebook may not write files")
        elif event in refused or event.startswith(rooms):
            raise error(f"a graded notebook may not do this ({event})")

    for module, names in UNSEEN.items():
        for name in names.split() if module in sys.modules else ():
            if hasattr(sys.modules[module], name):
                delattr(sys.modules[module], name)
    sys.addaudithook(hook)


def read_only() -> None:
    """Make all that is mounted read-only; for a process with a mount namespace of its own only."""
    with contextlib.suppress(AttributeError, OSError):
        mount_setattr, here, recursive = 442, -100, 0x8000
        attributes = (ctypes.c_uint64 * 4)(1, 0, 0, 0)  # set "read-only", clear nothing
        system = ctypes.CDLL(None)
        system.syscall(mount_setattr, here, b"/", recursive, attributes, 32)
        for right in range(64):  # no process that it starts may mount again
            system.prctl(24, right, 0, 0, 0)  # PR_CAPBSET_DROP
        system.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
        head, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
        system.capset(head, none)


def bound() -> None:
    """Bound the memory (on Linux) and what is written to a file (not on Windows)."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST, LARGEST))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with open("/proc/self/statm", "rb") as file:
            most = int(file.read().split()[0]) * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def marks() -> dict[str, tuple]:
    """What a verdict rests on, by name: the kit, the tables, torch's and Python's functions."""
    found: dict[str, tuple] = {}
    for name, module in [*sys.modules.items()]:
        is_ours = _is_ours(name)
        if is_ours or name in RESTS_ON:
            for key, value in [*vars(module).items()]:
                if key == "__warningregistry__":  # Python's own, of warnings that came
                    continue
                found[f"{name}.{key}"] = _parts(value, is_ours)
                if isinstance(value, FunctionType):
                    found[f"{name}.{key}()"] = (value.__code__, *_parts(value.__kwdefaults__, True))
                elif isinstance(value, type) or _is_ours(type(value).__module__):
                    for inner, part in [*getattr(value, "__dict__", {}).items()]:
                        found[f"{name}.{key}.{inner}"] = _parts(part, is_ours)
    return found


def _is_ours(module: str) -> bool:
    return module.startswith("scratchformer_course.") and (
        ".kit.checks" in module or ".teaching." in module or module.endswith(".exercises")
    )


def _parts(value: Any, is_ours: bool) -> tuple:
    if type(value) is dict and is_ours:
        return (*value, *value.values())
    return (*value,) if type(value) is list and is_ours else (value,)


def changed(before: dict[str, tuple], after: dict[str, tuple]) -> str:
    """The name of something that is no longer what it was, or new among our own; else nothing."""
    for name in (*before, *(name for name in after if name.startswith("scratchformer_course."))):
        pair = before.get(name, ()), after.get(name, ())
        if [*map(id, pair[0])] != [*map(id, pair[1])]:
            return name
    return ""
