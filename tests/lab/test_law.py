"""The law's stored runs, their plan and rates, and Playhouse's floor."""

import json
import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import torch

from lab import law, playhouse_floor, runs
from scratchformer.data.playhouse import Playhouse

stored = runs.read(law.STORED)
floor = runs.read(playhouse_floor.STORED)


def stored_runs(stage):
    return [run for run in stored["runs"] if run["stage"] == stage]


def named(jobs):
    """Which runs these are, whatever the result."""
    keys = ("corpus", "text", "width", "steps", "lr", "seed", "scores")
    return {json.dumps([*(job[key] for key in keys), float(job["share"])]) for job in jobs}


def test_stored_runs_are_those_of_the_script_with_rates_that_follow_from_the_tuning():
    rules = stored["rules"]
    for corpus, rule in rules.items():
        assert law.rule_of([run for run in stored_runs("tuning") if run["corpus"] == corpus]) == (
            pytest.approx(rule)
        )
    wanted = [job for corpus in law.CORPORA for job in law.tuning(corpus)]
    for stage in (law.grid, law.forecast, law.repetition):
        wanted += [job for corpus in law.CORPORA for job in stage(corpus, rules[corpus])]
    fitted = [run for run in stored_runs("grid") if run["corpus"] == "playhouse"]
    wanted += law.isoflop(law.law_of(fitted), rules["playhouse"])
    assert named(stored["runs"]) == named(wanted)


def test_no_text_of_playhouse_is_tuned_on_and_fitted():
    texts = law.TEXTS
    used = [texts["tokenizer"], texts["dev"], texts["val"], texts["tuning"], *texts["training"]]
    assert len(set(used)) == len(used)


def test_the_best_rates_are_found_again_from_valleys():
    def loss(width, steps, lr):
        best = 0.3 * width**-0.8 * (steps / law.TUNED_AT) ** -0.4
        return math.exp(0.1 * math.log(lr / best) ** 2 + 1 / width - steps / 1e5)

    trained = [
        {**job, "losses": {"dev": loss(job["width"], job["steps"], job["lr"])}}
        for job in law.tuning("playhouse")
    ]
    rule = law.rule_of(trained)
    assert rule == pytest.approx({"rate": 0.3, "width": -0.8, "steps": -0.4})
    assert law.rate(rule, 64, law.TUNED_AT) == pytest.approx(0.3 * 64**-0.8)


def test_a_share_is_made_of_slices_all_over_the_text():
    ids = torch.arange(200_000)
    taken = law.slices(ids, 1 / 16, seed=3)
    starts = taken[:: law.SLICE]
    assert set(starts.diff().tolist()) == {16 * law.SLICE}
    assert abs(len(taken) / (len(ids) / 16) - 1) < 0.15
    assert torch.equal(law.slices(ids, 1, seed=0), ids)


def test_the_stored_floor_lies_between_the_entropy_and_all_losses():
    losses = [
        loss
        for run in stored["runs"]
        for loss in run["losses"].values()
        if run["corpus"] == "playhouse"
    ]
    assert floor["settings"]["window"] == law.CONTEXT
    assert Playhouse().entropy_per_char() == pytest.approx(floor["entropy"])
    assert floor["entropy"] < floor["floor"] - 3 * floor["standard_error"]
    assert floor["floor"] + 3 * floor["standard_error"] < min(losses)


def test_with_windows_of_one_character_the_floor_is_what_bigrams_leave_open():
    text = Playhouse(3).text(50_000)
    pairs, singles = Counter(pairwise(text)), Counter(text[:-1])
    bigrams = -sum(n * np.log(n / singles[pair[0]]) for pair, n in pairs.items()) / (len(text) - 1)
    found, error = playhouse_floor.window_floor(1, windows=6, seed=9)
    assert found == pytest.approx(bigrams, abs=4 * error + 0.02)


SMALL = {
    "CONTEXT": 16,
    "BATCH": 2,
    "WIDTHS": (8, 12, 16, 24),
    "HEAD": 4,
    "LARGE": 28,
    "STEPS": {"playhouse": (2, 3, 4), "tinyshakespeare": (2, 3, 4, 60)},
    "TUNED_AT": 2,
    "TUNED_LATER": 3,
    "RATES": dict.fromkeys((8, 12, 16, 24), (0.001,)),
    "LATER": {8: (1e-3,), 12: (1e-3,)},
    "HELD_OUT": {"dev": 300, "val": 300},
    "COUNTED": 50_000,
    "SLICE": 40,
    "MIDDLE": 16,
    "ISOFLOP": (1e6, 2e6, 4e6),
}


def test_the_script_runs_all_stages_and_stores_them(monkeypatch, tmp_path, short_text):
    for name, value in SMALL.items():
        monkeypatch.setattr(law, name, value)
    monkeypatch.setattr(law, "STORED", tmp_path / "law.json")
    monkeypatch.setattr(law, "rule_of", lambda runs: {"rate": 0.1, "width": -1.0, "steps": 0.0})
    caches = (law.shakespeare, law.play, law.play_tokenizer)
    for function in caches:
        function.cache_clear()
    try:
        law.main(["--write"])
    finally:
        for function in caches:
            function.cache_clear()
    result = runs.read(law.STORED)
    assert {run["stage"] for run in result["runs"]} == {run["stage"] for run in stored["runs"]}
    assert len(named(result["runs"])) == len(result["runs"])
    assert set(stored) - set(result) <= {"left_out"}
