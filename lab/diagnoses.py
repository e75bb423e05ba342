"""What `diagnose` says of chapter 25's faulty and healthy programs -> measurements/diagnoses.json.

Usage: python -m lab.diagnoses [--write]

first_sight    the tests that failed when `diagnose` and the patients met, written without knowledge
               of each other; written once, and kept
now            those that fail today
first_suspect  the mistake that the first of these names first
"""

import argparse
from typing import Any

from lab import runs
from scratchformer_course.ch25_silent_bugs.examination import CHARACTERS, ROWS, STEPS, examine
from scratchformer_course.ch25_silent_bugs.faults import FAULTS, HEALTHY
from scratchformer_course.ch25_silent_bugs.program import Program

SETTINGS = {"characters": CHARACTERS, "steps": STEPS, "rows": ROWS}


def measure(options: argparse.Namespace) -> dict:
    """The entries of all healthy programs and of all with a fault."""
    path = runs.path_of("diagnoses")
    stored = runs.read(path) if path.exists() else {}
    programs = {
        "twins": {name: Program(setting) for name, setting in HEALTHY.items()},
        "patients": {name: fault.program for name, fault in FAULTS.items()},
    }
    entries: dict[str, dict] = {kind: {} for kind in programs}
    for kind, of_kind in programs.items():
        for name, program in of_kind.items():
            report = examine(program)
            before = stored.get(kind, {}).get(name, {})
            entry: dict[str, Any] = {"first_sight": before.get("first_sight", report.faults)}
            entry["now"] = report.faults
            if kind == "patients":
                entry["first_suspect"] = "".join(report[report.faults[0]].suspects[:1])
            entries[kind][name] = entry
            print(name, entry, flush=True)
    return entries


main = runs.script(__doc__, "diagnoses", measure, SETTINGS, quick=False)


if __name__ == "__main__":
    main()
