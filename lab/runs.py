"""What every script that measures needs: its command line, texts, clocks, ratios and files.

A script runs from the root of the repository as `python -m lab.NAME [--quick] [--write]`. With
--quick it takes little of everything and stores nothing. Without --write it replaces nothing.
"""

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy
import torch

from scratchformer.data import load_corpus, scored_split
from scratchformer.data.corpora import SPLITS
from scratchformer.files import atomic_write
from scratchformer.models import KneserNey
from scratchformer.tokenizers import CharTokenizer
from scratchformer.training import token_loss
from scratchformer_course.measurements import FOLDER

LAB = Path(__file__).resolve().parent
ROOT, CONFIGS = LAB.parent, LAB / "configs"
FEWEST = 3  # rounds
CHARACTERS = 65  # different ones in Tiny Shakespeare

# --- the command line, and files -----------------------------------------------------------------


def command_line(doc: str, writes: str, quick: bool = True) -> argparse.ArgumentParser:
    """A parser with --write, which replaces the file `writes`, or with --quick instead of it."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--write", action="store_true", help=f"replace {writes}")
    if quick:
        either.add_argument("--quick", action="store_true", help="little of all; nothing is stored")
    return parser


def settings_of(script: Mapping[str, Any], names: str) -> dict[str, Any]:
    """Some constants of a script, `globals()`, under their names in small letters."""
    values = {name.lower(): script[name] for name in names.split()}
    return {k: [*value] if isinstance(value, range) else value for k, value in values.items()}


def path_of(name: str) -> Path:
    """The file of a measurement."""
    return FOLDER / f"{name}.json"


Part = Callable[[argparse.Namespace], dict]


def script(
    doc: str,
    target: str | Path,
    measure: Part | Mapping[str, Part],
    settings: dict | None = None,
    quick: bool = True,
    threads: int | None = None,
) -> Callable[..., dict]:
    """The `main` of a script: from its command line to a file with settings and origin.

    The file is that of the measurement with the name `target`, or `target` itself. Of a script of
    several parts `--only` renews some: each is stored with its settings when it is done.
    """

    def main(arguments: list[str] | None = None) -> dict:
        path = path_of(target) if isinstance(target, str) else target
        parser = command_line(doc, path.name, quick)
        if isinstance(measure, Mapping):
            parser.add_argument("--only", nargs="+", choices=measure, default=list(measure))
        options = parser.parse_args(arguments)
        if threads is not None:
            torch.set_num_threads(threads)
        if not isinstance(measure, Mapping):
            result = ({"settings": settings} if settings else {}) | measure(options) | stamp()
            print(as_text(as_json(result))[:5000])
            if options.write:
                store(path, result)
            return result
        parts: dict[str, dict] = {}
        for name in options.only:
            parts[name] = measure[name](options) | stamp()
            if options.write:
                stored = read(path) if path.exists() else {"settings": {}}
                stored["settings"][name] = (settings or {})[name]
                store(path, stored | {name: parts[name]})
        return parts

    return main


class Kept:
    """A measurement of many runs: those that are finished are kept, and each new one is stored.

    With `write` it begins with what the file holds, unless that has other settings.
    """

    def __init__(self, name: str, settings: dict, write: bool):
        self.path, self.write = path_of(name), write
        stored = read(self.path) if write and self.path.exists() else {}
        same = stored.get("settings") == as_json(settings)
        self.result: dict[str, Any] = stored if same else {"settings": as_json(settings)}

    def part(self, *names: str) -> dict[str, Any]:
        """A dictionary in what was found, empty at first: fill it, and `keep`."""
        place = self.result
        for name in names:
            place = place.setdefault(name, {})
        return place

    def once(self, *names: str, job: Callable[[], dict]) -> None:
        """What `job` finds, at this place; no job if something is there already."""
        place = self.part(*names[:-1])
        if names[-1] not in place:
            place[names[-1]] = job()
            print(*names, as_text(place[names[-1]])[:500], flush=True)
            self.keep()

    def keep(self) -> None:
        """Store all that has been found, if there is a file to write."""
        if self.write:
            store(self.path, self.result | stamp())


def as_json(value):
    """A value as it comes back from a JSON file: lists for tuples, text for keys."""
    return json.loads(json.dumps(value))


def store(path: Path, result: dict) -> None:
    """Replace a JSON file in one step."""
    with atomic_write(path) as part:
        part.write_text(as_text(as_json(result)) + "\n", encoding="utf-8")


def as_text(value, indent: int = 0) -> str:
    """JSON in which a list or an object stands on one line if it is short, or holds no other."""
    line, inner = json.dumps(value, ensure_ascii=False), " " * (indent + 1)
    if not isinstance(value, dict | list):
        return line
    nested = any(
        isinstance(x, dict | list) for x in (value.values() if isinstance(value, dict) else value)
    )
    if len(line) <= 200 or not nested:
        return line
    if isinstance(value, dict):
        lines = [f"{json.dumps(key)}: {as_text(x, indent + 1)}" for key, x in value.items()]
    else:
        lines = [as_text(x, indent + 1) for x in value]
    return f"{line[0]}\n{inner}" + f",\n{inner}".join(lines) + f"\n{' ' * indent}{line[-1]}"


def read(path: Path) -> dict:
    """What a JSON file holds."""
    return json.loads(path.read_text(encoding="utf-8"))


# --- where, when and with what -------------------------------------------------------------------


def today() -> str:
    return time.strftime("%Y-%m-%d", time.gmtime())


def machine() -> dict:
    """Processor and cores of this computer."""
    file, processor = Path("/proc/cpuinfo"), platform.processor()
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        if line.startswith("model name"):
            processor = line.split(":")[1].strip()
    system = f"{platform.system()} {platform.machine()}"
    return {"processor": processor, "cores": os.cpu_count(), "system": system}


def stamp() -> dict:
    """What every measurement says of its origin: commit, day, hardware, versions."""
    git = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    versions = {"python": platform.python_version(), "torch": torch.__version__}
    return {
        "commit": subprocess.run(git, capture_output=True, text=True).stdout.strip() or None,
        "day": today(),
        "hardware": machine(),
        "versions": versions | {"numpy": numpy.__version__},
    }


# --- texts ---------------------------------------------------------------------------------------


def load_text(name: str = "tinyshakespeare", write: bool = False) -> str:
    """A corpus' text. Raises SystemExit if it is to be written about and another stands in."""
    corpus = load_corpus(name)
    if write and not corpus.is_real:
        raise SystemExit(f"{name} is not here: what is stored is not replaced")
    return corpus.text


def load_splits(
    name: str = "tinyshakespeare", write: bool = False
) -> tuple[dict[str, tuple[torch.Tensor, torch.Tensor]], int]:
    """Split -> (ids of characters to train on, ids to score); and the vocabulary's size."""
    text = load_text(name, write)
    tok = CharTokenizer.train(text)
    ids = torch.tensor(tok.encode(text))
    return {split: scored_split(ids, split) for split in SPLITS}, tok.vocab_size


def counted_losses(
    ids: torch.Tensor, scored: torch.Tensor, vocab_size: int, orders: Iterable[int]
) -> dict[str, float]:
    """Order -> nats a character of n-grams counted on `ids`, smoothed by Kneser and Ney."""
    tables = {n: KneserNey(n).fit(ids, vocab_size) for n in orders}
    return {str(n): round(table.nats_per_token(scored), 4) for n, table in tables.items()}


# --- other programs ------------------------------------------------------------------------------


def by_two_processes(module: str, *arguments: str, **environment: str) -> None:
    """Run `python -m MODULE ARGUMENTS` as two processes of one thread each, by torchrun."""
    torchrun = ["torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", module]
    places = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    variables = {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(places)} | environment
    command = [sys.executable, "-m", *torchrun, *arguments]
    subprocess.run(command, check=True, env=os.environ | variables)


@contextmanager
def chromium(profile: str = "") -> Iterator:
    """Headless Chromium, or Chrome, of this computer, driven by Playwright.

    With a folder for its `profile` it keeps files on the disk, and is no private window.
    """
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    program = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        kind = playwright.chromium
        launch = partial(kind.launch_persistent_context, profile) if profile else kind.launch
        browser = launch(executable_path=program, args=flags)
        yield browser
        browser.close()


def nats(
    model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """A language model's loss, for `fit`: the sum in nats, and the number of targets."""
    return token_loss(model(x), y)


def size(model: torch.nn.Module) -> int:
    """The number of a model's parameters."""
    return sum(p.numel() for p in model.parameters())


# --- clocks and ratios ---------------------------------------------------------------------------


def seconds(job: Callable[[], object]) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def in_turns(
    jobs: Mapping[str, Callable[[], float]], rounds: int, warm: int = 1
) -> dict[str, list]:
    """The figures of each job, one a round. The jobs take turns; `warm` rounds go before."""
    taken = [{name: job() for name, job in jobs.items()} for _ in range(warm + rounds)][warm:]
    return {name: [figures[name] for figures in taken] for name in jobs}


def spread(values: Iterable[float]) -> list[float]:
    """Median, least and greatest."""
    values = list(values)
    return [statistics.median(values), min(values), max(values)]


def four_digits(x: float) -> float:
    return float(f"{x:.4g}")


def row(what: str, reference: str, unit: str, ours: list, theirs: list, note: str = "") -> dict:
    """A row of the table of benchmarks: "ours" and "theirs" have one figure a round.

    More is better where the unit is a rate, less is better elsewhere. `theirs` may hold one figure
    only, if the note says why.
    """
    return {"what": what, "reference": reference, "unit": unit, "ours": ours, "theirs": theirs,
            "note": note}  # fmt: skip


def with_ratio(row: dict, fewest: int = FEWEST) -> dict:
    """`row` with "ratio" (median, min, max) and "n" added, its figures to four digits.

    A ratio is theirs / ours where less is better and ours / theirs where more is, so that above 1
    is always in our favour. Raises ValueError for fewer than `fewest` rounds without a note.
    """
    ours, theirs = ([four_digits(x) for x in row[side]] for side in ("ours", "theirs"))
    n = len(theirs)
    if n < fewest and not row["note"]:
        raise ValueError(f"{row['what']}: {n} of {fewest} rounds, and no note that says why")
    pairs = zip(ours, theirs * (len(ours) // n), strict=True)
    ratios = [o / t if "/" in row["unit"] else t / o for o, t in pairs]
    ratio = [four_digits(x) for x in spread(ratios)]
    return row | {"ours": ours, "theirs": theirs, "ratio": ratio, "n": n}
