"""What a live figure refuses: settings that no page can hold, and numbers that are none."""

import numpy as np
import pytest

from scratchformer_course.kit.figure import LiveFigure
from scratchformer_course.kit.figure.numbers import check_whole, is_whole

NAN = float("nan")


def test_the_environment_decides_on_scripts_and_an_unknown_word_in_it_is_told(monkeypatch):
    figure = LiveFigure("law", {}, "still")
    for word, has_scripts in (("", True), ("stored", False)):
        monkeypatch.setenv("SCRATCHFORMER_LIVE", word)
        assert ("<script>" in figure._repr_html_()) == has_scripts
    monkeypatch.setenv("SCRATCHFORMER_LIVE", "Stored")
    with pytest.raises(ValueError, match="SCRATCHFORMER_LIVE='Stored', expected 'stored'"):
        figure._repr_html_()


@pytest.mark.usefixtures("plain_signatures")
def test_settings_that_no_page_can_hold_are_refused_when_the_figure_is_made():
    for words, settings, still in (
        ("figure law are not what JSON can hold .*expected finite numbers", {"a": [1, NAN]}, ""),
        ("not what JSON can hold .*float32", {"a": np.float32(1)}, ""),
        (r"figure law has '\\ud83c' in a text, which is half a character", {"a": "\ud83c"}, ""),
        ("half a character", {}, "still \ud83c"),
    ):
        with pytest.raises(ValueError, match=words):
            LiveFigure("law", settings, still)


@pytest.mark.usefixtures("plain_signatures")
def test_whole_numbers_are_no_truth_values_and_what_is_none_is_told():
    for x in (NAN, True, np.bool_(True), "1", None, 3.0):
        assert not is_whole(x)
    assert is_whole(3) and is_whole(np.int64(3))
    with pytest.raises(ValueError, match="n is 0, expected a whole number of at least 1"):
        check_whole("n", 0, least=1)
