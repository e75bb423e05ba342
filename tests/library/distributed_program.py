"""What test_distributed.py runs in two processes, each without a second import of torch.

`python distributed_program.py FOLDER` makes all launches, in FOLDER, which holds small.toml.
"""

import json
import multiprocessing
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from unittest.mock import patch

import safetensors.torch
import torch
from short_run import small_gpt
from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, SignalException, Std
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from scratchformer.cli import main
from scratchformer.cli import train as command
from scratchformer.training import IGNORED, TrainingConfig, distributed, evaluate, fit, token_loss

RUN = {"steps": 4, "lr": 1e-2, "seed": 0, "evaluate_every": 2, "clip": 0.5, "schedule": "cosine"}
HELD_OUT = torch.randint(11, (59,), generator=torch.Generator().manual_seed(1))
CASES = {  # by the number of batches a step: pieces of one batch of 6 rows
    "one batch": {},
    "accumulated": {"gradient_accumulation_steps": 3},
}


def padded_batch(generator):
    """Rows of 1 to 8 targets: the halves differ in their number of rows and of targets."""
    ids = torch.randint(11, (5, 9), generator=generator)
    lengths = torch.randint(1, 9, (5, 1), generator=generator)
    return ids[:, :-1], ids[:, 1:].masked_fill(torch.arange(8) >= lengths, IGNORED)


def loss(model, x, y):
    return token_loss(model(x), y)


def trained(checkpoint=None, resume=False, callbacks=(), **changes):
    """(losses, weights) of a short run."""
    model = small_gpt(5, vocab_size=11)
    options = {"checkpoint": checkpoint, "resume": resume, "callbacks": callbacks}
    options["validate"] = lambda: evaluate(model, HELD_OUT, 8, 2)
    history = fit(model, padded_batch, loss, TrainingConfig(**RUN | changes), **options)
    losses = {"train": history.train_loss, "val": history.val_loss}
    return losses, {name: p.detach() for name, p in model.named_parameters()}


def cases(folder):
    """All checks that need no launch of their own; each process leaves its own record."""
    record = {"losses": {}}
    path, alone = folder / "run", folder / "alone.run"

    def learn(name, **options):
        record["losses"][name], weights = trained(**options)
        if rank == 0:
            safetensors.torch.save_file(weights, folder / name)

    with distributed.process_group("cpu"):
        rank = distributed.rank()
        for name, options in CASES.items():
            learn(name, **options)
        # From one process's checkpoint on, and on to one that one process can read.
        if rank == 0:
            shutil.copy(alone, path)
        distributed.barrier()
        learn("went on", checkpoint=path, resume=True, steps=8)
    with distributed.process_group("cpu"):  # a second connection of the same processes
        own_folder = folder / f"rank{rank}"
        if rank == 0:
            own_folder.mkdir()
            shutil.copy(alone, own_folder / "run")
        try:
            trained(checkpoint=own_folder / "run", resume=True, steps=8)
        except ValueError as error:
            record["refused"] = str(error)
    (folder / f"record{rank}.json").write_text(json.dumps(record))


def worker(folder, action, *arguments):
    """The command line, after whose sixth step a process is killed or all are stopped, but once."""
    os.chdir(folder)
    train, rank = command.train_on, os.environ["RANK"]

    def act(state):
        if state.step != 6 or os.environ["TORCHELASTIC_RESTART_COUNT"] != "0":
            return
        if (action, rank) == ("kill", "1"):
            os.kill(os.getpid(), signal.SIGKILL)
        if (action, rank) == ("stop", "0"):
            held, arrived = signal.getsignal(signal.SIGTERM), []
            signal.signal(signal.SIGTERM, lambda *call: (arrived.append(call), held(*call)))
            os.kill(int(os.environ["LAUNCHER"]), signal.SIGTERM)
            deadline = time.time() + 60
            while not arrived and time.time() < deadline:
                time.sleep(0.01)

    def watched(*args, callbacks, **options):
        return train(*args, callbacks=[*callbacks, act], **options)

    with patch.object(command, "train_on", watched):
        if status := main(["train", "--config", "small.toml", "--out", *arguments]):
            sys.exit(status)


def launch(name, folder, function, *args, restarts=0):
    """Run `function` in two processes as torchrun does, but fork them where torch is imported."""
    logs = folder / "logs" / name
    logs.mkdir(parents=True)
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=2,
        run_id=name,
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        max_restarts=restarts,
        monitor_interval=0.05,
        start_method="forkserver",
        logs_specs=DefaultLogsSpecs(log_dir=str(logs), redirects=Std.ALL),
    )
    try:
        elastic_launch(config, function)(folder, *args)
        ended = "well"
    except (ChildFailedError, SignalException) as error:
        ended = type(error).__name__
    (logs / "ended").write_text(ended)


def launches(folder):
    """Everything that needs two processes, one launch after the other."""
    multiprocessing.set_forkserver_preload(
        [__name__, "torch._dynamo", "matplotlib.backends.backend_agg"]
    )
    os.environ["LAUNCHER"] = str(os.getpid())
    launch("cases", folder, cases)
    launch("straight", folder, worker, None, "straight")
    launch("restarted", folder, worker, "kill", "restarted", restarts=1)
    launch("stopped", folder, worker, "stop", "stopped")
    launch("went on", folder, worker, None, "stopped", "--resume")


if __name__ == "__main__":
    import distributed_program  # by its name the processes find it imported already

    distributed_program.launches(Path(sys.argv[1]))
