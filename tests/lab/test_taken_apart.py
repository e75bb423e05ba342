"""The speedrun taken apart: the rules kept, one change a rung, factors and their intervals."""

import itertools
import json
import math
import statistics
from pathlib import Path

import pytest
import torch

from lab import factors, taken_apart, variants
from scratchformer.cli import read_config

ROOT = Path(__file__).resolve().parents[2]
V = 65
IDS = torch.randint(V, (700,), generator=torch.Generator().manual_seed(0))


def test_the_configuration_is_whole_and_causal():
    config = read_config(taken_apart.CONFIG)
    assert config["data"] == {"corpus": "tinyshakespeare", "tokenizer": "char"}
    torch.manual_seed(0)
    gpt = variants.build(V, config["model"])
    with torch.no_grad():
        for p in gpt.parameters():  # what starts at zero must be tested too
            p.normal_(std=0.1)
        T = gpt.context_length
        before = gpt(IDS[None, :T])
        for t in (0, 1, T // 2, T - 1):
            changed = IDS[None, :T].clone()
            changed[0, t] = (changed[0, t] + 1) % V
            after = gpt(changed)
            torch.testing.assert_close(after[:, :t], before[:, :t], rtol=0, atol=1e-4)
            assert not torch.allclose(after[:, t], before[:, t], atol=1e-4)


def test_every_rung_and_every_variant_can_be_built_and_trained():
    model, training = taken_apart.configuration()
    settings = [*taken_apart.rungs().values(), *taken_apart.elsewhere().values()]
    settings += [(model | m, training | t) for m, t in taken_apart.WITHOUT.values()]
    for model, training in settings:
        small = model | {"d_model": 16, "n_heads": 2, "n_layers": 1}
        small |= {"bigram_rows": 64} if model.get("bigram_rows") else {}
        _, curve = taken_apart.our_run(small, training | {"batch_size": 2}, IDS, V, seed=0, steps=2)
        assert curve["steps"] == [1, 2]
        assert all(map(math.isfinite, curve["train_loss"]))
        with torch.device("meta"):
            variants.build(V, model)  # raises for sizes that cannot be built


def test_a_rung_is_one_change_and_the_last_is_the_configuration():
    for name, (factor, _, of_model, of_training) in list(taken_apart.LADDER.items())[1:]:
        assert factor
        if of_training != taken_apart.MUON:
            rates = {"lr", "muon_lr", "warmup", "schedule"}  # they go together
            changed = {*of_model, *of_training}
            one = len(changed) == 1 or changed <= rates or changed == {"d_model", "n_heads"}
            assert one, name
    of_model, of_training = list(taken_apart.rungs().values())[-1]
    model, training = taken_apart.configuration()
    full, own = (variants.build(V, settings).config for settings in (of_model, model))
    assert full == own
    left_out = {"steps", "seed", "device", "evaluate_every"}
    wanted = {"warmup": 0, "context_length": model["context_length"]} | training
    told = {"context_length": model["context_length"], "precision": "float32"} | of_training
    assert {k: v for k, v in told.items() if k not in left_out} == {
        k: tuple(v) if k == "betas" else v for k, v in wanted.items() if k not in left_out
    }


def test_what_is_counted_in_steps_is_scaled_with_them(monkeypatch):
    seen = []

    def fit(model, sampler, loss, config):
        seen.append((config.steps, config.warmup, sampler.double_after))
        raise InterruptedError

    monkeypatch.setattr(taken_apart, "fit", fit)
    model = {"context_length": 16, "d_model": 16, "n_heads": 2, "n_layers": 1}
    training = {"batch_size": 2, "lr": 1e-3, "steps": 100, "warmup": 20, "double_after": 50}
    training["context_length"] = 8
    for steps in (None, 50, 200):
        with pytest.raises(InterruptedError):
            taken_apart.our_run(model, training, IDS, V, 0, steps)
    assert seen == [(100, 20, 50), (50, 10, 25), (200, 40, 100)]


TEXT = IDS.repeat(4)  # enough for one batch


class Recorder(taken_apart.Runner):
    """A runner that trains nothing: it remembers which split was read."""

    def __init__(self):
        self.quick, self.seeds, self.ten_seeds, self.vocab_size = True, (0,), (0,), V
        self.splits = dict.fromkeys(("validation", "development", "rotated"), (TEXT, IDS))
        self.read = []

    def ours(self, split, seed, model, training, steps=None):
        self.read.append(split)
        return 1.9, {"steps": [1], "train_loss": [2.0], "seconds": [1.0]}

    def nanogpt(self, split, seed):
        self.read.append(split)
        return 1.9, {"steps": [1], "train_loss": [2.0], "seconds": [1.0]}


def test_nothing_is_chosen_on_validation_or_on_the_rotated_split():
    recorder = Recorder()
    names = [*taken_apart.LADDER, *taken_apart.ELSEWHERE]
    taken_apart.climb(recorder, 1.9, names)
    taken_apart.one_at_a_time(recorder)
    assert set(recorder.read) == {"development"}
    for part, split in (("race", "validation"), ("reference", "development")):
        recorder.read = []
        _, measure = taken_apart.PARTS[part]
        measure(recorder, {}, names)
        assert set(recorder.read) == {split}


def test_ours_runs_before_between_and_after_the_rival():
    recorder = Recorder()
    recorder.quick = False
    found = taken_apart.race(recorder, seeds=(0, 1, 2), ten_seeds=tuple(range(10)))
    blocks = [run["block"] for run in found["ours"]]
    assert blocks == sorted(blocks) and set(blocks) == {0, 1, 2, 3}
    by_steps = {}
    for run in found["ours"]:
        by_steps.setdefault(run["steps"], []).append(run["seed"])
    assert len(by_steps) == 3
    assert all(sorted(seeds) == list(range(10)) for seeds in by_steps.values())


def test_the_search_ends_with_losses_on_both_sides():
    class Law(Recorder):
        def ours(self, split, seed, model, training, steps=None):
            _, way = super().ours(split, seed, model, training)
            return 3 - 0.2 * math.log(steps), way

    runner = Law()
    runner.quick = False
    for begin in (100, 240, 600):
        target = 3 - 0.2 * math.log(245)
        runs = taken_apart.around(runner, ({}, {"steps": begin}), target)["runs"]
        low, high = runs[0], runs[-1]
        assert low["steps"] < 245 < high["steps"] <= 1.3 * low["steps"]
        assert low["loss"] > target >= high["loss"]


def test_an_amount_at_a_target_lies_on_the_line():
    amounts = [50, 100, 200]
    losses = [3 - 0.3 * math.log(n) for n in amounts]
    for n in (50, 140, 220):
        assert factors.at_target(amounts, losses, 3 - 0.3 * math.log(n)) == pytest.approx(n)


def artificial():
    """Rungs that need 1,000, 1,000, 500 and 100 steps of 40, 50, 20 and 20 ms."""

    def entry(steps, ms):
        runs = [
            {"steps": n, "seed": seed, "loss": 1.9 - 0.2 * math.log(n / steps)}
            for n in (round(steps / 1.1), round(steps * 1.1))
            for seed in (0, 1)
        ]
        return {"ms": [ms, ms, ms], "runs": runs}

    first, same = {"ms": [40.0, 40.0, 40.0]}, {"ms": [50.0, 50.0, 50.0]}
    return {
        "splits": {"development": {"nanoGPT": [{"loss": 1.9}, {"loss": 1.9}]}},
        "ladder": {"first": first, "a": same, "b": entry(500, 20.0), "c": entry(100, 20.0)},
        "elsewhere": {"c before b": entry(250, 40.0), "without b": entry(400, 20.0)},
    }


def test_factors_are_quotients_of_neighbours_and_their_product_is_the_total():
    groups = {"first": None, "a": "speed", "b": "speed", "c": "steps"}
    elsewhere = {"c before b": ("c", "first"), "without b": ("b", "no b")}
    found = factors.factors(artificial(), groups, elsewhere, 1000)
    assert found["rungs"]["a"]["steps"] == 1000
    assert found["rungs"]["a"]["factor"]["value"] == pytest.approx(0.8)
    assert found["rungs"]["b"]["steps"] == pytest.approx(500, rel=1e-3)
    assert found["rungs"]["b"]["seconds"] == pytest.approx(10, rel=1e-3)
    assert found["products"]["speed"]["value"] == pytest.approx(4, rel=1e-3)
    assert found["products"]["steps"]["value"] == pytest.approx(5, rel=1e-3)
    assert found["total"]["value"] == pytest.approx(20, rel=1e-3)
    assert found["elsewhere"]["c before b"]["value"] == pytest.approx(4, rel=1e-3)
    assert found["elsewhere"]["without b"]["value"] == pytest.approx(4, rel=1e-3)
    assert found["noise"] == 0


def test_an_interval_widens_with_the_noise_of_seeds_and_clock():
    groups = {"first": None, "a": "speed", "b": "speed", "c": "steps"}
    widths = []
    for noise, ms in ((0, 0), (0.01, 0), (0.01, 4.0)):
        found = artificial()
        for entry in list(found["ladder"].values())[2:]:
            for run in entry["runs"]:
                run["loss"] += noise * (1 if run["seed"] else -1)
            entry["ms"] = [20.0 - ms, 20.0, 20.0 + ms]
        total = factors.factors(found, groups, {}, 1000)["total"]
        low, high = total["interval"]
        assert low <= total["value"] <= high
        widths.append(high - low)
    assert widths[0] < 1e-6 < widths[1] < widths[2]


def test_the_races_ratio_is_of_medians_and_its_interval_holds_it():
    ours = [
        {"steps": n, "seed": seed, "seconds": n / 50, "val_loss": 1.9 - 0.2 * math.log(n / 60)}
        for n in (50, 60, 75)
        for seed in range(10)
    ]
    nanogpt = [{"seconds": t, "val_loss": 1.9} for t in (60.0, 66.0, 90.0)]
    found = factors.race_summary({"ours": ours, "nanoGPT": nanogpt, "steps": 75})
    assert found["ratio"]["value"] == pytest.approx(66 / 1.5)
    assert found["ratio"]["range"] == pytest.approx([60 / 1.5, 90 / 1.5])
    assert found["ratio"]["interval"] == pytest.approx([60 / 1.5, 90 / 1.5])
    assert found["seconds_at_target"]["value"] == pytest.approx(1.2, rel=1e-3)
    assert found["ratio_at_target"]["value"] == pytest.approx(55, rel=1e-3)


def test_a_part_changes_nothing_of_the_others():
    old = {"ladder": {"a": {"ms": [1], "runs": [2]}, "b": {"ms": [3]}}, "race": [1, 2]}
    new = taken_apart.merged(old, {"ladder": {"b": {"ms": [4, 5]}, "c": {}}})
    assert new["race"] == [1, 2] and new["ladder"]["a"] == old["ladder"]["a"]
    assert new["ladder"]["b"] == {"ms": [4, 5]} and list(new["ladder"]) == ["a", "b", "c"]


def stored():
    return json.loads(taken_apart.STORED.read_text(encoding="utf-8"))


def as_json(x):
    return json.loads(json.dumps(x))


def test_stored_figures_are_of_the_code_as_it_is():
    found = stored()
    assert set(found["parts"]) == set(taken_apart.PARTS)
    same = ("reference", "rotated-reference", "counts")  # whatever our setting is
    for name, part in found["parts"].items():
        settings = taken_apart.sum_of([taken_apart.NANOGPT, *taken_apart.configuration()])
        assert part["settings"] == settings or name in same, name
        assert part["threads"] == taken_apart.PARTS[name][0] and part["commit"] and part["day"]
        assert {"python", "torch", "numpy"} == set(part["versions"])
        assert set(part["hardware"]) == {"processor", "cores"}
    assert found["settings"]["nanoGPT"] == as_json(taken_apart.NANOGPT)
    assert found["settings"]["speedrun"] == as_json(read_config(taken_apart.CONFIG))
    assert list(found["ladder"]) == list(taken_apart.LADDER)
    assert list(found["elsewhere"]) == list(taken_apart.ELSEWHERE)
    assert list(found["without"]) == list(taken_apart.WITHOUT)
    entries = found["ladder"] | found["elsewhere"]
    assert all(len(entry["ms"]) == taken_apart.ROUNDS for entry in entries.values())
    for name, setting in (taken_apart.rungs() | taken_apart.elsewhere()).items():
        own = taken_apart.sum_of(setting)
        assert entries[name].get("settings", own) == own
    for name, variant in found["without"].items():
        changes = variant["model"], variant["training"]
        assert list(changes) == as_json(taken_apart.WITHOUT[name])
        assert [run["seed"] for run in variant["runs"]] == list(taken_apart.SEEDS)
    for split, ours in itertools.product(("development", "rotated"), (True, False)):
        runs = found["splits"][split]["ours" if ours else "nanoGPT"]
        seeds = taken_apart.TEN_SEEDS if ours else taken_apart.SEEDS
        assert [run["seed"] for run in runs] == list(seeds)
    for split in found["splits"].values():
        assert list(split["counts"]) == [str(n) for n in taken_apart.ORDERS]
    assert as_json(taken_apart.summarised(found)) == found
    assert taken_apart.STORED.stat().st_size < 60_000


def test_every_stored_rung_has_losses_on_both_sides_of_the_target():
    found = stored()
    target = found["factors"]["target"]
    entries = {**found["ladder"], **found["elsewhere"]}
    without_runs = [taken_apart.FIRST, taken_apart.EXPLICIT]
    assert [n for n in entries if "runs" not in entries[n]] == without_runs
    for name, entry in entries.items():
        if "runs" not in entry:
            continue
        low, high = (
            statistics.mean(run["loss"] for run in entry["runs"] if run["steps"] == n)
            for n in sorted({run["steps"] for run in entry["runs"]})
        )
        assert high <= target + 1e-3 and target - 1e-3 <= low, name
        assert len({run["seed"] for run in entry["runs"]}) >= 2, name


def test_stored_figures_say_what_they_claim():
    found = stored()
    race, told = found["race"], found["factors"]
    # nanoGPT's own code, measured apart: 1.898
    assert all(abs(run["val_loss"] - 1.898) < 0.03 for run in race["nanoGPT"])
    assert len(race["nanoGPT"]) >= 3
    means = {}
    for run in race["ours"]:
        means.setdefault(run["steps"], []).append(run["val_loss"])
    assert all(len(losses) >= 10 for losses in means.values())
    means = [statistics.mean(losses) for _, losses in sorted(means.items())]
    assert means == sorted(means, reverse=True)
    assert means[-1] < found["ratio"]["target"] < means[0]
    assert found["ratio"]["ratio"]["interval"][0] > 20
    product = math.prod(figure["value"] for figure in told["products"].values())
    assert product == pytest.approx(told["total"]["value"], rel=0.005)
    first, *_, last = told["rungs"].values()
    assert first["seconds"] / last["seconds"] == pytest.approx(told["total"]["value"], rel=0.005)
    for split in ("development", "rotated"):
        means = {
            side: statistics.mean(run["loss"] for run in found["splits"][split][side])
            for side in ("ours", "nanoGPT")
        }
        assert means["ours"] <= means["nanoGPT"] + 0.02


def test_the_benchmark_runs_from_end_to_end_and_stores_nothing_unasked(monkeypatch, tmp_path):
    monkeypatch.setattr(taken_apart, "STORED", tmp_path / "taken_apart.json")
    for name in ("LADDER", "WITHOUT"):
        monkeypatch.setattr(taken_apart, name, dict(list(getattr(taken_apart, name).items())[:2]))
    last = {"Muon last": taken_apart.ELSEWHERE["Muon last"]}
    monkeypatch.setattr(taken_apart, "ELSEWHERE", last)
    threads = torch.get_num_threads()

    class Small:
        is_real = False
        text = "to be or not to be, that is the question. " * 500

    monkeypatch.setattr(taken_apart, "load_corpus", lambda name: Small)
    try:
        result = taken_apart.main(["--quick"])
        with pytest.raises(SystemExit, match="not replaced"):
            taken_apart.main(["--quick", "--write"])
        assert not taken_apart.STORED.exists()
        Small.is_real = True
        taken_apart.main(["--quick", "--write", "--only", "counts"])  # all parts store alike
    finally:
        torch.set_num_threads(threads)
    assert as_json(result)["race"]["ours"][0]["seed"] == 0
    assert set(result["parts"]) == set(taken_apart.PARTS)
    assert not taken_apart.STORED.exists()
