"""What counts as a whole number in a live figure."""

from numbers import Integral
from typing import Any


def is_whole(x: Any) -> bool:
    """Whether x is a whole number of an integer type; True and False are none."""
    return isinstance(x, Integral) and not isinstance(x, bool)


def check_whole(what: str, x: Any, least: int = 0) -> None:
    """Raise ValueError unless x is a whole number of at least `least`."""
    if not is_whole(x) or x < least:
        raise ValueError(f"{what} is {x!r}, expected a whole number of at least {least}")
