"""One table of all benchmarks: each figure a ratio against a named reference in the same run.

Usage: python -m lab.table [--quick | --write]

Each script named in `TOPICS` has its SETTINGS and `rows(quick)`: a list of `runs.row`, with one
figure a round. `runs.with_ratio` makes ratios of them, round by round. Every topic runs in a
process of its own: its thread settings and its memory reach no other.
"""

import argparse
import importlib
import importlib.metadata
import os
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import torch

from lab import runs

TOPICS = ("bpe", "generation_speed")
PACKAGES = ("tokenizers", "tiktoken")
SETTINGS = {name: importlib.import_module(f"lab.{name}").SETTINGS for name in TOPICS}


def measure(name: str, quick: bool) -> dict:
    """Run one script's `rows` in this process, which nothing else uses."""
    script, start = importlib.import_module(f"lab.{name}"), time.perf_counter()
    rows = script.rows(quick)
    return {
        "threads": torch.get_num_threads(),
        "seconds": round(time.perf_counter() - start, 1),
        "rows": [runs.with_ratio(row, fewest=1 if quick else runs.FEWEST) for row in rows],
    }


def measure_all(options: argparse.Namespace) -> dict:
    """All topics, one after the other."""
    runs.load_text(write=options.write)  # in time, if it is not there
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # the topics' processes inherit it
    topics = {}
    for name in TOPICS:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            topics[name] = pool.submit(measure, name, options.quick).result()
        for row in topics[name]["rows"]:
            print(f"{name}: {row['what']}, against {row['reference']}: {row['ratio']}", flush=True)
    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    return {"packages": versions, "topics": topics}


main = runs.script(__doc__, "table", measure_all, SETTINGS)


if __name__ == "__main__":
    main()
