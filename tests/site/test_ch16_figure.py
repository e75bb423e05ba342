"""The law in a browser, as chapter 16 stores it: what it answers is what the package computes."""

import re

import numpy as np
import pytest

from scratchformer.scaling import ScalingLaw
from tests.site.figures import fill, press, stored

FIGURE = "law"
SETTINGS = stored("16", FIGURE).settings
LAW, *LAWS = (ScalingLaw(*each) for each in (SETTINGS["law"], *SETTINGS["resampled"]))
BUDGETS = SETTINGS["budgets"]


def forecast(N, D):
    around = np.array([each(N, D) for each in LAWS]) * np.exp(SETTINGS["missed"])
    return [LAW(N, D), *np.percentile(around, [2.5, 97.5])]


def sizes(budget):
    best = [each.best_allocation(budget)[0] for each in LAWS]
    return [LAW.best_allocation(budget)[0], *np.percentile(best, [2.5, 97.5])]


def numbers(text):
    return [float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*\.?\d*", text)]


def answer(page):
    rows = page.locator(".sx-answer tbody tr")
    return [
        numbers(" ".join(rows.nth(i).locator("td").all_inner_texts())) for i in range(rows.count())
    ]


def check_answer(page, budget):
    size, text, loss = answer(page)
    expected = sizes(budget)
    assert size == pytest.approx(expected, rel=0.01)
    assert text[0] == pytest.approx(budget / 6 / expected[0], rel=0.01)
    assert loss == pytest.approx(forecast(expected[0], budget / 6 / expected[0]), abs=0.0051)


def test_the_figure_chooses_and_forecasts_as_the_package_does(page):
    press(page, "500 billion")
    check_answer(page, 5e11)
    for i in (BUDGETS.index(2e11), 0, len(BUDGETS) - 1):
        fill(page, Budget=i)
        check_answer(page, BUDGETS[i])


def test_tested_runs_and_the_larger_model_are_the_measured_ones(page):
    press(page, "500 billion")
    tested = page.locator(".sx-answer ~ table tbody tr")
    for i, (n, losses) in enumerate(dict(SETTINGS["tested"])[5e11]):
        assert tested.nth(i).locator("th").inner_text() == f"{n:,}"
        says, measured = tested.nth(i).locator("td").all_inner_texts()
        assert float(says) == pytest.approx(LAW(float(n), 5e11 / 6 / n), abs=0.0051)
        assert numbers(measured) == pytest.approx(sorted(losses), abs=0.0051)
    n, d, loss = map(float, SETTINGS["larger"])
    told, marks = page.locator(".sx-status"), page.locator(".sx-measured")
    before, shown = marks.count(), numbers(told.inner_text())
    assert shown[0] == n and f"{loss:.2f}" not in told.inner_text()
    assert shown[1:4] == pytest.approx(forecast(n, d), abs=0.0051)
    press(page, "Reveal the larger model")
    assert f"{loss:.2f}" in told.inner_text() and marks.count() == before + 1
    press(page, "Hide the larger model")
    assert marks.count() == before
    page.get_by_text("All runs as a table").click()
    table = page.locator("details tbody tr")
    assert table.count() == len(SETTINGS["runs"]) == 25
    first = [table.nth(3).locator("th").inner_text(), *table.nth(3).locator("td").all_inner_texts()]
    assert [float(x.replace(",", "")) for x in first[:3]] == pytest.approx(
        SETTINGS["runs"][3], rel=0.01
    )


def test_resampled_laws_come_and_go(page):
    faint, chart = page.locator(".sx-faint"), page.locator("svg[role=img]").first
    assert faint.count() == 0
    press(page, f"Draw the {len(LAWS)} resampled laws")
    button = page.get_by_role("button", name=f"Hide the {len(LAWS)} resampled laws")
    assert button.get_attribute("aria-pressed") == "true" and faint.count() == len(LAWS) * 5
    assert "resampled" in chart.get_attribute("aria-label")
    button.click()
    assert faint.count() == 0 and "resampled" not in chart.get_attribute("aria-label")
