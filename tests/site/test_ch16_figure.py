"""The budget's figure in a browser, as chapter 16 stores it: what it tells is what Python says."""

import pytest

from scratchformer_course.ch16_scaling.joint import JointLaw
from scratchformer_course.ch16_scaling.live import wasted
from tests.site.browsing import numbers
from tests.site.figures import fill, press, status, stored

FIGURE = "law"
SETTINGS = stored("16", FIGURE).settings
LAW = JointLaw(*SETTINGS["law"])
BUDGET = 5e11


def test_sizes_are_trained_the_law_is_shown_and_another_budget_begins_anew(page):
    tries = page.locator(".sx-tries tbody tr")
    assert tries.count() == 1  # a size that wastes half of the budget
    assert numbers(tries.first.inner_text())[2] == pytest.approx(50, abs=5)
    for count, size in enumerate((3, 12, 25), 2):
        fill(page, Size=size)
        press(page, "Train it")
        n = SETTINGS["sizes"][size]
        assert tries.count() == count
        _, loss, percent = numbers(tries.nth(count - 1).inner_text())
        assert loss == pytest.approx(LAW(n, BUDGET / 6 / n), abs=0.0006)
        assert percent == pytest.approx(100 * wasted(LAW, BUDGET, n), abs=0.6)
    tried, curve = page.locator(".sx-tried"), page.locator(".sx-curve")
    assert tried.count() == 4
    press(page, "Show all sizes")
    note = page.locator(".sx-chart + .sx-caption").inner_text()
    assert numbers(note)[0] == pytest.approx(LAW.best_size(BUDGET), rel=0.01)
    stars = page.locator(".sx-star")
    assert stars.count() == len(dict(SETTINGS["tested"])[BUDGET]) and curve.count() == 1
    press(page, "Hide the law")
    assert curve.count() == stars.count() == 0
    fill(page, Budget=len(SETTINGS["budgets"]) - 1)
    assert tried.count() == curve.count() == 0 and status(page) == "Nothing is trained yet."
