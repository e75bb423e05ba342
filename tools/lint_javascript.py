"""The JavaScript step of `make lint`: format, rules and types, where Node.js is at hand.

Usage: python -m tools.lint_javascript

package.json pins Biome and TypeScript, and says what is asked of them (`npm run check`). The first
time, they are installed into node_modules. Without Node.js or a network one line says that nothing
was checked, and the step passes.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INSTALL = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=0"]
OUR_FAULTS = ("EUSAGE", "EINTEGRITY")  # of package-lock.json: npm's codes
PATIENCE = 300  # seconds for an installation of 70 MB


def main(root: Path = ROOT) -> int:
    """Check all scripts; 0 if they pass, or if they cannot be checked."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        return not_checked("there is no Node.js with npm on the PATH")
    fault = "" if is_installed(root) else install(npm, root)
    if fault in OUR_FAULTS:
        print(f"npm ci fails with {fault}: package-lock.json and package.json do not agree")
        return 1
    if fault:
        return not_checked(f"its programs could not be installed: npm says {fault}")
    return subprocess.run([npm, "run", "--silent", "check"], cwd=root).returncode


def not_checked(why: str) -> int:
    print(f"javascript: not checked, because {why}", flush=True)
    return 0


def is_installed(root: Path) -> bool:
    """Whether node_modules holds what is pinned, in these versions."""
    pins = json.loads((root / "package.json").read_text(encoding="utf-8"))["devDependencies"]
    found = {name: root / "node_modules" / name / "package.json" for name in pins}
    return all(
        path.is_file() and json.loads(path.read_text(encoding="utf-8"))["version"] == pins[name]
        for name, path in found.items()
    )


def install(npm: str, root: Path) -> str:
    """Install what package-lock.json names; npm's code for what went wrong, or nothing."""
    run = [npm, *INSTALL]
    try:
        done = subprocess.run(run, cwd=root, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return "nothing in time"
    if done.returncode == 0:
        return ""
    code = re.search(r"^npm error code (\w+)", done.stderr, re.M | re.I)
    return code[1] if code else "only that it failed"


if __name__ == "__main__":
    sys.exit(main())
