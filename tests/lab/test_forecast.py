"""The stored forecast: it follows from the small runs, and the large runs are those it is about."""

import numpy as np
import pytest

from lab import forecast, law, runs
from scratchformer_course.ch16_scaling.joint import JointLaw

stored = runs.read(forecast.STORED)
of_law = runs.read(law.STORED)


@pytest.mark.parametrize("corpus", law.CORPORA)
def test_small_and_large_runs_are_those_of_the_script(corpus):
    part, rule = stored["corpora"][corpus], of_law["rules"][corpus]
    for kind, cells in (
        ("small", forecast.MORE[corpus]),
        ("large", [(*forecast.LARGE, forecast.SEEDS)]),
    ):
        jobs = forecast.jobs(corpus, rule, cells)
        assert [{key: run[key] for key in jobs[0]} for run in part[kind]] == jobs if jobs else True
    said = part["forecast"]
    assert all((run["N"], run["D"]) == (said["N"], said["D"]) for run in part["large"])


@pytest.mark.parametrize("corpus", law.CORPORA)
def test_no_small_run_is_of_the_large_ones_kind(corpus):
    part = stored["corpora"][corpus]
    small = forecast.small_runs(of_law["runs"], part["small"], corpus)
    assert len(small) == part["forecast"]["runs"]
    most = max(run["N"] * run["D"] for run in small)
    assert part["forecast"]["N"] * part["forecast"]["D"] == pytest.approx(10 * most, rel=0.01)


def test_a_forecast_is_near_what_made_the_runs_and_its_interval_around_it(monkeypatch):
    monkeypatch.setattr(forecast, "DRAWS", 20)
    draw, made = np.random.default_rng(0), law_that_is_known()
    small = [
        {"N": n, "D": d, "losses": {"val": float(made(n, d) * np.exp(draw.normal(0, 0.01)))}}
        for n in (25_000, 60_000, 100_000)
        for d in (500_000, 1_000_000, 2_000_000)
        for _ in range(2)
    ]
    said = forecast.foretell(small, made.E)
    low, high = said["interval"]
    assert low < said["loss"] < high
    assert said["loss"] == pytest.approx(made(said["N"], said["D"]), rel=0.05)
    assert said["noise"] == pytest.approx(0.01, rel=0.6)


def law_that_is_known():
    return JointLaw(E=0.3, N0=2000.0, alpha=0.4, D0=2e5, beta=0.5, gamma=2.8)
