"""The stored forecast: it follows from the small runs, and the large runs are those it is about."""

import numpy as np
import pytest

from lab import forecast, law, runs
from scratchformer_course.ch16_scaling.joint import JointLaw

stored = runs.read(forecast.STORED)
of_law = runs.read(law.STORED)


def test_the_three_sizes_are_what_the_law_picks_half_of_it_and_twice():
    said = JointLaw(**stored["corpora"]["playhouse"]["forecast"]["law"])
    best = said.best_size(forecast.BUDGET)
    sizes = sorted({run["N"] for run in stored["sizes"]})
    assert [n / best for n in sizes] == pytest.approx([0.5, 1, 2], rel=0.05)
    assert len(stored["sizes"]) == len(sizes) * len(forecast.SEEDS)
    for run in stored["sizes"]:
        assert 6 * run["N"] * run["D"] == pytest.approx(forecast.BUDGET, rel=0.01)


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


def test_a_stage_leaves_what_the_other_one_stored_as_it_was(monkeypatch, tmp_path):
    def trained(job):
        D = job["steps"] * law.BATCH * law.CONTEXT
        N = round(law.operations(job["width"], job["steps"]) / 6 / D)
        loss = float(law_that_is_known()(N, D) * (1 + 0.01 * job["seed"]))
        return {**job, "N": N, "D": D, "losses": {"val": loss}}

    monkeypatch.setattr(forecast, "STORED", tmp_path / "forecast.json")
    monkeypatch.setattr(forecast, "DRAWS", 3)
    monkeypatch.setattr(forecast.runs, "load_text", lambda write: "")
    monkeypatch.setattr(law, "train_one", trained)
    monkeypatch.setattr(forecast, "counts", lambda corpus: {"order": 2, "loss": 2.0})
    before = forecast.main(["--write"])["corpora"]
    after = forecast.main(["--large", "--write"])["corpora"]
    assert runs.read(forecast.STORED)["corpora"] == after
    for corpus in law.CORPORA:
        assert before[corpus]["forecast"] == after[corpus]["forecast"]
        assert not before[corpus]["large"] and len(after[corpus]["large"]) == len(forecast.SEEDS)
    with pytest.raises(SystemExit, match=r"holds large runs.*--anew"):
        forecast.main(["--write"])
    assert runs.read(forecast.STORED)["corpora"] == after
    assert not forecast.main(["--anew", "--write"])["corpora"]["playhouse"]["large"]
