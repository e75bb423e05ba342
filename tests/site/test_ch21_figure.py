"""Chapter 21's figures in a browser: what they tell is what is stored."""

import pytest

from tests.site.browsing import numbers
from tests.site.figures import fill, press, status, stored

FIGURE = "answers"


def test_each_model_is_told_with_its_own_answers_and_share(page):
    film = {name: own for name, _, own in stored("21", FIGURE).settings["stages"]}
    listed, bars = page.locator(".sx-ans-list code"), page.locator(".sx-ans-bars")
    assert "goes on with questions" in status(page) and bars.count() == 0
    at = next(each for each in film["base"] if each["n"] == 85)
    assert listed.all_inner_texts() == [text.replace("\n", "⏎") for text in at["answers"]]
    for name, button in (("sft", "after fine-tuning"), ("reinforce", "after reward")):
        press(page, button)
        fill(page, Question=0)
        at = film[name][0]
        share = next(n for n in numbers(status(page)) if n != int(n))
        assert share == pytest.approx(sum(at["bars"][0]) / 1e4, abs=0.006)
        assert listed.all_inner_texts() == at["answers"] and bars.count() == 1
