"""`paper.md` has the form of its journal, and each of its numbers is counted anew."""

import importlib
import re
from pathlib import Path

import nbformat
import yaml
from readers import NOTEBOOKS

import scratchformer
from scratchformer.shipped import shipped_record
from scratchformer_course.kit import facts
from scratchformer_course.measurements import load_measurements
from scratchformer_course.teaching.tables import chapters, exercises
from tests.quoted_numbers import NUMBER

ROOT = Path(__file__).resolve().parents[2]
_, HEAD, BODY = (ROOT / "paper.md").read_text("utf-8").split("---\n", 2)
PAPER, CITATION = yaml.safe_load(HEAD), yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
SECTIONS = ["Summary", "Statement of need", "Experience of use", "Acknowledgements", "References"]
RELEASE, EXAMINED = list(load_measurements("in_public")["releases"].items())[-1]


def counted():
    """The numbers of the paper, from the tables, the notebooks and the measurements."""
    every = [each for name in chapters() for each in exercises(name)]
    slices = [
        (n, importlib.import_module(f"scratchformer_course.ch{n}.exercises")) for n in chapters()
    ]
    cells = [c for path in NOTEBOOKS for c in nbformat.read(path, 4).cells if c.cell_type == "code"]
    compared = [
        c for c in cells if c.outputs and "nbval-ignore-output" not in c.metadata.get("tags", ())
    ]
    shipped = shipped_record("tiny-shakespeare")
    built = [row for row in EXAMINED["rows"] if row["verdict"] != "not built"]
    return {
        "chapters": len(chapters()),
        "code cells": len(cells),
        "outputs compared": len(compared),
        "exercises": len(every),
        "right answers": sum(len(each.solutions) for each in every),
        "mistakes": sum(len(each.mistakes) for each in every),
        "in the page": sum(
            len(exercises(n)) for n, table in slices if hasattr(table, "IN_NOTEBOOK")
        ),
        "parameters": f"{shipped['parameters']:,}",
        "loss": f"{shipped['losses']['validation']:.2f}",
        "loss of the best table": f"{min(shipped['losses']['counted'].values()):.2f}",
        "silent bugs": len(load_measurements("silent_bugs")["patients"]),
        "classes": len({*EXAMINED["healthy"], *(row["kind"] for row in built)}),
        "faulty": len({row["kind"] for row in built if row["verdict"] == "fault"}),
        "hours": round(sum(c.minutes for c in facts.chapters(ROOT).values()) / 60),
    }


def test_every_number_of_the_paper_is_counted_and_none_is_stale():
    text = BODY
    for name in (RELEASE, "GPT-2", "CC BY 4.0"):  # their numbers count nothing
        assert name in text
        text = text.replace(name, "")
    written = {found.rstrip(",") for found in NUMBER.findall(re.sub(r"@\w+", "", text))}
    assert written == set(map(str, counted().values())), counted()


def test_the_paper_has_the_form_of_its_journal_and_names_licences_and_limits():
    headings = re.findall(r"^# (.*)", BODY, re.M)
    assert [name for name in headings if name in SECTIONS] == SECTIONS
    assert 250 <= len(BODY.split()) <= 1000
    assert {"title", "tags", "affiliations", "date", "bibliography"} <= set(PAPER)
    known = {place["index"] for place in PAPER["affiliations"]}
    assert {author["affiliation"] for author in PAPER["authors"]} <= known
    for name in ("LICENSE", "LICENSE-CONTENT"):
        assert f"`{name}`" in BODY and (ROOT / name).is_file()


def test_what_is_cited_is_in_the_bibliography_and_nothing_else_is():
    bibliography = (ROOT / PAPER["bibliography"]).read_text("utf-8")
    entries = re.findall(r"^@\w+\{(\w+),", bibliography, re.M)
    assert sorted(set(re.findall(r"@(\w+)", BODY))) == sorted(entries)


def test_paper_citation_and_package_name_the_same_work():
    assert PAPER["title"].startswith(CITATION["title"])
    assert [{"name": author["name"]} for author in PAPER["authors"]] == CITATION["authors"]
    assert CITATION["version"] == scratchformer.__version__
    assert CITATION["repository-code"] in BODY
