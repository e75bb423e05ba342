"""Numbers that a page tells: a test computes them, and asks whether the page holds them."""

import re

NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def absent(text: str, *numbers: str) -> set[str]:
    """Those of some numbers, as they are written, that a text does not hold."""
    return set(numbers) - {number.rstrip(",") for number in NUMBER.findall(text)}
