"""Chapter 02's trial, skip-gram beside counts -> measurements/word_vectors.json.

Usage: python -m lab.word_vectors [--write]

It runs the chapter's own functions. Each side tries the same number of settings on the tuning
lists, and the chapter reads the best of either on the test lists, with three seeds.
"""

import argparse
import re
from contextlib import redirect_stdout
from io import StringIO
from itertools import product
from pathlib import Path
from typing import Any

import nbformat
import torch
import torch.nn.functional as F
from torch import Tensor

from lab import runs
from scratchformer_course.kit import chapter
from scratchformer_course.measurements import FOLDER

NOTEBOOK = Path(__file__).parents[1] / "notebooks" / "02_embeddings.ipynb"
FILE = FOLDER / "word_vectors.json"
WINDOWS, POWERS = (5, 10, 20), (0.75, 1.0)
RATES, ROOTS = (0.05, 0.1), (0.5, 1.0)
SETTINGS = {"windows": WINDOWS, "powers": POWERS, "rates": RATES, "roots": ROOTS}


def chapter_names() -> dict[str, Any]:
    """The names that chapter 02 defines before it trains, and its table of counts."""
    names: dict[str, Any] = {"chapter": chapter}
    cells = [cell for cell in nbformat.read(NOTEBOOK, 4).cells if cell.cell_type == "code"]
    before = next(i for i, cell in enumerate(cells) if cell.id == "tables")
    counts = [cell for cell in cells if "def count_table" in cell.source]
    with redirect_stdout(StringIO()):
        for cell in [*cells[:before], *counts]:
            if cell.id != "slow" and not re.search(r"%pip|draw\.|ax\.", cell.source):
                exec(cell.source, names)
    return names


def share(names: dict[str, Any], table: Tensor, lists: dict[str, str]) -> float:
    """The share of the questions that the cosines of a table answer right."""
    rows = [names["id_of"][word] for word in " ".join(lists.values()).split()]
    unit = F.normalize(table[rows], dim=1)
    return round(names["share_right"](unit @ unit.T, lists), 4)


def pairs_within(names: dict[str, Any], window: int) -> Tensor:
    """The pairs of all speeches, (P, 2)."""
    return torch.tensor([p for ids in names["speech_ids"] for p in names["pairs_of"](ids, window)])


def tune(names: dict[str, Any]) -> dict[str, list[dict]]:
    """What all settings of both sides reach on the tuning lists."""
    found: dict[str, list[dict]] = {"skip-gram": [], "counts": []}
    names["occurring"] = torch.tensor([names["counts"][word] for word in names["vocabulary"]])
    for window in WINDOWS:
        pairs = pairs_within(names, window)
        for power, rate in product(POWERS, RATES):
            names["noise"] = names["occurring"] ** power
            table = names["train"](pairs, first_rate=rate)
            row = {"window": window, "power": power, "rate": rate}
            row |= {"right": share(names, table, names["tuning"])}
            found["skip-gram"].append(row)
            print(row, flush=True)
        for power, root in product(POWERS, ROOTS):
            table = names["count_table"](pairs, power, root)
            row = {"window": window, "power": power, "root": root}
            row |= {"right": share(names, table, names["tuning"])}
            found["counts"].append(row)
            print(row, flush=True)
    return found


def measure(options: argparse.Namespace) -> dict:
    """All settings, with the best of each side first."""
    names = chapter_names()
    steps, found = names["STEPS"], tune(names)
    longer = max(found["skip-gram"], key=lambda row: row["right"])
    names["STEPS"], names["noise"] = 2 * steps, names["occurring"] ** longer["power"]
    table = names["train"](pairs_within(names, longer["window"]), first_rate=longer["rate"])
    return {
        "what": "the share of chapter 02's tuning questions that each setting answers right",
        "steps": steps,
        "twice_the_steps": longer | {"right": share(names, table, names["tuning"])},
        "tried": {
            side: sorted(rows, key=lambda row: -row["right"]) for side, rows in found.items()
        },
    }


def main(arguments: list[str] | None = None) -> dict:
    return runs.carry_out(__doc__, FILE, measure, arguments, SETTINGS, quick=False)


if __name__ == "__main__":
    main()
