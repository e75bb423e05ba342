"""The JavaScript step of `make lint`: Biome checks format and rules, where Node.js is at hand.

Usage: python -m tools.lint_javascript

Biome has the version that package.json pins. The first time, it is installed into node_modules.
Without Node.js or a network one line says that nothing was checked, and the step passes.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIOME = Path("node_modules", "@biomejs", "biome")
INSTALL = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=0"]
OUR_FAULTS = ("EUSAGE", "EINTEGRITY")  # of package-lock.json: npm's codes
PATIENCE = 300  # seconds for an installation of 50 MB


def main(root: Path = ROOT) -> int:
    """Check all scripts; 0 if they pass, or if they cannot be checked."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return not_checked("there is no Node.js with npm on the PATH")
    if not is_installed(root):
        fault = install(npm, root)
        if fault in OUR_FAULTS:
            print(f"npm ci fails with {fault}: package-lock.json and package.json do not agree")
            return 1
        if fault:
            return not_checked(f"Biome could not be installed: npm says {fault}")
    check = [node, str(BIOME / "bin" / "biome"), "check", "--error-on-warnings"]
    return subprocess.run(check, cwd=root).returncode


def not_checked(why: str) -> int:
    print(f"javascript: not checked, because {why}", flush=True)
    return 0


def is_installed(root: Path) -> bool:
    """Whether node_modules holds Biome in the version that is pinned."""
    pinned = json.loads((root / "package.json").read_text(encoding="utf-8"))["devDependencies"]
    try:
        found = json.loads((root / BIOME / "package.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return False
    return found["version"] == pinned["@biomejs/biome"]


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
