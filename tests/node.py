"""The course's JavaScript in Node.js: one runner for all tests, which skip without Node."""

import atexit
import contextlib
import json
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any

import psutil
import pytest

from scratchformer_course.kit.figure.live_figure import LOADER, SCRIPT

COURSE = Path(__file__).resolve().parents[1] / "scratchformer_course"
NODE = shutil.which("node")
PATIENCE = 120.0  # seconds for one answer
PROGRAM = """
for (const [name, path] of JSON.parse(process.argv[1])) {
  const before = Object.keys(globalThis.course ?? {});
  require(path);
  if (name) globalThis[name] = course[Object.keys(course).find((part) => !before.includes(part))];
}
const plain = (_, x) => ArrayBuffer.isView(x) ? Array.from(x) : x;
const AsyncFunction = (async () => {}).constructor;
require("readline").createInterface({ input: process.stdin }).on("line", async (line) => {
  const { body, input } = JSON.parse(line);
  const answer = await new AsyncFunction("input", body)(input)
    .then((value) => ({ value }), (error) => ({ error: error.message }));
  process.stdout.write(`${JSON.stringify(answer, plain)}\\n`);
});
"""


class JavaScriptError(Exception):
    """What JavaScript has thrown, with its message."""


class Node:
    """A Node.js in which files are loaded in this order, behind what every live figure needs.

    Paths are relative to the course's folder. A file that is given by name defines a part of
    `course`, and tests call it by this name. The process starts when it is first asked.
    """

    def __init__(self, *files: str, **named: str):
        loaded = [("", name) for name in (LOADER, SCRIPT, *files)] + list(named.items())
        self.files = json.dumps([(name, str(COURSE / path)) for name, path in loaded])
        self.processes: dict[tuple[str, ...], subprocess.Popen] = {}

    def __call__(self, body: str, *flags: str, **given: Any) -> Any:
        """What a function with this body returns; what is `given` is there as `input.name`."""
        if NODE is None:
            pytest.skip("no node on the PATH: JavaScript was not run")
        # kept for the next call only if it answers this one
        process = self.processes.pop(flags, None) or start(
            [NODE, *flags, "-e", PROGRAM, self.files]
        )
        watch = threading.Timer(PATIENCE, process.kill)
        watch.start()
        try:
            line = ask(process, json.dumps({"body": body, "input": given}))
        finally:
            watch.cancel()
        if not line:  # it has died
            raise AssertionError(f"Node.js gave no answer:\n{process.communicate()[1][-2000:]}")
        self.processes[flags] = process
        answer = json.loads(line)
        if "error" in answer:
            raise JavaScriptError(answer["error"])
        return answer.get("value")


def start(command: list[str], **options: Any) -> subprocess.Popen:
    """A process that reads and writes lines, and ends with the tests; `options` as of Popen."""
    pipe = subprocess.PIPE
    options = {"stderr": pipe} | options
    process = subprocess.Popen(
        command, stdin=pipe, stdout=pipe, encoding="utf-8", bufsize=1, **options
    )
    atexit.register(process.kill)
    return process


def ask(process: subprocess.Popen, line: str) -> str:
    """The line that a process answers to a line; "" if it has died.

    If the test is ended meanwhile, the process ends too, with those that it has started.
    """
    try:
        process.stdin.write(f"{line}\n")
        return process.stdout.readline()
    except BaseException:
        with contextlib.suppress(psutil.Error):
            for child in psutil.Process(process.pid).children(recursive=True):
                child.kill()
        process.kill()
        raise
