"""The teacher's page: its syllabi are in an order that can be taught, its minutes the chapters'."""

import re

from scratchformer_course.kit import chapter_facts
from scratchformer_course.kit.reading_time import EXERCISE
from tests.site.browsing import parsed
from tests.site.conftest import ROOT

CHAPTERS = chapter_facts.chapters(ROOT)


def test_a_syllabus_has_no_chapter_before_one_that_it_needs(site):
    tables = parsed(site / "book" / "for_teachers.html").select("article table")
    weeks, days, _ = ([row.select("td") for row in table.select("tbody tr")] for table in tables)
    for rows in (weeks, days):
        taught = set()
        for _, _, chapters, reading, lab in rows:
            numbers = re.findall(r"/(\d\d)_", str(chapters))
            for number in numbers:
                assert set(CHAPTERS[number].needs) <= taught
                taught.add(number)
            total = sum(CHAPTERS[number].minutes for number in numbers)
            assert reading.get_text() == f"reading {total} min"
            exercises = re.findall(r"\d+\.\d+", lab.get_text())
            assert f"{EXERCISE * len(exercises)} min" in lab.get_text()
    assert set(re.findall(r"/(\d\d)_", str(weeks))) == set(CHAPTERS)
