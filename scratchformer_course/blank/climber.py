"""`climb`: runs the ladder on a folder of files, in a process of its own, up to what fails.

Usage: python -m scratchformer_course climb [FOLDER] [--rung N] [--watch] [--certificate NAME]
       python -m scratchformer_course climb --verify CERTIFICATE

A rung has a limit of seconds, after which its process ends. FOLDER/climb.json keeps what was
reached. Ends with 0 at the top (or if the rung of --rung holds), 1 below it, 2 without a folder.
"""

from __future__ import annotations

import argparse
import json
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from scratchformer.files import atomic_write
from scratchformer_course.blank import certificate
from scratchformer_course.blank.mine import FILES, Mine

KEPT = "climb.json"
START = 60.0  # seconds that a process may take to import PyTorch
MARKS = {"passed": "●", "not yet": "○", "try again": "✗", "not here": "–"}


class Climber:
    """A process that climbs rungs one after the other, and is ended when one takes too long."""

    def __init__(self, folder: Path):
        self.folder = folder
        words = [sys.executable, "-m", "scratchformer_course.blank.climber", str(folder)]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(words, **pipes, text=True, encoding="utf-8")
        self.lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.titles = json.loads(self._line(START))

    def _read(self) -> None:
        for line in self.process.stdout or ():
            self.lines.put(line)
        self.lines.put("")

    def _line(self, seconds: float) -> str:
        return self.lines.get(timeout=seconds)

    def climb(self, index: int, seconds: float | None = None) -> dict[str, Any]:
        """What the rung says; a rung that takes too long, or ends its process, says so."""
        seconds = seconds or self.titles[index]["limit"]
        assert self.process.stdin is not None
        self.process.stdin.write(f"{index}\n")
        self.process.stdin.flush()
        try:
            line = self._line(seconds)
        except queue.Empty:
            why = f"no answer within {seconds:g} seconds: is there a loop that never ends?"
            return {"state": "try again", "message": why, "seconds": seconds}
        if not line:
            why = "Python itself ended here: was it out of memory, or does a line leave it?"
            return {"state": "try again", "message": why, "seconds": 0.0}
        return json.loads(line)

    def end(self) -> None:
        """End the process, whatever it does."""
        self.process.kill()
        self.process.wait()


def serve(folder: Path) -> None:
    """The process's side: the titles of all rungs, then a verdict for each number that comes in."""
    out, sys.stdout = sys.stdout, sys.stderr  # what the files print is no verdict
    out.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    import torch

    from scratchformer_course.blank.rungs import RUNGS

    torch.set_num_threads(min(2, torch.get_num_threads()))
    mine = Mine(folder)
    keys = ("title", "file", "chapter", "optional")
    titles = [{k: getattr(r, k) for k in keys} | {"limit": r.seconds} for r in RUNGS]
    print(json.dumps(titles), file=out, flush=True)
    for line in sys.stdin:
        print(json.dumps(RUNGS[int(line)].climb(mine)), file=out, flush=True)


def climb(folder: Path, only: int | None = None) -> bool:
    """Climb from the first rung, or one alone, and print what is said; whether all hold."""
    climber, start = Climber(folder), time.perf_counter()
    rungs, reached = climber.titles, read_kept(folder)
    marks, blocked = "", None
    try:
        if only is not None and not 1 <= only <= len(rungs):
            raise SystemExit(f"--rung {only}: expected 1 to {len(rungs)}")
        for i, rung in enumerate(rungs):
            if only is not None and i != only - 1:
                continue
            said = climber.climb(i)
            marks += MARKS[said["state"]]
            print(
                f"{i + 1:3} {MARKS[said['state']]} {rung['title']}: {said['message']}", flush=True
            )
            if said["state"] == "passed":
                reached[rung["title"]] = {"day": time.strftime("%Y-%m-%d")} | {
                    "seconds": round(said["seconds"], 2)
                }
            else:
                reached.pop(rung["title"], None)
                is_open = said["state"] == "not here" or (
                    rung["optional"] and said["state"] == "not yet"
                )
                if not is_open:
                    blocked = rung
                    break
    finally:
        climber.end()
    keep(folder, reached)
    seconds = time.perf_counter() - start
    print(f"\n{picture(marks, len(rungs) if only is None else 1)}  {seconds:.0f} s")
    if blocked:
        print(f"You are at {blocked['file']}. Chapter {blocked['chapter']} is about this.")
    elif only is None:
        print("That is the top.")
    return blocked is None


def picture(marks: str, rungs: int) -> str:
    """The way up in one line: a sign for each rung, and how far it is."""
    return f"[{marks:·<{rungs}}] {marks.count('●')} of {rungs} rungs"


def read_kept(folder: Path) -> dict[str, Any]:
    """What was reached before: title -> day and seconds. A damaged file counts as none."""
    try:
        kept = json.loads((folder / KEPT).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return kept if isinstance(kept, dict) else {}


def keep(folder: Path, reached: dict[str, Any]) -> None:
    """Store what is reached beside the files."""
    with atomic_write(folder / KEPT) as part:
        part.write_text(json.dumps(reached, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def watch(folder: Path, only: int | None) -> None:
    """Climb again whenever a file is saved, until Control-C."""
    seen: list[float] = []
    while True:
        times = [(folder / name).stat().st_mtime for name in FILES if (folder / name).is_file()]
        if times != seen:
            seen = times
            climb(folder, only)
            print("Waiting for a file to be saved; Control-C ends this.\n", flush=True)
        time.sleep(0.5)


def main(arguments: list[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="climb", description="Climb the ladder of the empty file."
    )
    parser.add_argument("folder", nargs="?", default="mine", type=Path)
    parser.add_argument("--rung", type=int, help="this rung alone, 1 is the first")
    parser.add_argument("--watch", action="store_true", help="again when a file is saved")
    parser.add_argument("--certificate", metavar="NAME", help="write certificate.svg and .txt")
    parser.add_argument("--verify", metavar="CERTIFICATE", type=Path)
    given = parser.parse_args(arguments)
    if given.verify:
        print(certificate.verify(given.verify))
        return 0
    if not given.folder.is_dir():
        print(f"there is no folder {given.folder}: `blank` makes one", file=sys.stderr)
        return 2
    if given.watch:
        watch(given.folder, given.rung)
    is_top = climb(given.folder, given.rung)
    if given.certificate and is_top and given.rung is None:
        print(certificate.write(given.folder, given.certificate, read_kept(given.folder)))
    elif given.certificate:
        print("A certificate is for the top of the ladder.")
    return 0 if is_top else 1


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
