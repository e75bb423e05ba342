"""The law in JavaScript: its losses, sizes and intervals are those of the package and NumPy."""

from dataclasses import astuple

import numpy as np
import pytest

from scratchformer.scaling import ScalingLaw
from scratchformer_course.ch16_scaling.live import law
from tests.node import Node

in_node = Node(F="ch16_scaling/live.js")
RUNS = [(n, d, 0.3 + 900 / n + 2e5 / d) for n in (2e4, 8e4) for d in (5e5, 1e6, 2e6)]
FITTED = (0.3, 900.0, 1.0, 2e5, 1.0)
GIVEN = {
    "runs": RUNS,
    "fitted": FITTED,
    "resampled": [FITTED, (0.25, 40.0, 0.7, 3e4, 0.9), (0.1, 5.0, 0.4, 2e3, 0.6)],
    "missed": [0.02, -0.01, 0.0],
    "floor": 0.28,
    "tested": {5e10: [(12_000, 1.1), (6000, 1.2), (12_000, 1.0)]},
    "larger": (3e5, 2e6, 0.4),
}


def fuzzed(n, seed=0):
    draw = np.random.default_rng(seed)
    least, most = (0, 0, 0.1, 0, 0.1), (2, 6, 2, 8, 2)  # of A and B the exponents
    rows = draw.uniform(least, most, (n, 5))
    rows[:, [1, 3]] = 10 ** rows[:, [1, 3]]
    return [ScalingLaw(*row) for row in rows.tolist()]


def test_losses_and_best_sizes_are_the_packages():
    laws = fuzzed(100)
    body = """return input.laws.map((law) =>
      [F.loss(law, 3e4, 7e5), F.best(law, 5e10), F.best(law, 2e13)])"""
    found = in_node(body, laws=[astuple(each) for each in laws])
    for each, (loss, *sizes) in zip(laws, found, strict=True):
        assert loss == pytest.approx(each(3e4, 7e5), rel=1e-12)
        expected = [each.best_allocation(budget)[0] for budget in (5e10, 2e13)]
        assert sizes == pytest.approx(expected, rel=1e-9)


def test_forecasts_are_the_chapters():
    """Each resampled curve, times a miss of the fit."""
    laws, draw = fuzzed(30), np.random.default_rng(1)
    missed = draw.normal(0, 0.05, len(laws))
    body = """return [F.forecast(input, 5e4, 2e6), F.sizes(input, 5e11),
      F.inside(input, 3e4, 3e6), F.inside(input, 1e4, 1e6)]"""
    forecast, sizes, beyond, small = in_node(
        body, resampled=[astuple(each) for each in laws], missed=missed.tolist(), runs=RUNS
    )
    around = np.array([each(5e4, 2e6) for each in laws]) * np.exp(missed)
    assert forecast == pytest.approx(np.percentile(around, [2.5, 97.5]))
    best = [each.best_allocation(5e11)[0] for each in laws]
    assert sizes == pytest.approx(np.percentile(best, [2.5, 97.5]))
    assert (beyond, small) == ([True, False], [False, True])


def test_the_still_figure_says_what_numpy_says():
    still = law(**GIVEN).still
    laws = [ScalingLaw(*each) for each in GIVEN["resampled"]]
    n, d = laws[0].best_allocation(5e10)
    low, high = np.percentile([each.best_allocation(5e10)[0] for each in laws], [2.5, 97.5])
    assert f"{n:,.0f} ({low:,.0f} to {high:,.0f})" in still
    for at, start in (((n, d), "<td>"), ((3e5, 2e6), "forecasts ")):
        around = np.array([each(*at) for each in laws]) * np.exp(GIVEN["missed"])
        low, high = np.percentile(around, [2.5, 97.5])
        assert f"{start}{laws[0](*at):.2f} ({low:.2f} to {high:.2f})" in still
    assert "6,000: 1.20; 12,000: 1.00, 1.10" in still and "Measured: 0.40" in still
    assert still.count("<circle") == len(RUNS)


def test_the_slider_has_every_tested_budget():
    settings = law(**GIVEN | {"tested": {7.7e10: [(1e4, 1.0)]}}).settings
    assert 7.7e10 in settings["budgets"] and settings["budgets"] == sorted(settings["budgets"])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"runs": [(2e4, 5e5, 0)]}, "must be positive"),
        ({"runs": []}, "got no runs"),
        ({"runs": [(n, 1e6, 1.0) for n in range(1, 6)]}, "runs of 5 sizes, expected 1 to 4"),
        ({"missed": [0.1]}, "got 3 resampled laws, 3 of them .* and 1 numbers missed"),
        ({"fitted": FITTED[:4]}, "laws has the row .*, expected E, A, alpha, B, beta"),
        ({"fitted": (0.3, 900.0, -1.0, 2e5, 1.0)}, "coefficients must be positive"),
        ({"resampled": [FITTED], "missed": [0.1]}, "at least two"),
    ],
)
@pytest.mark.usefixtures("plain_signatures")
def test_what_is_no_law_is_told(wrong, said):
    with pytest.raises(ValueError, match=said):
        law(**GIVEN | wrong)
