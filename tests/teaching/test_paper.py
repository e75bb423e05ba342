"""Each number of `paper.md` is counted anew, and it names the work that `CITATION.cff` names."""

import re

import nbformat
import yaml
from readers import NOTEBOOKS, ROOT

import scratchformer
from scratchformer.shipped import shipped_record
from scratchformer_course.kit import chapter_facts
from scratchformer_course.measurements import load_measurements
from scratchformer_course.teaching.packed_python import notebook_only
from scratchformer_course.teaching.tables import chapters, exercises
from tests.quoted_numbers import NUMBER

_, HEAD, BODY = (ROOT / "paper.md").read_text("utf-8").split("---\n", 2)
PAPER, CITATION = yaml.safe_load(HEAD), yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
RELEASE, EXAMINED = list(load_measurements("in_public")["releases"].items())[-1]


def counted():
    """The numbers of the paper, from the tables, the notebooks and the measurements."""
    tables = {name: exercises(name) for name in chapters()}
    cells = [c for path in NOTEBOOKS for c in nbformat.read(path, 4).cells if c.cell_type == "code"]
    tags = [cell.metadata.get("tags", ()) for cell in cells if cell.outputs]
    shipped, losses = (shipped_record("tiny-shakespeare")[key] for key in ("parameters", "losses"))
    built = [row for row in EXAMINED["rows"] if row["verdict"] != "not built"]
    return {
        "chapters": len(tables),
        "code cells": len(cells),
        "outputs compared": sum("nbval-ignore-output" not in names for names in tags),
        "exercises": sum(map(len, tables.values())),
        "right answers": sum(len(e.solutions) for table in tables.values() for e in table),
        "mistakes": sum(len(e.mistakes) for table in tables.values() for e in table),
        "in the page": sum(map(len, tables.values())) - len(notebook_only()),
        "parameters": f"{shipped:,}",
        "loss": f"{losses['validation']:.2f}",
        "loss of the best table": f"{min(losses['counted'].values()):.2f}",
        "silent bugs": len(load_measurements("silent_bugs")["patients"]),
        "classes": len({*EXAMINED["healthy"], *(row["kind"] for row in built)}),
        "faulty": len({row["kind"] for row in built if row["verdict"] == "fault"}),
        "hours": round(sum(c.minutes for c in chapter_facts.chapters(ROOT).values()) / 60),
    }


def test_every_number_of_the_paper_is_counted_and_none_is_stale():
    text = BODY
    for name in (RELEASE, "GPT-2", "CC BY 4.0"):  # their numbers count nothing
        assert name in text
        text = text.replace(name, "")
    written = {number.rstrip(",") for number in NUMBER.findall(re.sub(r"@\w+", "", text))}
    assert written == set(map(str, counted().values())), counted()


def test_what_is_cited_is_in_the_bibliography_and_nothing_else_is():
    bibliography = (ROOT / PAPER["bibliography"]).read_text("utf-8")
    entries = re.findall(r"^@\w+\{(\w+),", bibliography, re.M)
    assert sorted(set(re.findall(r"@(\w+)", BODY))) == sorted(entries)


def test_paper_citation_and_package_name_the_same_work():
    assert PAPER["title"].startswith(CITATION["title"])
    assert [{"name": author["name"]} for author in PAPER["authors"]] == CITATION["authors"]
    assert CITATION["version"] == scratchformer.__version__
    assert CITATION["repository-code"] in BODY
