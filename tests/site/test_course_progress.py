"""The readers' ticks: what a file of them may hold, and where to go on, computed in Node."""

import json

import pytest

from tests.node import JavaScriptError, Node

in_node = Node(P="../book/_assets/course-progress.js")
CHAPTERS = [{"number": f"{n:02}", "exercises": [f"{n}.1", f"{n}.2"]} for n in range(4)]
GOOD = {"course": "Transformers from Scratch", "what": "progress", "version": 1, "done": []}
NEWER = GOOD | {"version": 2, "done": {"01": "yes"}}  # in a form that this edition cannot read


def test_a_file_holds_what_was_written_to_it_and_another_one_is_refused():
    ids = ["12", "01", "1.10", "1.2", "1.2 worked out"]
    body = "return [...P.fromFile(P.toFile(new Set(input.ids)))];"
    assert in_node(body, ids=ids) == sorted(ids) and in_node(body, ids=[]) == []
    others = [GOOD | {"course": "A"}, NEWER, GOOD | {"done": 1}, None]
    for text in ("{", *map(json.dumps, others)):
        with pytest.raises(JavaScriptError, match="not a file of this course"):
            in_node("return [...P.fromFile(input.text)];", text=text)


@pytest.mark.parametrize(
    ("done", "place", "expected"),
    [
        ([], None, None),
        (["02"], None, "03"),  # who began later is not sent back
        (["01", "2.1 worked out"], None, "02"),  # an exercise of a chapter that is not done
        (["00", "2.1"], None, "02"),
        (["03"], None, "00"),  # at the end: what was left out
        (["00", "01", "02", "03"], None, None),
        (["99", "9.9"], None, None),  # chapters that this edition has not
        (["00", "3.99", "77.77"], None, "01"),  # and an exercise that its chapter has not
        (["03"], "01", "01"),  # where the reader is now
        (["01"], "01", "02"),  # a chapter that is done leads on
        ([], "99", None),
    ],
)
def test_the_way_goes_on_where_the_reader_is_or_behind_the_last_tick(done, place, expected):
    body = """const place = input.place && {chapter: input.place};
      return P.next(input.chapters, new Set(input.done), place)?.number ?? null;"""
    assert in_node(body, chapters=CHAPTERS, done=done, place=place) == expected


def test_a_chapter_is_begun_with_a_tick_in_it_or_a_heading_read_and_only_the_course_counts():
    body = """return input.numbers.map(n => P.level(n, new Set(input.done), {chapter: '02'}));"""
    levels = in_node(body, numbers=["00", "01", "02", "03"], done=["00", "1.1 worked out"])
    assert levels == ["done", "part", "part", ""]
    body = """const ids = new Set(input.done);
      return [P.count(input.chapters, ids), [...P.known(input.chapters, ids)]];"""
    done = ["00", "77", "1.1", "1.2", "8.1", "1.3", "1.2 worked out", "8.1 worked out"]
    counted, known = in_node(body, chapters=CHAPTERS, done=done)
    counts = {"chapters": 1, "workedOut": 1, "written": 2}
    assert counted == counts | {"allChapters": 4, "allExercises": 8}
    assert known == ["00", "1.1", "1.2", "1.2 worked out"]
