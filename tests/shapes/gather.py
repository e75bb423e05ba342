"""Whether the tests have reached every shape comment of the package, however many processes ran.

Each process has a tracer of its own. Under pytest-xdist the workers send what they have seen to the
process that started them, and that one judges; a run without workers judges itself. A run of a part
of the tests is not judged, since only all of them call the whole package.
"""

import ast
import json
from pathlib import Path

import pytest
from tracer import Tracer


class ShapeComments:
    """A plugin of pytest: `tracer` sees the package in `root` while the files `expected` run."""

    def __init__(self, tracer: Tracer, root: Path, expected: set[Path]):
        self.tracer, self.root, self.expected = tracer, root, expected
        self.judged = False  # whether all of the tests were run, so that something can be said
        self.reached, self.lies = set(), []  # "file:line" of each comment reached; messages
        self.problems = []

    def pytest_collection_finish(self, session) -> None:
        option = session.config.option
        parts = option.keyword or option.markexpr or getattr(option, "deselect", None)
        parts = parts or getattr(option, "lf", False) or option.collectonly
        self.judged = not parts and self.expected <= {item.path for item in session.items}

    @pytest.hookimpl(optionalhook=True)  # pytest-xdist's: without it there are no workers
    def pytest_testnodedown(self, node, error) -> None:
        """Called where the workers were started: take what a worker that ends has seen."""
        seen = json.loads(getattr(node, "workeroutput", {}).get("shape_comments", "{}"))
        if not seen:
            self.problems.append("a worker ended without telling which shape comments it reached")
            return
        self.judged |= seen["judged"]
        self.reached |= set(seen["reached"])
        self.lies += seen["lies"]

    @pytest.hookimpl(tryfirst=True)  # the report below is then part of the summary
    def pytest_sessionfinish(self, session) -> None:
        self.reached |= {c.where for c in self.tracer.comments if c.verified}
        self.lies += self.tracer.lies
        if hasattr(session.config, "workeroutput"):
            seen = {"judged": self.judged, "reached": sorted(self.reached), "lies": self.lies}
            session.config.workeroutput["shape_comments"] = json.dumps(seen)
            return
        if not self.judged or session.shouldstop or session.shouldfail:
            return
        self.problems += [f"a shape comment is not true: {lie}" for lie in self.lies]
        missing = [c for c in self._all_comments() if c.where not in self.reached]
        self.problems += [f"no test has reached {c.where}: {c.text}" for c in missing]
        if self.problems and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter) -> None:
        for problem in self.problems:
            terminalreporter.write_line(f"FAILED shape comments: {problem}")
        if self.judged and not self.problems:
            terminalreporter.write_line(
                f"shape comments: all {len(self._all_comments())} of the package were reached"
            )

    def _all_comments(self) -> list:
        every = Tracer()
        for path in sorted(self.root.glob("scratchformer*/**/*.py")):
            source, file = path.read_text(encoding="utf-8"), path.relative_to(self.root).as_posix()
            every.instrument(source, ast.parse(source), f"{file}:", file)
        return every.comments
