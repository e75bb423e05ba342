"""Grades notebooks: each is run from top to bottom, and what its checks say is its grade.

Usage: python -m scratchformer_course grade NOTEBOOK… [--seed N] [--seconds S] [--out FOLDER]

A check meets its own cases and others that the seed draws, and an exercise that passes anywhere in
the notebook counts; checks in cells of worked answers do not. Nothing here protects your machine
from what a notebook does. `--out` gets each notebook as it ran, verdicts.csv with a row for each
verdict, and grades.csv with a row for each student; rows of students who are graded later are
added. Ends with 0, or with 2 if a file could not be graded.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
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
    known = Counter(name for name in names if name in chapters())
    if not known:
        raise ValueError("expected an import of a chapter, such as scratchformer_course.ch06_…")
    return known.most_common(1)[0][0]


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
        budget = {"SCRATCHFORMER_BUDGET": "smoke", "SCRATCHFORMER_LIVE": "stored"}
        client = NotebookClient(
            notebook,
            timeout_func=lambda cell: None if cell.source == start else seconds,
            interrupt_on_timeout=True,
            allow_errors=True,
            kernel_name="python3",
            resources={"metadata": {"path": folder}},
        )
        with contextlib.suppress(DeadKernelError):  # the cells before count
            client.execute(env=budget | os.environ)
        opening = notebook.cells.pop(0)
        if not record.exists():
            raise ValueError(f"the kernel could not begin: {opening.outputs}")
        return [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]


def best(student: str, chapter: str, verdicts: list[dict[str, str]]) -> list[Result]:
    """For each exercise of a chapter the last of the best verdicts."""
    results = []
    for exercise in exercises(chapter):
        chosen = {"state": "not yet", "message": f"The check of `{exercise.name}` never ran."}
        for verdict in verdicts:
            if verdict["exercise"] == exercise.number:
                chosen = max(verdict, chosen, key=lambda x: STATES.index(x["state"]))
        results.append(Result(student, exercise.number, chosen["state"], chosen["message"]))
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


def write_table(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write rows of the same keys as CSV, as a whole or not at all."""
    with atomic_write(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0]])
        writer.writeheader()
        writer.writerows(rows)


def with_earlier(path: Path, results: list[Result]) -> list[Result]:
    """The results, after those in a verdicts.csv that they do not replace."""
    new = {(result.student, result.exercise) for result in results}
    if not path.exists():
        return results
    with path.open(encoding="utf-8", newline="") as file:
        earlier = [Result(**row) for row in csv.DictReader(file)]
    return [r for r in earlier if (r.student, r.exercise) not in new] + results


def main(words: list[str]) -> int:
    """Grade the notebooks that the words name; the exit status."""
    name = "python -m scratchformer_course grade"
    parser = argparse.ArgumentParser(prog=name, description=__doc__.splitlines()[0])
    parser.add_argument("notebooks", nargs="+", type=Path, metavar="NOTEBOOK")
    parser.add_argument("--seed", type=int, default=0, help="draws the fresh cases (default: 0)")
    parser.add_argument("--seconds", type=int, default=120, help="for a cell (default: 120)")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="write notebooks and tables")
    options = parser.parse_args(words)
    if options.seed < 0 or options.seconds <= 0:
        parser.error("expected a --seed of 0 or more, and --seconds of more than 0")
    print(CONTAINER, file=sys.stderr)
    import nbformat

    results: list[Result] = []
    wrong = []
    for path, student in students(options.notebooks).items():
        try:
            notebook = nbformat.read(path, as_version=4)
            sources = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
            chapter = chapter_of(sources)
            verdicts = run(notebook, chapter, options.seed, options.seconds)
        except (OSError, ValueError, TypeError, AttributeError) as error:  # no notebook, too
            wrong.append(f"{path}: {getattr(error, 'strerror', None) or error}")
            continue
        graded = best(student, chapter, verdicts)
        results += graded
        print(f"{path}: {sum(r.state == 'passed' for r in graded)} of {len(graded)}", flush=True)
        if options.out:
            ran = options.out / student / path.name
            ran.parent.mkdir(parents=True, exist_ok=True)
            nbformat.write(notebook, ran)
    if results and options.out:
        results = with_earlier(options.out / "verdicts.csv", results)
        write_table(options.out / "verdicts.csv", [asdict(result) for result in results])
        write_table(options.out / "grades.csv", table(results))
    print(*summary(results), sep="\n")
    print(*wrong, sep="\n", end="\n" * bool(wrong), file=sys.stderr)
    return 2 if wrong else 0
