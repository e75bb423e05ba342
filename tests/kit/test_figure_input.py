"""What a live figure refuses: settings that no page can hold, and numbers that are none."""

import numpy as np
import pytest

from scratchformer_course.kit.figure import LiveFigure
from scratchformer_course.kit.figure.numbers import check_finite, check_whole, is_finite, is_whole

NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize("said", ["1", "Stored"])
def test_an_unknown_word_in_the_environment_is_told(monkeypatch, said):
    figure = LiveFigure("law", {}, "still")
    monkeypatch.setenv("SCRATCHFORMER_LIVE", said)
    for show in (figure._repr_html_, lambda: LiveFigure("law", {}, "still")):
        with pytest.raises(ValueError, match=f"SCRATCHFORMER_LIVE='{said}', expected 'stored'"):
            show()


@pytest.mark.parametrize(("said", "scripts"), [(None, True), ("", True), ("stored", False)])
def test_the_environment_decides_on_scripts(monkeypatch, said, scripts):
    monkeypatch.delenv("SCRATCHFORMER_LIVE", raising=False)
    if said is not None:
        monkeypatch.setenv("SCRATCHFORMER_LIVE", said)
    assert ("<script>" in LiveFigure("law", {}, "still")._repr_html_()) == scripts


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"a": [1, NAN]}, "figure law are not what JSON can hold .*expected finite numbers"),
        ({"a": np.float32(1)}, "not what JSON can hold .*float32"),
        ({"a": "\ud83c"}, r"figure law has '\\ud83c' in a text, which is half a character"),
        ({"\udfad": 1}, "half a character"),
    ],
)
@pytest.mark.usefixtures("plain_signatures")
def test_settings_that_no_page_can_hold_are_refused_when_the_figure_is_made(settings, said):
    with pytest.raises(ValueError, match=said):
        LiveFigure("law", settings, "still")
    with pytest.raises(ValueError, match="half a character"):
        LiveFigure("law", {}, "still \ud83c")


def test_numbers_are_finite_and_no_truth_values():
    for x in (0, -1, 1.5, np.float64(2), np.float32(2), np.int64(2)):
        assert is_finite(x)
    for x in (NAN, INFINITY, True, np.bool_(True), "1", None, 1j, 10**400):
        assert not is_finite(x) and not is_whole(x)
    assert is_whole(3) and is_whole(np.int64(3)) and not is_whole(3.0)


@pytest.mark.usefixtures("plain_signatures")
def test_what_is_no_number_is_told():
    check_finite("x", [0, 2.5], least=0)
    check_whole("n", 0)
    with pytest.raises(ValueError, match=r"x holds nan, expected finite numbers$"):
        check_finite("x", [1, NAN])
    with pytest.raises(ValueError, match="x holds -1, expected finite numbers of at least 0"):
        check_finite("x", [1, -1], least=0)
    for n, said in ((2.5, "2.5"), (True, "True"), (0, "0")):
        with pytest.raises(ValueError, match=f"n is {said}, expected a whole number of at least 1"):
            check_whole("n", n, least=1)
