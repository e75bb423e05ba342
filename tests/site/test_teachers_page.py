"""The teacher's page: its syllabi are in an order that can be taught, its minutes the chapters'."""

import re

import pytest
from docutils.parsers.rst import DirectiveError

from scratchformer_course.kit import facts
from tests.site.browsing import parsed
from tests.site.test_welcome import CHAPTERS, ROOT, welcome_ext


@pytest.fixture
def tables(site):
    return parsed(site / "book" / "for_teachers.html").select("article table")


def test_a_syllabus_has_no_chapter_before_one_that_it_needs(tables):
    weeks, days, _ = ([row.select("td") for row in table.select("tbody tr")] for table in tables)
    assert (len(weeks), len(days)) == (12, 3)
    for rows in (weeks, days):
        listed = [re.findall(r"/(\d\d)_", str(chapters)) for _, _, chapters, _, _ in rows]
        flat = [number for numbers in listed for number in numbers]
        for place, number in enumerate(flat):
            assert set(CHAPTERS[number].needs) <= set(flat[:place])
        for numbers, (_, _, _, reading, lab) in zip(listed, rows, strict=True):
            total = sum(CHAPTERS[number].minutes for number in numbers)
            assert reading.get_text() == f"reading {total} min"
            exercises = re.findall(r"\d+\.\d+", lab.get_text())
            assert f"{facts.EXERCISE * len(exercises)} min" in lab.get_text()
    assert {number for row in weeks for number in re.findall(r"/(\d\d)_", str(row))} == set(
        CHAPTERS
    )


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        (["A: 01 | 1.1", "B: 02 | 2.1"], "those that it needs: ['00']"),
        (["A: 00 | 1.1"], "['1.1'] are in no chapter so far"),
        (["A: 00"], "expected"),
        (["A: 99 | 1.1"], "there is no chapter '99'"),
    ],
)
def test_a_wrong_syllabus_ends_the_build(lines, wrong):
    directive = object.__new__(welcome_ext.Syllabus)
    directive.arguments, directive.content, directive.chapters = ["Week"], lines, CHAPTERS
    directive.page, directive.root = "book/x", ROOT
    directive.error = lambda message: DirectiveError(3, message)
    with pytest.raises(DirectiveError) as found:
        directive.run()
    assert wrong in found.value.msg
