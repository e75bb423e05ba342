"""The readers' ticks: what a file of them may hold, and where to go on, computed in Node."""

import json

import pytest

from tests.node import JavaScriptError, Node

in_node = Node(P="../book/_assets/course-progress.js")
CHAPTERS = [{"number": f"{n:02}", "exercises": [f"{n}.1", f"{n}.2"]} for n in range(4)]


def test_a_file_holds_what_was_written_to_it():
    ids = ["12", "01", "1.10", "1.2", "1.2 worked out"]
    body = "return [...P.fromFile(P.toFile(new Set(input.ids)))];"
    assert in_node(body, ids=ids) == sorted(ids)
    assert in_node("return [...P.fromFile(P.toFile([]))];") == []


GOOD = {"course": "Transformers from Scratch", "what": "progress", "version": 1, "done": []}


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "null",
        *(json.dumps({**GOOD, **x}) for x in ({"course": "A"}, {"version": 2}, {"done": 1})),
    ],
)
def test_another_file_is_refused(text):
    with pytest.raises(JavaScriptError, match="not a file of this course"):
        in_node("return [...P.fromFile(input.text)];", text=text)


@pytest.mark.parametrize(
    ("done", "expected"),
    [
        ([], None),
        (["02"], "03"),  # who began later is not sent back
        (["01", "2.1 worked out"], "02"),  # an exercise of a chapter that is not done
        (["00", "2.1"], "02"),
        (["03"], "00"),  # at the end: what was left out
        (["00", "01", "02", "03"], None),
        (["99", "9.9"], None),  # chapters that this edition has not
        (["00", "3.99", "77.77"], "01"),  # and an exercise that its chapter has not
    ],
)
def test_the_way_goes_on_behind_the_last_tick(done, expected):
    body = "return P.next(input.chapters, new Set(input.done))?.number ?? null;"
    assert in_node(body, chapters=CHAPTERS, done=done) == expected


@pytest.mark.parametrize(
    ("done", "place", "expected"),
    [
        (["03"], "01", "01"),  # where the reader is now
        (["01"], "01", "02"),  # a chapter that is done leads on
        ([], "99", None),  # of another edition
    ],
)
def test_the_last_heading_read_leads_back_unless_its_chapter_is_done(done, place, expected):
    body = """const done = new Set(input.done), place = {chapter: input.place};
      return P.next(input.chapters, done, place)?.number ?? null;"""
    assert in_node(body, chapters=CHAPTERS, done=done, place=place) == expected


def test_a_chapter_is_begun_with_a_tick_in_it_or_a_heading_read():
    body = """return input.numbers.map(n => P.level(n, new Set(input.done), {chapter: '02'}));"""
    levels = in_node(body, numbers=["00", "01", "02", "03"], done=["00", "1.1 worked out"])
    assert levels == ["done", "part", "part", ""]


def test_only_what_the_course_has_is_counted():
    body = """const ids = new Set(input.done);
      return [P.count(input.chapters, ids), [...P.known(input.chapters, ids)]];"""
    done = ["00", "77", "1.1", "1.2", "8.1", "1.3", "1.2 worked out", "8.1 worked out"]
    counted, known = in_node(body, chapters=CHAPTERS, done=done)
    assert counted == {
        "chapters": 1, "allChapters": 4, "workedOut": 1, "written": 2, "allExercises": 8
    }  # fmt: skip
    assert known == ["00", "1.1", "1.2", "1.2 worked out"]
