"""Chapter 21's figures in a browser: what they tell is what is stored."""

import re

import pytest

from tests.site.figures import fill, press, stored

FIGURE = "answers"
FILM = {name: own for name, _, own in stored("21", FIGURE).settings["stages"]}
both = pytest.mark.parametrize("name", ["sft", "reinforce"])


def status(page):
    return page.locator(".sx-status").inner_text()


def listed(page):
    return page.locator(".sx-ans-list code").all_inner_texts()


def test_the_base_model_answers_with_questions(page):
    assert "goes on with questions" in status(page)
    assert page.locator(".sx-ans-bars").count() == 0
    at = next(each for each in FILM["base"] if each["n"] == 85)
    assert listed(page) == [text.replace("\n", "⏎") for text in at["answers"]]


@both
def test_a_model_is_told_with_its_own_share(page, name):
    press(page, {"sft": "after fine-tuning", "reinforce": "after reward"}[name])
    fill(page, Question=0)
    at = FILM[name][0]
    right = sum(at["bars"][0]) / 1e4
    said = [float(x) for x in re.findall(r"\d\.\d+", status(page))]
    assert said[0] == pytest.approx(right, abs=0.006)
    assert listed(page) == at["answers"] and page.locator(".sx-ans-bars").count() == 1
