"""What each fault costs, from the runs that `lab/silent_bugs.py` has stored."""

import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from scratchformer_course.ch23_silent_bugs.patients import PATIENTS

ROWS_OF = {"pass": "right", "prefixes": "some", "cache": "some", "writing": "writing"}


class Price(NamedTuple):
    """Differences in nats, seed by seed: their mean, the least and the greatest."""

    mean: float
    least: float
    greatest: float


def price(faulty: Sequence[float], healthy: Sequence[float]) -> Price | None:
    """How much more the first losses are, paired by seed; None where there is no pair."""
    pairs = [a - b for a, b in zip(faulty, healthy, strict=False)]
    return Price(statistics.mean(pairs), min(pairs), max(pairs)) if pairs else None


def prices(stored: Mapping, figure: str = "right") -> dict[str, Price]:
    """Each measured fault's price; `figure` is "right", "reported" or "loaded".

    "right" is what a fault costs where the model is used, "reported" what the program's own
    validation shows of it, which can be less than nothing, and "loaded" what it costs the twin's
    weights, without training.
    """
    found = {}
    for name, patient in PATIENTS.items():
        twin = stored["twins"].get(patient.twin, {})
        rows = "right" if figure == "reported" else ROWS_OF[patient.how]
        own = stored["patients"].get(name, {})
        if cost := price(own.get(figure, []), twin.get(rows, [])):
            found[name] = cost
    return found


def noise(stored: Mapping) -> dict[str, float]:
    """How far apart each healthy twin's losses lie among its seeds, two at least."""
    twins = stored["twins"].items()
    return {
        name: max(twin["right"]) - min(twin["right"])
        for name, twin in twins
        if len(twin["right"]) > 1
    }


def within_noise(cost: Price, spread: float) -> bool:
    """Whether a price may be chance, where the healthy twin's losses lie so far apart.

    It is smaller than that, or the seeds do not agree that it is a loss, or a gain.
    """
    return abs(cost.mean) < spread or cost.least <= 0 <= cost.greatest


def verdicts(stored: Mapping) -> dict[str, bool]:
    """Of each measured fault, whether what it costs lies within the noise.

    Where nothing is trained anew, patient and twin have the same weights, and there is no noise.
    """
    spreads = noise(stored)
    return {
        name: within_noise(cost, spreads.get(PATIENTS[name].twin, 0.0) * PATIENTS[name].trained)
        for name, cost in prices(stored).items()
    }
