"""What a grading writes: a line for the teacher, Gradescope's JSON, Markdown and CSV."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import Any

from scratchformer_course.teaching.points import MOST, Grade


@dataclass(frozen=True)
class Report:
    """The grades of one notebook."""

    notebook: str  # its path, as it was given
    chapter: str  # such as "05_averaging"
    grades: list[Grade]

    @property
    def points(self) -> float:
        """The sum over all exercises."""
        return round(sum(each.points for each in self.grades), 1)

    @property
    def maximum(self) -> float:
        """The points that all right answers have."""
        return MOST * len(self.grades)


def lines(report: Report) -> str:
    """The report for the terminal: a line for each exercise, after one for the notebook."""
    found = [f"{report.notebook}: {report.points:g} of {report.maximum:g}"]
    for each in report.grades:
        first = each.message.partition("\n")[0]
        found.append(f"  {each.number:<5} {each.points:4.1f} {each.state}: {each.name}. {first}")
    return "\n".join(found)


def gradescope(reports: list[Report]) -> dict[str, Any]:
    """The contents of Gradescope's results.json for one submission of one or more notebooks."""
    tests = [
        {
            "number": each.number,
            "name": f"{each.name} (chapter {report.chapter})",
            "score": each.points,
            "max_score": MOST,
            "status": "passed" if each.state == "passed" else "failed",
            "output": f"{each.state}: {each.message}",
            "output_format": "text",
        }
        for report in reports
        for each in report.grades
    ]
    return {"score": round(sum(report.points for report in reports), 1), "tests": tests}


def markdown(report: Report) -> str:
    """The report for the student."""
    lines = [f"# Chapter {report.chapter}: {report.points:g} of {report.maximum:g} points", ""]
    for each in report.grades:
        lines += [f"## Exercise {each.number} · `{each.name}`: {each.points:g} of {MOST:g}", ""]
        message = "\n".join(f"    {line}" for line in each.message.split("\n"))  # no Markdown
        lines += [f"**{each.state}**", "", message, ""]
        if each.state == "try again" and each.cases:
            lines += [f"Right on {each.right} of {each.cases} cases.", ""]
    return "\n".join(lines)


def table(reports: list[Report], earlier: str = "") -> str:
    """CSV with a row for each notebook, and a column for each exercise that occurs.

    `earlier` is such a table, whose rows of other notebooks stay.
    """
    rows = {row["notebook"]: row for row in csv.DictReader(io.StringIO(earlier))}
    for report in reports:
        formula = "'" * (report.notebook[:1] in "=+-@")  # for a spreadsheet, it would be one
        row = {"notebook": formula + report.notebook, "chapter": report.chapter}
        row |= {"points": f"{report.points:g}", "maximum": f"{report.maximum:g}"}
        points = {each.number: f"{each.points:g}" for each in report.grades}
        rows[row["notebook"]] = row | points
    numbers = {name for row in rows.values() for name in row if name[:1].isdigit()}
    order = sorted(numbers, key=lambda number: [int(part) for part in number.split(".")])
    text = io.StringIO()
    written = csv.DictWriter(text, ["notebook", "chapter", *order, "points", "maximum"])
    written.writeheader()
    written.writerows(rows.values())
    return text.getvalue()
