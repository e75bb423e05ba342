"""The figure of gradient descent in a browser: what it shows is what Python computes."""

import pytest

from scratchformer_course.ch04_first_network.live import parabola
from tests.site import test_browser
from tests.site.saved_figures import complaints, number, opened, rows, stored, without_javascript

axe = test_browser.axe  # the fixture
RATES = (0.02, 0.3, 0.5, 1.0, 1.05)


def descend(w, rate, steps):
    places = [w]
    for _ in range(steps):
        slope = 2 * (w - 3)
        w = w - rate * slope
        places.append(w)
    return places


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("live") / "live.html"
    parabola({rate: descend(0.0, rate, 6) for rate in RATES}).save(path)
    return path.as_uri()


@pytest.fixture
def page(browser, address):
    context, page, faults = opened(browser, address)
    yield page
    assert faults == []
    context.close()


def check(page, start, rate, steps):
    """The table, the tangent and the words are those of `steps` steps at this rate."""
    places = descend(start, rate, steps)
    shown = [[number(text) for text in row] for row in rows(page)[1:]]
    expected = [[i, w, 2 * (w - 3), (w - 3) ** 2] for i, w in enumerate(places)]
    assert len(shown) == len(expected)
    for row, numbers in zip(shown, expected, strict=True):
        assert row == pytest.approx(numbers, abs=6e-3, rel=0.06)
    line = page.locator(".sx-tangent").evaluate(
        "l => ['x1', 'y1', 'x2', 'y2'].map(n => Number(l.getAttribute(n)))"
    )
    across, down = line[2] - line[0], line[3] - line[1]
    slope = (-down / 186 * 36) / (
        across / 296 * 12
    )  # of units of the drawing into those of the axes
    assert slope == pytest.approx(2 * (places[-1] - 3), rel=1e-6, abs=1e-6)
    label = page.locator("svg").get_attribute("aria-label")
    words = page.locator(".sx-status").inner_text()
    said = words.split(" w is ")[1].split(". ")[0]
    assert f"w is {said}" in label and number(said) == pytest.approx(places[-1], abs=6e-3, rel=0.06)
    assert number(words.rstrip(".").split("= ")[-1]) == pytest.approx(1 - 2 * rate, abs=1e-9)
    assert ("outside" in words) == (abs(places[-1] - 3) > 6)


def press(page, *names):
    for name in names:
        page.get_by_role("button", name=name, exact=True).click()


def test_steps_and_rates_on_screen_are_those_of_python(page):
    check(page, 0.0, 0.02, 6)
    for rate in RATES:
        press(page, f"{rate:g}")
        check(page, 0.0, rate, 6)
        assert page.locator("[aria-pressed=true]").inner_text() == f"{rate:g}"
    press(page, "Start again")
    check(page, 0.0, 1.05, 0)
    press(page, "Step")
    assert "After 1 step w" in page.locator(".sx-status").inner_text()
    press(page, "10 steps", "10 steps")
    check(page, 0.0, 1.05, 21)
    page.get_by_role("slider", name="Learning rate").fill("0.73")
    page.get_by_role("slider", name="Start w").fill("7.5")
    check(page, 7.5, 0.73, 21)
    assert page.locator("[aria-pressed=true]").count() == 0
    page.get_by_role("slider", name="Learning rate").fill("1.2")
    press(page, *["10 steps"] * 5)
    check(page, 7.5, 1.2, 60)  # and no further


def test_each_rate_does_what_the_chapter_says(page):
    def path(rate):
        press(page, rate)
        return [number(row[1]) for row in rows(page)[1:]]

    assert path("0.5")[1:] == [3] * 6
    assert path("1") == [0, 6] * 3 + [0]
    assert path("0.02")[-1] < 1 and abs(path("1.05")[-1] - 3) > 5


def test_it_works_with_keys_alone(page):
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.type") == "range"
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    check(page, 0.0, 0.05, 6)
    for _ in range(3):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the third rate
    check(page, 0.0, 0.5, 6)
    for _ in range(3):
        page.keyboard.press("Tab")
    page.keyboard.press("ArrowLeft")  # the start
    check(page, -0.5, 0.5, 6)
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    check(page, -0.5, 0.5, 7)
    assert page.evaluate("document.activeElement.textContent") == "Step"


@pytest.mark.parametrize(("mode", "width"), [("light", 1200), ("dark", 390)])
def test_it_fits_and_axe_finds_nothing(browser, address, axe, mode, width):
    context, page, faults = opened(browser, address, mode, width)
    press(page, "1.05", *["10 steps"] * 6)
    assert complaints(page, axe, width) == [] and faults == []
    context.close()


def test_without_javascript_the_numbers_stay(browser, address):
    context, page = without_javascript(browser, address)
    page.set_viewport_size({"width": 390, "height": 900})
    shown = [[number(text) for text in row] for row in rows(page)[1:]]
    for step, row in enumerate(shown):
        assert row == pytest.approx([step, *(descend(0, r, 6)[step] for r in RATES)], abs=6e-3)
    assert page.locator("svg[role=img]").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()


def test_the_chapter_shows_it_with_its_own_rates(browser, tmp_path):
    figure = stored("04", "parabola")
    figure.save(tmp_path / "live.html")
    context, page, faults = opened(browser, (tmp_path / "live.html").as_uri())
    start, steps = figure.settings["start"], figure.settings["steps"]
    for rate in figure.settings["rates"]:
        press(page, f"{rate:g}")
        check(page, start, rate, steps)
    assert set(RATES) == set(figure.settings["rates"]) and faults == []
    context.close()
