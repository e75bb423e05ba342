"""A room's table of refusals, as a test."""

from collections.abc import Callable

import pytest


def refused(cases: dict[str, Callable]) -> Callable:
    """A test that each call raises ValueError with the words (a pattern) before it."""

    @pytest.mark.parametrize("words", cases)
    def test(plain_signatures, words):
        with pytest.raises(ValueError, match=words):
            cases[words]()

    return test
