"""What a second process is worth: the same global batch by one process and, with DDP, by two.

Usage: python -m lab.ddp [--quick | --write]

torchrun starts two processes on this machine, of one thread each. A round makes the same training
step in four ways: one process with the whole batch while the other waits; one process with the two
halves one after the other (a smaller batch may be quicker on a CPU: its memory is used again);
both processes, each with its half; and both without exchanging anything, which shows what the
exchange costs. The ratio is of tokens a second in the same round, by two processes and by one with
the same halves; the median counts. The small model of 1.8 M parameters stands for the method, the
10.8 M model is that of lab/configs/shakespeare-10m.toml with its batch and precision. Needs two
cores that nothing else uses.

Stored in measurements/ddp.json, for the page *Past one machine*.
"""

import statistics
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch

from lab import runs
from scratchformer.cli import read_config
from scratchformer.models import GPT, GPTConfig
from scratchformer.training import distributed, parameter_groups, token_loss, update

SMALL: dict[str, Any] = {
    "d_model": 192,
    "n_heads": 6,
    "n_layers": 4,
    "context_length": 128,
    "batch_size": 32,
    "dropout": 0.0,
    "precision": "float32",
}
QUICK = SMALL | {"d_model": 32, "n_heads": 2, "n_layers": 1, "batch_size": 4}
ROUNDS = {"small": (12, 3), "big": (3, 1)}  # rounds, and steps of each


def settings(name: str, quick: bool) -> dict:
    """Sizes, batch and precision of the small or the big model."""
    if quick or name == "small":
        return QUICK if quick else SMALL
    config = read_config(runs.CONFIGS / "shakespeare-10m.toml")
    training = {key: config["training"][key] for key in ("batch_size", "precision")}
    return config["model"] | training


SETTINGS = {name: settings(name, quick=False) | {"rounds": ROUNDS[name]} for name in ROUNDS}


def ways(size: dict) -> dict[str, Callable]:
    """Four functions by name, each of which makes one training step."""
    size = dict(size)
    batch, precision = size.pop("batch_size"), size.pop("precision")
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(65, (2, batch, size["context_length"]), generator=generator)
    halves = list(zip(*(half.chunk(2) for half in ids), strict=True))

    def loss(model, x, y):
        return token_loss(model(x), y)

    def step(batches: list, together: bool = False):
        torch.manual_seed(0)
        model = GPT(GPTConfig(65, **size))
        optimizer = torch.optim.AdamW(parameter_groups(model, 0.1), lr=1e-4, fused=True)
        trained = distributed.parallelize(model) if together else model
        nats = distributed.sum_over_processes(loss) if together else loss
        return lambda: update(trained, optimizer, batches, nats, precision=precision)

    local_halves = [halves[distributed.rank()]]
    return {
        "whole": step([tuple(ids)]),
        "in turn": step(halves),
        "together": step(local_halves, together=True),
        "no exchange": step(local_halves),
    }


def step_seconds(way: str, step: Callable, steps: int) -> float:
    """Seconds of a step that both processes make, or the first while the other waits."""

    def job() -> None:
        if distributed.rank() == 0 or way in ("together", "no exchange"):
            for _ in range(steps):
                step()
        distributed.barrier()

    distributed.barrier()
    return runs.seconds(job) / steps


def all_reduce_seconds(numbers: int) -> float:
    """Seconds for one all-reduce of as many float32 numbers."""
    tensor = torch.ones(numbers)
    distributed.barrier()
    return runs.seconds(lambda: distributed.all_reduce(tensor))


def worker(path: Path, quick: bool) -> None:
    """What each of the two processes runs; the first leaves the figures in `path`."""
    torch.set_num_threads(1)
    result = {}
    with distributed.process_group("cpu"):
        for name, (rounds, steps) in ROUNDS.items():
            size, rounds = settings(name, quick), 2 if quick else rounds
            model = {k: v for k, v in size.items() if k not in ("batch_size", "precision")}
            numbers = runs.size(GPT(GPTConfig(65, **model)))
            jobs = {w: partial(step_seconds, w, step, steps) for w, step in ways(size).items()}
            reduce = {"all_reduce": partial(all_reduce_seconds, numbers)}
            result[name] = {"parameters": numbers, **size}
            result[name]["seconds"] = runs.in_turns(jobs, rounds)
            result[name] |= runs.in_turns(reduce, 2 if quick else 8)
        if distributed.rank() == 0:
            runs.store(path, result)


def exchange_share(figures: dict) -> float:
    """What part of a step by two processes is due to the exchange: the median over rounds."""
    pairs = zip(figures["seconds"]["together"], figures["seconds"]["no exchange"], strict=True)
    return statistics.median(max(0.0, 1 - without / together) for together, without in pairs)


def ratio(figures: dict) -> dict:
    """Tokens a second, by two processes and by one with the same halves."""
    tokens = figures["batch_size"] * figures["context_length"]
    sides = (figures["seconds"][way] for way in ("together", "in turn"))
    ours, theirs = ([tokens / seconds for seconds in side] for side in sides)
    row = runs.row("two processes", "one process, the halves in turn", "tokens/s", ours, theirs)
    return runs.with_ratio(row, fewest=1)


def measure(options) -> dict:
    """The figures of two processes, and what they say."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.json"
        runs.by_two_processes("lab.ddp", "worker", str(path), *["quick"] * options.quick)
        result = runs.read(path)
    result["rows"] = [ratio(result[name]) for name in ROUNDS]
    for figures in (result[name] for name in ROUNDS):
        ways = figures["seconds"].items()
        figures["seconds"] = {way: [round(s, 4) for s in seconds] for way, seconds in ways}
        figures["all_reduce"] = [round(s, 5) for s in figures["all_reduce"]]
        figures["exchange"] = round(exchange_share(figures), 3)
    return result


main = runs.script(__doc__, "ddp", measure, SETTINGS)


if __name__ == "__main__":
    if sys.argv[1:2] == ["worker"]:
        worker(Path(sys.argv[2]), "quick" in sys.argv)
    else:
        main()
