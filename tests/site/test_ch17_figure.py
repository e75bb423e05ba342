"""The switch of chapter 17's opening figure: one race at a time, and each says where it ends."""

import pytest

from scratchformer_course.ch17_speedrun import drawings

CURVE = {"steps": [20, 40, 60], "train_loss": [4.0, 3.0, 2.0]}
ENDS = {"one rate": 2.14, "two rates": 1.92, "hero": 1.85}


@pytest.fixture
def page(browser):
    page = browser.new_page()
    page.set_content(drawings.rivals(dict.fromkeys(ENDS, CURVE), ENDS).data)
    yield page
    page.close()


def shown(page):
    return [text for text in page.locator("svg text").all() if text.is_visible()]


def test_the_switch_shows_the_tuned_rival_in_place_of_the_untuned(page):
    before = " ".join(text.text_content() for text in shown(page))
    assert "AdamW: 2.14" in before and "1.92" not in before and "Muon: 1.85" in before
    switch = page.get_by_role("checkbox", name="Tune the rival")
    switch.focus()
    page.keyboard.press("Space")
    after = " ".join(text.text_content() for text in shown(page))
    assert "AdamW: 1.92" in after and "2.14" not in after and "Muon: 1.85" in after
    switch.uncheck()
    assert page.get_by_role("img", name="a difference of 0.29").is_visible()


def test_the_switch_is_large_enough_for_a_finger(page):
    assert page.locator("label").bounding_box()["height"] >= 44
