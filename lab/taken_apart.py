"""The speedrun taken apart: nanoGPT's setting for a CPU against ours -> taken_apart.json.

Usage: python -m lab.taken_apart [--quick | --write] [--only PART …]

Settings are chosen on the development split of Tiny Shakespeare; validation and the rotated split
are read once, at the end. The parts, in the order in which they run:
- race (timed, two threads): nanoGPT's setting, computed as its own code computes it, three times,
  and lab/configs/record-mean.toml with ten seeds in blocks between them, scored on validation.
- splits: both settings on the two other splits, and counted n-grams on all three.
- steps: the ladder. What lies between the two settings is taken apart, one change a rung. Each rung
  is trained with two numbers of steps around nanoGPT's mean loss on development.
- times (timed, two threads): milliseconds a step of every rung. The rungs take turns.
- without: our setting with one change at a time, on the development split.
- early, final: Muon's rates and those of an AdamW that has two as well, swept on development, and
  what was picked with more seeds, on development and on validation.
- curves: the loss of the batches on the way, by Muon, by AdamW untuned and by AdamW tuned.
From steps and times the factors are computed: each rung against the one before it.

Seconds are seconds of training, without evaluation. Losses are nats a character over a whole split,
read once, after a run's last step. With `--write` each part is merged into the stored file as soon
as it is done. Less than two hours in all: untimed parts run on one thread.
"""

import hashlib
import itertools
import json
import re
import statistics
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any

import torch

from lab import factors, rivals, runs
from lab.nanogpt import NANOGPT, POINTS, curve, reference_run
from scratchformer.cli import read_config
from scratchformer.cli.run_config import keys_of, model_classes, options_of
from scratchformer.training import TrainingConfig, evaluate, fit
from scratchformer_course.ch17_speedrun.windows import RaceWindows

CONFIG = runs.CONFIGS / "record-mean.toml"
SPEEDRUN = "scratchformer_course.page_model.speedrun:SpeedrunGPT"  # a `type` of models
SEEDS = (0, 1, 2)
TEN_SEEDS = tuple(range(10))
ORDERS = range(1, 9)  # of the counts
ROUNDS = 5  # in which all rungs are timed in turn
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
EXPLICIT = "explicit attention"  # it computes what the fused kernel computes, in other seconds
# The ladder: name -> (steps near which the target lies, changes of the model, changes of
# the training). Each rung keeps the changes of those before it. The first is nanoGPT's own code.
LADDER: dict[str, tuple[tuple[int, ...], dict, dict]] = {
    "nanoGPT's setting": ((), NANOGPT["model"], BELOW),
    "rate up, down to 0": ((964, 1210), {}, {"lr": 4e-3, "schedule": "linear", "warmup": 0.2}),
    EXPLICIT: ((), {"type": SPEEDRUN}, {}),
    "norms without weights": ((964, 1210), {"norm_weights": False}, {}),
    "squared ReLU": ((821, 1030), {"activation": "relu2"}, {}),
    "rotary": ((589, 739), {"positions": "rotary"}, {}),
    "QK-norm": ((473, 594), {"qk_norm": True}, {}),
    "rates of its own": ((360, 520), {}, OWN_RATES),
    "Muon": ((347, 434), {}, MUON),
    "head of its own": ((347, 434), {"tied": False}, {}),
    "start at zero": ((347, 434), {"zero_init": True}, {}),
    "wide start": ((347, 434), {"wide_init": True}, {}),
    "two blocks": ((312, 392), {"n_layers": 2}, {}),
    "width 96": ((344, 431), {"d_model": 96, "n_heads": 2}, {}),
    "smear": ((259, 325), {"smear": 2}, {}),
    "bigrams": ((157, 196), {"bigram_rows": 4225}, {}),
    "norm of the embeddings": ((116, 146), {"embedding_norm": True}, {}),
    "value embeddings": ((116, 146), {"value_embeddings": True}, {}),
    "one block": ((125, 157), {"n_layers": 1}, {}),
    "smear of 3": ((121, 151), {"smear": 3}, {}),
    "no QK-norm": ((121, 151), {"qk_norm": False}, {}),
    "no value embeddings": ((151, 189), {"value_embeddings": False}, {}),
    "width 64, one head": ((168, 210), {"d_model": 64, "n_heads": 1}, {}),
    "batch of 32": ((85, 106), {}, {"batch_size": 32}),
    "without replacement": ((85, 106), {}, {"replacement": False}),
    "rates up": ((71, 90), {}, {"lr": 3e-2, "muon_lr": 0.1}),
    "shorter memory": ((58, 73), {}, {"betas": (0.4, 0.9)}),
    "shorter momentum": ((51, 64), {}, {"muon_momentum": 0.87}),
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
# Where Muon is compared with an AdamW tuned as widely: near nanoGPT's setting and in the final one.
OUTER = (0.015, 0.03, 0.06, 0.12)
PLACES = {
    "early": rivals.Place(
        steps=240,
        pairs={
            "AdamW": rivals.cross((0.001, 0.002, 0.004, 0.008), (0.005, 0.01, 0.02)),
            "Muon": rivals.cross((0.015, 0.03, 0.06, 0.12), (0.005, 0.01, 0.02)),
        },
        base={"AdamW": {"warmup": 0.2}, "Muon": {}},
        more={"AdamW": [{"warmup": 0.0}], "Muon": [{"warmup": 0.2}]},
        sweep_seeds=1,
        seeds=3,
        longer={"AdamW": (360,)},
    ),
    "final": rivals.Place(
        steps=60,
        pairs={
            "AdamW": list(itertools.product((0.004, 0.008, 0.016, 0.032), OUTER)),
            "Muon": list(itertools.product((0.05, 0.1, 0.2, 0.4), OUTER)),
        },
        base={"AdamW": {}, "Muon": {}},
        more={
            "AdamW": [{"betas": (0.2, 0.9)}, {"betas": (0.7, 0.9)}, {"betas": (0.4, 0.95)}],
            "Muon": [{"muon_momentum": 0.8}, {"muon_momentum": 0.93}, {"betas": (0.4, 0.95)}],
        },
        sweep_seeds=3,
        seeds=10,
        around={"AdamW": (68, 85), "Muon": (51, 64)},
    ),
}


def build(vocab_size: int, settings: dict) -> Any:
    """The model of these settings, which are a configuration file's [model]."""
    settings = dict(settings)
    model_class, config_class = model_classes(settings.pop("type", "gpt"))
    return model_class(config_class(vocab_size=vocab_size, **settings))


def our_run(model: dict, training: dict, ids, vocab_size: int, seed: int, steps=None) -> tuple:
    """Train by the package's loop, as `scratchformer train` does: the model and its curve.

    With another number of `steps` than `training` has, the warm-up is scaled.
    """
    torch.manual_seed(seed)
    gpt = build(vocab_size, model)
    steps = steps or training["steps"]
    settings = training | {"steps": steps, "seed": seed, "evaluate_every": max(1, steps // POINTS)}
    settings["warmup"] = min(training.get("warmup", 0) * steps // training["steps"], steps - 1)
    config = TrainingConfig(**{k: settings[k] for k in keys_of(TrainingConfig) if k in settings})
    sampling = {name: settings[name] for name in options_of(RaceWindows) if name in settings}
    T: Any = gpt.context_length
    sampler = RaceWindows(ids, settings["batch_size"], T, seed, **sampling)
    history = fit(gpt, sampler, runs.nats, config)
    return gpt, curve(history.steps, history.train_loss, history.seconds)


def configuration() -> tuple[dict, dict]:
    """[model] and [training] of lab/configs/record-mean.toml."""
    config = read_config(CONFIG)
    return config["model"], config["training"]


def rungs() -> dict[str, tuple[dict, dict]]:
    """The model and training of every rung, the changes of those before it included."""
    model: dict = {}
    training: dict = {}
    settings = {}
    for name, (around, of_model, of_training) in LADDER.items():
        model, training = model | of_model, training | of_training
        steps = max(around, default=NANOGPT["steps"])
        given = {key: value for key, value in training.items() if value is not None}
        settings[name] = model, given | {"steps": steps, "warmup": int(training["warmup"] * steps)}
    return settings


def setting_at(place: str) -> tuple[dict, dict]:
    """The setting whose optimiser is exchanged at one of PLACES."""
    return rungs()[EXPLICIT] if place == "early" else configuration()  # nanoGPT's model, too


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
        model, curve = reference_run(ids, self.vocab_size, seed, 3 if self.quick else None)
        return round(evaluate(model, scored, NANOGPT["model"]["context_length"]), 4), curve

    def ours(self, split: str, seed: int, model: dict, training: dict, steps=None) -> tuple:
        """One run of the package's loop: its loss and its curve."""
        ids, scored = self.splits[split]
        steps = steps or training["steps"]
        if self.quick:
            steps = min(3, steps)
        gpt, curve = our_run(model, training, ids, self.vocab_size, seed, steps)
        return round(evaluate(gpt, scored, gpt.context_length), 4), curve


def race(runner: Runner) -> dict:
    """nanoGPT's setting, and ours in blocks before, between and after its runs."""
    setting, blocks = configuration(), len(runner.seeds) + 1
    sides: dict[str, list[dict]] = {"nanoGPT": [], "ours": []}

    def run(side: str, seed: int) -> None:
        steps = setting[1]["steps"] if side == "ours" else NANOGPT["steps"]
        loss, curve = (
            runner.ours("validation", seed, *setting)
            if side == "ours"
            else runner.nanogpt("validation", seed)
        )
        scored = {"val_loss": loss, "seconds": curve["seconds"][-1]}
        sides[side].append({"seed": seed, "steps": steps} | scored)
        print(side, sides[side][-1], flush=True)

    reference_run(runner.splits["validation"][0], runner.vocab_size, 0, 3)  # warm up
    our_run(*setting, runner.splits["validation"][0], runner.vocab_size, 0, 3)
    for block in range(blocks):
        for seed in runner.ten_seeds[block::blocks]:
            run("ours", seed)
        for seed in runner.seeds[block : block + 1]:
            run("nanoGPT", seed)
    return {"race": sides | {"steps": setting[1]["steps"]}}


def other_splits(runner: Runner) -> dict:
    """Losses of both settings where the race was not run, and of counts on every split."""
    losses: dict[str, dict] = {}
    for split, texts in runner.splits.items():
        losses[split] = {"counts": runs.counted_losses(*texts, runner.vocab_size, ORDERS)}
        if split != "validation":
            losses[split]["nanoGPT"] = [
                {"seed": seed, "loss": runner.nanogpt(split, seed)[0]} for seed in runner.seeds
            ]
            losses[split]["ours"] = losses_of(runner, split, configuration(), runner.ten_seeds)
    return {"splits": losses}


def losses_of(runner: Runner, split: str, setting: tuple[dict, dict], seeds) -> list[dict]:
    """The loss of a setting with each seed."""
    return [{"seed": seed, "loss": runner.ours(split, seed, *setting)[0]} for seed in seeds]


def climb(runner: Runner) -> dict:
    """The runs around nanoGPT's loss of every rung, but of two.

    These are the first, which has that loss, and the one that changes seconds alone. Runs of at
    most 200 steps have two seeds each, longer ones have one.
    """
    climbed = {}
    for name, (model, training) in rungs().items():
        trained: list[dict] = []
        model = model | ({"explicit_attention": False} if "type" in model else {})  # as good
        for i, steps in enumerate(LADDER[name][0]):
            seeds = runner.seeds[:2] if steps <= 200 else [runner.seeds[i % len(runner.seeds)]]
            for seed in seeds:
                loss = runner.ours("development", seed, model, training, steps)[0]
                trained.append({"steps": steps, "seed": seed, "loss": loss})
        if trained:
            climbed[name] = {"runs": trained}
            print(name, trained, flush=True)
    return {"ladder": climbed}


def step_times(runner: Runner) -> dict:
    """Milliseconds a step, one figure a round, of all rungs and of the final rivals, by turns."""
    ids = runner.splits["development"][0]
    ladder: dict[str, dict] = {name: {"ms": []} for name in LADDER}
    sides: dict[str, dict] = {side: {"ms": []} for side in rivals.SIDES}
    model, training = configuration()
    for _ in range(1 if runner.quick else ROUNDS):
        for name, setting in rungs().items():
            run = reference_run if name == FIRST else partial(our_run, *setting)
            ms, ladder[name]["parameters"] = milliseconds(runner, run, ids)
            ladder[name]["ms"].append(ms)
        for side, changes in (("AdamW", WITHOUT[TUNED][1]), ("Muon", {})):
            ms, _ = milliseconds(runner, partial(our_run, model, training | changes), ids)
            sides[side]["ms"].append(ms)
    return {"ladder": ladder, "rivals": {"final": sides}}


def milliseconds(runner: Runner, run: Callable, ids) -> tuple[float, int]:
    """Milliseconds a step of a short run, its first steps left out, and its model's parameters."""
    steps, warmup_steps = (3, 1) if runner.quick else (20, 5)
    model, curve = run(ids, runner.vocab_size, 0, steps=steps)
    ms = 1000 * (curve["seconds"][-1] - curve["seconds"][warmup_steps - 1]) / (steps - warmup_steps)
    return round(ms, 2), runs.size(model)


def one_at_a_time(runner: Runner) -> dict:
    """Our setting varied, on the development split."""
    (model, training), varied = configuration(), {}
    for name, (of_model, of_training) in WITHOUT.items():
        setting = model | of_model, training | of_training
        losses = losses_of(runner, "development", setting, runner.seeds)
        varied[name] = {"model": of_model, "training": of_training, "runs": losses}
        print(name, losses, flush=True)
    return {"without": varied}


def curves(runner: Runner) -> dict:
    """The loss of the batches on the way, mean of three seeds, by Muon and by AdamW, both ways."""
    (model, training), drawn = configuration(), {}
    for name in RACERS:
        setting = model | WITHOUT[name][0], training | WITHOUT[name][1]
        seed_curves = [runner.ours("development", seed, *setting)[1] for seed in runner.seeds]
        losses = zip(*(curve["train_loss"] for curve in seed_curves), strict=True)
        means = [round(statistics.mean(of_seeds), 3) for of_seeds in losses]
        drawn[name] = {"steps": seed_curves[0]["steps"], "train_loss": means}
    return {"curves": drawn}


def compared(place: str, runner: Runner) -> dict:
    """Both sides at a place: the sweep, and what was picked with more seeds."""
    return {"rivals": {place: rivals.compare(runner, setting_at(place), PLACES[place])}}


def merged(old: dict, new: dict) -> dict:
    """`old` with what `new` has in its place; dicts in both are merged in the same way."""
    result = dict(old)
    for key, value in new.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if both else value
    return result


def summarised(measured: dict) -> dict:
    """With ratio and factors, as soon as what they are computed from is there."""
    if race := measured.get("race"):
        losses = {
            side: [{"seed": run["seed"], "loss": run["val_loss"]} for run in race[side]]
            for side in ("nanoGPT", "ours")
        }
        measured = merged(measured, {"splits": {"validation": losses}})
        measured["ratio"] = {"ratio": factors.ratio(race)}
    parts = measured.get("parts", {})
    if {"splits", "steps", "times", "final"} <= set(parts):
        ladder = {name: measured["ladder"][name] for name in LADDER}
        measured["factors"] = factors.factors(measured | {"ladder": ladder}, NANOGPT["steps"])
    return measured


PARTS: dict[str, tuple[int, Callable[[Runner], dict]]] = {  # name -> (threads, what it measures)
    "race": (2, race),
    "splits": (1, other_splits),
    "steps": (1, climb),
    "times": (2, step_times),
    "without": (1, one_at_a_time),
    "early": (1, partial(compared, "early")),
    "final": (1, partial(compared, "final")),
    "curves": (1, curves),
}


def checksum(settings) -> str:
    """Of settings. A model is named by its class: its address may change."""
    text = re.sub(r"[\w.]+:(?=SpeedrunGPT)", "", json.dumps(settings, sort_keys=True))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


SETTINGS: dict[str, Any] = {
    "nanoGPT": NANOGPT,
    "speedrun": read_config(CONFIG),
    "ladder": checksum(rungs()),
    "without": checksum(WITHOUT),
    "rivals": checksum({name: asdict(place) for name, place in PLACES.items()}),
}


def main(arguments: list[str] | None = None) -> dict:
    path = runs.path_of("taken_apart")
    parser = runs.command_line(__doc__, path.name)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    options = parser.parse_args(arguments)
    runner = Runner(options.quick, options.write)
    measured = runs.read(path) if options.write and path.exists() else {}
    for name in options.only:
        threads, measure = PARTS[name]
        torch.set_num_threads(threads)
        new = measure(runner) | {"parts": {name: runs.stamp()}}
        measured = summarised(merged(measured, new | {"settings": SETTINGS}))
        if options.write:
            runs.store(path, measured)
    print({key: measured[key] for key in ("ratio", "factors") if key in measured})
    return measured


if __name__ == "__main__":
    main()
