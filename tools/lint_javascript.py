"""The JavaScript step of `make lint`: format, rules and types, where Node.js is at hand.

Usage: python -m tools.lint_javascript

package.json pins Biome and TypeScript, and says what is asked of them (`npm run check`). The first
time, they are installed into node_modules. Without Node.js or a network one line says that nothing
was checked, and the step passes.
"""

import shutil
import subprocess
import sys
from pathlib import Path

from tools.node_packages import ROOT, hindrance


def main(root: Path = ROOT) -> int:
    """Check all scripts; 0 if they pass, or if they cannot be checked."""
    try:
        why = hindrance(root)
    except ValueError as error:
        print(error)
        return 1
    if why:
        print(f"javascript: not checked, because {why}", flush=True)
        return 0
    return subprocess.run(
        [str(shutil.which("npm")), "run", "--silent", "check"], cwd=root
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
