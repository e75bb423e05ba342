"""The course's JavaScript in Node.js: one runner for all tests, which skip without Node."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

COURSE = Path(__file__).resolve().parents[1] / "scratchformer_course"
NODE = shutil.which("node")
PROGRAM = """
const { scripts, input } = JSON.parse(require("fs").readFileSync(0, "utf8"));
for (const [name, path] of Object.entries(scripts)) globalThis[name] = require(path);
const plain = (_, x) => ArrayBuffer.isView(x) ? Array.from(x) : x;
const answer = (told) =>
  process.stdout.write(JSON.stringify(told, plain), () => process.exit());
(async () => { BODY })()
  .then((value) => answer({ value }), (error) => answer({ error: error.message }));
"""


class JavaScriptError(Exception):
    """What JavaScript has thrown, with its message."""


class Node:
    """Scripts by the names under which a test calls them, in the order in which they are loaded.

    Paths are relative to the course's folder; what every live figure needs is loaded before them.
    """

    def __init__(self, **scripts: str):
        self.scripts = {"scratchformerLive": "kit/figure/live_figure.js", **scripts}

    def __call__(self, body: str, *flags: str, **given: Any) -> Any:
        """What a function with this body returns; what is `given` is there as `input.name`."""
        if NODE is None:
            pytest.skip("no node on the PATH: JavaScript was not run")
        scripts = {name: str(COURSE / path) for name, path in self.scripts.items()}
        done = subprocess.run(
            [NODE, *flags, "-e", PROGRAM.replace("BODY", body)],
            input=json.dumps({"scripts": scripts, "input": given}),
            capture_output=True,
            encoding="utf-8",
        )
        assert done.returncode == 0, done.stderr[-2000:]
        answer = json.loads(done.stdout)
        if "error" in answer:
            raise JavaScriptError(answer["error"])
        return answer.get("value")
