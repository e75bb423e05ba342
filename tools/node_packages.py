"""What package.json pins, installed into node_modules where Node.js and npm are at hand.

Usage: python -m tools.node_packages

`make lint` needs Biome and TypeScript, `make downloads` Pyodide, with which exercises run in their
pages. Without Node.js or a network one line says what is missing, and the step passes.
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
PATIENCE = 300  # seconds for an installation of 80 MB


def hindrance(root: Path = ROOT) -> str:
    """Install what is missing: why it cannot be had, or nothing.

    Raises ValueError if package-lock.json is at fault.
    """
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        return "there is no Node.js with npm on the PATH"
    fault = "" if is_installed(root) else install(npm, root)
    if fault in OUR_FAULTS:
        raise ValueError(
            f"npm ci fails with {fault}: package-lock.json and package.json do not agree"
        )
    return fault and f"its programs could not be installed: npm says {fault}"


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
    try:
        why = hindrance()
    except ValueError as error:
        sys.exit(str(error))
    print(f"node_modules: not complete, because {why}" if why else "node_modules: complete")
