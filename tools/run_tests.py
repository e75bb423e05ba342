"""`make test` and `make quick`: run parts, go on after a failure, end with what passed.

Usage: python -m tools.run_tests [PART …]         all parts if none is named
       python -m tools.run_tests quick [SINCE]    what the changes since a commit touch

Two lanes of parts run side by side: the parts with browsers wait much, those without compute.
"""

import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import course

ROOT = Path(__file__).resolve().parent.parent
PYTHON = [sys.executable, "-m"]
PYTEST = [*PYTHON, "pytest", "-q", "--color=no", "--durations=10", "--durations-min=10"]
SIDE_BY_SIDE = ["-n", "2", "--dist", "loadfile"]  # see tests/side_by_side.py
ONE_THREAD = {"OMP_NUM_THREADS": "1"}  # threads that wait for each other cost a sixth more
# A busy machine delays browsers and processes: what fails is run again, and the summary says so.
TWICE = ["--reruns=1", "-raR"]
ENDED = ["--timeout=600", "--timeout-method=thread"]  # what hangs fails, with its stack
APART = ["--ignore=tests/site", "--ignore=tests/lone"]
NBVAL = ["--nbval-current-env", "--nbval-cell-timeout=600"]
BOOK = [str(Path(sys.executable).with_name("jupyter-book")), *course.BUILD]
PARTS = {
    "lint": [
        [*PYTHON, "ruff", "check", "."],
        [*PYTHON, "ruff", "format", "--check", "."],
        [*PYTHON, "codespell_lib"],
        [*PYTHON, "mypy"],
        [*PYTHON, "tools.lint_javascript"],
    ],
    "book": [BOOK],
    "unit": [[*PYTEST, *SIDE_BY_SIDE, *TWICE, *ENDED, "tests", *APART]],
    "site": [[*PYTEST, *SIDE_BY_SIDE, *TWICE, *ENDED, "tests/site"]],
    "notebooks": [[*PYTEST, "--nbval", *NBVAL, *SIDE_BY_SIDE, "notebooks"]],
    "lone": [[*PYTEST, "-n", "2", *ENDED, "tests/lone"]],
}
FIRST = ["lint", "book"]  # the pages are tested when they are built
LANES = [["notebooks", "lone"], ["site", "unit"]]

# What `quick` runs besides lint and the library's tests: (a changed path, what tests it).
TOUCHED = [
    (r"notebooks/(\d\d)_.*", "chapter"),
    (r"scratchformer_course/ch(\d\d)_.*", "chapter"),
    (r"scratchformer_course/kit/.*|tests/kit/.*", "tests/kit"),
    (r"scratchformer_course/teaching/.*|tests/teaching/.*|AGENTS\.md|paper\..*", "tests/teaching"),
    (r"scratchformer_course/(page_model|tab_trainer)/.*", r"tests/\1"),
    (r"tests/(page_model|tab_trainer|lab|tools|shapes)/.*", r"tests/\1"),
    (r"(lab|tools)/.*", r"tests/\1"),
    (r"(tests/chapters/test_\w+\.py)", r"\1"),
]


class Run:
    """The parts that have run so far: what failed, what was skipped, and the minutes."""

    def __init__(self) -> None:
        self.failed: list[str] = []
        self.failures: list[str] = []
        self.reruns: list[str] = []
        self.skips: list[str] = []
        self.summary: dict[str, str] = {}
        self.core_minutes = 0.0
        self.printing = threading.Lock()

    def part(self, name: str, commands: Iterable[list[str]], prefix: str = "", **env: str) -> None:
        """Run a part's commands; each line of output begins with `prefix`."""
        start, results = time.monotonic(), []
        self._print(f"\n== {name} ==")
        for command in commands:
            results.append(self._command(command, prefix, env))
        minutes, seconds = divmod(round(time.monotonic() - start), 60)
        output = "".join(text for _, text, _ in results)
        if any(status for status, _, _ in results):
            self.failed.append(name)
        core = sum(seconds for _, _, seconds in results) / 60
        self.core_minutes += core
        self.failures += re.findall(r"^(?:FAILED|ERROR) (\S+::.*)$", output, re.M)
        self.reruns += re.findall(r"^RERUN (\S+::.*)$", output, re.M)
        self.skips += [f"{name}: {line}" for line in re.findall(r"^SKIPPED (.*)$", output, re.M)]
        self.skips += re.findall(r"^(notebooks: .*|javascript: not .*)$", output, re.M)
        counts = re.findall(r"^(?:=+ )?(\d+ (?:passed|failed|error).*?)(?: in .*)?$", output, re.M)
        verdict = "FAILED" if name in self.failed else "passed"
        said = counts[-1].rstrip(" =") if counts else ""
        took = f"{minutes:2}:{seconds:02} min, {core:4.1f} core-minutes"
        self.summary[name] = f"  {name:<10} {verdict}  {took}  {said}"

    def _command(
        self, command: list[str], prefix: str, env: dict[str, str]
    ) -> tuple[int, str, float]:
        """Run a command: its status, its output, and its seconds on a core, its children's too."""
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**ONE_THREAD, **os.environ, **env},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        lines = []
        for line in process.stdout or ():
            self._print(prefix + line.rstrip("\n"))
            lines.append(line)
        if not hasattr(os, "wait4"):  # Windows counts no children
            return process.wait(), "".join(lines), 0.0
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return process.returncode, "".join(lines), used.ru_utime + used.ru_stime

    def _print(self, line: str) -> None:
        with self.printing:
            print(line, flush=True)

    def end(self) -> int:
        """Print the summary; the exit status."""
        total = f"  in all {self.core_minutes:.1f} core-minutes"
        print("\n== summary ==", *self.summary.values(), total, sep="\n")
        for title, lines in (
            ("Failed:", self.failures),
            ("Run twice, as the first time failed:", self.reruns),
            ("Not run in full, and why:", self.skips),
        ):
            if lines:
                print(title, *(f"  {line}" for line in lines), sep="\n")
        return 1 if self.failed else 0


def run_parts(names: list[str]) -> int:
    """Run the parts, some of them side by side; all if none is named."""
    names = names or list(PARTS)
    unknown = sorted(set(names) - set(PARTS))
    if unknown:
        print(f"unknown part {unknown[0]!r}; expected some of {', '.join(PARTS)}, or quick")
        return 2
    run = Run()

    def follow(lane: list[str], prefix: str = "") -> None:
        for name in lane:
            if name in names:
                run.part(name, PARTS[name], prefix=prefix and f"{name:<9} | ")

    follow(FIRST)
    lanes = [threading.Thread(target=follow, args=(lane, "lane")) for lane in LANES]
    for lane in lanes:
        lane.start()
    for lane in lanes:
        lane.join()
    return run.end()


def changed(since: str) -> list[str]:
    """The files that differ from a commit, and the untracked ones."""
    git = ["git", "-c", "core.quotePath=false"]
    listed = [[*git, "diff", "--name-only", since], [*git, "ls-files", "-o", "--exclude-standard"]]
    found: set[str] = set()
    for command in listed:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        found |= set(done.stdout.splitlines())
    return sorted(found)


def touched(paths: Iterable[str]) -> tuple[list[str], list[str]]:
    """The chapters ("08") and the tests that the changed paths are about."""
    chapters, tests = set(), set()
    for path in paths:
        for pattern, target in TOUCHED:
            if found := re.fullmatch(pattern, path):
                if target == "chapter":
                    chapters.add(found[1])
                else:
                    tests.add(found.expand(target))
    return sorted(chapters), sorted(tests)


def quick_parts(since: str) -> Iterator[tuple[str, list[list[str]], dict[str, str]]]:
    """Lint, the library's tests but the slow ones, and what the changes since a commit touch."""
    chapters, tests = touched(changed(since))
    yield "lint", PARTS["lint"], {}
    quick = ["-m", "not slow", *SIDE_BY_SIDE]
    paths = ["tests/library", "tests/test_house.py", *(t for t in tests if (ROOT / t).exists())]
    yield "library", [[*PYTEST, *quick, *paths]], {}
    if chapters:
        notebooks = [str(p) for n in chapters for p in (ROOT / "notebooks").glob(f"{n}_*.ipynb")]
        names = " or ".join(f"{n}_ or ch{n}" for n in chapters)
        one = [*PYTEST, *quick, "tests/chapters", "-k", names]
        yield "chapters", [one], {}
        yield (
            "notebooks",
            [[*PYTEST, "--nbval", *NBVAL, *SIDE_BY_SIDE, *notebooks]],
            {"SCRATCHFORMER_BUDGET": "smoke"},
        )


def main(arguments: list[str]) -> int:
    """Run what is asked for; 0 if all of it passed."""
    if arguments[:1] != ["quick"]:
        return run_parts(arguments)
    if not shutil.which("git"):
        print("quick asks git what has changed, and there is no git: name parts instead")
        return 2
    run, since = Run(), (arguments[1:] or ["HEAD"])[0]
    for name, commands, env in quick_parts(since):
        run.part(name, commands, **env)
    return run.end()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
