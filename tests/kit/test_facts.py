"""The facts of chapters: read from metadata and cells, and minutes of what is open."""

import json

import pytest
from readers import ROOT

from scratchformer_course.kit import facts

CHAPTER = [
    "# 07 · A title: more of it",
    "word " * 170 + "<details>\n\n" + "word " * 500 + "\n\n</details>",  # a minute, and a fold
    '<div class="course-guess" data-question="a"></div>' * 2,  # half a minute each
    {"source": "word " * 100, "text": "word " * 100},  # a minute each
    {"source": "word " * 100, "text": "word " * 100, "tags": ["hide-input"]},
    {"source": "word " * 100, "text": "word " * 100, "tags": ["hide-cell"]},
    "### Exercise 7.1 · One\n\n" + "word " * 500,
    {"source": "word " * 500, "text": ""},
    {"source": "# @title Worked solution 7.1\n", "text": "word " * 500},
    "## Next\n\n" + "word " * 169,
]


def cell(part):
    if isinstance(part, str):
        return {"cell_type": "markdown", "metadata": {}, "source": [part]}
    outputs = [{"output_type": "stream", "text": [part["text"]]}]
    metadata = {"tags": part.get("tags", [])}
    return {"cell_type": "code", "metadata": metadata, "source": part["source"], "outputs": outputs}


def test_facts_are_read_from_a_notebook_and_its_minutes_are_of_what_is_open(tmp_path):
    path, course = tmp_path / "07_a.ipynb", {"needs": ["03"], "helped_by": ["05"], "seconds": 40}
    notebook = {"cells": [*map(cell, CHAPTER)], "metadata": {"course": course}}
    path.write_text(json.dumps(notebook))
    chapter = facts.read(path)
    assert (chapter.number, chapter.title, chapter.exercises) == ("07", "A title", ("7.1",))
    assert (chapter.needs, chapter.helped_by, chapter.seconds) == (("03",), ("05",), 40)
    assert chapter.minutes == 6
    path.write_text(json.dumps(notebook | {"metadata": {"course": {"needs": []}}}))
    with pytest.raises(ValueError, match=r"07_a\.ipynb: .*expected needs and seconds"):
        facts.read(path)


def test_no_chapter_needs_a_later_one_and_each_is_in_one_part_and_links_to_what_it_needs():
    known = facts.chapters(ROOT)
    assert [number for numbers in facts.parts(ROOT).values() for number in numbers] == list(known)
    for chapter in known.values():
        line = facts.line(chapter, known)
        for need in (*chapter.needs, *chapter.helped_by):
            assert need < chapter.number and f"</{known[need].docname}>`" in line
