"""Records on two CPU cores, each with its rules and its rivals -> records.json.

Usage: python -m lab.records [--quick | --write] [--only PART …]

Losses are nats a character. Seconds are seconds of training: starting processes, counting and
fitting of mixtures are left out. Splits of Tiny Shakespeare, 1,115,394 characters:

- "development": the last tenth of the training split is scored, what stands before it is trained
  on. All settings, weights of mixtures, gates and rates come from it.
- "validation": the last tenth of the text is scored, the training split is trained on. It is read
  once, by the final models.
- "rotated": the first tenth of the text is scored, the other nine are trained on. Nothing was ever
  chosen on it. It is read once, too.

two_minutes: lab/configs/record-two-minutes.toml, by two processes of one thread each, as many steps
as two otherwise idle cores make in about 120 seconds. Alone; mixed with counts of the same text by
constant weights; and by a small learned gate. Both are fitted on development with the first seed's
model, whose own "mixed" and "gated" there are no forecast.

    The validation split continues the text where the training split ends: two thirds of it are
    the rest of *The Taming of the Shrew*, whose beginning ends the training split. The setting's
    tail, windows from the end of the text in the last steps, and the counts of its last twentieth
    came from looking at that. They are chosen on development, which continues its text likewise.
    On the rotated split, where nothing is continued, they cannot help: compare.

ten_seeds: the fewest steps to nanoGPT's loss for a CPU. lab/configs/record-mean.toml is for a mean
of ten seeds that reaches it, record-every-seed.toml beside it for ten seeds that all do. Both are
chosen on development, where nanoGPT's own settings reach 1.865 (mean of three seeds), and then
checked on validation, for which its README gives 1.88. One process of one thread, and no tail.

tracks: the final models of two_minutes once more, under three other rules. What is usual, windows
of 256 characters each scored once, stands beside each. Counts are treated likewise where they can
be: they see all characters before in any case, so that overlapping windows change nothing for them.

- overlap: windows of 256 begin every 64 characters; only the last 64 predictions of each count.
- adaptive counts: the tables also count what has been scored, anew every 4,096 characters.
- a step a window: after a window has been scored, the network takes one step of plain gradient
  descent on it. Its rival is the adaptive counts, alone; mixed, it has them beside it.

rivals: Muon beside an AdamW tuned as widely in the setting of two_minutes, by one process of one
thread, with a fifth of its steps. Where windows double and the tail begins moves along. Seconds
play no part, but for milliseconds a step by turns.

rival_in_full: AdamW with all steps of two_minutes, by one process of one thread: few settings
around what rivals picked, on development, and the best of them on validation. Muon's side is what
two_minutes has stored.
"""

import argparse
import os
import statistics
import tempfile
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from lab import rivals, runs
from lab.factors import paired
from lab.mixing import Gate, counted_rows, fit_weights, mixed, nats, network_rows
from lab.taken_apart import Runner, merged, milliseconds, our_run
from scratchformer import cli
from scratchformer.cli import read_config
from scratchformer.training import evaluate
from scratchformer_course.measurements import FOLDER, load_measurements
from scratchformer_course.page_model.speedrun import SpeedrunGPT

STORED = FOLDER / "records.json"
SPLITS = ("development", "validation", "rotated")
SEEDS = {"development": (0, 1), "validation": (0, 1, 2), "rotated": (0,)}  # of two_minutes
TEN = tuple(range(10))
THREADS = 1  # of ten_seeds: for so small a network a second core gains nothing
# Of ten_seeds: nanoGPT's own settings, measured, and what its README gives.
TARGETS = {"development": 1.865, "validation": 1.88}
# The counts beside the network: order, and how much of the end of the text is counted.
COUNTS = {"6-grams": (6, 1.0), "8-grams": (8, 1.0), "5-grams of the end": (5, 0.05)}
# For the two processes: glibc keeps freed memory, which the next step needs again, for itself.
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "MALLOC_TOP_PAD_": "500000000",
    "MALLOC_TRIM_THRESHOLD_": "4000000000",
    "MALLOC_MMAP_THRESHOLD_": "4000000000",
}
# Muon and AdamW in two minutes' setting, with a fifth of its steps
DECAY = {"weight_decay": 0.15}  # the record's
PLACE = rivals.Place(
    steps=158,
    pairs={
        "AdamW": rivals.cross((0.004, 0.008, 0.016, 0.032), (0.01, 0.02, 0.04)),
        "Muon": rivals.cross((0.02, 0.04, 0.08, 0.16), (0.01, 0.02, 0.04)),
    },
    base={"AdamW": DECAY, "Muon": DECAY},
    then={"AdamW": [{"weight_decay": 0.6}], "Muon": [{"weight_decay": 0.3}]},
    sweep_seeds=1,
    seeds=3,
)
ROUNDS = 5
# With all steps: what was picked for AdamW, and smaller rates inside, which more steps may favour
FULL = [{"matrix_lr": rate, "lr": 0.02} for rate in (0.008, 0.004, 0.002)]
FULL_SEEDS = (0, 1, 2)  # of what is best, on validation
WINDOW, STRIDE, EVERY = 256, 64, 4096
QUICK = {"data.corpus": "playhouse", "model.d_model": 16, "model.n_layers": 1,
         "training.steps": 4, "training.double_after": 2, "training.tail_after": 2}  # fmt: skip
RATES = (0.03, 0.1, 0.3)  # of the track "a step a window": one is chosen on dev


def config(name: str) -> dict:
    """A configuration of the records, lab/configs/record-NAME.toml."""
    return read_config(runs.CONFIGS / f"record-{name}.toml")


_TWO_MINUTES = {"config": config("two-minutes"), "counts": COUNTS, "seeds": SEEDS}
SETTINGS: dict = {
    "two_minutes": _TWO_MINUTES | {"environment": ENVIRONMENT, "processes": 2},
    "ten_seeds": {"record-mean": config("mean"), "record-every-seed": config("every-seed")}
    | {"threads": THREADS, "targets": TARGETS, "seeds": TEN},
    "tracks": _TWO_MINUTES
    | {"window": WINDOW, "stride": STRIDE, "counted_anew_every": EVERY, "rates": RATES},
    "rivals": {"config": config("two-minutes"), "place": asdict(PLACE), "rounds": ROUNDS},
    "rival_in_full": {"config": config("two-minutes"), "changes": FULL, "seeds": FULL_SEEDS},
}


def load_texts(quick: bool, write: bool) -> tuple[dict[str, tuple[Tensor, Tensor]], int]:
    """Split -> (ids to train on, ids to score); and the vocabulary's size."""
    found, vocab_size = runs.load_splits("playhouse" if quick else "tinyshakespeare", write)
    if quick:
        found = {split: (text[-9000:], scored[:900]) for split, (text, scored) in found.items()}
    return found, vocab_size


# --- two minutes -------------------------------------------------------------------------------


def two_minute_model(split: str, seed: int, folder: Path, quick: bool) -> tuple:
    """record-two-minutes.toml, trained on a split: (model, {"seed", "seconds", "steps"}).

    A run that is in the folder already is not repeated. A quick run is one of one process, and
    serves all splits.
    """
    out = folder / ("quick" if quick else f"{split}-{seed}")
    if not out.exists():
        file = runs.CONFIGS / "record-two-minutes.toml"
        train = ["train", "--config", str(file), "--out", str(out)]
        changes = {"data.split": split, "training.seed": seed, **(QUICK if quick else {})}
        for name, value in changes.items():
            train += ["--set", f"{name}={value}"]
        if quick:
            cli.main(train)
        else:
            runs.by_two_processes("scratchformer", *train, **ENVIRONMENT)
    history = runs.read(out / "history.json")
    record = {"seed": seed, "seconds": round(history["seconds"][-1], 1)}
    return SpeedrunGPT.from_pretrained(out), record | {"steps": history["steps"][-1]}


def counts(
    text: Tensor, scored: Tensor, vocab_size: int, every: int | None = None
) -> dict[str, Tensor]:
    """What each of COUNTS predicts, (N - 1, V); `every`: see `counted_rows`."""
    return {
        name: counted_rows(order, text, scored, vocab_size, round(share * len(text)), every)
        for name, (order, share) in COUNTS.items()
    }


class Mixture:
    """Constant weights and a gate for a network and counts, fitted to a text that they scored."""

    def __init__(self, network: Tensor, tables: dict[str, Tensor], targets: Tensor):
        models = [network, *tables.values()]
        self.weights = fit_weights(models, targets)
        self.weights_of_counts = fit_weights(models[1:], targets)
        self.gate = Gate(len(models)).train_on(models, targets)

    def losses(self, network: Tensor, tables: dict[str, Tensor], targets: Tensor) -> dict:
        """Of the network alone, mixed and gated with the counts, and of the counts mixed alone."""
        models = [network, *tables.values()]
        found = {
            "alone": nats(network, targets),
            "mixed": nats(mixed(models, self.weights), targets),
            "gated": nats(self.gate.mix(models), targets),
            "counts": nats(mixed(models[1:], self.weights_of_counts), targets),
        }
        return {name: round(loss, 4) for name, loss in found.items()}


def two_minutes(split_texts: dict, vocab_size: int, folder: Path, quick: bool) -> dict:
    """Train and score on each split; the mixtures come from dev's first seed."""
    mixture: Mixture | None = None
    tables_alone: dict[str, dict] = {}
    found: dict[str, list[dict]] = {}
    for split in SPLITS:
        text, scored = split_texts[split]
        targets, tables = scored[1:], counts(text, scored, vocab_size)
        tables_alone[split] = {name: round(nats(t, targets), 4) for name, t in tables.items()}
        print(f"{split}: {tables_alone[split]}", flush=True)
        found[split] = []
        for seed in SEEDS[split][: 1 if quick else None]:
            model, run = two_minute_model(split, seed, folder, quick)
            network = network_rows(model, scored, WINDOW)
            if mixture is None:
                mixture = Mixture(network, tables, targets)
            found[split].append(run | mixture.losses(network, tables, targets))
            print(f"{split}: {found[split][-1]}", flush=True)
    assert mixture is not None
    return {
        "parameters": runs.size(model),
        "counted": tables_alone,
        "weights": dict(zip(["network", *COUNTS], mixture.weights, strict=True)),
        "runs": found,
        "means": {split: means(of_split) for split, of_split in found.items()},
    }


def means(of_split: list[dict]) -> dict:
    """Of each figure of the runs: mean, least and greatest. (Some stored runs have no seconds.)"""
    keys = [key for key in of_split[0] if key not in ("seed", "steps")]
    columns = {key: [run[key] for run in of_split if run[key] is not None] for key in keys}
    return {
        key: [round(x, 4) for x in (statistics.mean(found), min(found), max(found))]
        for key, found in columns.items()
        if found
    }


# --- nanoGPT's loss ----------------------------------------------------------------------------


def ten_seeds(split_texts: dict, vocab_size: int, folder: Path, quick: bool) -> dict:
    """Both configurations, every seed, on each split; `folder` is not used."""
    seeds = TEN[: 1 if quick else None]
    torch.set_num_threads(THREADS)
    found: dict = {"environment": {name: os.environ.get(name) for name in ENVIRONMENT}}
    for name in ("record-mean", "record-every-seed"):
        trained: dict[str, list[dict]] = {split: [] for split in SPLITS}
        own = SETTINGS["ten_seeds"][name]
        setting, steps = (own["model"], own["training"]), 4 if quick else None
        our_run(*setting, split_texts["development"][0], vocab_size, 0, steps)  # warms up
        for split, (text, scored) in split_texts.items():
            for seed in seeds:
                model, way = our_run(*setting, text, vocab_size, seed, steps)
                loss = round(evaluate(model, scored, model.context_length), 4)
                run = {"seed": seed, "seconds": way["seconds"][-1], "steps": way["steps"][-1]}
                trained[split].append(run | {"loss": loss})
            print(f"{name}, {split}: {means(trained[split])}", flush=True)
        found[name] = {
            "parameters": runs.size(model),
            "runs": trained,
            "means": {split: means(trained[split]) for split in SPLITS},
        }
    return found


# --- three more tracks -------------------------------------------------------------------------


def tracks(split_texts: dict, vocab_size: int, folder: Path, quick: bool) -> dict:
    """The models of two_minutes under other rules; rate and mixtures come from dev's first seed."""
    every = 200 if quick else EVERY
    rate, mixtures, rates = None, {}, {}
    tracked: dict[str, list[dict]] = {"development": [], "validation": []}
    for split, found in tracked.items():
        text, scored = split_texts[split]
        targets = scored[1:]
        fixed = counts(text, scored, vocab_size)
        adaptive = counts(text, scored, vocab_size, every)
        for seed in SEEDS[split][: 1 if quick or split == "development" else None]:
            model, _ = two_minute_model(split, seed, folder, quick)
            usual = network_rows(model, scored, WINDOW)
            if rate is None:
                for sgd in RATES:
                    rows = network_rows(model, scored, WINDOW, sgd=sgd)
                    rates[sgd] = round(nats(rows, targets), 4)
                rate = min(rates, key=rates.__getitem__)
            kinds = {
                "usual": (usual, fixed),
                "overlap": (network_rows(model, scored, WINDOW, STRIDE), fixed),
                "adaptive counts": (usual, adaptive),
                "a step a window": (network_rows(model, scored, WINDOW, sgd=rate), adaptive),
            }
            run: dict[str, Any] = {"seed": seed}
            for name, (network, tables) in kinds.items():
                if name not in mixtures:
                    mixtures[name] = Mixture(network, tables, targets)
                run[name] = mixtures[name].losses(network, tables, targets)
            found.append(run)
            print(f"{split}: {run}", flush=True)
    return {
        "rates": rates,
        "rate": rate,
        "weights": {
            name: dict(zip(["network", *COUNTS], mixture.weights, strict=True))
            for name, mixture in mixtures.items()
        },
        "runs": tracked,
        "means": {name: means([run[name] for run in tracked["validation"]]) for name in mixtures},
    }


# --- Muon's rival ------------------------------------------------------------------------------


def runner_of(split_texts: dict, vocab_size: int, quick: bool) -> Runner:
    """One that trains and scores on these texts, by one thread."""
    torch.set_num_threads(1)
    runner = Runner(quick)
    runner.splits, runner.vocab_size = split_texts, vocab_size
    return runner


def shortened(steps: int, quick: bool) -> tuple[dict, dict]:
    """[model] and [training] of two_minutes for so many steps; what is counted in steps scaled."""
    own = config("two-minutes")
    model, training = own["model"], own["training"]
    late = {k: training[k] * steps // training["steps"] for k in ("double_after", "tail_after")}
    return model | ({"d_model": 16, "n_layers": 1} if quick else {}), training | late


def swept_rivals(split_texts: dict, vocab_size: int, folder: Path, quick: bool) -> dict:
    """Both sides' sweep, what was picked with three seeds, and milliseconds a step."""
    runner, setting = runner_of(split_texts, vocab_size, quick), shortened(PLACE.steps, quick)
    swept = rivals.sweep(runner, setting, PLACE)
    found = merged(swept, rivals.read(runner, setting, PLACE, swept))

    def short(model: dict, training: dict) -> float:
        run = partial(our_run, model, training)
        return milliseconds(runner, run, split_texts["development"][0])[0]

    times = rivals.turns(short, setting, PLACE, swept, 1 if quick else ROUNDS)
    return merged(found, times) | {"ahead": rivals.ahead(found)}


def rival_in_full(split_texts: dict, vocab_size: int, folder: Path, quick: bool) -> dict:
    """AdamW with all steps of two_minutes; `folder` is not used."""
    runner = runner_of(split_texts, vocab_size, quick)
    steps = config("two-minutes")["training"]["steps"]
    setting, place = shortened(steps, quick), replace(PLACE, steps=steps)

    def losses(changes: dict, split: str, seeds: tuple[int, ...]) -> list[float]:
        one = rivals.setting_of(setting, place, "AdamW", changes)
        return [runner.ours(split, seed, *one)[0] for seed in seeds[: 1 if quick else None]]

    tried = [{"changes": each, "losses": losses(each, "development", (0,))} for each in FULL]
    picked = rivals.picked(tried)
    validation = losses(picked, "validation", FULL_SEEDS)
    record = load_measurements("records")["two_minutes"]["runs"]["validation"]
    ahead = paired(validation, [run["alone"] for run in record[: len(validation)]])
    found = {"swept": tried, "picked": picked, "validation": validation, "ahead": ahead}
    return {"steps": steps, **found}


PARTS = {
    "two_minutes": two_minutes,
    "ten_seeds": ten_seeds,
    "tracks": tracks,
    "rivals": swept_rivals,
    "rival_in_full": rival_in_full,
}


def main(arguments: list[str] | None = None) -> dict:
    with tempfile.TemporaryDirectory() as folder:

        def part(measure: Callable, options: argparse.Namespace) -> dict:
            texts = load_texts(options.quick, options.write)
            return measure(*texts, Path(folder), options.quick)

        parts = {name: partial(part, measure) for name, measure in PARTS.items()}
        return runs.carry_out_parts(__doc__, STORED, parts, arguments, SETTINGS)


if __name__ == "__main__":
    main()
