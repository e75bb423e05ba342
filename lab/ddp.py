"""What a second process is worth: the same global batch by one process and, with DDP, by two.

Usage: python lab/ddp.py [--quick] [--write]

torchrun starts two processes on this machine, of one thread each. A round makes the same training
step in four ways: one process with the whole batch while the other waits; one process with the two
halves one after the other (a smaller batch may be quicker on a CPU: its memory is used again);
both processes, each with its half; and both without exchanging anything, which shows what the
exchange costs. The ratio is of tokens a second in the same round, by two processes and by one with
the same halves; the median counts. The small model of 1.8 M parameters stands for the method, the
10.8 M model is that of configs/shakespeare-10m.toml with its batch and precision. Needs two cores
that nothing else uses.

Nothing is stored without `--write`; then ddp.json beside this file is replaced, from which
book/past_one_machine.md quotes (python lab/cost.py --write). `--quick` stores nothing.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

from scratchformer.cli import read_config
from scratchformer.files import atomic_write
from scratchformer.models import GPT, GPTConfig
from scratchformer.training import distributed, parameter_groups, token_loss, update

FOLDER = Path(__file__).resolve().parent
RESULT = FOLDER / "ddp.json"
BIG = FOLDER / "configs" / "shakespeare-10m.toml"
SMALL = {"d_model": 192, "n_heads": 6, "n_layers": 4, "context_length": 128, "batch_size": 32}
SMALL |= {"dropout": 0.0, "precision": "float32"}
TITLE = "Two processes and one"
ABOUT = (
    "Training steps with the same global batch by two processes of one thread each, which exchange "
    "gradients after each step (DistributedDataParallel over gloo, on one machine), and by one "
    "that computes the same two halves one after the other."
)


def settings(name: str) -> dict:
    """Sizes, batch and precision of the small or the big model."""
    if name == "small":
        return SMALL
    config = read_config(BIG)
    training = {key: config["training"][key] for key in ("batch_size", "precision")}
    return config["model"] | training


def ways(name: str) -> dict:
    """Four functions by name, each of which makes one training step."""
    size = dict(settings(name))
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

    own = [halves[distributed.rank()]]
    return {
        "whole": step([tuple(ids)]),
        "in turn": step(halves),
        "together": step(own, together=True),
        "no exchange": step(own),
    }


def measure(name: str, rounds: int, steps: int) -> dict[str, list[float]]:
    """Seconds of a step, one figure a round, for each way; they take turns."""
    jobs = ways(name)
    seconds = {way: [] for way in jobs}
    for i in range(rounds + 1):  # the first warms up
        for way, job in jobs.items():
            distributed.barrier()
            start = time.perf_counter()
            if distributed.rank() == 0 or way in ("together", "no exchange"):
                for _ in range(steps):
                    job()
            distributed.barrier()
            if i:
                seconds[way].append((time.perf_counter() - start) / steps)
    return seconds


def all_reduce_seconds(numbers: int, rounds: int) -> list[float]:
    """Seconds for one all-reduce of as many float32 numbers."""
    tensor, seconds = torch.ones(numbers), []
    for i in range(rounds + 1):
        distributed.barrier()
        start = time.perf_counter()
        distributed.all_reduce(tensor)
        if i:
            seconds.append(time.perf_counter() - start)
        tensor.fill_(1.0)
    return seconds


def worker(path: str, quick: bool) -> None:
    """What each of the two processes runs; the first leaves the figures in `path`."""
    torch.set_num_threads(1)
    result = {}
    with distributed.process_group("cpu"):
        rounds = {"small": (2, 1) if quick else (12, 3), "big": (1, 1) if quick else (3, 1)}
        for name, (n, steps) in rounds.items():
            size = settings(name)
            model = {k: v for k, v in size.items() if k not in ("batch_size", "precision")}
            parameters = sum(p.numel() for p in GPT(GPTConfig(65, **model)).parameters())
            result[name] = {"parameters": parameters, **size, "rounds": n, "steps_a_round": steps}
            result[name]["seconds"] = measure(name, n, steps)
            result[name]["all_reduce"] = all_reduce_seconds(parameters, 2 if quick else 8)
        if distributed.rank() == 0:
            Path(path).write_text(json.dumps(result), encoding="utf-8")


def measured(quick: bool) -> dict:
    """Start two processes by torchrun; their figures."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.json"
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
        command += ["--nproc-per-node", "2", __file__, "--worker", str(path)]
        places = [str(FOLDER.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(places)}
        subprocess.run([*command, *["--quick"] * quick], check=True, env=environment)
        return json.loads(path.read_text(encoding="utf-8"))


def rows_of(result: dict) -> list[dict]:
    """For the table: tokens a second, by two processes and by one."""
    rows = []
    for name in ("small", "big"):
        r = result[name]
        tokens = r["batch_size"] * r["context_length"]
        speed = {way: [tokens / s for s in seconds] for way, seconds in r["seconds"].items()}
        exchange, millions = exchange_share(r), r["parameters"] / 1e6
        rows.append(
            {
                "what": f"two processes, {millions:.1f} M parameters, {r['precision']}",
                "reference": "one process of one thread, the halves in turn",
                "unit": "tokens/s",
                "better": "higher",
                "ours": speed["together"],
                "theirs": speed["in turn"],
                "note": f"each of one thread, as two machines would be; 2× would be perfect, the "
                f"exchange takes {exchange:.0%} of a step",
            }
        )
    return rows


def exchange_share(r: dict) -> float:
    """What part of a step by two processes is due to the exchange: the median over rounds."""
    pairs = zip(r["seconds"]["together"], r["seconds"]["no exchange"], strict=True)
    return statistics.median(max(0.0, 1 - without / together) for together, without in pairs)


def rows(quick: bool = False) -> list[dict]:
    """For lab/table.py."""
    return rows_of(measured(quick))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few rounds, nothing stored")
    parser.add_argument("--write", action="store_true", help=f"replace {RESULT.name}")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return worker(options.worker, options.quick)
    from table import machine, with_ratio  # beside this file

    result = measured(options.quick)
    for name in ("small", "big"):
        r = result[name]
        tokens = r["batch_size"] * r["context_length"]
        for way, seconds in r["seconds"].items():
            r["seconds"][way] = [round(s, 4) for s in seconds]
            middle = statistics.median(seconds)
            spread = f"{min(seconds):.2f} to {max(seconds):.2f}"
            speed = f"{tokens / middle:7.0f} tokens/s"
            print(f"{name:6} {way:11} {middle:7.2f} s a step ({spread}), {speed}")
        r["all_reduce"] = [round(s, 5) for s in r["all_reduce"]]
    result["rows"] = [with_ratio(row, fewest=1) for row in rows_of(result)]
    for row in result["rows"]:
        middle, low, high = row["ratio"]
        print(f"{row['what']}: {middle:.2f}x ({low:.2f} to {high:.2f}, n = {row['n']})")
        print(f"  {row['note']}")
    result |= {"torch": torch.__version__, "machine": machine()}
    if options.write and not options.quick:
        with atomic_write(RESULT) as part:
            part.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
