"""The switch of chapter 17's opening figure: one race at a time, and each says where it ends."""

from scratchformer_course.ch17_speedrun import drawings

CURVE = {"steps": [20, 40, 60], "train_loss": [4.0, 3.0, 2.0]}
ENDS = {"one rate": 2.14, "two rates": 1.92, "hero": 1.85}


def test_the_switch_shows_the_tuned_rival_in_place_of_the_untuned(browser):
    page = browser.new_page()
    page.set_content(drawings.rivals(dict.fromkeys(ENDS, CURVE), ENDS).data)

    def shown():
        return " ".join(
            text.text_content() for text in page.locator("svg text").all() if text.is_visible()
        )

    assert "AdamW: 2.14" in shown() and "1.92" not in shown() and "Muon: 1.85" in shown()
    switch = page.get_by_role("checkbox", name="Tune the rival")
    assert page.locator("label").bounding_box()["height"] >= 44, "large enough for a finger"
    switch.press("Space")
    assert "AdamW: 1.92" in shown() and "2.14" not in shown() and "Muon: 1.85" in shown()
    switch.uncheck()
    assert page.get_by_role("img", name="a difference of 0.29").is_visible()
    page.close()
