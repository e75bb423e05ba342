"""The JavaScript step of `make lint`: format, rules and types, where Node.js is at hand.

Usage: python -m tools.javascript            check
       python -m tools.javascript install    install alone: `make book` needs Pyodide

package.json pins Biome, TypeScript and Pyodide, and says what is asked of them (`npm run check`).
Without Node.js or a network one line says what was not done, and the step passes. No package of
PyPI has Pyodide as its authors publish it.
"""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INSTALL = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=0"]


def main(words: list[str]) -> int:
    """Install what is pinned, where it is not yet there, and check; 0 if that cannot be done."""
    undone = "not fetched, so no exercise runs in its page," if words else "not checked,"
    npm, lock = shutil.which("npm"), (ROOT / "package-lock.json").read_bytes()
    if npm is None:
        print(f"javascript: {undone} because there is no Node.js with npm on the PATH")
        return 0
    installed = ROOT / "node_modules" / "installed-lock.json"
    if not installed.is_file() or installed.read_bytes() != lock:
        done = subprocess.run([npm, *INSTALL], cwd=ROOT, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            why = (done.stderr.splitlines() or ["no reason"])[0]
            print(f"javascript: {undone} because its programs cannot be had: {why}")
            return 0
        installed.write_bytes(lock)
    return 0 if words else subprocess.run([npm, "run", "-s", "check"], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
