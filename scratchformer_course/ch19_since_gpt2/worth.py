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


def _sides(own: Mapping[str, Sequence[float]], group: str) -> dict[str, tuple]:
    """For each change the figures with it and without it; all but one of "company" have the six."""
    base = own.get("none", [])
    pairs = {change: (own.get(change, []), base) for change in CHANGES}
    if group == "company":  # runs that bear the name of one of the six are without it
        pairs |= {change: pairs[change][::-1] for change in MODERN}
    return {c: pair for c, pair in pairs.items() if min(map(len, pair)) > 1}


def worth(stored: Mapping) -> dict[str, dict[str, Difference]]:
    """For each change what it does to the loss: alone, and in the company of the other five.

    Less than zero is better. A change with fewer than two seeds is left out.
    """
    found = {}
    for group in ("alone", "company"):
        losses = {name: each["validation"] for name, each in stored.get(group, {}).items()}
        found[group] = {c: difference(*pair) for c, pair in _sides(losses, group).items()}
    return found
