"""Grades notebooks: each is run from top to bottom, and what its checks say is its grade.

Usage: python -m scratchformer_course grade NOTEBOOK… [--seed N] [--seconds S] [--out FOLDER]

A check meets its own cases and others that the seed draws, and an exercise that passes anywhere in
the notebook counts; checks in cells of worked answers do not. Nothing here protects your machine
from what a notebook does. `--out` gets each notebook as it ran, verdicts.csv with a row for each
verdict, and grades.csv with a row for each student. Both are written after each notebook: rows of
students who are graded later are added, and what a student hands in again replaces what there was.
Ends with 0, or with 2 if a file could not be graded.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import json
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import Any

from scratchformer.files import atomic_write
from scratchformer_course.teaching.tables import chapters, exercises

CONTAINER = """This runs notebooks with your rights. Strangers' code belongs in a container:
  docker run --rm --network none --read-only --tmpfs /tmp -e HOME=/tmp \\
    -v "$PWD/class:/class:ro" -v "$PWD/grades:/grades" IMAGE \\
    sh -c 'python -m scratchformer_course grade /class/*/*.ipynb --out /grades'
(podman takes the same words; IMAGE is one in which this package is installed.)"""
STATES = ("not yet", "try again", "passed")  # the best verdict of an exercise counts


@dataclass(frozen=True)
class Result:
    """The best verdict of one exercise in one notebook."""

    student: str
    exercise: str  # such as "5.2"
    state: str
    message: str


def chapter_of(cells: Iterable[str]) -> str:
    """The chapter of a notebook with these cells: the slice that it imports. ValueError if none."""
    names = re.findall(r"scratchformer_course\.ch(\d\d_\w+)", "\n".join(cells))
    imports = Counter(name for name in names if name in chapters())
    if not imports:
        raise ValueError("expected an import of a chapter, such as scratchformer_course.ch06_…")
    return imports.most_common(1)[0][0]


def run(notebook: Any, chapter: str, seed: int, seconds: int) -> list[dict[str, str]]:
    """Run the cells of a notebook, which keeps what they print; the verdicts of its checks.

    A cell that fails or takes longer than `seconds` ends, and the next one runs.
    """
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import DeadKernelError

    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "verdicts.jsonl"
        start = "from scratchformer_course.teaching import record_verdicts\n"
        start += f"record_verdicts.begin({chapter!r}, {str(record)!r}, {seed})"
        notebook.cells.insert(0, nbformat.v4.new_code_cell(start))
        environment = {"SCRATCHFORMER_BUDGET": "smoke", "SCRATCHFORMER_LIVE": "stored"}
        client = NotebookClient(
            notebook,
            timeout_func=lambda cell: None if cell.source == start else seconds,
            interrupt_on_timeout=True,
            allow_errors=True,
            kernel_name="python3",
            extra_arguments=["--IPKernelApp.log_level=ERROR"],  # no word of its transport
            resources={"metadata": {"path": folder}},
        )
        with contextlib.suppress(DeadKernelError):  # the cells before count
            client.execute(env=environment | os.environ)
        start_cell = notebook.cells.pop(0)
        if not record.exists():
            raise ValueError(f"the kernel could not begin: {start_cell.outputs}")
        return [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]


def best(student: str, chapter: str, verdicts: list[dict[str, str]]) -> list[Result]:
    """For each exercise of a chapter the last of the best verdicts."""
    results = []
    for exercise in exercises(chapter):
        kept = {"state": "not yet", "message": f"The check of `{exercise.name}` never ran."}
        for verdict in verdicts:
            if verdict["exercise"] == exercise.number:
                kept = max(verdict, kept, key=lambda x: STATES.index(x["state"]))
        results.append(Result(student, exercise.number, kept["state"], kept["message"]))
    return results


def students(paths: list[Path]) -> dict[Path, str]:
    """Whose each notebook is: its folder's, or its own name where a folder has several of a name.

    In `class/ann/05.ipynb` it is Ann's, and so is `class/ann/06.ipynb`; in `class/ann_05.ipynb` the
    name of the file says it.
    """
    folders = {path: path.resolve().parent for path in paths}
    is_shared = len(set(folders.values())) == 1 and len(paths) > 1
    return {path: path.stem if is_shared else folders[path].name for path in paths}


def table(results: list[Result]) -> list[dict[str, str | int]]:
    """A row for each student: 1 for each exercise that passed, 0 for others, and the sum."""
    rows: dict[str, dict[str, str | int]] = {}
    numbers = sorted({r.exercise for r in results}, key=lambda n: [int(x) for x in n.split(".")])
    for result in results:
        row = rows.setdefault(
            result.student, {"student": result.student, **dict.fromkeys(numbers, "")}
        )
        row[result.exercise] = int(result.state == "passed")
    for row in rows.values():
        row["sum"] = sum(value for value in row.values() if isinstance(value, int))
    return [*rows.values()]


def summary(results: list[Result]) -> list[str]:
    """For each exercise how many passed, and what the checks told the others, the most first."""
    lines = []
    for number in dict.fromkeys(result.exercise for result in results):
        verdicts = [result for result in results if result.exercise == number]
        passed = sum(result.state == "passed" for result in verdicts)
        lines.append(f"{number}: {passed} of {len(verdicts)} passed")
        words = Counter(r.message.partition("\n")[0] for r in verdicts if r.state != "passed")
        lines += [f"  {count} x {message}" for message, count in words.most_common()]
    return lines


def as_csv(rows: list[dict[str, Any]]) -> str:
    """Rows of the same keys as CSV; half a pair of UTF-16, which no file can hold, becomes `?`."""
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, [*rows[0]] if rows else [])
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue().encode("utf-8", "replace").decode()


def read_results(path: Path) -> list[Result]:
    """The results in a verdicts.csv, none if it is not there.

    Raises ValueError if it is not as it was written: what was changed in it would be misread.
    """
    if not path.exists():
        return []
    text = path.read_bytes().decode("utf-8", "replace")
    try:
        results = [Result(**row) for row in csv.DictReader(io.StringIO(text, newline=""))]
        is_unchanged = text == as_csv([asdict(result) for result in results])
    except (TypeError, csv.Error):  # other columns, or no table
        is_unchanged = False
    if not is_unchanged:
        raise ValueError(
            f"{path} has been changed since it was written, as by a spreadsheet: restore it, or "
            "move it away and grade all notebooks again"
        )
    return results


def store(folder: Path, results: list[Result]) -> list[str]:
    """Add results to the tables in a folder; what happened to those that were there.

    Another process that grades into the folder waits. Raises ValueError as `read_results` does.
    """
    from filelock import FileLock

    new = {(result.student, result.exercise) for result in results}
    folder.mkdir(parents=True, exist_ok=True)
    verdicts, grades, notes = folder / "verdicts.csv", folder / "grades.csv", []
    with FileLock(folder / ".lock"):
        earlier = read_results(verdicts)
        kept = [result for result in earlier if (result.student, result.exercise) not in new]
        if len(kept) < len(earlier):
            notes.append(f"{results[0].student} was graded before: replaced")
        if grades.exists() and grades.read_bytes() != as_csv(table(earlier)).encode():
            names = (folder / f"grades-{n}.csv" for n in count(1))
            copy = next(path for path in names if not path.exists())
            grades.rename(copy)
            notes.append(f"{grades} has been changed since it was written: kept as {copy}")
        all_results = kept + results
        for path, rows in (
            (verdicts, [asdict(result) for result in all_results]),
            (grades, table(all_results)),
        ):
            with atomic_write(path) as part:
                part.write_bytes(as_csv(rows).encode())
    return notes


def main(arguments: list[str]) -> int:
    """Grade the notebooks that the arguments name; the exit status."""
    name = "python -m scratchformer_course grade"
    parser = argparse.ArgumentParser(prog=name, description=__doc__.splitlines()[0])
    parser.add_argument("notebooks", nargs="+", type=Path, metavar="NOTEBOOK")
    parser.add_argument("--seed", type=int, default=0, help="draws the fresh cases (default: 0)")
    parser.add_argument("--seconds", type=int, default=120, help="for a cell (default: 120)")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="write notebooks and tables")
    options = parser.parse_args(arguments)
    if options.seed < 0 or options.seconds <= 0:
        parser.error("expected a --seed of 0 or more, and --seconds of more than 0")
    print(CONTAINER, file=sys.stderr)
    import nbformat

    results: list[Result] = []
    failures = []
    if options.out:
        try:
            read_results(options.out / "verdicts.csv")  # before anything is run
        except ValueError as error:
            parser.error(str(error))
    for path, student in students(options.notebooks).items():
        try:
            notebook = nbformat.read(path, as_version=4)
            sources = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
            chapter = chapter_of(sources)
            graded_already = {(r.student, r.exercise) for r in results}
            if {(student, exercise.number) for exercise in exercises(chapter)} & graded_already:
                raise ValueError(f"a second notebook of {student} for {chapter}: expected one")
            verdicts = run(notebook, chapter, options.seed, options.seconds)
            graded = best(student, chapter, verdicts)
            notes = store(options.out, graded) if options.out else []
            if options.out:
                executed_path = options.out / student / path.name
                executed_path.parent.mkdir(parents=True, exist_ok=True)
                nbformat.write(notebook, executed_path)
        except (OSError, ValueError, TypeError, AttributeError) as error:  # no notebook, too
            failures.append(f"{path}: {getattr(error, 'strerror', None) or error}")
            continue
        results += graded
        passed = sum(result.state == "passed" for result in graded)
        print("; ".join([f"{path}: {passed} of {len(graded)}", *notes]), flush=True)
    graded_so_far = read_results(options.out / "verdicts.csv") if options.out else results
    print(*summary(graded_so_far), sep="\n")
    print(*failures, sep="\n", end="\n" * bool(failures), file=sys.stderr)
    return 2 if failures else 0
