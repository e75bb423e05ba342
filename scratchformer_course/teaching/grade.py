"""Grades students' notebooks: points, a verdict and a diagnosis for each exercise.

Usage: python -m scratchformer_course grade NOTEBOOK… [--seed N] [--seconds S] [--json]
                                            [--out FOLDER]

The functions that a student wrote are taken out of the notebook (`student.py`), each is checked in
a process of its own (`student_process.py`) with the cases of its exercise and with fresh ones, and
the points follow from both (`points.py`). What else the notebook prints, trains or draws is not
run. Ends with 0 if all exercises passed, 1 if not, and 2 if a file could not be graded. In
`--out`, earlier grades of other notebooks stay in grades.csv.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

from scratchformer.files import atomic_write
from scratchformer_course.kit.checks.sandbox import LIMIT
from scratchformer_course.teaching.grade_report import Report, gradescope, lines, markdown, table
from scratchformer_course.teaching.points import clean, grade
from scratchformer_course.teaching.student_process import examine, isolation
from scratchformer_course.teaching.tables import chapters, exercises

UNBOUND = (
    "This system gives a notebook no namespaces of its own: it could use the network, and write "
    "files through a compiled library. Grade the work of strangers in a container."
)


def read(path: Path) -> tuple[str, list[str]]:
    """The chapter of a notebook, and its code cells.

    The chapter is the slice that it imports, most often if there are several. Raises ValueError if
    this is no notebook of a chapter, and OSError if it cannot be read.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8-sig"))["cells"]
        cells = ["".join(each["source"]) for each in found if each["cell_type"] == "code"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ValueError("expected a notebook (.ipynb), and this is not one") from None
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
    return Report(clean(str(path)), chapter, grades)


def write(text: str, path: Path) -> None:
    """Write a file as a whole, or not at all."""
    with atomic_write(path) as part:
        part.write_text(text, encoding="utf-8", newline="")


def places(notebooks: list[Path], folder: Path) -> list[Path]:
    """Where the reports of notebooks go: into folders like theirs, below `folder`."""
    paths = [Path(os.path.abspath(path)) for path in notebooks]
    above = os.path.commonpath([path.parent for path in paths])
    return [folder / path.relative_to(above) for path in paths]


def main(words: list[str]) -> int:
    """Grade the notebooks that the words name; the exit status."""
    name = "python -m scratchformer_course grade"
    parser = argparse.ArgumentParser(prog=name, description=__doc__.splitlines()[0])
    parser.add_argument("notebooks", nargs="+", type=Path, metavar="NOTEBOOK")
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        help="draws the fresh cases (default: 0; students can try that one)",
    )
    parser.add_argument(
        "--seconds", type=float, default=4 * LIMIT, help="for an exercise (default: %(default)g)"
    )
    parser.add_argument("--json", action="store_true", help="print Gradescope's results.json")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="write reports and grades.csv")
    options = parser.parse_args(words)
    if options.seed < 0 or not 0 < options.seconds <= 3600:
        parser.error("expected a --seed of 0 or more, and --seconds of more than 0, up to 3600")
    found, wrong = [], []
    for path in options.notebooks:
        try:
            found.append((path, *read(path)))
        except (OSError, ValueError) as error:
            wrong.append(f"{clean(str(path))}: {getattr(error, 'strerror', None) or error}")
    reports: list[Report] = []
    earlier = ""
    try:
        if options.out:
            options.out.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=options.out):  # or it is no use to begin
                pass
            if (options.out / "grades.csv").is_file():
                earlier = (options.out / "grades.csv").read_text("utf-8")
        if found and not isolation():
            print(UNBOUND, file=sys.stderr)
        for each in found:
            reports.append(graded(*each, options.seed, options.seconds))
            if not options.json:
                print(lines(reports[-1]), flush=True)
            if options.out:
                place = places([path for path, *_ in found], options.out)[len(reports) - 1]
                write(markdown(reports[-1]), place.with_suffix(".grade.md"))
                write(
                    json.dumps(gradescope(reports[-1:]), indent=1), place.with_suffix(".grade.json")
                )
                write(table(reports, earlier), options.out / "grades.csv")
    except (OSError, RuntimeError) as error:
        wrong.append(str(error))
    if wrong:
        print(*wrong, sep="\n", file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps(gradescope(reports), indent=1))
    return int(any(report.points < report.maximum for report in reports))
