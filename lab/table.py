"""One table of all benchmarks: each figure a ratio against a named reference in the same run.

Usage: python lab/table.py [--quick] [--only NAME …] [--stored NAME …] [--page]

`make bench` runs it.

Each script named in `TOPICS` gives a `TITLE`, a text `ABOUT` it, and `rows(quick)`: a list of
    {"what", "reference", "unit", "better", "ours", "theirs", "note"}
with raw measurements, "ours" and "theirs" one figure a round. Here they become ratios, round by
round: theirs / ours where less is better ("better": "lower", as for seconds), ours / theirs where
more is, so that above 1 is always in our favour. "theirs" may hold one figure only, if the note
says why.

Every topic runs in a process of its own. A whole run replaces table.json beside this file and the
page book/benchmarks.md, which leads with `TAKEAWAYS`; if one topic fails, neither is touched.
`--quick` takes few rounds and stores nothing, nor does `--only`. `--stored` takes the topics named
from what their own script has stored, NAME.json, by its `rows_of`. `--renew` measures the topics
named and puts them into the stored table, each with its day. `--page` measures nothing and writes
the page anew.
"""

import argparse
import importlib
import importlib.metadata
import json
import math
import os
import platform
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
STORED = FOLDER / "table.json"
PAGE = FOLDER.parent / "book" / "benchmarks.md"
TOPICS = ("bpe", "ladder", "taken_apart", "generation_speed", "attention_memory", "ddp")
PACKAGES = ("torch", "numpy", "tokenizers", "tiktoken")
KEYS = {"what", "reference", "unit", "better", "ours", "theirs", "note"}
FEWEST = 3  # rounds
# What the page leads with: a row (topic, what, reference, unit), its two sides in plain words, and
# the sentence. Which side wins, and by how much, comes from the row.
TAKEAWAYS = (
    (
        ("bpe", "`WordBPE.train`", "textbook recount", "s"),
        "training a tokenizer with an index of pairs",
        "counting all pairs anew before each merge",
        "{winner} is {times} as fast as {loser}",
    ),
    (
        ("taken_apart", "training to nanoGPT's loss", "nanoGPT's settings for a CPU", "s"),
        "the recipe of chapter 17",
        "the run that nanoGPT suggests for a CPU",
        "{winner} reaches nanoGPT's loss on Shakespeare {times} as fast as {loser}",
    ),
    (
        ("generation_speed", "255 tokens after 1, cached", "recomputed", "s"),
        "a model with a cache of its keys and values",
        "a model without a cache",
        "{winner} writes 255 tokens {times} as fast as {loser}",
    ),
    (
        ("attention_memory", "fused kernel, causal, T = 4,096", "explicit attention", "MB"),
        "PyTorch's fused kernel",
        "attention written out as in the equation",
        "over 4,096 positions, {loser} needs {times} the memory of {winner}",
    ),
    (
        ("bpe", "`ByteBPE.encode`, nothing cached", "`tiktoken` (Rust)", "s"),
        "the course's tokenizer, which is written in Python,",
        "the library tiktoken, which is written in Rust,",
        "{winner} encodes a text {times} as fast as {loser}",
    ),
)


def with_ratio(row: dict, fewest: int = FEWEST) -> dict:
    """`row` with "ratio" (median, min, max) and "n" added, its figures to four digits.

    Raises ValueError for a row that is not whole, or with fewer than `fewest` rounds and no note.
    """
    if set(row) != KEYS:
        raise ValueError(f"got the keys {sorted(row)}, expected {sorted(KEYS)}")
    row = row | {side: [float(f"{x:.4g}") for x in row[side]] for side in ("ours", "theirs")}
    ours, theirs = row["ours"], row["theirs"]
    if row["better"] not in ("lower", "higher"):
        raise ValueError(f"got better={row['better']!r}, expected 'lower' or 'higher'")
    if not ours or len(theirs) not in (1, len(ours)):
        raise ValueError(f"{row['what']}: {len(ours)} figures of ours, {len(theirs)} of theirs")
    if not all(math.isfinite(x) and x > 0 for x in ours + theirs):
        raise ValueError(f"{row['what']}: got {ours} and {theirs}, expected positive figures")
    n = len(theirs)
    if n < fewest and not row["note"]:
        raise ValueError(f"{row['what']}: {n} of {fewest} rounds, and no note that says why")
    pairs = zip(ours, theirs * (len(ours) // n), strict=True)
    ratios = [t / o if row["better"] == "lower" else o / t for o, t in pairs]
    spread = [float(f"{f(ratios):.4g}") for f in (statistics.median, min, max)]
    return row | {"ratio": spread, "n": n}


def measure(folder: str, name: str, quick: bool) -> dict:
    """Run one script's `rows` in this process, which nothing else uses."""
    import torch

    sys.path.insert(0, folder)
    script, start = importlib.import_module(name), time.perf_counter()
    rows = script.rows(quick)
    if not rows:
        raise ValueError(f"{name}.py measured nothing")
    return {
        "name": name,
        "title": script.TITLE,
        "about": script.ABOUT,
        "threads": torch.get_num_threads(),
        "seconds": round(time.perf_counter() - start, 1),
        "rows": [with_ratio(row, fewest=1 if quick else FEWEST) for row in rows],
    }


def stored_run(name: str) -> dict:
    """A topic from what its script's own run, with --write, has stored in NAME.json."""
    sys.path.insert(0, str(FOLDER))
    script = importlib.import_module(name)
    file = getattr(script, "STORED", FOLDER / f"{name}.json")
    found = json.loads(file.read_text(encoding="utf-8"))
    origin = found["parts"]["race"] if "parts" in found else found  # taken apart: a day for each
    theirs = origin.get("machine") or origin["hardware"]
    require_same(theirs, f"{name}.json")
    return {
        "name": name,
        "title": script.TITLE,
        "about": f"{script.ABOUT} From a run of its own, `lab/{name}.py --write`.",
        "threads": origin.get("threads", 1),
        "seconds": origin.get("seconds", 0.0),
        "rows": [with_ratio(row) for row in script.rows_of(found)],
    }


def require_same(theirs: dict, name: str) -> None:
    """Raises ValueError if a file's figures are of another processor or number of cores."""
    here = machine()
    if any(theirs[key] != here[key] for key in ("processor", "cores")):
        there = f"{theirs['cores']} cores of {theirs['processor']}"
        raise ValueError(f"{name} is of another machine, {there}: measure it here")


def in_own_process(name: str, quick: bool) -> dict:
    """`measure` in a fresh interpreter: thread settings and memory of one topic reach no other."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measure, str(FOLDER), name, quick).result()


def machine() -> dict:
    """Processor, cores, memory and, if PyTorch finds one, GPU of this computer."""
    import torch

    affinity = getattr(os, "sched_getaffinity", None)
    processor = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        processor = next(li.split(":")[1].strip() for li in lines if li.startswith("model name"))
    except (OSError, StopIteration):
        pass  # no Linux
    try:
        gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    except (AttributeError, ValueError, OSError):
        gigabytes = None
    return {
        "processor": processor,
        "cores": len(affinity(0)) if affinity else os.cpu_count(),
        "memory_gigabytes": gigabytes and round(gigabytes),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "system": f"{platform.system()} {platform.machine()}",
    }


def figure(x: float) -> str:
    """Three digits, or all those before the point."""
    return f"{x:,.{max(0, 2 - math.floor(math.log10(x)))}f}"


def ratio_text(row: dict, bold: str = "") -> str:
    """Median, least and greatest ratio."""
    median, low, high = map(figure, row["ratio"])
    return f"{bold}{median}×{bold} ({low}–{high})"


def medians_text(row: dict) -> str:
    """What was measured, ours before theirs."""
    ours, theirs = (figure(statistics.median(row[side])) for side in ("ours", "theirs"))
    return f"{ours} / {theirs} {row['unit']}"


def threads_text(topic: dict) -> str:
    """How many threads PyTorch had."""
    return f"{topic['threads']} PyTorch thread{'s' * (topic['threads'] > 1)}"


def shown(topic: dict) -> str:
    """One topic for the terminal."""
    columns = [[r["what"], r["reference"], ratio_text(r), str(r["n"]), medians_text(r)]
               for r in topic["rows"]]  # fmt: skip
    columns.insert(0, ["", "against", "times better", "n", "ours / theirs"])
    widths = [max(map(len, column)) for column in zip(*columns, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in columns]
    title = f"{topic['title']} ({threads_text(topic)}, {topic['seconds']:.0f} s)"
    notes = [f"  {r['what']}, against {r['reference']}: {r['note']}"
             for r in topic["rows"] if r["note"]]  # fmt: skip
    return "\n".join(["", title, *lines, *notes])


def takeaways(stored: dict) -> list[str]:
    """One sentence for each of `TAKEAWAYS`, with the ratio and the range of its row.

    The better side is named as the better one, whichever it is; where the rounds disagree on that,
    the sentence says so. Raises ValueError if the table lacks a row.
    """
    rows = {
        (topic["name"], row["what"], row["reference"], row["unit"]): row["ratio"]
        for topic in stored["topics"]
        for row in topic["rows"]
    }
    sentences = []
    for key, ours, theirs, form in TAKEAWAYS:
        if key not in rows:
            raise ValueError(f"the table has no row {key}, which a takeaway quotes")
        median, low, high = rows[key]
        winner, loser = ours, theirs
        if median < 1:
            median, low, high = 1 / median, 1 / high, 1 / low
            winner, loser = theirs, ours
        text = form.format(winner=winner, loser=loser, times=f"**{figure(median)} times**")
        text = text[0].upper() + text[1:].rstrip(",")
        spread = f"{figure(low)} to {figure(high)}" if low < high else "the same in every round"
        sentences.append(f"{text} ({spread}{', so not in every round' * (low < 1)}).")
    return sentences


def page(stored: dict) -> str:
    """The book's page of the stored table."""
    here, versions = stored["machine"], stored["versions"]
    memory = here["memory_gigabytes"]
    lines = [
        "# Benchmarks",
        "",
        "How much faster, or how much smaller, are the things this course builds? Five answers "
        "come first. Each gives the median of its rounds, and in brackets the lowest and the "
        "highest round:",
        "",
        *(f"{i}. {sentence}" for i, sentence in enumerate(takeaways(stored), start=1)),
        "",
        "The tables below have all the figures. A time says little by itself: it is a fact about "
        "one computer on one day. So each line is a *ratio*. The course's code and a named "
        "reference do the same work in the same run. They take turns, so that whatever slows the "
        "machine down slows both.",
        "",
        "A ratio says how many times better the course's side is. 2× means half the time, or half "
        "the memory, or twice the tokens a second. Below 1×, the reference wins; those lines stay "
        "in. The figure in bold is the median over *n* rounds. The range in brackets runs from the "
        "worst round to the best. The last column gives the medians that were measured, ours "
        "before theirs. (A median of ratios is not the ratio of medians: where rounds differ much, "
        "dividing the last column gives another figure.) A reference that takes minutes runs once, "
        "and every round of ours is set against that. Expect the ratios to be near these on your "
        "computer and the times not to be. A wide range tells you how far to trust its median.",
        "",
        "To measure them on your computer, run `make bench` on an otherwise idle machine. It takes "
        "some 20 minutes on two cores, prints this table, stores it with every single measurement "
        "in `lab/table.json`, and writes this page. `make bench QUICK=1` takes few rounds "
        "and stores nothing. A topic that comes from a run of its own says so.",
        "",
        f"The figures here are of {stored['day']}, from {here['cores']} cores of a processor that "
        f"calls itself “{here['processor']}”"
        + (f", with {memory} GB of memory" if memory else "")
        + (f" and a GPU, {here['gpu']}" if here["gpu"] else ", without a GPU")
        + f" ({here['system']}), under "
        + ", ".join(f"{name} {version}" for name, version in versions.items())
        + ". PyTorch has as many threads as there are cores, where a table says nothing else.",
    ]
    for topic in stored["topics"]:
        threads = f" ({threads_text(topic)}.)" * (topic["threads"] != here["cores"])
        lines += ["", f"## {topic['title']}", "", topic["about"] + threads, ""]
        lines += ["| What | Against | Times better | n | Ours / theirs |", "|---|---|---|---|---|"]
        for row in topic["rows"]:
            cells = (row["what"], row["reference"], ratio_text(row, "**"), str(row["n"]),
                     medians_text(row))  # fmt: skip
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        notes = [f"- {r['what']}, against {r['reference']}: {r['note']}"
                 for r in topic["rows"] if r["note"]]  # fmt: skip
        lines += [""] * bool(notes) + notes
    return "\n".join([*lines, *page_weights()]) + "\n"


def page_weights() -> list[str]:
    """The section on the site's own pages, from what page_weights.py has stored."""
    file = FOLDER / "page_weights.json"
    if not file.is_file():
        return []
    sys.path.insert(0, str(FOLDER))
    return importlib.import_module("page_weights").section(
        json.loads(file.read_text(encoding="utf-8"))
    )


def write_page(stored: dict) -> None:
    """Put the table into the book."""
    from scratchformer.files import atomic_write

    with atomic_write(PAGE) as part:
        part.write_text(page(stored), encoding="utf-8")


def write(stored: dict) -> None:
    """Replace the table and the page, both or neither."""
    from scratchformer.files import atomic_write

    text = page(stored)  # if this fails, neither file is touched
    with atomic_write(STORED) as part, atomic_write(PAGE) as page_part:
        part.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
        page_part.write_text(text, encoding="utf-8")


def renew(stored: dict, topics: list[dict]) -> None:
    """Put topics into the stored table in place of those of their names, each with its day."""
    day = time.strftime("%Y-%m-%d", time.gmtime())
    new = {t["name"]: t | {"about": f"{t['about']} From a run of its own, of {day}."}
           for t in topics}  # fmt: skip
    write(stored | {"topics": [new.get(topic["name"], topic) for topic in stored["topics"]]})


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few rounds; nothing is stored")
    parser.add_argument("--only", nargs="+", choices=TOPICS, metavar="NAME",
                        help=f"some of {', '.join(TOPICS)}; nothing is stored")  # fmt: skip
    parser.add_argument("--stored", nargs="+", choices=("taken_apart", "ddp"), default=[],
                        help="not measured, but from NAME.json")  # fmt: skip
    parser.add_argument("--renew", nargs="+", choices=TOPICS, metavar="NAME",
                        help="only these, into the stored table")  # fmt: skip
    parser.add_argument("--page", action="store_true", help="only write the page again")
    options = parser.parse_args(arguments)
    if options.page:
        write_page(json.loads(STORED.read_text(encoding="utf-8")))
        return

    from scratchformer.data import load_corpus

    names = options.only or options.renew or TOPICS
    if options.renew:
        before = json.loads(STORED.read_text(encoding="utf-8"))
        require_same(before["machine"], STORED.name)
    missing = [name for name in names if not (FOLDER / f"{name}.py").is_file()]
    if missing:
        raise SystemExit(f"there is no {missing[0]}.py in {FOLDER.name}: nothing was measured")
    real = load_corpus("tinyshakespeare").is_real
    store = real and not options.quick and not options.only
    if not store:
        why = "" if real else ": Tiny Shakespeare is not here, Playhouse stands in"
        print(f"Nothing will be stored{why}.")
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0
    if load > 0.5:
        print(f"This machine is busy (load {load:.1f}): the ratios will spread.")

    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # the scripts' processes inherit it
    start, topics = time.perf_counter(), []
    for name in names:
        print(f"\n== {name} ==", flush=True)
        try:
            stored = name in options.stored
            topics.append(stored_run(name) if stored else in_own_process(name, options.quick))
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            cause = f"{error.__cause__ or ''}".strip()  # the traceback in the other process
            raise SystemExit(f"{cause}\n{name}.py failed, nothing is stored. {why}") from None
    print(*map(shown, topics), sep="\n")
    seconds = time.perf_counter() - start
    print(f"\n{sum(len(topic['rows']) for topic in topics)} ratios in {seconds / 60:.1f} minutes")
    if store and options.renew:
        renew(before, topics)
    elif store:
        write({
            "what": "ratios against named references in the same run; above 1: ours is better",
            "day": time.strftime("%Y-%m-%d", time.gmtime()),
            "seconds": round(seconds),
            "machine": machine(),
            "versions": {"Python": platform.python_version()}
            | {name: importlib.metadata.version(name) for name in PACKAGES},
            "topics": topics,
        })  # fmt: skip


if __name__ == "__main__":
    main()
