"""`since_gpt2.py` with networks that start larger -> measurements/since_gpt2_start.json.

Usage: python -m lab.since_gpt2_start [--quick | --write]

GPT-2's matrices start with a spread of 0.02. In a model 64 wide the product of SwiGLU's two halves
is then so small that 800 steps hardly wake it, and a larger start of all matrices of a block makes
attention worse. Here only the first matrices of the feed-forward networks, with a gate or without,
start larger, with a spread of 1/√d_model. Nothing else differs, and all models of both parts are
trained; those that SwiGLU is in come first.
"""

import time
from collections.abc import Collection

import torch
from torch import nn

from lab import runs, since_gpt2
from scratchformer_course.ch19_since_gpt2.model import ChangedGPT, Sizes
from scratchformer_course.measurements import FOLDER

FILE = FOLDER / "since_gpt2_start.json"
FIRST = ("c_fc.weight", "gate_proj.weight", "up_proj.weight")


def larger(sizes: Sizes, changes: Collection[str]) -> ChangedGPT:
    """A ChangedGPT whose networks' first matrices start larger."""
    model = ChangedGPT(sizes, changes)
    for name, p in model.named_parameters():
        if name.endswith(FIRST):
            nn.init.normal_(p, std=sizes.d_model**-0.5)
    return model


def main(arguments: list[str] | None = None) -> dict:
    options = runs.command_line(__doc__, FILE.name).parse_args(arguments)
    torch.set_num_threads(1)
    since_gpt2.ChangedGPT = larger  # what its runs build
    since_gpt2.STARTS, since_gpt2.FIRST = (0.02,), [(0.02, 0.008), (0.02, 0.016)]  # of the rest
    first = {"alone": {"none": (), "swiglu": ("swiglu",)}, "company": since_gpt2.company()}
    rest = {"alone": since_gpt2.GROUPS["alone"]}
    splits, V = runs.load_splits(write=options.write)
    found = runs.read(FILE) if options.write and FILE.exists() else {}
    start = time.process_time() - found.get("cpu_seconds", 0)
    found["command"] = "python -m lab.since_gpt2_start --write"

    def keep() -> None:
        found["cpu_seconds"] = round(time.process_time() - start)
        if options.write:
            runs.store(FILE, found | runs.stamp())

    for groups in (first, rest):
        since_gpt2.GROUPS = groups
        for group in groups:
            own = found.setdefault(group, {})
            since_gpt2.group_part(group, splits, V, own, keep, options.quick)
    return found


if __name__ == "__main__":
    main()
