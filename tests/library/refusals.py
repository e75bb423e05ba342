"""A room's table of refusals, as a test."""

from collections.abc import Callable

import pytest


def refused(cases: dict[str, Callable], error: type[Exception] = ValueError) -> Callable:
    """A test that each call raises the error with the words (a pattern) before it."""

    @pytest.mark.parametrize("words", cases)
    def test(plain_signatures, words):
        with pytest.raises(error, match=words):
            cases[words]()

    return test
