"""The rates of the law's runs, Playhouse's floor, and the forecast."""

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from lab import forecast, law, playhouse_floor, runs
from scratchformer.data.playhouse import Playhouse
from scratchformer_course.ch16_scaling.joint import JointLaw
from scratchformer_course.measurements import load_measurements

FORECAST = load_measurements("forecast")


def test_no_text_of_playhouse_is_tuned_on_and_fitted():
    seeds = [seed for name, seed in law.TEXTS.items() if name != "training"]
    seeds += law.TEXTS["training"]
    assert len(set(seeds)) == len(seeds)


def test_the_best_rates_are_found_again_from_valleys():
    def loss(width, steps, lr):
        best = 0.3 * width**-0.8 * (steps / law.FIRST_TUNING_STEPS) ** -0.4
        return math.exp(0.1 * math.log(lr / best) ** 2 + 1 / width - steps / 1e5)

    trained = [
        {**job, "losses": {"dev": loss(job["width"], job["steps"], job["lr"])}}
        for job in law.tuning("playhouse")
    ]
    assert law.rule_of(trained) == pytest.approx({"rate": 0.3, "width": -0.8, "steps": -0.4})


def test_with_windows_of_one_character_the_floor_is_what_bigrams_leave_open():
    text = Playhouse(3).text(50_000)
    pairs, singles = Counter(pairwise(text)), Counter(text[:-1])
    bigrams = -sum(n * np.log(n / singles[pair[0]]) for pair, n in pairs.items()) / (len(text) - 1)
    floor, error = playhouse_floor.window_floor(1, windows=6, seed=9)
    assert floor == pytest.approx(bigrams, abs=4 * error + 0.02)


def test_a_forecast_is_near_what_made_the_runs_and_its_interval_around_it(monkeypatch):
    monkeypatch.setattr(forecast, "DRAWS", 20)
    draw = np.random.default_rng(0)
    made = JointLaw(E=0.3, N0=2000.0, alpha=0.4, D0=2e5, beta=0.5, gamma=2.8)
    small = [
        {"N": n, "D": d, "losses": {"val": float(made(n, d) * np.exp(draw.normal(0, 0.01)))}}
        for n in (25_000, 60_000, 100_000)
        for d in (500_000, 1_000_000, 2_000_000)
        for _ in range(2)
    ]
    foretold = forecast.foretell(small, made.E)
    low, high = foretold["interval"]
    assert low < foretold["loss"] < high
    assert foretold["loss"] == pytest.approx(made(foretold["N"], foretold["D"]), rel=0.05)
    assert forecast.noise(small) == pytest.approx(0.01, rel=0.6)


def test_the_large_runs_leave_the_forecast_as_it_was(monkeypatch, tmp_path):
    monkeypatch.setattr(runs, "FOLDER", tmp_path)
    monkeypatch.setattr(forecast.runs, "load_text", lambda write: "")
    monkeypatch.setattr(forecast, "train", lambda corpus, cells: [{"losses": {"val": 1.0}}])
    monkeypatch.setattr(forecast, "counts", lambda corpus: {"order": 2, "loss": 2.0})
    runs.store(runs.path_of("forecast"), FORECAST)
    after = forecast.main(["--large", "--write"])["corpora"]
    assert runs.read(runs.path_of("forecast"))["corpora"] == after
    for corpus, part in after.items():
        assert part["forecast"] == FORECAST["corpora"][corpus]["forecast"]
