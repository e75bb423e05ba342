"""A plugin of pytest for `make test`: which tests run now, and an end to what a dead worker left.

What a process starts inherits its environment: so a browser is known by the worker that started
it, however far it has detached itself, and by the run of tests.
"""

import contextlib
import os
from pathlib import Path

import psutil
import pytest

RUN, WORKER = "TEST_RUN", "TEST_WORKER"  # variables: the file with the running tests; which worker


def end_all(variable: str, value: str) -> None:
    """Kill every process but this one in whose environment the variable has this value."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):  # it has ended, or is another user's
            if process.pid != os.getpid() and process.environ().get(variable) == value:
                process.kill()


def name_of(worker: dict[str, str]) -> str:
    """A name that no other worker has, of this run or of another one."""
    return f"{worker['testrunuid']}-{worker['workerid']}"


class RunningTests:
    """Keeps the names of the tests that have begun and not ended in a file, one a line."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.names: dict[str, None] = {}

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.names[nodeid] = None
        self.file.write_text("\n".join(self.names), encoding="utf-8")

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.names.pop(nodeid, None)
        self.file.write_text("\n".join(self.names), encoding="utf-8")

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str) -> None:
        self.pytest_runtest_logfinish(crashitem)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node, error: object) -> None:
        if error:
            end_all(WORKER, name_of(node.workerinput))


def pytest_configure(config: pytest.Config) -> None:
    worker = getattr(config, "workerinput", None)
    if worker is None:
        config.pluginmanager.register(RunningTests(Path(os.environ[RUN])))
    else:
        os.environ[WORKER] = name_of(worker)
