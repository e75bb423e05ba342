"""What counts as a number in a live figure: JSON and JavaScript hold it, and it can be drawn."""

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any


def is_finite(x: Any) -> bool:
    """Whether x is a number that is neither NaN nor infinite; True and False are no numbers."""
    if isinstance(x, bool) or not isinstance(x, Real):
        return False
    try:
        return math.isfinite(x)
    except OverflowError:  # a whole number that no float holds
        return False


def is_whole(x: Any) -> bool:
    """Whether x is a whole number of an integer type; True and False are none."""
    return is_finite(x) and isinstance(x, Integral)


def check_finite(what: str, values: Iterable[Any], least: float | int = -math.inf) -> None:
    """Raise ValueError for the first value that is no finite number of at least `least`."""
    for x in values:
        if not is_finite(x) or x < least:
            more = f" of at least {least:g}" if least > -math.inf else ""
            raise ValueError(f"{what} holds {x!r}, expected finite numbers{more}")


def check_whole(what: str, x: Any, least: int = 0) -> None:
    """Raise ValueError unless x is a whole number of at least `least`."""
    if not is_whole(x) or x < least:
        raise ValueError(f"{what} is {x!r}, expected a whole number of at least {least}")
