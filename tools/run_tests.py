"""`make test`: run each part, go on after a failure, and end with what passed, failed, was skipped.

Usage: python tools/run_tests.py [lint] [unit] [book] [notebooks] [colab] [site]
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = [sys.executable, "-m"]
PYTEST = [*PYTHON, "pytest", "-q", "--color=no"]
SIDE_BY_SIDE = ["-n", "2", "--dist", "loadfile"]  # see tests/side_by_side.py
PARTS = {
    "lint": [
        [*PYTHON, "ruff", "check", "."],
        [*PYTHON, "ruff", "format", "--check", "."],
        [*PYTHON, "codespell_lib"],
        [*PYTHON, "mypy"],
    ],
    "unit": [
        [*PYTEST, *SIDE_BY_SIDE, "tests", "--ignore=tests/site", "--ignore=tests/lone"],
    ],
    "book": [
        [
            str(Path(sys.executable).with_name("jupyter-book")),
            *"build . --all -W -n --keep-going".split(),
        ]
    ],
    "notebooks": [
        [*PYTEST, "--nbval", "--nbval-current-env", "--nbval-cell-timeout=300"]
        + [*SIDE_BY_SIDE, "notebooks"]
    ],
    "colab": [[*PYTEST, "-n", "2", "tests/lone"]],
    "site": [[*PYTEST, *SIDE_BY_SIDE, "tests/site"]],
}


def run(command: list[str]) -> tuple[int, str]:
    """Run `command` in the project's root, showing its output; its status and output."""
    process = subprocess.Popen(
        command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    lines = []
    for line in process.stdout:
        print(line, end="", flush=True)
        lines.append(line)
    return process.wait(), "".join(lines)


def main(names: list[str]) -> int:
    unknown = sorted(set(names) - set(PARTS))
    if unknown:
        print(f"unknown part {unknown[0]!r}; expected some of {', '.join(PARTS)}")
        return 2
    failed, skips, summary = [], [], []
    for name in names:
        print(f"\n== {name} ==", flush=True)
        results = [run(command) for command in PARTS[name]]
        if any(status for status, _ in results):
            failed.append(name)
        output = "".join(text for _, text in results)
        skips += [f"{name}: {line}" for line in re.findall(r"^SKIPPED (.*)$", output, re.M)]
        skips += re.findall(r"^(notebooks: .*)$", output, re.M)
        counts = re.findall(r"^(?:=+ )?(\d+ (?:passed|failed|error).*?)(?: =+)?$", output, re.M)
        verdict = "FAILED" if name in failed else "passed"
        summary.append(f"  {name:<10} {verdict}  {counts[-1] if counts else ''}")
    print("\n== summary ==", *summary, sep="\n")
    if skips:
        print("Not run in full, and why:", *(f"  {line}" for line in skips), sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or list(PARTS)))
