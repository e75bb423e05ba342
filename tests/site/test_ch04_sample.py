"""The network that learns to write, in a browser: each step shows what is stored for it."""

import math

import pytest

from scratchformer_course.measurements import load_measurements
from tests.site.figures import expected_next, fill, status

FIGURE = "first_sample"
RUN = load_measurements("first_network")
FRAMES, GUESSING = RUN["frames"], math.log(RUN["settings"]["vocab_size"])
LAST = FRAMES[-1]["step"]


def check(page, frame):
    """Text, words, curve and bars are those of one step."""
    text = page.locator(".sx-text").text_content()
    assert text == RUN["settings"]["prompt"].lstrip("\n") + frame["text"]
    share = 100 * math.exp(-frame["loss"])
    assert f"the loss is {frame['loss']:.2f}, as if it gave {share:.0f} %" in status(page)
    label = page.locator("svg.sx-curve").get_attribute("aria-label")
    assert f"marked: {frame['loss']:.2f} after {frame['step']:,} " in label
    x, y = page.locator("svg.sx-curve circle").evaluate(
        "c => [Number(c.getAttribute('cx')), Number(c.getAttribute('cy'))]"
    )
    assert (x - 34) / 284 == pytest.approx(math.log1p(frame["step"]) / math.log1p(LAST))
    highest = max(GUESSING, *(each["loss"] for each in FRAMES))
    assert (150 - y) / 136 * highest == pytest.approx(frame["loss"], abs=1e-3)
    assert expected_next(page) == [(c, pytest.approx(p, abs=5.1e-3)) for c, p in frame["next"]]


def test_each_step_shows_its_text_its_loss_and_what_it_expects(page):
    """The first and the last by keys, the others by the slider."""
    slider = page.get_by_role("slider", name="Steps of training")
    for i, frame in enumerate(FRAMES):
        if frame in (FRAMES[0], FRAMES[-1]):
            slider.press("End" if i else "Home")
        else:
            fill(page, Steps_of_training=i)
        check(page, frame)
    assert slider.get_attribute("aria-valuetext") == f"{LAST:,}"
