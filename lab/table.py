"""One table of all benchmarks: each figure a ratio against a named reference in the same run.

Usage: python -m lab.table [--quick | --write] [--only NAME …]

`make measure NAME=table` runs it with --write.

Each script named in `TOPICS` has its SETTINGS and `rows(quick)`: a list of `runs.row`, with one
figure a round. `runs.with_ratio` makes ratios of them, round by round.

Every topic runs in a process of its own: its thread settings and its memory reach no other. With
`--only` the topics named take the place of those of their names, each with its day.
"""

import importlib
import importlib.metadata
import os
import platform
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import torch

from lab import runs
from scratchformer_course.measurements import FOLDER

STORED = FOLDER / "table.json"
TOPICS = ("bpe", "ladder", "taken_apart", "generation_speed", "attention_memory")
PACKAGES = ("torch", "numpy", "tokenizers", "tiktoken")
SETTINGS = {name: importlib.import_module(f"lab.{name}").SETTINGS for name in TOPICS}
SETTINGS["taken_apart"] = {key: SETTINGS["taken_apart"][key] for key in ("nanoGPT", "speedrun")}


def measure(name: str, quick: bool) -> dict:
    """Run one script's `rows` in this process, which nothing else uses."""
    script, start = importlib.import_module(f"lab.{name}"), time.perf_counter()
    rows = script.rows(quick)
    return {
        "threads": torch.get_num_threads(),
        "seconds": round(time.perf_counter() - start, 1),
        "rows": [runs.with_ratio(row, fewest=1 if quick else runs.FEWEST) for row in rows],
    }


def in_own_process(name: str, quick: bool) -> dict:
    """`measure` in a fresh interpreter."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measure, name, quick).result()


def require_same_machine(stored: dict) -> None:
    """Raises ValueError if figures are of another processor or number of cores."""
    theirs, ours = stored["machine"], runs.machine()
    if any(theirs[key] != ours[key] for key in ("processor", "cores")):
        another = f"{theirs['cores']} cores of {theirs['processor']}"
        raise ValueError(f"{STORED.name} is of another machine, {another}: measure all of it here")


def renewed(stored: dict, topics: dict[str, dict]) -> dict:
    """What is stored, with topics in place of those of their names, each with its day."""
    own = {name: topic | {"day": runs.today()} for name, topic in topics.items()}
    settings = stored["settings"] | {name: SETTINGS[name] for name in topics}
    return stored | {"settings": settings, "topics": stored["topics"] | own}


def main(arguments: list[str] | None = None) -> None:
    parser = runs.command_line(__doc__, STORED.name)
    parser.add_argument("--only", nargs="+", choices=TOPICS, metavar="NAME", help=f"of {TOPICS}")
    options = parser.parse_args(arguments)
    runs.load_text(write=options.write)  # in time, if it is not there
    before = runs.read(STORED) if options.only and options.write else None
    if before:
        require_same_machine(before)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0
    if load > 0.5:
        print(f"This machine is busy (load {load:.1f}): the ratios will spread.")

    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # the topics' processes inherit it
    start, topics = time.perf_counter(), {}
    for name in options.only or TOPICS:
        topics[name] = in_own_process(name, options.quick)
        for row in topics[name]["rows"]:
            print(f"{name}: {row['what']}, against {row['reference']}: {row['ratio']}", flush=True)
    if options.write:
        runs.store(STORED, renewed(before, topics) if before else {
            "what": "ratios against named references in the same run; above 1: ours is better",
            "settings": SETTINGS,
            "day": runs.today(),
            "seconds": round(time.perf_counter() - start),
            "machine": runs.machine(),
            "versions": {"Python": platform.python_version()}
            | {name: importlib.metadata.version(name) for name in PACKAGES},
            "topics": topics,
        })  # fmt: skip


if __name__ == "__main__":
    main()
