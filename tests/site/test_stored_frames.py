"""Two sliders over stored frames, in a browser: each stop shows what is stored for it."""

from statistics import fmean

import pytest

from scratchformer_course.ch10_bigram_to_gpt.live import TOLD
from scratchformer_course.measurements import load_measurements
from tests.site.browsing import LIVE, number, opened, rows
from tests.site.figures import fill, status

RUN, CLIMB = load_measurements("first_network"), load_measurements("climb")


def check(page, settings, frame):
    """The text of a frame, and the bars of what it expects next."""
    text = page.locator(".sx-text").text_content()
    assert text == settings["prompt"].lstrip("\n") + frame["text"]
    shown = [
        (row[0].replace("␣", " ").replace("⏎", "\n"), number(row[1])) for row in rows(page)[1:]
    ]
    assert shown == [(c, pytest.approx(p, abs=5.1e-3)) for c, p in frame["next"]]


def test_the_network_that_learns_to_write_shows_each_step(browser, saved):
    frames = RUN["frames"]
    with opened(browser, saved("first_sample")) as page:
        page.locator(LIVE).wait_for()
        for i, frame in enumerate(frames):
            fill(page, Steps_of_training=i)
            check(page, RUN["settings"], frame)
            share = f"{100 * math.exp(-frame['loss']):.0f} %"
            assert f"the loss is {frame['loss']:.2f}, as if it gave {share}" in status(page)
            label = page.locator("svg.sx-curve").get_attribute("aria-label")
            assert f"marked: {frame['loss']:.2f} after {frame['step']:,} " in label
        slider = page.get_by_role("slider", name="Steps of training")
        assert slider.get_attribute("aria-valuetext") == f"{frames[-1]['step']:,}"
        slider.press("Home")
        slider.press("ArrowRight")
        check(page, RUN["settings"], frames[1])


def test_each_rung_shows_its_text_its_loss_and_what_it_expects(browser, saved):
    with opened(browser, saved("rungs_write")) as page:
        page.locator(LIVE).wait_for()
        for i, rung in enumerate(CLIMB["rungs"]):
            fill(page, Rung=i)
            check(page, CLIMB["settings"], rung)
            assert status(page).startswith(f"{TOLD[rung['name']]} the loss is ")
            loss = number(status(page).split(" the loss is ")[1].split(", ")[0])
            assert loss == pytest.approx(fmean(rung["losses"]), abs=6e-4)
            assert page.get_by_label("Rung").get_attribute("aria-valuetext") == rung["name"]
