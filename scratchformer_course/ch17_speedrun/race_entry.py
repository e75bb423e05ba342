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

from scratchformer.data import load_corpus, scored_split
from scratchformer.data.batches import WindowSampler
from scratchformer.tokenizers import CharTokenizer
from scratchformer.training import TrainingConfig, evaluate, fit, token_loss
from scratchformer_course.measurements import load_measurements
from scratchformer_course.page_model.speedrun import SpeedrunConfig, SpeedrunGPT

LONGEST = 60  # seconds of training
# What the rules or the machine decide, and no entry.
FIXED = {"vocab_size", "seed", "device", "compile", "checkpoint_every", "evaluate_every"}
FIXED |= {"gradient_accumulation_steps", "type"}
KNOWN = {f.name for kind in (SpeedrunConfig, TrainingConfig) for f in fields(kind)} - FIXED
KNOWN |= {"batch_size", "replacement"}  # of the windows


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
            text = f"Your entry misses the wanted loss by {-margin:.3f} nats."
        elif self.times < 1:
            text = f"Your entry beats the record: it takes {self.times:.2f} of its seconds,"
            text += f" with {margin:.3f} nats to spare."
        else:
            text = "Your entry reaches the wanted loss, but not sooner: it takes"
            text += f" {self.times:.2f} times the record's seconds."
        luck = 2 * self.noise / math.sqrt(seeds)
        if abs(margin) < luck:
            mean = "one seed" if seeds == 1 else f"a mean of {seeds} seeds"
            text += f"\nThis may be luck: {mean} can be off by {luck:.3f}. Take more seeds."
        if margin >= 0 and 0.9 < self.times < 1:
            text += "\nLess than a tenth of the time is the clock's noise: measure it again."
        return text


def enter(changes: Mapping[str, Any], seeds: int = 1) -> Entry:
    """Train the record's setting with `changes` under the rules, and the record's in turn with it.

    Raises ValueError for a setting that does not exist, has no sense or is not the entry's to make,
    and for a run that takes too long.
    """
    sides = entry_settings({}), entry_settings(changes)
    corpus = load_corpus("tinyshakespeare")
    tokenizer = CharTokenizer.train(corpus.text)
    ids = torch.tensor(tokenizer.encode(corpus.text))
    train_ids, scored = scored_split(ids, "development")
    losses: tuple[list, list] = ([], [])
    seconds: tuple[list, list] = ([], [])
    parameters = [0, 0]
    for seed in range(seeds):
        for i, settings in enumerate(sides):
            model, took = _run(settings, train_ids, tokenizer.vocab_size, seed)
            T = model.context_length
            losses[i].append(evaluate(model, scored, T, max(1, 4096 // T)))
            seconds[i].append(took)
            parameters[i] = sum(p.numel() for p in model.parameters())
    on_split = load_measurements("taken_apart")["splits"]["development"]
    nanogpt, stored = ([run["loss"] for run in on_split[side]] for side in ("nanoGPT", "ours"))
    wanted = round(statistics.mean(nanogpt), 3)
    return Entry(
        steps=(sides[0]["steps"], sides[1]["steps"]),
        parameters=(parameters[0], parameters[1]),
        losses=losses,
        seconds=seconds,
        target=wanted if corpus.is_real else statistics.mean(losses[0]),  # a stand-in has no rival
        noise=statistics.stdev(stored),
    )


def record_settings() -> dict[str, Any]:
    """What lab/configs/record-mean.toml says of the model and its training, as it was measured."""
    stored = load_measurements("taken_apart")["settings"]["speedrun"]
    settings = stored["model"] | stored["training"]
    settings["betas"] = tuple(settings["betas"])
    return {name: value for name, value in settings.items() if name not in FIXED}


def entry_settings(changes: Mapping[str, Any]) -> dict[str, Any]:
    """The record's settings with `changes`; ValueError for one that an entry cannot have."""
    for name in changes:
        if name in FIXED:
            raise ValueError(f"{name} is not for an entry to choose: the rules fix it")
        if name not in KNOWN:
            names = ", ".join(sorted(KNOWN))
            raise ValueError(f"there is no setting {name!r}, expected some of {names}")
    return record_settings() | dict(changes)


def _run(
    settings: dict[str, Any], ids: Tensor, vocab_size: int, seed: int
) -> tuple[SpeedrunGPT, float]:
    """A trained network and its seconds of training."""

    def of(kind: type) -> dict[str, Any]:
        return {f.name: settings[f.name] for f in fields(kind) if f.name in settings}

    torch.manual_seed(seed)
    model = SpeedrunGPT(SpeedrunConfig(vocab_size=vocab_size, **of(SpeedrunConfig)))
    B, T = settings["batch_size"], model.context_length
    sampler = WindowSampler(ids, B, T, seed, settings["replacement"])
    start = time.perf_counter()

    def stop_in_time(state) -> None:
        if time.perf_counter() - start > LONGEST:
            done = f"{state.step} of {settings['steps']} steps"
            raise ValueError(f"{LONGEST} seconds are over after {done}: make them fewer or cheaper")

    history = fit(
        model,
        sampler,
        lambda model, x, y: token_loss(model(x), y),
        TrainingConfig(**of(TrainingConfig), seed=seed),
        callbacks=[stop_in_time],
    )
    return model, history.seconds[-1]
