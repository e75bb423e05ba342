"""One table of all benchmarks: each figure a ratio against a named reference in the same run.

Usage: python -m lab.table [--quick | --write] [--only NAME …] [--stored NAME …] [--page]

`make bench` runs it with --write.

Each script named in `TOPICS` gives a `TITLE`, a text `ABOUT` it, and `rows(quick)`: a list of
`runs.row`, with one figure a round. `runs.with_ratio` makes ratios of them, round by round.

Every topic runs in a process of its own: its thread settings and its memory reach no other.
`--write` replaces table.json beside this file, and book/benchmarks.md, which benchmarks_page.py
makes of it; if one topic fails, neither is touched. With `--only` the topics named take the place
of those of their names, each with its day. `--stored` takes the topics named from what their own
script has stored, by its `rows_of`. `--page` measures nothing and writes the page anew.
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
from lab.benchmarks_page import TABLE, topic_section, write_page

TOPICS = ("bpe", "ladder", "taken_apart", "generation_speed", "attention_memory", "ddp")
PACKAGES = ("torch", "numpy", "tokenizers", "tiktoken")


def measure(name: str, quick: bool) -> dict:
    """Run one script's `rows` in this process, which nothing else uses."""
    script, start = importlib.import_module(f"lab.{name}"), time.perf_counter()
    rows = script.rows(quick)
    return {
        "name": name,
        "title": script.TITLE,
        "about": script.ABOUT,
        "threads": torch.get_num_threads(),
        "seconds": round(time.perf_counter() - start, 1),
        "rows": [runs.with_ratio(row, fewest=1 if quick else runs.FEWEST) for row in rows],
    }


def in_own_process(name: str, quick: bool) -> dict:
    """`measure` in a fresh interpreter."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measure, name, quick).result()


def from_its_file(name: str) -> dict:
    """A topic from what its script's own run, with --write, has stored."""
    script = importlib.import_module(f"lab.{name}")
    found = runs.read(script.STORED)
    require_same(found["machine"], script.STORED.name)
    return {
        "name": name,
        "title": script.TITLE,
        "about": f"{script.ABOUT} From a run of its own, `python -m lab.{name} --write`.",
        "threads": 1,
        "seconds": 0.0,
        "rows": [runs.with_ratio(row) for row in script.rows_of(found)],
    }


def require_same(theirs: dict, name: str) -> None:
    """Raises ValueError if a file's figures are of another processor or number of cores."""
    ours = runs.machine()
    if any(theirs[key] != ours[key] for key in ("processor", "cores")):
        another = f"{theirs['cores']} cores of {theirs['processor']}"
        raise ValueError(f"{name} is of another machine, {another}: measure all of it here")


def renewed(stored: dict, topics: list[dict]) -> dict:
    """The stored table with topics in place of those of their names, each with its day."""
    about = f"From a run of its own, of {runs.today()}."
    new = {t["name"]: t | {"about": f"{t['about']} {about}"} for t in topics}
    return stored | {"topics": [new.get(topic["name"], topic) for topic in stored["topics"]]}


def main(arguments: list[str] | None = None) -> None:
    parser = runs.command_line(__doc__, f"{TABLE.name} and the page of it")
    parser.add_argument("--only", nargs="+", choices=TOPICS, metavar="NAME", help=f"of {TOPICS}")
    parser.add_argument("--stored", nargs="+", choices=("ddp",), default=[],
                        help="not measured, but from its own file")  # fmt: skip
    parser.add_argument("--page", action="store_true", help="only write the page again")
    options = parser.parse_args(arguments)
    if options.page:
        return write_page()
    runs.load_text(write=options.write)  # in time, if it is not there
    before = runs.read(TABLE) if options.only and options.write else None
    if before:
        require_same(before["machine"], TABLE.name)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0
    if load > 0.5:
        print(f"This machine is busy (load {load:.1f}): the ratios will spread.")

    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # the topics' processes inherit it
    start, topics = time.perf_counter(), []
    for name in options.only or TOPICS:
        print(f"\n== {name} ==", flush=True)
        kept = name in options.stored
        topics.append(from_its_file(name) if kept else in_own_process(name, options.quick))
        print(*topic_section(topics[-1], os.cpu_count() or 1), sep="\n", flush=True)
    if options.write:
        runs.store(TABLE, renewed(before, topics) if before else {
            "what": "ratios against named references in the same run; above 1: ours is better",
            "day": runs.today(),
            "seconds": round(time.perf_counter() - start),
            "machine": runs.machine(),
            "versions": {"Python": platform.python_version()}
            | {name: importlib.metadata.version(name) for name in PACKAGES},
            "topics": topics,
        })  # fmt: skip
        write_page()


if __name__ == "__main__":
    main()
