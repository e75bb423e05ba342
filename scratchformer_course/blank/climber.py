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
import shutil
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from scratchformer.files import atomic_write
from scratchformer_course.blank import certificate
from scratchformer_course.blank.mine import FILES, Mine

KEPT = "climb.json"
START = 180.0  # seconds that a process may take to import PyTorch
LONG = 600.0  # a rung that may take longer is not climbed again once it has been
MARKS = {"passed": "●", "not yet": "○", "try again": "✗", "not here": "–"}


class Climber:
    """A process that climbs rungs one after the other, and is ended when one takes too long."""

    def __init__(self, folder: Path):
        words = [sys.executable, "-m", "scratchformer_course.blank.climber", str(folder)]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(words, **pipes, text=True, encoding="utf-8")
        self.lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        try:
            self.stages, self.rungs = json.loads(self.lines.get(timeout=START))
        except (queue.Empty, ValueError):
            self.end()
            raise SystemExit(
                f"the process that runs your files did not start within {START:g} s: "
                "is this machine busy, or are the course's packages not installed?"
            ) from None

    def _read(self) -> None:
        for line in self.process.stdout or ():
            self.lines.put(line)
        self.lines.put("")

    def climb(self, index: int, seconds: float | None = None) -> dict[str, Any]:
        """What the rung says; a rung that takes too long, or ends its process, says so."""
        seconds = seconds or self.rungs[index]["limit"]
        assert self.process.stdin is not None
        self.process.stdin.write(f"{index}\n")
        self.process.stdin.flush()
        try:
            line = self.lines.get(timeout=seconds)
        except queue.Empty:
            why = f"no answer in {seconds:g} s: does a loop never end, or is this machine busy?"
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
    """The process's side: stages and rungs, then a verdict for each number that comes in."""
    out, sys.stdout = sys.stdout, sys.stderr  # what the files print is no verdict
    out.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    import torch

    from scratchformer_course.blank.rungs import RUNGS, STAGES

    torch.set_num_threads(min(2, torch.get_num_threads()))
    mine = Mine(folder)
    keys = ("title", "file", "chapter", "optional")
    rungs = [{k: getattr(r, k) for k in keys} | {"limit": r.seconds} for r in RUNGS]
    print(json.dumps([STAGES, rungs]), file=out, flush=True)
    for line in sys.stdin:
        print(json.dumps(RUNGS[int(line)].climb(mine)), file=out, flush=True)


def climb(folder: Path, only: int | None = None, *, afresh: bool = False) -> bool:
    """Climb from the first rung, or one alone, and print what is said; whether all hold.

    The rung of minutes, once it is passed, is climbed again alone, or with `afresh`.
    """
    climber, kept = Climber(folder), read_kept(folder)
    marks: dict[int, str] = {}
    rungs, blocked, start = climber.rungs, None, time.perf_counter()
    try:
        if only is not None and not 1 <= only <= len(rungs):
            raise SystemExit(f"--rung {only}: expected 1 to {len(rungs)}")
        for i in range(len(rungs)) if only is None else [only - 1]:
            title, is_long = rungs[i]["title"], rungs[i]["limit"] > LONG
            if is_long and title in kept and only is None and not afresh:
                words = f"kept from {kept[title]['day']}: {kept[title]['said']}"
                words += f" (`--rung {i + 1}` climbs it again.)"
                said: dict[str, Any] = {"state": "passed", "seconds": 0.0, "message": words}
            else:
                if is_long:
                    print(f"{i + 1:3}   {title}: this takes minutes, once.", flush=True)
                said = climber.climb(i)
                kept.pop(title, None)
                if said["state"] == "passed":
                    kept[title] = {"day": time.strftime("%Y-%m-%d"), "said": said["message"]}
                    kept[title]["seconds"] = round(said["seconds"], 2)
            marks[i] = MARKS[said["state"]]
            print(told(i, marks[i], title, said), flush=True)
            is_left = rungs[i]["optional"] and said["state"] == "not yet"
            if said["state"] not in ("passed", "not here") and not is_left:
                blocked = rungs[i]
                break
    finally:
        climber.end()
    keep(folder, kept)
    if only is None:
        print(picture(marks, climber.stages, time.perf_counter() - start), flush=True)
    if blocked:
        print(
            f"You are at {blocked['file']}. Chapter {blocked['chapter']} is about this.", flush=True
        )
    return blocked is None


def told(index: int, mark: str, title: str, said: dict[str, Any]) -> str:
    """A rung's number, mark, title and words, cut into lines as wide as the terminal."""
    seconds = f" ({said['seconds']:.0f} s)" if said["seconds"] >= 2 else ""
    text = f"{title}{seconds}: {said['message']}" if said["message"] else f"{title}{seconds}"
    lines = [f"{index + 1:3} {mark} {text}".splitlines()[0], *text.splitlines()[1:]]
    width = min(shutil.get_terminal_size().columns - 1, 77)
    wrapper = textwrap.TextWrapper(width, subsequent_indent=" " * 6, break_long_words=False)
    wrapper.break_on_hyphens = False
    parts = [wrapper.fill(lines[0])]
    wrapper.initial_indent = " " * 6
    return "\n".join([*parts, *map(wrapper.fill, lines[1:])])


def picture(marks: dict[int, str], stages: dict[str, int], seconds: float) -> str:
    """The way up, from the last line to the first: a sign for each rung, stage above stage."""
    lines, first = [], 0
    for name, n in stages.items():
        row = [marks.get(i, "·") for i in range(first, first + n)]
        lines.append(f"{name:>20}  {' '.join(row):{2 * max(stages.values())}}{row.count('●')}/{n}")
        first += n
    reached = list(marks.values()).count("●")
    top = "the top" if reached == first else f"{reached} of {first} rungs"
    return "\n".join(["", *reversed(lines), "", f"{'':20}  {top}, in {seconds:.0f} s"])


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
        print(certificate.verify(given.verify), flush=True)
        return 0
    if not given.folder.is_dir():
        print(f"there is no folder {given.folder}: `blank` makes one", file=sys.stderr)
        return 2
    try:
        if given.watch:
            watch(given.folder, given.rung)
        is_top = climb(given.folder, given.rung, afresh=bool(given.certificate))
    except KeyboardInterrupt:
        return 1
    if given.certificate and is_top and given.rung is None:
        print(
            certificate.write(given.folder, given.certificate, read_kept(given.folder)), flush=True
        )
    elif given.certificate:
        print("A certificate is for the top of the ladder.", flush=True)
    return 0 if is_top else 1


if __name__ == "__main__":
    with suppress(BrokenPipeError):  # whoever asked has gone
        serve(Path(sys.argv[1]))
