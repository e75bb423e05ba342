"""The mutants of the library: each differs in one place, and a room's are the same every time."""

import ast
import os
import time

import pytest

from lab import mutation


def test_a_mutant_keeps_its_file_but_for_one_place_in_one_function(tmp_path):
    path = tmp_path / "some.py"
    path.write_text(
        'def area(a: int, b: int) -> int:\n    """3 + 4."""\n    # é\n    return a * b  # (T,)\n'
    )
    places = mutation.places(path)
    mutants = [m for m in (mutation.mutant(path, *place) for place in places) if m]
    assert {m.place for m in mutants} >= {
        "return a * b  # (T,) -> return (a / b)  # (T,)",
        "return a * b  # (T,) -> return (a + b)  # (T,)",
    }
    for m in mutants:
        assert m.function == "area" and '"""3 + 4."""\n    # é\n' in m.source
        assert ast.dump(ast.parse(m.source)) != ast.dump(ast.parse(path.read_text()))


def test_the_mutants_of_a_room_are_drawn_the_same_way_and_a_larger_draw_begins_with_them():
    few, many = (mutation.drawn("attention", most, seed=0) for most in (3, 5))
    assert many[:3] == few and {m.room for m in many} == {"attention"}


def loop():
    while True:
        pass


@pytest.mark.parametrize(("work", "patience"), [(loop, 60), (lambda: time.sleep(60), 0.2)])
def test_who_computes_or_waits_for_ever_is_out_of_time(work, patience, monkeypatch):
    monkeypatch.setattr(mutation, "PATIENCE", patience)
    with pytest.raises(TimeoutError):
        mutation.in_child(work, limit=1)


def test_a_child_answers_or_dies_before_its_time():
    assert mutation.in_child(lambda: [1] * 100_000, limit=10) == [1] * 100_000
    assert mutation.in_child(lambda: os._exit(1), limit=10) is None
