"""The rungs that write, in a browser: each stop shows what is stored for it."""

from statistics import fmean

import pytest

from scratchformer_course.ch10_bigram_to_gpt.live import TOLD
from scratchformer_course.measurements import load_measurements
from tests.site.browsing import number
from tests.site.figures import expected_next, fill, status

FIGURE = "rungs_write"
CLIMB = load_measurements("climb")


def test_each_stop_shows_its_text_its_loss_and_what_it_expects(page):
    for i, rung in enumerate(CLIMB["rungs"]):
        fill(page, Rung=i)
        text = page.locator(".sx-text").text_content()
        assert text == CLIMB["settings"]["prompt"].lstrip("\n") + rung["text"]
        said = status(page)
        assert said.startswith(f"{TOLD[rung['name']]} the loss is ")
        assert number(said.split(" the loss is ")[1].split(", ")[0]) == pytest.approx(
            fmean(rung["losses"]), abs=6e-4
        )
        assert expected_next(page) == [(c, pytest.approx(p, abs=5.1e-3)) for c, p in rung["next"]]
        slider = page.get_by_role("slider", name="Rung")
        assert slider.get_attribute("aria-valuetext") == rung["name"]
