"""The network that learns to write, in a browser: each step shows what is stored for it."""

import math

import pytest

from scratchformer_course.measurements import load_measurements
from tests.site.browsing import number, rows
from tests.site.figures import fill

FIGURE = "first_sample"
RUN = load_measurements("first_network")
FRAMES, GUESSING = RUN["frames"], math.log(RUN["settings"]["vocab_size"])
LAST = FRAMES[-1]["step"]


def check(page, frame):
    """Text, words, curve and bars are those of one step."""
    text = page.locator(".sx-text").text_content()
    assert text == RUN["settings"]["prompt"].lstrip("\n") + frame["text"]
    said = page.locator(".sx-status").inner_text()
    assert (
        f"the loss is {frame['loss']:.2f}, as if it gave {100 * math.exp(-frame['loss']):.0f} %"
        in said
    )
    label = page.locator("svg.sx-curve").get_attribute("aria-label")
    assert f"marked: {frame['loss']:.2f} after {frame['step']:,} " in label
    x, y = page.locator("svg.sx-curve circle").evaluate(
        "c => [Number(c.getAttribute('cx')), Number(c.getAttribute('cy'))]"
    )
    assert (x - 34) / 284 == pytest.approx(math.log1p(frame["step"]) / math.log1p(LAST))
    highest = max(GUESSING, *(each["loss"] for each in FRAMES))
    assert (150 - y) / 136 * highest == pytest.approx(frame["loss"], abs=1e-3)
    shown = [
        (row[0].replace("␣", " ").replace("⏎", "\n"), number(row[1])) for row in rows(page)[1:]
    ]
    assert shown == [(c, pytest.approx(p, abs=5.1e-3)) for c, p in frame["next"]]


def test_each_step_shows_its_text_its_loss_and_what_it_expects(page):
    for i, frame in enumerate(FRAMES):
        fill(page, Steps_of_training=i)
        check(page, frame)


def test_keys_and_a_press_on_the_slider_move_the_steps(page):
    slider = page.get_by_role("slider", name="Steps of training")
    slider.focus()
    page.keyboard.press("ArrowRight")
    check(page, FRAMES[1])
    page.keyboard.press("End")
    check(page, FRAMES[-1])
    assert slider.get_attribute("aria-valuetext") == f"{LAST:,}"
    box = slider.bounding_box()
    page.mouse.click(box["x"] + 3, box["y"] + box["height"] / 2)
    check(page, FRAMES[0])
