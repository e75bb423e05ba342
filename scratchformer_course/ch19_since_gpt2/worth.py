"""What each change is worth, from the runs that `lab/since_gpt2.py` has stored."""

import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from scratchformer_course.ch19_since_gpt2.model import CHANGES, MODERN

STUDENT = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365}  # of 95%, by runs


class Difference(NamedTuple):
    """A mean of differences seed by seed, and the half of its interval of 95%."""

    mean: float
    half: float

    @property
    def decides(self) -> bool:
        """Whether zero lies outside the interval."""
        return abs(self.mean) > self.half


def difference(after: Sequence[float], before: Sequence[float]) -> Difference:
    """How much lower or higher the first losses are, paired by seed."""
    pairs = [a - b for a, b in zip(after, before, strict=False)]
    spread = statistics.stdev(pairs) / len(pairs) ** 0.5
    return Difference(statistics.mean(pairs), STUDENT[len(pairs)] * spread)


def worth(stored: Mapping) -> dict[str, dict[str, Difference]]:
    """For each change what it does to the loss: alone, and in the company of the other five.

    Less than zero is better. A change with fewer than two seeds is left out.
    """
    found: dict[str, dict[str, Difference]] = {"alone": {}, "company": {}}
    for group, own in found.items():
        runs = {name: each["validation"] for name, each in stored.get(group, {}).items()}
        base = runs.get("none", [])
        for change in CHANGES:
            mine = runs.get(change, [])
            if min(len(mine), len(base)) < 2:
                continue
            without = group == "company" and change in MODERN  # these runs are without it
            own[change] = difference(*((base, mine) if without else (mine, base)))
    return found


def measured(stored: Mapping) -> list[tuple[list[str], list[float]]]:
    """Each set of changes that was trained, and its losses by seed."""
    found = []
    for group in ("alone", "company"):
        for name, each in stored.get(group, {}).items():
            if len(each["validation"]) < 2:
                continue
            if group == "alone":
                changes = [] if name == "none" else [name]
            elif name in MODERN:
                changes = [c for c in MODERN if c != name]
            else:
                changes = [*MODERN, *([] if name == "none" else [name])]
            found.append((changes, each["validation"]))
    return found
