"""The facts of chapters: read from metadata and cells, and minutes of what is open."""

import json
from pathlib import Path

import pytest

from scratchformer_course.kit import facts
from tools.execute import about

ROOT = Path(__file__).resolve().parents[2]
TITLE = "# 07 · A title: more of it\n\nA promise.\n"


def notebook(folder, *cells, course=None):
    path = folder / "07_a.ipynb"
    path.write_text(json.dumps({"cells": cells, "metadata": {"course": course}}), encoding="utf-8")
    return path


def prose(source):
    return {"cell_type": "markdown", "metadata": {}, "source": [source]}


def code(source, printed="", *tags):
    outputs = [{"output_type": "stream", "text": [printed]}] if printed else []
    metadata = {"tags": list(tags)}
    return {"cell_type": "code", "metadata": metadata, "source": source, "outputs": outputs}


def test_facts_come_from_metadata_and_cells(tmp_path):
    course = {"needs": ["03"], "helped_by": ["05"], "seconds": 40}
    cells = prose(TITLE), prose("### Exercise 7.1 · One\n\nDo it."), code("...")
    chapter = facts.read(notebook(tmp_path, *cells, course=course))
    assert (chapter.number, chapter.title, chapter.docname) == ("07", "A title", "notebooks/07_a")
    assert (chapter.needs, chapter.helped_by, chapter.seconds) == (("03",), ("05",), 40)
    assert chapter.exercises == ("7.1",)


@pytest.mark.parametrize(
    ("cells", "course", "message"),
    [
        ([], {"needs": [], "seconds": 1}, "no markdown cell"),
        ([prose(TITLE)], {"needs": []}, "expected needs and seconds"),
        (
            [prose(TITLE)],
            {"needs": ["03"], "needs_text": "slopes", "seconds": 1},
            r"does not name \['03'\]",
        ),
    ],
)
def test_a_notebook_without_its_facts_is_refused_by_name(tmp_path, cells, course, message):
    with pytest.raises(ValueError, match=rf"07_a\.ipynb: .*{message}"):
        facts.read(notebook(tmp_path, *cells, course=course))


HUNDRED, PER_MINUTE = "word " * 100, "word " * 170


@pytest.mark.parametrize(
    ("cells", "minutes"),
    [
        ([prose(PER_MINUTE)], 1),
        ([prose(PER_MINUTE), prose(f"<details>\n\n{PER_MINUTE}\n\n</details>")], 1),
        ([prose(f'{PER_MINUTE}<div class="course-guess" data-question="a b"></div>' * 2)], 3),
        ([prose(f":::{{note}}\n{PER_MINUTE}\n:::\n\n{PER_MINUTE}")], 2),
        ([code(HUNDRED, HUNDRED)], 2),
        ([code(HUNDRED, HUNDRED, "hide-input")], 1),
        ([code(HUNDRED, HUNDRED, "hide-cell"), prose("a")], 0),
        ([prose(f"### Exercise 7.1 · A\n\n{PER_MINUTE}"), code(HUNDRED), code(HUNDRED)], 0),
        (
            [
                prose(f"### Exercise 7.1 · A\n\n{PER_MINUTE}"),
                code("# @title Worked solution 7.1\n", HUNDRED, "hide-cell"),
                prose(PER_MINUTE),
            ],
            1,
        ),
        ([prose(f"### Exercise 7.1 · A\n\n{PER_MINUTE}"), prose(f"## Next\n\n{PER_MINUTE}")], 1),
    ],
)
def test_minutes_count_what_is_open_and_no_exercises(cells, minutes):
    assert facts.minutes(cells) == minutes


def test_no_chapter_needs_a_later_one_and_each_is_in_one_part():
    known = facts.chapters(ROOT)
    for chapter in known.values():
        assert all(need < chapter.number for need in (*chapter.needs, *chapter.helped_by))
    assert [number for numbers in facts.parts(ROOT).values() for number in numbers] == list(known)


def test_the_line_of_facts_links_to_what_a_chapter_needs():
    known = facts.chapters(ROOT)
    for chapter in known.values():
        line = facts.line(chapter, known)
        for need in (*chapter.needs, *chapter.helped_by):
            assert f"</{known[need].docname}>`" in line
        assert "{0" not in line and "{1" not in line and "{2" not in line


@pytest.mark.parametrize(
    ("seconds", "stored", "written"),
    [(41, 40, 40), (33, 40, 40), (12, 40, 10), (96, 40, 100), (3.4, 0, 3), (0.2, 0, 1)],
)
def test_an_execution_writes_seconds_only_where_they_are_others(seconds, stored, written):
    assert about(seconds, stored) == written
