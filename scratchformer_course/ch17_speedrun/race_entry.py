"""Your entry to the race of chapter 17: settings over the record's, run under the rules.

The rules: a network of the package starts from random weights. It trains on the development split's
text, and is scored once, after its last step, on all of the development split. A run may take 60
seconds. The record runs in turn with the entry, so that a busy machine slows both. The validation
split is not read.
"""

import math
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor

from scratchformer.cli.run_config import RunConfig, check_table, keys_of, options_of
from scratchformer.data import load_corpus, scored_split
from scratchformer.tokenizers import CharTokenizer
from scratchformer.training import TrainingConfig, evaluate, fit, token_loss
from scratchformer_course.ch17_speedrun.windows import RaceWindows
from scratchformer_course.measurements import load_measurements
from scratchformer_course.page_model.speedrun import SpeedrunConfig, SpeedrunGPT

LONGEST = 60  # seconds of training
LARGEST = 20_000_000  # parameters
# What the rules or the machine decide, and no entry.
FIXED = {"vocab_size", "seed", "device", "compile", "sampler", "checkpoint_every"}
FIXED |= {"evaluate_every", "gradient_accumulation_steps"}


@dataclass(frozen=True)
class Entry:
    """What an entry came to, and the record beside it, seed by seed. Printing it tells all."""

    steps: tuple[int, int]  # of the record and of the entry, as are the pairs below
    parameters: tuple[int, int]
    losses: tuple[list[float], list[float]]
    seconds: tuple[list[float], list[float]]
    target: float  # a mean of losses that is this or less has reached the goal
    noise: float  # by how much losses differ from seed to seed: their standard deviation

    @property
    def loss(self) -> float:
        """The entry's mean loss."""
        return statistics.mean(self.losses[1])

    @property
    def times(self) -> float:
        """The entry's seconds over the record's, medians."""
        ours, theirs = map(statistics.median, self.seconds)
        return theirs / ours

    def __str__(self) -> str:
        rows = [f"{'':12}{'nats':>6}{'seconds':>10}{'steps':>8}{'parameters':>13}"]
        sides = zip(self.losses, self.seconds, self.steps, self.parameters, strict=True)
        for name, side in zip(("the record", "your entry"), sides, strict=True):
            losses, seconds, steps, n = side
            loss, took = statistics.mean(losses), statistics.median(seconds)
            rows.append(f"{name:12}{loss:6.3f}{took:10.2f}{steps:8,}{n:13,}")
        return "\n".join([*rows, f"{'wanted':12}{self.target:6.3f}", self.verdict()])

    def verdict(self) -> str:
        """Whether the goal is reached, by how much, and whether that may be luck."""
        margin, seeds = self.target - self.loss, len(self.losses[1])
        if not math.isfinite(margin):
            return "Your entry did not learn: its loss is no number. Try lower rates."
        if margin < 0:
            said = f"Your entry misses the wanted loss by {-margin:.3f} nats."
        elif self.times < 1:
            said = f"Your entry beats the record: it takes {self.times:.2f} of its seconds,"
            said += f" with {margin:.3f} nats to spare."
        else:
            said = "Your entry reaches the wanted loss, but not sooner: it takes"
            said += f" {self.times:.2f} times the record's seconds."
        luck = 2 * self.noise / math.sqrt(seeds)
        if abs(margin) < luck:
            mean = "one seed" if seeds == 1 else f"a mean of {seeds} seeds"
            said += f"\nThis may be luck: {mean} can be off by {luck:.3f}. Take more seeds."
        if margin >= 0 and 0.9 < self.times < 1:
            said += "\nLess than a tenth of the time is the clock's noise: measure it again."
        return said


def enter(changes: Any, seeds: Any = 1) -> Entry:
    """Train the record's setting with `changes` under the rules, and the record's in turn with it.

    `changes` is a dict, `seeds` a number. With `double_after` windows begin at half the context.
    Raises ValueError for a setting that does not exist, has no sense or is not the entry's to
    make, for a network of more than 20 million parameters, and for a run that takes too long.
    """
    if type(seeds) is not int or not 1 <= seeds <= 100:
        raise ValueError(f"seeds={seeds!r}, expected a number from 1 to 100")
    record = record_settings()
    settings = entry_settings(record, {}), entry_settings(record, changes)
    corpus = load_corpus("tinyshakespeare")
    tokenizer = CharTokenizer.train(corpus.text)
    ids = torch.tensor(tokenizer.encode(corpus.text))
    train_ids, scored = scored_split(ids, "development")
    sizes = [_size(side["model"], tokenizer.vocab_size) for side in settings]
    losses: tuple[list, list] = ([], [])
    seconds: tuple[list, list] = ([], [])
    for seed in range(seeds):
        for i, side in enumerate(settings):
            model, took = _run(side, train_ids, tokenizer.vocab_size, seed)
            T = model.context_length
            losses[i].append(evaluate(model, scored, T, max(1, 4096 // T)))
            seconds[i].append(took)
    on_split = load_measurements("taken_apart")["splits"]["development"]
    nanogpt, stored = ([run["loss"] for run in on_split[side]] for side in ("nanoGPT", "ours"))
    wanted = round(statistics.mean(nanogpt), 3)
    return Entry(
        steps=(settings[0]["training"]["steps"], settings[1]["training"]["steps"]),
        parameters=(sizes[0], sizes[1]),
        losses=losses,
        seconds=seconds,
        target=wanted if corpus.is_real else statistics.mean(losses[0]),  # a stand-in has no rival
        noise=statistics.stdev(stored),
    )


def record_settings() -> dict[str, dict]:
    """The tables "model" and "training" of lab/configs/record-mean.toml, as they were measured."""
    stored = load_measurements("taken_apart")["settings"]["speedrun"]
    left_out = FIXED | {"type"}
    return {
        table: {name: value for name, value in stored[table].items() if name not in left_out}
        for table in ("model", "training")
    }


def entry_settings(record: dict[str, dict], changes: Any) -> dict[str, dict]:
    """The record's tables with `changes` in them; ValueError for what an entry cannot have."""
    if not isinstance(changes, Mapping):
        raise ValueError(f"got a {type(changes).__name__}, expected a dict of settings")
    training = keys_of(TrainingConfig) | keys_of(RunConfig) | options_of(RaceWindows)
    keys = {"model": keys_of(SpeedrunConfig), "training": training}
    known = {
        table: {name: key for name, key in found.items() if name not in FIXED}
        for table, found in keys.items()
    }
    settings = {table: dict(found) for table, found in record.items()}
    for name, value in changes.items():
        if name in FIXED | {"type"}:
            raise ValueError(f"{name} is not for an entry to choose: the rules fix it")
        table = next((table for table, found in known.items() if name in found), None)
        if table is None:
            names = ", ".join(dict.fromkeys([*known["model"], *known["training"]]))
            raise ValueError(f"there is no setting {name!r}, expected some of {names}")
        settings[table][name] = value
    for table, found in settings.items():
        as_toml = {k: list(v) if isinstance(v, tuple) else v for k, v in found.items()}
        given = {name: value for name, value in as_toml.items() if value is not None}
        settings[table] = check_table("your entry", given, known[table])
    _check_sizes(settings["model"], settings["training"])
    return settings


def _check_sizes(model: dict, training: dict) -> None:
    """ValueError for values that no run can have, or that would fill the memory."""
    for name in ("n_layers", "smear"):  # they are built one by one
        if model.get(name, 0) > 100:
            raise ValueError(f"{name}={model[name]}, expected at most 100")
    config = SpeedrunConfig(vocab_size=2, **model)
    TrainingConfig(**_of(TrainingConfig, training), seed=0)
    B, T = training["batch_size"], config.context_length
    if B < 1:
        raise ValueError(f"batch_size={B}, expected at least 1")
    if (n := B * T) > 2**18:
        raise ValueError(f"a step reads {n:,} characters, expected at most {2**18:,}")
    if (n := B * config.n_heads * T * T) > 2**27:
        raise ValueError(f"a step has {n:,} weights of attention, expected at most {2**27:,}")


def _of(kind: type, settings: dict) -> dict:
    """Those settings that are fields of the class."""
    return {f.name: settings[f.name] for f in fields(kind) if f.name in settings}


def _size(model: dict, vocab_size: int) -> int:
    """The number of parameters; ValueError if they are too many."""
    with torch.device("meta"):  # sizes only: no memory is taken
        network = SpeedrunGPT(SpeedrunConfig(vocab_size=vocab_size, **model))
    n = sum(p.numel() for p in network.parameters())
    if n > LARGEST:
        raise ValueError(f"the network has {n:,} parameters, expected at most {LARGEST:,}")
    return n


def _run(settings: dict, ids: Tensor, vocab_size: int, seed: int) -> tuple[SpeedrunGPT, float]:
    """A trained network and its seconds of training."""
    torch.manual_seed(seed)
    model = SpeedrunGPT(SpeedrunConfig(vocab_size=vocab_size, **settings["model"]))
    training = settings["training"]
    sampling = {name: training[name] for name in options_of(RaceWindows) if name in training}
    T = model.context_length // (1 if training.get("double_after") is None else 2)
    sampler = RaceWindows(ids, training["batch_size"], T, seed, **sampling)
    start = time.perf_counter()

    def stop_in_time(state) -> None:
        if time.perf_counter() - start > LONGEST:
            done = f"{state.step} of {training['steps']} steps"
            raise ValueError(f"{LONGEST} seconds are over after {done}: make them fewer or cheaper")

    history = fit(
        model,
        sampler,
        lambda model, x, y: token_loss(model(x), y),
        TrainingConfig(**_of(TrainingConfig, training), seed=seed),
        callbacks=[stop_in_time],
    )
    return model, history.seconds[-1]
