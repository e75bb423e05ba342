"""Outputs of trained models are compared to their last digit but a few.

Another processor adds the same numbers in another order, and a training run that meets the sums
a thousand times ends a little elsewhere. A cell tagged `last-digit-within-2` may print 1.90 or 1.93
where the stored output has 1.91 or 22 % where it has 20 %: each number may differ by two units of
the last place that is shown. Words and the count of numbers stay as they are.
"""

import re
from decimal import Decimal

TAG = re.compile(r"last-digit-within-(\d+)")
NUMBER = re.compile(r"[-−]?\d+(?:,\d{3})*(?:\.\d+)?")


def margin_of(tags: list[str]) -> int | None:
    """How many units of its last place a number of a cell may differ by; None if by none."""
    margins = [int(match[1]) for match in map(TAG.fullmatch, tags) if match]
    return margins[0] if margins else None


def numbers(text: str) -> list[Decimal]:
    return [Decimal(n.replace(",", "").replace("−", "-")) for n in NUMBER.findall(text)]


def same(text: str, other: str, units: int) -> bool:
    """Whether two texts have the same words, and numbers that differ by `units` at most."""
    if NUMBER.sub("0", text).split() != NUMBER.sub("0", other).split():
        return False
    for a, b in zip(numbers(text), numbers(other), strict=True):
        place = max(a.as_tuple().exponent, b.as_tuple().exponent)
        if abs(a - b) > units * Decimal(1).scaleb(place):
            return False
    return True


class Within(str):
    """A text that equals another one if their numbers are as near as `units` says."""

    units = 0

    def __eq__(self, other):
        return same(self, other, self.units) if isinstance(other, str) else NotImplemented

    def __ne__(self, other):
        return not self == other

    __hash__ = None  # what is equal only nearly has no common hash


def within(text: str, units: int) -> Within:
    text = Within(text)
    text.units = units
    return text
