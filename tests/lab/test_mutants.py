"""Wrong answers that a program makes are refused: a sample here, and all of them in the lab."""

from lab import mutants
from tests.chapters.tables import ALL


def test_a_change_in_one_place_is_refused_or_explained():
    tried = list(mutants.mutants(most=1))
    assert {mutant.exercise.number for mutant in tried} == {exercise.number for _, exercise in ALL}
    assert mutants.survivors(tried) == []


def test_a_mutant_differs_in_one_place_and_says_which():
    made = mutants.mutated("def f(x, axis):\n    x = x.mean(dim=1) + 2\n    return x < axis")
    places = set(made.values())
    for after in (
        "x = x.mean(dim=1) - 2",
        "x = x.mean(dim=0) + 2",
        "x = x.mean() + 2",
        "x = x.mean(dim=1) + 3",
        "x = x.sum(dim=1) + 2",
        "pass",
        "return x <= axis",
        "return axis < axis",
    ):
        assert any(place.endswith(f" -> {after}") for place in places), after
    assert len(mutants.mutated("def f(x):\n    return x + 1", most=2)) <= 2
