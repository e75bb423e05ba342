"""What each fault costs, as `lab/silent_bugs.py` has computed it from its runs."""

from collections.abc import Mapping
from typing import NamedTuple


class Price(NamedTuple):
    """Differences in nats, seed by seed: their mean, the least and the greatest."""

    mean: float
    least: float
    greatest: float


def prices(stored: Mapping, figure: str = "right") -> dict[str, Price]:
    """Each measured fault's price; `figure` is "right", "reported" or "loaded".

    "right" is what a fault costs where the model is used, "reported" what the program's own
    validation shows of it, which can be less than nothing, and "loaded" what it costs the twin's
    weights, without training.
    """
    measured = {name: patient.get("prices", {}) for name, patient in stored["patients"].items()}
    return {name: Price(*rows[figure]) for name, rows in measured.items() if figure in rows}
