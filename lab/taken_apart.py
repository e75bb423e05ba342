"""The speedrun taken apart: nanoGPT's setting for a CPU against ours -> taken_apart.json.

Usage: python -m lab.taken_apart [--quick | --write] [--only PART …]

Tiny Shakespeare is split in three ways. The training split is the first 90 % of the text, and the
rest is the validation split. The development split scores the last tenth of the training split and
trains on the other nine. Settings are chosen there. The rotated split scores the first tenth
of the text and trains on the rest. Nothing was ever chosen there: it is read once, at the end.

The parts, in the order in which they run:
- race (timed, two threads): nanoGPT's setting, computed as its own code computes it, three times,
  and lab/configs/record-mean.toml with ten seeds in blocks between them. Ours runs with three
  numbers of steps, so that the seconds to nanoGPT's mean loss can be interpolated. Trained on the
  training split, scored on validation.
- reference: nanoGPT's setting on the development split. Its mean loss is the ladder's target.
- development: our setting with ten seeds on the development split.
- counts: n-grams with Kneser–Ney smoothing, orders 1 to 8, on all three splits.
- steps: the ladder. What lies between the two settings is taken apart, one change a rung. Each rung
  is trained with two numbers of steps around the target, and the steps to it are interpolated.
- times (timed, two threads): milliseconds a step of every rung. The rungs take turns.
- without: our setting with one change at a time, on the development split.
- sweep-early, sweep-ladder, sweep-final: Muon's rates and those of an AdamW that has two as well,
  on development. read-early, read-final: what was picked, with three and ten seeds, on development
  and on validation. times-early: milliseconds a step of both sides, by turns, on one thread.
- curves: the loss of the batches on the way, by Muon, by AdamW untuned and by AdamW tuned.
- rotated-reference, rotated: nanoGPT's setting, and ours, on the rotated split.
From steps and times the factors are computed: each rung against the one before it.

Seconds are seconds of training, without evaluation. Losses are nats a character over a whole split,
read once, after a run's last step. With `--write` each part is merged into the stored file as soon
as it is done, with its day, commit and hardware. `--only` runs some parts. Less than two hours in
all: untimed parts run on one thread.
"""

import hashlib
import itertools
import json
import os
import re
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from functools import partial
from typing import Any

import torch

from lab import rivals, runs, variants
from lab.factors import factors, mean_loss, race_summary, sides_of
from lab.factors import rivals as rivals_found
from lab.nanogpt import NANOGPT, POINTS, curve, reference_run
from scratchformer.cli import read_config
from scratchformer.cli.run_config import keys_of, options_of
from scratchformer.data.corpora import SPLITS
from scratchformer.training import TrainingConfig, evaluate, fit, token_loss
from scratchformer_course.ch17_speedrun.windows import RaceWindows
from scratchformer_course.measurements import FOLDER

STORED = FOLDER / "taken_apart.json"
CONFIG = runs.CONFIGS / "record-mean.toml"
SPEEDRUN = "scratchformer_course.page_model.speedrun:SpeedrunGPT"  # a `type` of models
SEEDS = (0, 1, 2)
TEN_SEEDS = tuple(range(10))

SCALES = (0.8, 1.0, 1.25)  # of the configuration's steps, in the race
ORDERS = range(1, 9)  # of the counts
ROUNDS = 5  # in which all rungs are timed in turn
WHAT = (
    "seconds of training, evaluation left out; losses in nats a character on the whole split that "
    "is named, read once, after the last step"
)
# The same training in the words of the package's loop; the warm-up is a share of the steps.
BELOW: dict[str, Any] = {
    "batch_size": 12,
    "lr": 1e-3,
    "warmup": 0.05,
    "betas": (0.9, 0.99),
    "weight_decay": 0.1,
}
OWN_RATES = {"matrix_lr": 2e-3, "lr": 1e-2, "warmup": 0.2, "weight_decay": 0.0}  # as swept
MUON = {"matrix_lr": None, "muon_lr": 0.03, "lr": 1e-2, "warmup": 0.0, "weight_decay": 0.0}
RATE, KERNEL, MODEL = "rate and schedule", "precision and kernels", "model"
OPTIMISER, BATCH = "optimiser", "batch and its rates"
EXPLICIT = "explicit attention"  # it computes what the fused kernel computes, in other seconds
# The ladder: name -> (factor, steps near which the target lies, changes of the model, changes of
# the training). Each rung keeps the changes of those before it. The first is nanoGPT's own code.
LADDER: dict[str, tuple[str | None, int, dict, dict]] = {
    "nanoGPT's setting": (None, 2000, NANOGPT["model"], BELOW),
    "rate up, down to 0": (RATE, 1080, {}, {"lr": 4e-3, "schedule": "linear", "warmup": 0.2}),
    EXPLICIT: (KERNEL, 1080, {"type": SPEEDRUN}, {}),
    "norms without weights": (MODEL, 1080, {"norm_weights": False}, {}),
    "squared ReLU": (MODEL, 920, {"activation": "relu2"}, {}),
    "rotary": (MODEL, 660, {"positions": "rotary"}, {}),
    "QK-norm": (MODEL, 530, {"qk_norm": True}, {}),
    "rates of its own": (RATE, 440, {}, OWN_RATES),
    "Muon": (OPTIMISER, 310, {}, MUON),
    "head of its own": (MODEL, 310, {"tied": False}, {}),
    "start at zero": (MODEL, 310, {"zero_init": True}, {}),
    "wide start": (MODEL, 310, {"wide_init": True}, {}),
    "two blocks": (MODEL, 350, {"n_layers": 2}, {}),
    "width 96": (MODEL, 385, {"d_model": 96, "n_heads": 2}, {}),
    "smear": (MODEL, 290, {"smear": 2}, {}),
    "bigrams": (MODEL, 140, {"bigram_rows": 4225}, {}),
    "norm of the embeddings": (MODEL, 130, {"embedding_norm": True}, {}),
    "value embeddings": (MODEL, 130, {"value_embeddings": True}, {}),
    "one block": (MODEL, 140, {"n_layers": 1}, {}),
    "smear of 3": (MODEL, 135, {"smear": 3}, {}),
    "no QK-norm": (MODEL, 135, {"qk_norm": False}, {}),
    "no value embeddings": (MODEL, 135, {"value_embeddings": False}, {}),
    "width 64, one head": (MODEL, 150, {"d_model": 64, "n_heads": 1}, {}),
    "batch of 32": (BATCH, 95, {}, {"batch_size": 32}),
    "without replacement": (BATCH, 95, {}, {"replacement": False}),
    "rates up": (BATCH, 80, {}, {"lr": 3e-2, "muon_lr": 0.1}),
    "shorter memory": (BATCH, 65, {}, {"betas": (0.4, 0.9)}),
    "shorter momentum": (BATCH, 57, {}, {"muon_momentum": 0.87}),
}
FIRST = next(iter(LADDER))
# Changes of the final setting, each alone: what an idea is worth there, and what was not kept.
WITHOUT: dict[str, tuple[dict, dict]] = {
    "our setting": ({}, {}),
    "AdamW, tuned as widely": ({}, {"muon_lr": None, "matrix_lr": 0.016, "lr": 3e-2}),
    "AdamW, one rate of 0.004": ({}, {"muon_lr": None, "lr": 4e-3}),
    "no bigrams": ({"bigram_rows": 0}, {}),
    "no smear": ({"smear": 0}, {}),
    "no norm of the embeddings": ({"embedding_norm": False}, {}),
    "learned positions": ({"positions": "learned"}, {}),
    "GELU": ({"activation": "gelu_tanh"}, {}),
    "SwiGLU": ({"activation": "swiglu"}, {}),
    "norms with weights": ({"norm_weights": True}, {}),
    "RMSNorm": ({"norm": "rms"}, {}),
    "QK-norm": ({"qk_norm": True}, {}),
    "value embeddings": ({"value_embeddings": True}, {}),
    "two heads": ({"n_heads": 2}, {}),
    "two heads that share keys": ({"n_heads": 2, "n_kv_heads": 1}, {}),
    "head tied to the embedding": ({"tied": True}, {}),
    "random start of what adds": ({"zero_init": False}, {}),
    "narrow start": ({"wide_init": False}, {}),
    "windows drawn at random": ({}, {"replacement": True}),
    "fused attention": ({"explicit_attention": False}, {}),
    "bfloat16": ({}, {"precision": "bfloat16"}),
}
TUNED = "AdamW, tuned as widely"
RACERS = ("our setting", "AdamW, one rate of 0.004", TUNED)  # of the curves
# Ideas taken out of the final setting, not only put on the ladder: name -> (the idea, the change
# above that takes it out, steps near which the target lies).
ELSEWHERE = {
    "rotary last": ("rotary", "learned positions", 60),
    "smear last": ("smear", "no smear", 100),
    "bigrams last": ("bigrams", "no bigrams", 100),
    "explicit attention last": (EXPLICIT, "fused attention", 57),
    "float32 last": ("float32", "bfloat16", 57),
}
# Where Muon is compared with an AdamW tuned as widely: near nanoGPT's setting, on the rung before
# Muon's, where a run takes half a minute, and in the final setting.
OUTER = (0.015, 0.03, 0.06, 0.12)
PLACES = {
    "early": rivals.Place(
        steps=240,
        pairs={
            "AdamW": rivals.cross((0.001, 0.002, 0.004, 0.008), (0.005, 0.01, 0.02)),
            "Muon": rivals.cross((0.015, 0.03, 0.06, 0.12), (0.005, 0.01, 0.02)),
        },
        base={"AdamW": {"warmup": 0.2}, "Muon": {}},
        then={"AdamW": [{"warmup": 0.0}], "Muon": [{"warmup": 0.2}]},
        sweep_seeds=1,
        seeds=3,
        longer={"AdamW": (360,)},
    ),
    "ladder": rivals.Place(
        steps=360,
        pairs={
            "AdamW": [(0.002, 0.01), (0.004, 0.01), (0.008, 0.02)],
            "Muon": [(0.015, 0.01), (0.03, 0.01), (0.06, 0.02)],
        },
        base={"AdamW": {"warmup": 0.2}, "Muon": {}},
        then={"AdamW": [{"warmup": 0.0}], "Muon": []},
        sweep_seeds=1,
    ),
    "final": rivals.Place(
        steps=60,
        pairs={
            "AdamW": list(itertools.product((0.004, 0.008, 0.016, 0.032), OUTER)),
            "Muon": list(itertools.product((0.05, 0.1, 0.2, 0.4), OUTER)),
        },
        base={"AdamW": {}, "Muon": {}},
        then={
            "AdamW": [{"betas": (0.2, 0.9)}, {"betas": (0.7, 0.9)}, {"betas": (0.4, 0.95)}],
            "Muon": [{"muon_momentum": 0.8}, {"muon_momentum": 0.93}, {"betas": (0.4, 0.95)}],
        },
        sweep_seeds=3,
        seeds=10,
        around={"AdamW": (68, 85), "Muon": (51, 64)},
    ),
}


def our_run(model: dict, training: dict, ids, vocab_size: int, seed: int, steps=None) -> tuple:
    """Train by the package's loop, as `scratchformer train` does: the model and its curve.

    With another number of `steps` than `training` has, what is counted in steps is scaled.
    """
    torch.manual_seed(seed)
    gpt = variants.build(vocab_size, model)
    steps = steps or training["steps"]
    settings = training | {"steps": steps, "seed": seed, "evaluate_every": max(1, steps // POINTS)}
    for name in ("warmup", "double_after", "tail_after"):
        if settings.get(name) is not None:
            settings[name] = min(settings[name] * steps // training["steps"], steps - 1)
    config = TrainingConfig(**{k: settings[k] for k in keys_of(TrainingConfig) if k in settings})
    sampling = {name: settings[name] for name in options_of(RaceWindows) if name in settings}
    T: Any = settings.get("context_length") or gpt.context_length
    sampler = RaceWindows(ids, settings["batch_size"], T, seed, **sampling)
    history = fit(gpt, sampler, lambda model, x, y: token_loss(model(x), y), config)
    return gpt, curve(history.steps, history.train_loss, history.seconds)


def configuration() -> tuple[dict, dict]:
    """[model] and [training] of lab/configs/record-mean.toml."""
    config = read_config(CONFIG)
    return config["model"], config["training"]


def rungs() -> dict[str, tuple[dict, dict]]:
    """Each rung's whole model and training, the changes of those before it included."""
    model: dict = {}
    training: dict = {}
    found = {}
    for name, (_, steps, of_model, of_training) in LADDER.items():
        model, training = model | of_model, training | of_training | {"steps": steps}
        own = {key: value for key, value in training.items() if value is not None}
        found[name] = model, own | {"warmup": int(training["warmup"] * steps)}
    return found


def elsewhere() -> dict[str, tuple[dict, dict]]:
    """The settings of ELSEWHERE, like `rungs`."""
    found, (model, training) = {}, configuration()
    for name, (_, without, steps) in ELSEWHERE.items():
        of_model, of_training = WITHOUT[without]
        found[name] = model | of_model, training | of_training | {"steps": steps}
    return found


def setting_at(place: str) -> tuple[dict, dict]:
    """The setting whose optimiser is exchanged at one of PLACES."""
    on_ladder = {"early": EXPLICIT, "ladder": "QK-norm"}  # nanoGPT's model is that of EXPLICIT, too
    return rungs()[on_ladder[place]] if place in on_ladder else configuration()


class Runner:
    """What every part needs: the texts, and how much of everything is done."""

    def __init__(self, quick: bool, write: bool = False):
        self.splits, self.vocab_size = runs.load_splits(write=write)
        self.quick = quick
        self.seeds = SEEDS[:1] if quick else SEEDS
        self.ten_seeds = SEEDS[:1] if quick else TEN_SEEDS
        if quick:
            self.splits = {name: (ids, text[:300]) for name, (ids, text) in self.splits.items()}

    def nanogpt(self, split: str, seed: int) -> tuple[float, dict]:
        """One run of nanoGPT's setting: its loss and its curve."""
        ids, scored = self.splits[split]
        model, way = reference_run(ids, self.vocab_size, seed, 3 if self.quick else None)
        return round(evaluate(model, scored, NANOGPT["model"]["context_length"]), 4), way

    def ours(self, split: str, seed: int, model: dict, training: dict, steps=None) -> tuple:
        """One run of the package's loop: its loss and its curve."""
        ids, scored = self.splits[split]
        steps = steps or training["steps"]
        if self.quick:
            steps = min(3, steps)
        gpt, way = our_run(model, training, ids, self.vocab_size, seed, steps)
        return round(evaluate(gpt, scored, gpt.context_length), 4), way

    def reference_losses(self, split: str) -> dict:
        """nanoGPT's setting on a split, with each seed."""
        found = [{"seed": s, "loss": self.nanogpt(split, s)[0]} for s in self.seeds]
        return {"nanoGPT": found}

    def our_losses(self, split: str) -> dict:
        """Our setting on a split with ten seeds."""
        setting = configuration()
        found = [{"seed": s, "loss": self.ours(split, s, *setting)[0]} for s in self.ten_seeds]
        return {"ours": found}

    def counts(self, split: str) -> dict:
        """What counts of each order score on a split."""
        return {"counts": runs.counted_losses(*self.splits[split], self.vocab_size, ORDERS)}


def race(runner: Runner, seeds=SEEDS, ten_seeds=TEN_SEEDS, scales=SCALES) -> dict:
    """nanoGPT's setting, and ours in blocks before, between and after its runs."""
    model, training = configuration()
    if runner.quick:
        seeds, ten_seeds = seeds[:1], ten_seeds[:1]
    nanogpt, ours, curves = [], [], {}
    reference_run(runner.splits["validation"][0], runner.vocab_size, 0, 3)  # warm up
    our_run(model, training, runner.splits["validation"][0], runner.vocab_size, 0, 3)
    for block in range(len(seeds) + 1):
        for seed in ten_seeds[block :: len(seeds) + 1]:
            for steps in (round(scale * training["steps"]) for scale in scales):
                loss, way = runner.ours("validation", seed, model, training, steps)
                run = {"seed": seed, "block": block, "steps": steps, "val_loss": loss}
                ours.append(run | {"seconds": way["seconds"][-1]})
                if steps == training["steps"]:
                    curves["ours"] = way
        if block < len(seeds):
            loss, way = runner.nanogpt("validation", seeds[block])
            run = {"seed": seeds[block], "val_loss": loss, "seconds": way["seconds"][-1]}
            nanogpt.append(run)
            curves["nanoGPT"] = way
        print(f"block {block}: {ours[-1]}; nanoGPT: {nanogpt[-1]}", flush=True)
    return {"nanoGPT": nanogpt, "ours": ours, "steps": training["steps"], "curves": curves}


def around(runner: Runner, setting: tuple[dict, dict], target: float) -> dict:
    """Train a setting with two numbers of steps whose mean losses lie around the target.

    Runs of at most 150 steps have two seeds each. Longer ones have one, and another for the other
    number of steps. Raises RuntimeError if the search for the two numbers leads nowhere.
    """
    n, curves = setting[1]["steps"], {}
    trained: dict[int, list[dict]] = {}
    if setting[0].get("type") == SPEEDRUN:  # the same numbers, sooner
        setting = setting[0] | {"explicit_attention": False}, setting[1]

    def loss(steps: int) -> float:
        if steps not in trained:
            another = runner.seeds[len(trained) :][:1] or runner.seeds[:1]
            seeds, trained[steps] = another if n > 150 else runner.seeds[:2], []
            for seed in seeds:
                scored, curves[steps] = runner.ours("development", seed, *setting, steps)
                trained[steps].append({"steps": steps, "seed": seed, "loss": scored})
        return mean_loss(trained[steps])

    low, high = round(n / 1.12), round(1.12 * n)
    for _ in range(8):
        if loss(high) > target and not runner.quick:
            low, high = high, round(1.25 * high)
        elif loss(low) <= target and not runner.quick:
            low, high = round(low / 1.25), low
        else:
            way = {key: curves[high][key] for key in ("steps", "train_loss")}
            return {"runs": trained[low] + trained[high], "curve": way}
    raise RuntimeError(f"no numbers of steps lie around {target:.3f}: {setting}")


def climb(runner: Runner, target: float) -> dict:
    """The runs around the target of every rung, and of ELSEWHERE.

    None for the first, whose mean loss is the target, and for the one that changes seconds alone.
    """
    found: dict[str, dict] = {"ladder": {}, "elsewhere": {}}
    for part, settings in (("ladder", rungs()), ("elsewhere", elsewhere())):
        for name, setting in settings.items():
            if name in (FIRST, EXPLICIT):
                continue
            found[part][name] = around(runner, setting, target)
            print(name, found[part][name]["runs"], flush=True)
    return found


def step_times(runner: Runner) -> dict:
    """Milliseconds a step, one figure a round: of all rungs, of ELSEWHERE, of the final rivals.

    They take turns. The first steps of a turn warm up and are not counted.
    """
    ids = runner.splits["development"][0]
    found: dict[str, dict] = {"ladder": {}, "elsewhere": {}}
    sides: dict[str, dict] = {side: {"ms": []} for side in rivals.SIDES}
    (model, training), tuned = configuration(), WITHOUT[TUNED][1]
    for _ in range(1 if runner.quick else ROUNDS):
        for part, settings in (("ladder", rungs()), ("elsewhere", elsewhere())):
            for name, setting in settings.items():
                run = reference_run if name == FIRST else partial(our_run, *setting)
                entry = found[part].setdefault(name, {"ms": []})
                ms, entry["parameters"] = milliseconds(runner, run, ids)
                entry["ms"].append(ms)
        for side, changes in (("AdamW", tuned), ("Muon", {})):
            ms, _ = milliseconds(runner, partial(our_run, model, training | changes), ids)
            sides[side]["ms"].append(ms)
    return found | {"rivals": {"final": sides}}


def milliseconds(runner: Runner, run: Callable, ids) -> tuple[float, int]:
    """Milliseconds a step of a short run, its first steps left out, and its model's parameters."""
    steps, warm = (3, 1) if runner.quick else (20, 5)
    model, way = run(ids, runner.vocab_size, 0, steps=steps)
    ms = 1000 * (way["seconds"][-1] - way["seconds"][warm - 1]) / (steps - warm)
    return round(ms, 2), runs.size(model)


def one_at_a_time(runner: Runner) -> dict:
    """Our setting varied, on the development split."""
    (model, training), found = configuration(), {}
    for name, (of_model, of_training) in WITHOUT.items():
        settings, trained = (model | of_model, training | of_training), []
        for seed in runner.seeds:
            loss, _ = runner.ours("development", seed, *settings)
            trained.append({"seed": seed, "loss": loss})
        found[name] = {"model": of_model, "training": of_training, "runs": trained}
        print(name, trained, flush=True)
    return found


def curves(runner: Runner) -> dict:
    """The loss of the batches on the way, mean of three seeds, by Muon and by AdamW, both ways."""
    (model, training), found = configuration(), {}
    for name in RACERS:
        settings = model | WITHOUT[name][0], training | WITHOUT[name][1]
        ways = [runner.ours("development", seed, *settings)[1] for seed in runner.seeds]
        losses = zip(*(way["train_loss"] for way in ways), strict=True)
        means = [round(statistics.mean(of_seeds), 3) for of_seeds in losses]
        found[name] = {"steps": ways[0]["steps"], "train_loss": means}
    return found


def merged(old: dict, new: dict) -> dict:
    """`old` with what `new` has in its place; dicts in both are merged in the same way."""
    found = dict(old)
    for key, value in new.items():
        both = isinstance(value, dict) and isinstance(found.get(key), dict)
        found[key] = merged(found[key], value) if both else value
    return found


def summarised(found: dict) -> dict:
    """With ratio and factors, as soon as what they are computed from is there."""
    found = found | {"what": WHAT}
    if race := found.get("race"):
        found["ratio"] = race_summary(race)
        ours = [run for run in race["ours"] if run["steps"] == race["steps"]]
        losses = {
            side: [{"seed": run["seed"], "loss": run["val_loss"]} for run in trained]
            for side, trained in (("nanoGPT", race["nanoGPT"]), ("ours", ours))
        }
        found["splits"] = merged(found.get("splits", {}), {"validation": losses})
    parts: dict[str, Iterable[str]] = {"ladder": LADDER, "elsewhere": ELSEWHERE}
    parts |= {"without": WITHOUT, "splits": SPLITS, "rivals": PLACES}
    for part, names in parts.items():  # in order, and nothing that is measured no longer
        measured = found.get(part, {})
        found[part] = {name: measured[name] for name in names if name in measured}
    entries = [found["ladder"].get(name, {}) for name in LADDER]
    entries += [found["elsewhere"].get(name, {}) for name in ELSEWHERE]
    climbed = all("ms" in entry for entry in entries)
    climbed &= sum("runs" not in entry for entry in entries) == 2  # the first, and EXPLICIT
    if climbed and "nanoGPT" in found["splits"].get("development", {}):
        groups = {name: rung[0] for name, rung in LADDER.items()}
        places = {name: place[:2] for name, place in ELSEWHERE.items()}
        found["factors"] = factors(found, groups, places, NANOGPT["steps"])
        final = sides_of(found.get("rivals", {}).get("final", {}))
        if final and all({"ms", "runs"} <= set(side) for side in final):
            found["factors"]["rivals"] = rivals_found(found)
    for place in found["rivals"].values():
        if all("validation" in side for side in sides_of(place)):
            place["ahead"] = rivals.ahead(place)
    return found


def stored() -> dict:
    """What has been stored; empty if nothing has."""
    return runs.read(STORED) if STORED.exists() else {}


def environment() -> dict:
    """What of the process bears on its seconds."""
    own = {k: v for k, v in os.environ.items() if k.startswith(("OMP_", "MALLOC_"))}
    return {"threads": torch.get_num_threads(), "environment": own}


def swept(place: str, runner: Runner, _: dict) -> dict:
    """Both sides' sweep at a place."""
    return {"rivals": {place: rivals.sweep(runner, setting_at(place), PLACES[place])}}


def read(place: str, runner: Runner, found: dict) -> dict:
    """What the picked settings come to at a place."""
    of_place = found["rivals"][place]
    return {"rivals": {place: rivals.read(runner, setting_at(place), PLACES[place], of_place)}}


def times_early(runner: Runner, found: dict) -> dict:
    """Milliseconds a step of both sides near nanoGPT's setting."""

    def short(model: dict, training: dict) -> float:
        ids = runner.splits["development"][0]
        return milliseconds(runner, partial(our_run, model, training), ids)[0]

    where = setting_at("early"), PLACES["early"], found["rivals"]["early"]
    return {"rivals": {"early": rivals.turns(short, *where, 1 if runner.quick else ROUNDS)}}


PARTS: dict[str, tuple[int, Callable[[Runner, dict], dict]]] = {
    # name -> (threads, what it measures, given what has been measured before)
    "race": (2, lambda runner, _: {"race": race(runner)}),
    "reference": (1, lambda runner, _: on("development", runner.reference_losses)),
    "development": (1, lambda runner, _: on("development", runner.our_losses)),
    "counts": (1, lambda runner, _: {"splits": {s: runner.counts(s) for s in runner.splits}}),
    "steps": (1, lambda runner, found: climb(runner, target_of(found))),
    "times": (2, lambda runner, _: step_times(runner)),
    "without": (1, lambda runner, _: {"without": one_at_a_time(runner)}),
    **{f"sweep-{place}": (1, partial(swept, place)) for place in PLACES},
    **{f"read-{place}": (1, partial(read, place)) for place in PLACES if PLACES[place].seeds},
    "times-early": (1, times_early),
    "curves": (1, lambda runner, _: {"curves": curves(runner)}),
    "rotated-reference": (1, lambda runner, _: on("rotated", runner.reference_losses)),
    "rotated": (1, lambda runner, _: on("rotated", runner.our_losses)),
}


def sum_of(settings) -> str:
    """A checksum of settings. A model is named by its class: its address may change."""
    text = re.sub(r"[\w.]+:(?=SpeedrunGPT)", "", json.dumps(settings, sort_keys=True))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def sum_for(part: str) -> str:
    """A checksum of the settings that a part depends on."""
    _, _, place = part.rpartition("-")
    if place in PLACES:
        return sum_of([asdict(PLACES[place]), *setting_at(place)])
    if part in ("steps", "times"):
        return sum_of([rungs(), elsewhere()])
    if part in ("reference", "rotated-reference", "counts"):
        return sum_of([NANOGPT])
    return sum_of([WITHOUT if part == "without" else NANOGPT, *configuration()])


SETTINGS: dict[str, Any] = {
    "nanoGPT": NANOGPT,
    "speedrun": read_config(CONFIG),
    **{part: sum_for(part) for part in PARTS},
}


def on(split: str, measure: Callable[[str], dict]) -> dict:
    return {"splits": {split: measure(split)}}


def target_of(found: dict) -> float:
    """nanoGPT's mean loss on the development split."""
    return mean_loss(found["splits"]["development"]["nanoGPT"])


def rows(quick: bool = False) -> list[dict]:
    """The race, for the table of all benchmarks."""
    torch.set_num_threads(2)
    found = race(Runner(quick), scales=(1.0,))
    ours, theirs = found["ours"], found["nanoGPT"]
    blocks = [[run["seconds"] for run in ours if run["block"] == i] for i in range(len(theirs))]
    return [
        runs.row(
            "training to nanoGPT's loss",
            "nanoGPT's settings for a CPU",
            "s",
            [statistics.median(block) for block in blocks],
            [run["seconds"] for run in theirs],
            f"loss on the whole validation split: ours {mean_loss(ours, 'val_loss'):.3f} (mean of "
            f"{len(ours)} seeds), nanoGPT's {mean_loss(theirs, 'val_loss'):.3f} nats a character "
            f"(mean of {len(theirs)}); a round is a run of nanoGPT's and the median of ours before "
            "it; chapter 17 tells of a longer race",
        )
    ]


def main(arguments: list[str] | None = None) -> dict:
    parser = runs.command_line(__doc__, STORED.name)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    options = parser.parse_args(arguments)
    runner = Runner(options.quick, options.write)
    found = {} if options.quick else stored()
    for name, (threads, measure) in PARTS.items():
        if name not in options.only:
            continue
        torch.set_num_threads(threads)
        start = time.perf_counter()
        new = measure(runner, found)
        took = {"seconds": round(time.perf_counter() - start)}
        new["parts"] = {name: runs.stamp() | environment() | took}
        new["settings"] = {key: SETTINGS[key] for key in ("nanoGPT", "speedrun", name)}
        # another part may have been stored meanwhile
        found = summarised(merged(found if options.quick else merged(found, stored()), new))
        if options.write:
            runs.store(STORED, found)
    print({key: found[key] for key in ("ratio", "factors") if key in found})
    return found


if __name__ == "__main__":
    main()
