"""`make test` and `make quick`: run parts, go on after a failure, end with what passed.

Usage: python -m tools.run_tests [PART …]         all parts if none is named
       python -m tools.run_tests quick [SINCE]    what the changes since a commit touch

Two lanes of parts run side by side: the parts with browsers wait much, those without compute. A
test that hangs fails by its name, whether Python can interrupt it or not, and so does one that ends
its process; the others go on. A part that takes longer than its limit is ended, and the summary
says which tests it was running.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import course
from tools.watched_tests import RUN, end_all

ROOT = Path(__file__).resolve().parent.parent
PYTHON = [sys.executable, "-m"]
ONE_THREAD = {"OMP_NUM_THREADS": "1"}  # threads that wait for each other cost a sixth more
BOOK = [str(Path(sys.executable).with_name("jupyter-book")), *course.BUILD]
TEST_SECONDS, PART_SECONDS = 600, 7200  # on a machine with other work: six times the longest
GRACE_SECONDS = 30  # for a part that is interrupted to say what has failed


def pytest(*words: str, seconds: float = TEST_SECONDS) -> list[str]:
    """pytest in two processes. A test that takes longer than `seconds` fails.

    If it hangs where Python cannot raise an error, its process is ended half as much later.
    """
    watched = ["-p", "tools.watched_tests", f"--timeout={seconds}"]
    ended = [f"faulthandler_timeout={1.5 * seconds}", "faulthandler_exit_on_timeout=true"]
    shown = ["--color=no", "--durations=10", "--durations-min=10"]
    asked = [*watched, "-o", ended[0], "-o", ended[1], *shown, "-n", "2", *words]
    return [*PYTHON, "pytest", "-q", *asked]


def any_order(*words: str, seconds: float = TEST_SECONDS) -> list[str]:
    """pytest where each test stands alone. Of xdist's ways to share tests, this survives a worker.

    A busy machine delays browsers and processes: what fails is run again, and the summary says so.
    """
    again = ["--reruns=1", "-raR", "--rerun-except=from pytest-timeout"]
    return pytest("--dist=worksteal", *again, *words, seconds=seconds)


def notebooks(*paths: str, seconds: float = TEST_SECONDS) -> list[str]:
    """nbval over notebooks, the cells of each in one process. A kernel that dies ends no worker."""
    in_files = ["--dist=loadfile", "--no-loadscope-reorder", "--max-worker-restart=0"]
    cells = ["--nbval", "--nbval-current-env", f"--nbval-cell-timeout={0.9 * seconds}"]
    return pytest(*in_files, *cells, *paths, seconds=seconds)


PARTS = {
    "lint": [
        [*PYTHON, "ruff", "check", "."],
        [*PYTHON, "ruff", "format", "--check", "."],
        [*PYTHON, "codespell_lib"],
        [*PYTHON, "mypy"],
        [*PYTHON, "tools.javascript"],
    ],
    "book": [[*PYTHON, "tools.javascript", "install"], BOOK],
    "unit": [any_order("tests", "--ignore=tests/site", "--ignore=tests/lone")],
    "site": [any_order("tests/site")],
    "notebooks": [notebooks("notebooks")],
    "lone": [pytest("tests/lone")],
}
# of a part's output, what its summary repeats; RERUN is what failed at first
NOTED = re.compile(
    r"^(?:(?:FAILED|ERROR|RERUN|SKIPPED) .*|notebooks: .*|javascript: not .*)$", re.M
)
FIRST = ["lint", "book"]  # the pages are tested when they are built
LANES = [["notebooks", "lone"], ["site", "unit"]]

# the tests' folders that are named as what they test, for `quick`
ROOMS = "kit|lab|page_model|real_model|shapes|tab_trainer|teaching|tools"


class Run:
    """The parts that have run so far: what failed, what was skipped, and the minutes."""

    def __init__(self, limit: float = PART_SECONDS) -> None:
        self.limit = limit
        self.failed: list[str] = []
        self.summary: list[str] = []
        self.notes: list[str] = []  # what failed, was run again, or was not run
        self.core_minutes = 0.0
        self.printing = threading.Lock()

    def part(self, name: str, commands: Iterable[list[str]], prefix: str = "", **env: str) -> None:
        """Run a part's commands; each line of output begins with `prefix`."""
        start, core, failed, output = time.monotonic(), 0.0, False, ""
        self._print(f"\n== {name} ==")
        for command in commands:
            status, text, seconds = self._command(name, command, prefix, env)
            failed, output, core = failed or status != 0, output + text, core + seconds / 60
        minutes, seconds = divmod(round(time.monotonic() - start), 60)
        self.failed += [name] if failed else []
        self.core_minutes += core
        notes = {line.split(" - ")[0]: line for line in NOTED.findall(output)}  # some come twice
        self.notes += [f"{name}: {line}" for line in notes.values()]
        counts = re.findall(r"^(?:=+ )?(\d+ (?:passed|failed|error).*?)(?: in .*)?$", output, re.M)
        verdict = "FAILED" if failed else "passed"
        took = f"{minutes:2}:{seconds:02} min, {core:4.1f} core-minutes"
        self.summary.append(f"  {name:<10} {verdict}  {took}  {counts[-1] if counts else ''}")

    def _command(
        self, name: str, command: list[str], prefix: str, env: dict[str, str]
    ) -> tuple[int, str, float]:
        """Run a command: its status, its output, and its seconds on a core, its children's too."""
        lines: list[str] = []
        ended = threading.Event()

        def read(output: Iterable[str]) -> None:
            for line in output:
                self._print(prefix + line.rstrip("\n"))
                lines.append(line)

        def watch(process: int, running: Path) -> None:
            if ended.wait(self.limit):
                return
            names = running.read_text(encoding="utf-8") if running.exists() else " ".join(command)
            over = f"{name}: FAILED, since {self.limit / 60:.0f} minutes are over. Running were: "
            self.notes.append(over + ", ".join(names.splitlines()))
            if os.name != "nt":
                os.kill(process, signal.SIGINT)
            if os.name == "nt" or not ended.wait(GRACE_SECONDS):
                end_all(RUN, str(running))

        with tempfile.TemporaryDirectory() as folder:
            running = Path(folder, "running")
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env={**ONE_THREAD, **os.environ, **env, RUN: str(running)},
                text=True,
                encoding="utf-8",
                errors="replace",
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            threads = [
                threading.Thread(target=read, args=[process.stdout]),
                threading.Thread(target=watch, args=[process.pid, running]),
            ]
            for thread in threads:
                thread.start()
            status, seconds = waited(process)
            ended.set()
            end_all(RUN, str(running))  # what is left might hold the output open
            for thread in threads:
                thread.join()
        return status, "".join(lines), seconds

    def _print(self, line: str) -> None:
        with self.printing:
            print(line, flush=True)

    def end(self) -> int:
        """Print the summary; the exit status."""
        total = f"  in all {self.core_minutes:.1f} core-minutes"
        print("\n== summary ==", *self.summary, total, *self.notes, sep="\n")
        return 1 if self.failed else 0


def waited(process: subprocess.Popen) -> tuple[int, float]:
    """The status of a process at its end, and its seconds on a core; Windows counts none."""
    if not hasattr(os, "wait4"):
        return process.wait(), 0.0
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, used.ru_utime + used.ru_stime


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
    paths: set[str] = set()
    for command in listed:
        try:
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            reason = str(getattr(error, "stderr", "")).partition("\n")[0] or error
            raise SystemExit(f"quick asks git what has changed since {since}: {reason}") from None
        paths |= set(done.stdout.splitlines())
    return sorted(paths)


def touched(paths: list[str]) -> tuple[list[str], list[str]]:
    """The chapters ("08") and the tests that the changed paths are about."""
    text = "\n".join(paths)
    chapters = re.findall(r"^(?:notebooks/|scratchformer_course/ch)(\d\d)_", text, re.M)
    rooms = re.findall(rf"^(?:scratchformer_course/|tests/|)({ROOMS})/", text, re.M)
    files = re.findall(r"^tests/chapters/test_\w+\.py$", text, re.M)
    return sorted({*chapters}), sorted({*files, *(f"tests/{room}" for room in rooms)})


def quick_parts(since: str) -> Iterator[tuple[str, list[list[str]], dict[str, str]]]:
    """Lint, the library's tests but the slow ones, and what the changes since a commit touch."""
    chapters, tests = touched(changed(since))
    yield "lint", PARTS["lint"], {}
    quick = ["--dist=worksteal", "-m", "not slow"]
    paths = [
        "tests/library",
        "tests/test_house.py",
        *(path for path in tests if (ROOT / path).exists()),
    ]
    yield "library", [pytest(*quick, *paths)], {}
    if chapters:
        names = " or ".join(f"{n}_ or ch{n}" for n in chapters)
        yield "chapters", [pytest(*quick, "tests/chapters", "-k", names)], {}
        files = [str(p) for n in chapters for p in (ROOT / "notebooks").glob(f"{n}_*.ipynb")]
        yield "notebooks", [notebooks(*files)], {"SCRATCHFORMER_BUDGET": "smoke"}


def main(arguments: list[str]) -> int:
    """Run what is asked for; 0 if all of it passed."""
    if arguments[:1] != ["quick"]:
        return run_parts(arguments)
    run, since = Run(), (arguments[1:] or ["HEAD"])[0]
    for name, commands, env in quick_parts(since):
        run.part(name, commands, **env)
    return run.end()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
