"""What `diagnose` says of chapter 23's patients and of their twins -> measurements/diagnoses.json.

Usage: python -m lab.diagnoses [--write]

first_sight    the tests that failed when `diagnose` and the patients met, written without knowledge
               of each other; written once, and kept
now            those that fail today
first_suspect  the mistake that the first of these names first
"""

import argparse
from typing import Any

from lab import runs
from scratchformer_course.ch23_silent_bugs.examination import CHARACTERS, ROWS, STEPS, examine
from scratchformer_course.ch23_silent_bugs.patient import TWINS
from scratchformer_course.ch23_silent_bugs.patients import PATIENTS
from scratchformer_course.ch23_silent_bugs.program import Program
from scratchformer_course.measurements import FOLDER

FILE = FOLDER / "diagnoses.json"
SETTINGS = {"characters": CHARACTERS, "steps": STEPS, "rows": ROWS}


def measure(options: argparse.Namespace) -> dict:
    """The entries of all twins and of all patients."""
    stored = runs.read(FILE) if FILE.exists() else {}
    programs = {
        "twins": {name: Program(setting) for name, setting in TWINS.items()},
        "patients": {name: patient.program for name, patient in PATIENTS.items()},
    }
    found: dict[str, dict] = {}
    for kind, all_of_a_kind in programs.items():
        found[kind] = {}
        for name, program in all_of_a_kind.items():
            report = examine(program)
            entry: dict[str, Any] = {"now": report.faults}
            before = stored.get(kind, {}).get(name, {})
            entry = {"first_sight": before.get("first_sight", entry["now"])} | entry
            if kind == "patients":
                entry["first_suspect"] = "".join(report[report.faults[0]].suspects[:1])
            found[kind][name] = entry
            print(name, entry, flush=True)
    return found


def main(arguments: list[str] | None = None) -> dict:
    return runs.carry_out(__doc__, FILE, measure, arguments, SETTINGS, quick=False)


if __name__ == "__main__":
    main()
