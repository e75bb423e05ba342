"""The law's stored runs, their plan and rates, slices of a text, and Playhouse's floor."""

import json
import math
import sys
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import torch

from lab import law, playhouse_floor, table
from scratchformer.data.playhouse import Playhouse
from scratchformer.scaling import non_embedding
from scratchformer_course.measurements import load_measurements

stored = load_measurements("law")
KEYS = ("corpus", "text", "width", "steps", "lr", "seed", "share", "scores")


def stored_runs(*stages):
    return [run for run in stored["runs"] if run["stage"] in stages]


def named(jobs):
    """Which runs these are, whatever the result."""
    return {
        json.dumps([job[key] for key in KEYS[:-2]] + [float(job["share"]), job["scores"]])
        for job in jobs
    }


def test_stored_rates_follow_from_the_stored_tuning():
    for corpus in law.CORPORA:
        tuned = [run for run in stored_runs("tuning") if run["corpus"] == corpus]
        assert named(tuned) == named(law.tuning(corpus))
        assert law.rule_of(tuned) == pytest.approx(stored["rules"][corpus])
        assert all(list(run["losses"]) == ["dev"] for run in tuned)


def test_stored_runs_are_those_of_the_script_and_the_others_are_named():
    rules = stored["rules"]
    shakespeare, playhouse = rules["tinyshakespeare"], rules["playhouse"]
    wanted = [job for corpus in law.CORPORA for job in law.tuning(corpus)]
    for stage in (law.grid, law.forecast, law.repetition):
        wanted += [job for corpus in law.CORPORA for job in stage(corpus, rules[corpus])]
    wanted += law.split(shakespeare) + law.rotated(shakespeare)
    left_out, stages = named(stored["left_out"]), {run["stage"] for run in stored["left_out"]}
    if "grid" not in stages:  # isoflop waits for it
        fitted = [run for run in stored_runs("grid") if run["corpus"] == "playhouse"]
        wanted += law.isoflop(law.law_of(fitted), playhouse)
    assert named(stored["runs"]) | left_out == named(wanted)
    assert not named(stored["runs"]) & left_out


def test_stored_runs_say_what_they_were():
    assert {"python", "torch", "numpy"} <= set(stored["versions"])
    assert stored["commit"] and stored["hardware"]["processor"] and stored["day"]
    assert stored["settings"]["context_length"] == law.CONTEXT
    for run in stored["runs"]:
        assert run["D"] == run["steps"] * law.BATCH * law.CONTEXT
        assert run["N"] == non_embedding(law.config_of(run["width"]))
        if run["corpus"] == "playhouse" and run["share"] == 1:
            assert run["passes"] == 1


def test_only_what_is_tuned_or_split_reads_the_development_text():
    for run in stored["runs"]:
        reads = "dev" in run["losses"]
        assert reads == (run["stage"] in ("tuning", "split")), run
        assert ("first tenth" in run["losses"]) == (run["stage"] == "rotated"), run


def test_no_run_on_playhouse_beats_what_windows_allow():
    found = load_measurements("playhouse_floor")
    losses = [
        loss
        for run in stored["runs"]
        for loss in run["losses"].values()
        if run["corpus"] == "playhouse"
    ]
    assert found["floor"] + 3 * found["standard_error"] < min(losses)


def test_no_text_of_playhouse_is_tuned_on_and_fitted():
    texts = law.TEXTS
    used = [texts["tokenizer"], texts["dev"], texts["val"], texts["tuning"], *texts["training"]]
    assert len(set(used)) == len(used)


def test_the_best_rates_are_found_again_from_valleys():
    def loss(width, steps, lr):
        best = 0.3 * width**-0.8 * (steps / law.TUNED_AT) ** -0.4
        return math.exp(0.1 * math.log(lr / best) ** 2 + 1 / width - steps / 1e5)

    runs = [
        {**job, "losses": {"dev": loss(job["width"], job["steps"], job["lr"])}}
        for job in law.tuning("playhouse")
    ]
    rule = law.rule_of(runs)
    assert rule == pytest.approx({"rate": 0.3, "width": -0.8, "steps": -0.4})
    assert law.rate(rule, 64, law.TUNED_AT) == pytest.approx(0.3 * 64**-0.8)
    for run in runs:
        run["losses"]["dev"] = 1 / run["losses"]["dev"]
    with pytest.raises(ValueError, match="no valleys"):
        law.rule_of(runs)


def test_a_share_is_made_of_slices_all_over_the_text():
    ids = torch.arange(200_000)
    for share in (1 / 4, 1 / 16):
        taken = law.slices(ids, share, seed=3)
        assert abs(len(taken) / (share * len(ids)) - 1) < 0.15
        starts = taken[:: law.SLICE]
        distances = starts.diff()
        assert set(distances.tolist()) == {round(law.SLICE / share)}
        assert len(taken) == len(starts) * law.SLICE
        assert not torch.equal(starts, law.slices(ids, share, seed=4)[:: law.SLICE])
    assert torch.equal(law.slices(ids, 1, seed=0), ids)


def test_the_stored_floor_lies_above_the_entropy():
    found = load_measurements("playhouse_floor")
    assert Playhouse().entropy_per_char() == pytest.approx(found["entropy"])
    assert found["settings"]["window"] == law.CONTEXT
    assert found["entropy"] < found["floor"] - 3 * found["standard_error"]


def test_a_reader_of_windows_knows_less_the_shorter_they_are():
    """With windows of one character the floor is what bigrams leave open; it falls from there."""
    text = Playhouse(3).text(200_000)
    pairs, singles = Counter(pairwise(text)), Counter(text[:-1])
    bigrams = -sum(n * np.log(n / singles[pair[0]]) for pair, n in pairs.items()) / (len(text) - 1)
    one, error = playhouse_floor.window_floor(1, 60, seed=4)
    assert one == pytest.approx(bigrams, abs=4 * error + 0.02)
    eight, _ = playhouse_floor.window_floor(8, 20, seed=4)
    assert Playhouse().entropy_per_char() < eight < one - 0.5


def test_the_floor_is_stored_with_its_settings(tmp_path, monkeypatch):
    monkeypatch.setattr(playhouse_floor, "STORED", tmp_path / "floor.json")
    monkeypatch.setattr(playhouse_floor, "WINDOW", 2)
    result = playhouse_floor.main(["--windows", "3", "--write"])
    assert json.loads((tmp_path / "floor.json").read_text()) == result
    assert result["settings"] == {"window": 2, "windows": 3, "seed": playhouse_floor.SEED}


class Inline:
    """Stands in for the pool of processes: runs each job at once."""

    def __init__(self, *args, **kwargs):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    map = staticmethod(map)


SMALL = {
    "WIDTHS": (8, 12, 16, 24),
    "HEAD": 4,
    "LARGE": 28,
    "STEPS": {"playhouse": (2, 3, 36), "tinyshakespeare": (2, 9, 18, 36)},
    "ONE_PASS": 18,
    "TUNED_AT": 2,
    "TUNED_LATER": 3,
    "RATES": dict.fromkeys((8, 12, 16, 24), (0.001, 0.004, 0.016)),
    "LATER": {8: (1e-3, 4e-3), 12: (1e-3, 4e-3, 16e-3)},
    "HELD_OUT": {"dev": 2000, "val": 2000},
    "SLICE": 100,
    "MIDDLE": 16,
    "ISOFLOP": (1e7, 3e7, 9e7),
    "ORDERS": range(2, 4),
}


@pytest.fixture
def small(monkeypatch, tmp_path):
    """The script with little to do: few steps, one short text, no processes."""

    class Short:
        is_real = True
        text = "to be or not to be, that is the question. " * 500

    for name, value in SMALL.items():
        monkeypatch.setattr(law, name, value)
    monkeypatch.setattr(law, "load_corpus", lambda name: Short)
    monkeypatch.setattr(law, "ProcessPoolExecutor", Inline)
    monkeypatch.setattr(law, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(law, "STORED", tmp_path / "law.json")
    monkeypatch.setattr(law, "rule_of", lambda runs: {"rate": 0.1, "width": -1.0, "steps": 0.0})
    monkeypatch.setitem(sys.modules, "table", table)
    threads = torch.get_num_threads()
    forget = (law.shakespeare, law.play, law.play_tokenizer, law.code)
    for function in forget:
        function.cache_clear()
    yield
    for function in forget:
        function.cache_clear()
    torch.set_num_threads(threads)


def test_the_script_runs_all_stages_and_stores_them(small):
    law.main(["--write"])
    result = json.loads(law.STORED.read_text())
    assert {run["stage"] for run in result["runs"]} == set(law.STAGES)
    assert {run["corpus"] for run in result["runs"]} == set(law.CORPORA)
    assert len({json.dumps(run) for run in result["runs"]}) == len(result["runs"])
    shares = {run["share"] for run in result["runs"]}
    assert {1, 1 / 4, 1 / 16} <= shares
    counted = [c for c in result["counters"] if c["scored"] == "val" and c["text"] == "training"]
    assert [c["share"] for c in counted] == [1, 1 / 4, 1 / 16]
    assert result["hardware"]["processor"]


def test_an_interrupted_call_goes_on_where_it_was(small, monkeypatch):
    law.main(["--stages", "tuning"])

    def no_more(*args, **kwargs):
        raise AssertionError("trained again")

    monkeypatch.setattr(law, "fit", no_more)
    law.main(["--stages", "tuning"])
    with pytest.raises(AssertionError, match="trained again"):
        law.main(["--stages", "grid"])


def test_no_run_starts_when_time_is_over_and_nothing_is_stored(small, capsys):
    law.main(["--minutes", "0"])
    assert not list(law.KEPT.rglob("*.json"))
    with pytest.raises(ValueError, match="a run of the tuning is missing"):
        law.collected()
    law.main(["--stages", "grid"])
    assert "grid waits for runs of an earlier stage" in capsys.readouterr().out
    assert not list(law.KEPT.rglob("*.json"))


def test_without_shakespeare_nothing_runs(small, monkeypatch):
    monkeypatch.setattr(law.load_corpus("tinyshakespeare"), "is_real", False)
    with pytest.raises(SystemExit, match="must not stand in"):
        law.main([])
