"""The facts of chapters: read from metadata and cells, and minutes of what is open."""

import json
from pathlib import Path

import pytest

from scratchformer_course.kit import facts

ROOT = Path(__file__).resolve().parents[2]
HUNDRED, PER_MINUTE = "word " * 100, "word " * 170
EXERCISE = f"### Exercise 7.1 · A\n\n{PER_MINUTE}"


def prose(source):
    return {"cell_type": "markdown", "metadata": {}, "source": [source]}


def code(source, printed="", *tags):
    outputs = [{"output_type": "stream", "text": [printed]}] if printed else []
    metadata = {"tags": list(tags)}
    return {"cell_type": "code", "metadata": metadata, "source": source, "outputs": outputs}


def test_facts_come_from_metadata_and_cells_and_are_asked_for_by_name(tmp_path):
    path = tmp_path / "07_a.ipynb"
    course = {"needs": ["03"], "helped_by": ["05"], "seconds": 40}
    cells = [prose("# 07 · A title: more of it"), prose("### Exercise 7.1 · One\n\nDo it.")]
    path.write_text(json.dumps({"cells": cells, "metadata": {"course": course}}))
    chapter = facts.read(path)
    assert (chapter.number, chapter.title, chapter.exercises) == ("07", "A title", ("7.1",))
    assert (chapter.needs, chapter.helped_by, chapter.seconds) == (("03",), ("05",), 40)
    path.write_text(json.dumps({"cells": cells, "metadata": {"course": {"needs": []}}}))
    with pytest.raises(ValueError, match=r"07_a\.ipynb: .*expected needs and seconds"):
        facts.read(path)


@pytest.mark.parametrize(
    ("cells", "minutes"),
    [
        ([prose(PER_MINUTE), prose(f"<details>\n\n{PER_MINUTE}\n\n</details>")], 1),
        ([prose(f'{PER_MINUTE}<div class="course-guess" data-question="a b"></div>' * 2)], 3),
        ([prose(f":::{{note}}\n{PER_MINUTE}\n:::\n\n{PER_MINUTE}")], 2),
        ([code(HUNDRED, HUNDRED)], 2),
        ([code(HUNDRED, HUNDRED, "hide-input")], 1),
        ([code(HUNDRED, HUNDRED, "hide-cell"), prose("a")], 0),
        ([prose(EXERCISE), code(HUNDRED), code("# @title Worked solution 7.1\n", HUNDRED)], 0),
        ([prose(EXERCISE), prose(f"## Next\n\n{PER_MINUTE}")], 1),
    ],
)
def test_minutes_count_what_is_open_and_no_exercises(cells, minutes):
    assert facts.minutes(cells) == minutes


def test_no_chapter_needs_a_later_one_and_each_is_in_one_part_and_links_to_what_it_needs():
    known = facts.chapters(ROOT)
    assert [number for numbers in facts.parts(ROOT).values() for number in numbers] == list(known)
    for chapter in known.values():
        line = facts.line(chapter, known)
        for need in (*chapter.needs, *chapter.helped_by):
            assert need < chapter.number and f"</{known[need].docname}>`" in line
