"""The budget's figure in a browser, as chapter 16 stores it: what it tells is what Python says."""

import re

import pytest

from scratchformer_course.ch16_scaling.joint import JointLaw
from scratchformer_course.ch16_scaling.live import wasted
from tests.site.figures import fill, press, stored

FIGURE = "law"
SETTINGS = stored("16", FIGURE).settings
LAW = JointLaw(*SETTINGS["law"])
BUDGETS, SIZES = SETTINGS["budgets"], SETTINGS["sizes"]


def numbers(text):
    return [float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*\.?\d*", text)]


def test_a_size_is_trained_and_its_cost_told(page):
    told, rows = page.locator(".sx-status"), page.locator(".sx-tries tbody tr")
    assert rows.count() == 1  # a size that wastes half of the budget
    assert numbers(rows.nth(0).inner_text())[2] == pytest.approx(50, abs=5)
    for count, (budget, size) in enumerate([(5e11, 3), (5e11, 12), (5e11, 25)], 2):
        fill(page, Size=size)
        press(page, "Train it")
        n = SIZES[size]
        reached = LAW(n, budget / 6 / n)
        best = LAW.best_size(budget)
        least = LAW(best, budget / 6 / best)
        share = 100 * wasted(LAW, budget, n)
        assert rows.count() == count
        _, loss, percent = numbers(rows.nth(count - 1).inner_text())
        assert loss == pytest.approx(reached, abs=0.0006)
        assert percent == pytest.approx(share, abs=0.6)
        if reached - least > 0.002:
            assert numbers(told.inner_text())[1:] == pytest.approx(
                [reached, reached - least, 100 - share], abs=0.6
            )
    assert page.locator(".sx-tried").count() == 4


def test_another_budget_begins_anew(page):
    press(page, "Train it", "Show all sizes")
    assert page.locator(".sx-tried").count() == page.locator(".sx-curve").count() == 1
    fill(page, Budget=len(BUDGETS) - 1)
    assert page.locator(".sx-tried").count() == page.locator(".sx-curve").count() == 0
    assert page.locator(".sx-status").inner_text() == "Nothing is trained yet."


def test_the_law_is_shown_with_its_best_size_and_the_runs(page):
    press(page, "Show all sizes")
    note = page.locator(".sx-chart + .sx-caption").inner_text()
    assert numbers(note)[0] == pytest.approx(LAW.best_size(5e11), rel=0.01)
    assert page.locator(".sx-star").count() == len(dict(SETTINGS["tested"])[5e11])
    press(page, "Hide the law")
    assert page.locator(".sx-curve").count() == page.locator(".sx-star").count() == 0
