"""The law in a browser, as chapter 16 stores it: its numbers are refitted here from the runs."""

import re
from html import unescape
from json import loads
from pathlib import Path

import nbformat
import numpy as np
import pytest

from scratchformer.scaling import bootstrap, fit_law
from scratchformer_course.kit.figure import LiveFigure
from scratchformer_course.measurements import load_measurements
from tests.site import test_browser
from tests.site.test_browser import AXE, start

ROOT = Path(__file__).resolve().parents[2]
axe = test_browser.axe  # the fixture


@pytest.fixture(scope="module")
def stored() -> str:
    """What the chapter has stored."""
    for cell in nbformat.read(ROOT / "notebooks" / "16_scaling.ipynb", as_version=4).cells:
        for output in cell.get("outputs", ()):
            html = output.get("data", {}).get("text/html", "")
            if 'data-figure="law"' in html:
                return html
    raise AssertionError("chapter 16 stores no figure of the law")


@pytest.fixture(scope="module")
def settings(stored):
    return loads(unescape(re.search(r'data-settings="([^"]*)"', stored)[1]))


@pytest.fixture(scope="module")
def address(stored, settings, tmp_path_factory):
    path = tmp_path_factory.mktemp("live") / "law.html"
    still = stored.split(">", 1)[1].removesuffix("</div>")
    files = re.search(r'data-files="([^"]*)"', stored)[1].split()
    LiveFigure("law", settings, still, files).save(path)
    return path.as_uri()


def runs_of(*stages):
    runs = load_measurements("law")["runs"]
    return [r for r in runs if r["corpus"] == "playhouse" and r["stage"] in stages]


class Refitted:
    """The law and its bootstrap as the chapter makes them, from the measurements alone."""

    def __init__(self):
        rows = [(r["N"], r["D"], r["losses"]["val"]) for r in runs_of("grid")]
        N, D, L = self.rows = np.array(rows).T
        self.law, self.laws = fit_law(N, D, L), bootstrap(N, D, L, repeats=40, seed=0)
        misses = np.log(L / self.law(N, D))
        self.missed = np.random.default_rng(0).choice(misses, len(self.laws))

    def forecast(self, N, D):
        around = np.array([each(N, D) for each in self.laws]) * np.exp(self.missed)
        return [self.law(N, D), *np.percentile(around, [2.5, 97.5])]

    def sizes(self, budget):
        best = [each.best_allocation(budget)[0] for each in self.laws]
        return [self.law.best_allocation(budget)[0], *np.percentile(best, [2.5, 97.5])]


@pytest.fixture(scope="module")
def refitted():
    return Refitted()


def opened(browser, address, mode="light", width=1200):
    context, page, faults = start(browser, mode)
    page.set_viewport_size({"width": width, "height": 900})
    page.on("request", lambda r: r.url != address and faults.append(f"request: {r.url}"))
    page.goto(address)
    page.locator(".sx-law").wait_for()
    return context, page, faults


@pytest.fixture
def page(browser, address):
    context, page, faults = opened(browser, address)
    yield page
    assert faults == []
    context.close()


def numbers(text):
    return [float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*\.?\d*", text)]


def answer(page):
    rows = page.locator(".sx-answer tbody tr")
    return [
        numbers(" ".join(rows.nth(i).locator("td").all_inner_texts())) for i in range(rows.count())
    ]


def check_answer(page, refitted, budget):
    """A trained fit may differ in its last digits on another processor."""
    size, text, loss = answer(page)
    expected = refitted.sizes(budget)
    assert size == pytest.approx(expected, rel=0.02)
    assert text[0] == pytest.approx(budget / 6 / expected[0], rel=0.02)
    assert loss == pytest.approx(refitted.forecast(expected[0], budget / 6 / expected[0]), abs=0.02)


def test_the_stored_figure_chooses_and_forecasts_what_a_fresh_fit_does(page, settings, refitted):
    check_answer(page, refitted, 5e10)
    page.get_by_role("button", name="500 billion").click()
    check_answer(page, refitted, 5e11)
    for i in (settings["budgets"].index(2e11), 0, len(settings["budgets"]) - 1):
        page.get_by_label("Budget").fill(str(i))
        check_answer(page, refitted, settings["budgets"][i])
        assert "No model was trained" in page.locator(".sx-law").inner_text()


def test_tested_runs_and_the_larger_model_are_the_measured_ones(page, refitted):
    page.get_by_role("button", name="500 billion").click()
    rows = page.locator(".sx-answer ~ table tbody tr")
    for i, width in enumerate((32, 48, 64)):
        same = [r for r in runs_of("isoflop") if r["width"] == width]
        assert rows.nth(i).locator("th").inner_text() == f"{same[0]['N']:,}"
        says, measured = rows.nth(i).locator("td").all_inner_texts()
        n = float(same[0]["N"])
        law = refitted.law(n, 5e11 / 6 / n)
        assert float(says) == pytest.approx(law, abs=0.01)
        assert numbers(measured) == pytest.approx(
            sorted(r["losses"]["val"] for r in same), abs=0.0051
        )
    (run,) = runs_of("forecast")
    told = page.locator(".sx-status")
    assert "measured" not in told.inner_text() and page.locator(".sx-measured").count() == 6
    shown = numbers(told.inner_text())
    assert shown[0] == run["N"]
    assert shown[1:4] == pytest.approx(
        refitted.forecast(float(run["N"]), float(run["D"])), abs=0.011
    )
    page.get_by_role("button", name="Reveal the larger model").click()
    assert f"measured loss is {run['losses']['val']:.2f}" in told.inner_text()
    assert page.locator(".sx-measured").count() == 7
    page.get_by_role("button", name="Hide the larger model").click()
    assert page.locator(".sx-measured").count() == 6
    page.get_by_text("All runs as a table").click()
    table = page.locator("details tbody tr")
    assert table.count() == 25
    first = [table.nth(3).locator("th").inner_text(), *table.nth(3).locator("td").all_inner_texts()]
    N, D, L = refitted.rows[:, 3]
    assert [float(x.replace(",", "")) for x in first[:3]] == pytest.approx([N, D, L], rel=0.01)


def test_the_law_is_surest_among_its_runs_and_falls_below_the_floor_beyond(page, settings):
    """What the chapter says after the figure."""
    spread, loss = {}, {}
    for i, budget in enumerate(settings["budgets"]):
        page.get_by_label("Budget").fill(str(i))
        size, _, told = answer(page)
        spread[budget], loss[budget] = size[2] / size[1], told[0]
    assert min(spread, key=spread.get) in (1.6e11, 2e11, 2.5e11)
    assert spread[2e11] == pytest.approx(1.4, abs=0.1) and 6.5 < spread[1e13] < 8
    assert loss[1e13] < settings["floor"] < loss[1e12]
    law, (n, losses) = settings["law"], settings["tested"][1][1][0]
    says = law[0] + law[1] / n ** law[2] + law[3] / (5e11 / 6 / n) ** law[4]
    assert n == 25_472 and max(losses) < says - 0.04


def test_resampled_laws_come_and_go_by_keys_alone(page):
    def faint():
        return page.locator(".sx-faint").count()

    assert faint() == 0
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    button = page.get_by_role("button", name="Hide the 40 resampled laws")
    assert button.get_attribute("aria-pressed") == "true" and faint() == 40 * 5
    chart = page.locator("svg[role=img]").first
    assert "40 resampled laws" in chart.get_attribute("aria-label")
    page.keyboard.press("Space")
    assert faint() == 0 and "resampled" not in chart.get_attribute("aria-label")
    assert page.get_by_role("button", name="Draw the 40 resampled laws").is_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert "measured loss is" in page.locator(".sx-status").inner_text()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.get_by_label("Budget").evaluate("e => e === document.activeElement")
    page.keyboard.press("ArrowRight")
    assert page.get_by_label("Budget").get_attribute("aria-valuetext") == "63 billion"
    bowl = page.locator("svg[role=img]").last
    assert "at 63 billion operations" in bowl.get_attribute("aria-label")


@pytest.mark.parametrize(("mode", "width"), [("light", 1200), ("dark", 390)])
def test_it_fits_and_axe_finds_nothing(browser, address, axe, mode, width):
    context, page, faults = opened(browser, address, mode, width)
    page.evaluate(axe)
    page.get_by_role("button", name="Draw the").click()
    page.get_by_role("button", name="Reveal").click()
    page.get_by_text("All runs as a table").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    result = page.evaluate(AXE, [".live-figure", True])
    assert [(fault["id"], fault["nodes"][0]["html"]) for fault in result["violations"]] == []
    scale = page.locator(".sx-chart").first.evaluate("e => e.getBoundingClientRect().width / 360")
    assert 14 * scale >= 13 and faults == []
    context.close()


def test_without_javascript_the_drawing_and_the_table_stay(browser, address, settings, refitted):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    assert page.locator(".live-figure svg circle").count() == 25
    cells = page.locator(".live-figure tbody tr").last.locator("td").all_inner_texts()
    assert numbers(cells[0]) == pytest.approx(refitted.sizes(5e11), rel=0.02)
    assert "25,472: 0.49, 0.53" in cells[2]
    context.close()
