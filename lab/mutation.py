"""How many one-place mutants of the library are killed by its tests, room by room.

Usage: python -m lab.mutation [--rooms models] [--most 30] [--tests PATH] [--write | --held]

A mutant is a file of the library with one place changed (`lab/mutants.py` makes the same changes in
worked answers). It is killed if a test that calls the changed function fails. A mutant that never
ends, such as a loop that no longer counts, is rightly killed too, and printed apart: its limit is
CPU time, so that a loaded machine kills nothing. A room's score is how many are killed of `--most`
mutants, which are drawn the same way each time.
`--write` stores the scores; `--held` ends with 1 if a room's is lower than the stored one. The
tests run without corpora and without those marked slow. It needs `fork`: Linux or macOS.
"""

import argparse
import ast
import contextlib
import json
import multiprocessing
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

from lab.mutants import changes, words
from lab.runs import stamp, store

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "scratchformer"
STORED = ROOT / "scratchformer_course" / "measurements" / "mutation.json"
TESTS = ["tests/library"]
SETTINGS = {"most": 20, "seed": 0}
LIMIT = 120  # seconds of CPU time for the tests of a mutant
PATIENCE = 15  # seconds by the clock for each of them: who waits for ever uses none
OPTIONS = ["-q", "-p", "no:cacheprovider", "-m", "not slow", "--hypothesis-seed=0"]
VERDICTS = ("survives", "never ends", "fails")
FORK = multiprocessing.get_context("fork")
Callers = dict[tuple[str, str], dict[str, float]]  # (file, function) -> test -> seconds


@dataclass(frozen=True)
class Mutant:
    """A file of the library with one place changed."""

    path: Path
    function: str  # in which the place is
    place: str  # `before -> after`, in one line
    source: str

    @property
    def room(self) -> str:
        """The first part of the path within the library, such as `models`."""
        return self.path.relative_to(LIBRARY).parts[0].removesuffix(".py")


def places(path: Path) -> list[tuple[ast.FunctionDef, ast.expr | ast.stmt, ast.AST]]:
    """Function, node and what it is changed into, for all places of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [
        (function, node, other)
        for function in functions(tree)
        for node in nodes(function)
        if isinstance(node, ast.expr | ast.stmt)
        for other in changes(node, variables(function))
        if not isinstance(other, ast.If | ast.While | ast.FunctionDef)  # their parts are changed
    ]


def mutant(
    path: Path, function: ast.FunctionDef, node: ast.expr | ast.stmt, other: ast.AST
) -> Mutant | None:
    """The file with one node replaced and all else as it is, comments too; None if none results."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    start = starts[node.lineno - 1] + node.col_offset
    end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
    try:
        text = ast.unparse(ast.fix_missing_locations(other))
        text = f"({text})" if isinstance(other, ast.expr) else text
        mutated = (source[:start] + text.encode() + source[end:]).decode()
        if ast.dump(ast.parse(mutated)) == ast.dump(ast.parse(source)):
            return None
    except (SyntaxError, ValueError, TypeError, AttributeError):
        return None
    return Mutant(path, function.name, words(source.decode(), mutated), mutated)


def variables(function: ast.FunctionDef) -> list[str]:
    """The names of a function's parameters and variables."""
    names = {n.arg for n in ast.walk(function) if isinstance(n, ast.arg)} - {"self"}
    for n in ast.walk(function):
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store):
            names.add(n.id)
    return sorted(names)


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    """The functions and methods of a module, without those inside of others."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            yield node
        elif isinstance(node, ast.ClassDef):
            yield from functions(node)


def nodes(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """What a function computes: its body, without annotations and docstrings."""
    waiting: list[ast.AST] = [*function.body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Raise) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        ):
            continue  # the words of an error are not what is measured
        yield node
        for field, value in ast.iter_fields(node):
            if field not in ("annotation", "returns", "decorator_list"):
                waiting += [x for x in (value if isinstance(value, list) else [value])
                            if isinstance(x, ast.AST)]  # fmt: skip


# --- running tests -------------------------------------------------------------------------------


class Calls:
    """A plugin of pytest that notes which functions of the library each test calls."""

    def __init__(self) -> None:
        self.callers: Callers = {}

    def pytest_runtest_protocol(self, item, nextitem):
        names: set[tuple[str, str]] = set()
        prefix, start = str(LIBRARY), time.perf_counter()

        def note(frame, event, _):
            if event == "call" and frame.f_code.co_filename.startswith(prefix):
                names.add((frame.f_code.co_filename, frame.f_code.co_name))

        from _pytest.runner import runtestprotocol

        sys.setprofile(note)
        try:
            runtestprotocol(item, nextitem=nextitem)
        finally:
            sys.setprofile(None)
        seconds = time.perf_counter() - start
        for name in names:
            self.callers.setdefault(name, {})[item.nodeid] = seconds
        return True


def in_child(work: Callable[[], Any], limit: int) -> Any:
    """What `work()` returns in a process of its own, or None if that process dies.

    Raises TimeoutError after `limit` seconds of its CPU time, or PATIENCE times as many by the
    clock.
    """
    receive, send = FORK.Pipe(duplex=False)

    def run() -> None:
        os.setpgrp()
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.getrlimit(resource.RLIMIT_CPU)[1]))
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        send.send(work())
        os._exit(0)

    child = FORK.Process(target=run)
    child.start()
    deadline = time.monotonic() + PATIENCE * limit
    try:
        while not receive.poll(0.1) and child.is_alive():
            if time.monotonic() > deadline:
                raise TimeoutError
        if receive.poll():
            return receive.recv()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)  # type: ignore[arg-type]  # with its children
        child.kill()
        child.join()
        send.close()
    if child.exitcode == -signal.SIGXCPU:
        raise TimeoutError
    return None


def run_tests(tests: list[str], mutant: Mutant | None = None, plugins: list | None = None) -> int:
    """pytest's exit status of these tests, with the mutant in the place of its file."""
    import pytest

    if mutant:
        read, stats, file = SourceFileLoader.get_data, SourceFileLoader.path_stats, str(mutant.path)
        SourceFileLoader.get_data = lambda self, path: (  # type: ignore[method-assign]
            mutant.source.encode() if path == file else read(self, path)
        )
        SourceFileLoader.path_stats = lambda self, path: (  # type: ignore[method-assign]
            {"mtime": 0, "size": 0} if path == file else stats(self, path)
        )
        sys.dont_write_bytecode = True
    for name in [*sys.modules]:
        if name.partition(".")[0] in ("scratchformer", "scratchformer_course", "lab"):
            del sys.modules[name]
    return int(pytest.main([*OPTIONS, *(["-x"] if mutant else []), *tests], plugins=plugins or []))


def callers(tests: list[str]) -> Callers:
    """Which tests call which function. SystemExit if one of them fails without any mutant."""
    plugin = Calls()
    result = in_child(lambda: (run_tests(tests, plugins=[plugin]), plugin.callers), limit=3600)
    if not result or result[0]:
        raise SystemExit(f"{' '.join(tests)}: a test fails without any mutant")
    return result[1]


def verdict(mutant: Mutant, calls: Callers) -> str:
    """What the tests that call the mutant's function do, the quickest first: one of VERDICTS."""
    tests = calls.get((str(mutant.path), mutant.function), {})
    ordered = sorted(tests, key=tests.__getitem__)
    try:
        passed = not ordered or in_child(lambda: run_tests(ordered, mutant), LIMIT) == 0
    except TimeoutError:
        return "never ends"
    return "survives" if passed else "fails"


def drawn(room: str, most: int, seed: int) -> list[Mutant]:
    """Some mutants of a room, the same ones every time."""
    paths = [LIBRARY / f"{room}.py", *sorted((LIBRARY / room).rglob("*.py"))]
    everywhere = [(path, *place) for path in paths if path.is_file() for place in places(path)]
    random.Random(f"{room} {seed}").shuffle(everywhere)
    mutants: dict[str, Mutant] = {}
    while everywhere and len(mutants) < most:
        if changed := mutant(*everywhere.pop()):
            mutants[f"{changed.path} {changed.source}"] = changed
    return [*mutants.values()]


def rooms() -> list[str]:
    """The rooms of the library that compute something."""
    parts = {path.relative_to(LIBRARY).parts[0] for path in LIBRARY.rglob("*.py")}
    names = {part.removesuffix(".py") for part in parts}
    return sorted(name for name in names if not name.startswith("__") and name != "shipped")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rooms", nargs="*", default=rooms(), choices=rooms(), metavar="ROOM")
    parser.add_argument("--tests", nargs="*", default=TESTS, metavar="PATH", help="only these")
    parser.add_argument("--most", type=int, default=SETTINGS["most"], help="mutants of a room")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--write", action="store_true", help="store the scores")
    parser.add_argument("--held", action="store_true", help="fail if a room's score has fallen")
    options = parser.parse_args(arguments)
    for name in ("SCRATCHFORMER_DATA", "TIKTOKEN_CACHE_DIR"):
        os.environ.pop(name, None)
    os.environ |= {"SCRATCHFORMER_CACHE": tempfile.mkdtemp(), "OMP_NUM_THREADS": "1"}
    os.chdir(ROOT)
    import hypothesis  # noqa: F401  loaded once, for all children
    import torch  # noqa: F401

    calls, scores = callers(options.tests), {}
    for room in options.rooms:
        mutants = drawn(room, options.most, SETTINGS["seed"])
        with ThreadPoolExecutor(options.processes) as pool:
            verdicts = [*pool.map(lambda mutant: verdict(mutant, calls), mutants)]
        survivors, endless, _ = (verdicts.count(word) for word in VERDICTS)
        killed = len(mutants) - survivors
        scores[room] = {"mutants": len(mutants), "killed": killed, "endless": endless}
        print(f"{room:12} {killed:3} of {len(mutants)}, {endless} of them never end", flush=True)
        for mutant, word in zip(mutants, verdicts, strict=True):
            if word != "fails":
                place = f"{mutant.path.relative_to(LIBRARY)}:{mutant.function}: {mutant.place}"
                print(f"    {word}: {place}", flush=True)
    if options.write:
        store(STORED, {"settings": SETTINGS, "rooms": scores} | stamp())
    if options.held:
        before = json.loads(STORED.read_text(encoding="utf-8"))["rooms"]
        fallen = [room for room in scores if scores[room]["killed"] < before[room]["killed"]]
        print(f"fallen: {', '.join(fallen) or 'none'}")
        return int(bool(fallen))
    return 0


if __name__ == "__main__":
    sys.exit(main())
