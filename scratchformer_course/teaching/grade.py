"""Grades students' notebooks: points, a verdict and a diagnosis for each exercise.

Usage: python -m scratchformer_course grade NOTEBOOK… [--seed N] [--seconds S] [--json]
                                            [--out FOLDER]

The functions that a student wrote are taken out of the notebook (`student.py`), each is checked in
a process of its own (`student_process.py`) with the cases of its exercise and with fresh ones, and
the points follow from both (`points.py`). What else the notebook prints, trains or draws is not
run. Ends with 0 if all exercises passed, 1 if not, and 2 if a file cannot be graded: then none is.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections import Counter
from pathlib import Path

from scratchformer.files import atomic_write
from scratchformer_course.kit.checks.sandbox import LIMIT
from scratchformer_course.teaching.grade_report import Report, gradescope, lines, markdown, table
from scratchformer_course.teaching.points import grade
from scratchformer_course.teaching.student_process import examine
from scratchformer_course.teaching.tables import chapters, exercises


def read(path: Path) -> tuple[str, list[str]]:
    """The chapter of a notebook, and its code cells.

    The chapter is the slice that it imports, most often if there are several. Raises ValueError if
    this is no notebook of a chapter, and OSError if it cannot be read.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))["cells"]
        cells = ["".join(each["source"]) for each in found if each["cell_type"] == "code"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ValueError("expected a notebook (.ipynb), and this is none") from None
    named = re.findall(r"scratchformer_course\.ch(\d\d_\w+)", "\n".join(cells))
    known = Counter(name for name in named if name in chapters())
    if not known:
        raise ValueError("expected an import of a chapter, such as scratchformer_course.ch06_…")
    return known.most_common(1)[0][0], cells


def graded(path: Path, chapter: str, cells: list[str], seed: int, seconds: float) -> Report:
    """The grades of a notebook, one process after the other."""
    grades = []
    for each in exercises(chapter):
        grades.append(grade(each, examine(cells, chapter, each.number, seed, seconds), seed))
    return Report(str(path), chapter, grades)


def write(reports: list[Report], folder: Path) -> None:
    """Reports for each notebook (NAME.md, NAME.json), in folders like theirs, and grades.csv."""
    paths = [Path(os.path.abspath(each.notebook)) for each in reports]
    above = Path(os.path.commonpath([path.parent for path in paths]))
    for path, report in zip(paths, reports, strict=True):
        place = folder / path.relative_to(above)
        with atomic_write(place.with_suffix(".md")) as part:
            part.write_text(markdown(report), encoding="utf-8")
        with atomic_write(place.with_suffix(".json")) as part:
            part.write_text(json.dumps(gradescope([report]), indent=1), encoding="utf-8")
    with atomic_write(folder / "grades.csv") as part:
        part.write_text(table(reports), encoding="utf-8", newline="")


def main(words: list[str]) -> int:
    """Grade the notebooks that the words name; the exit status."""
    name = "python -m scratchformer_course grade"
    parser = argparse.ArgumentParser(prog=name, description=__doc__.splitlines()[0])
    parser.add_argument("notebooks", nargs="+", type=Path, metavar="NOTEBOOK")
    parser.add_argument("--seed", type=int, default=0, help="draws the fresh cases (default: 0)")
    parser.add_argument(
        "--seconds", type=float, default=4 * LIMIT, help="for an exercise (default: %(default)g)"
    )
    parser.add_argument("--json", action="store_true", help="print Gradescope's results.json")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="write reports and grades.csv")
    options = parser.parse_args(words)
    if options.seed < 0 or not options.seconds > 0:
        parser.error("expected a --seed of 0 or more, and --seconds of more than 0")
    found, wrong = [], []
    for path in options.notebooks:
        try:
            found.append((path, *read(path)))
        except (OSError, ValueError) as error:
            wrong.append(f"{path}: {getattr(error, 'strerror', None) or error}")
    reports: list[Report] = []
    try:
        if options.out:
            options.out.mkdir(parents=True, exist_ok=True)
        for each in found if not wrong else ():
            reports.append(graded(*each, options.seed, options.seconds))
            if not options.json:
                print(lines(reports[-1]), flush=True)
        if options.out and reports:
            write(reports, options.out)
    except (OSError, RuntimeError) as error:
        wrong.append(str(error))
    if wrong:
        print(*wrong, sep="\n", file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps(gradescope(reports), indent=1))
    return int(any(report.points < report.maximum for report in reports))
