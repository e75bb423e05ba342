"""Which process of pytest-xdist runs which tests: what shares fixtures together, the slow first.

With `--dist loadfile` a file's tests run in one process, and the files with the most tests begin.
Here the files that take longest begin, so that no core is idle at the end, and a file may be split.
"""

from collections.abc import Callable

import pytest


def together(config: pytest.Config, log, group: Callable[[str], str]):
    """A scheduler that keeps the tests of one `group` in one process, in the order collected.

    None, which leaves the choice to xdist, if another way was asked for than `--dist loadfile`.
    """
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group(nodeid)

    config.option.loadscopereorder = False
    return Together(config, log)


def file_of(nodeid: str) -> str:
    """`tests/library/test_loop.py::test_it[1]` -> `test_loop.py`."""
    return nodeid.split("::")[0].rsplit("/", 1)[-1]
