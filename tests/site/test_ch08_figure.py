"""Turned pairs in a browser: arrows and scores are those that Python computes."""

import math
import re

import pytest

from scratchformer_course.ch08_rotary.live import turning_pairs
from tests.site import test_browser
from tests.site.saved_figures import complaints, number, opened, rows, stored, without_javascript

axe = test_browser.axe  # the fixture
Q, K = (2.0, 1.0), (0.5, 1.5)
PLACES = [(2, 1), (102, 101), (2, 0)]


def turned(pair, angle):
    a, b = pair
    return [
        a * math.cos(angle) - b * math.sin(angle),
        a * math.sin(angle) + b * math.cos(angle),
    ]


def score(m, n, speed=0.3):
    return sum(a * b for a, b in zip(turned(Q, m * speed), turned(K, n * speed), strict=True))


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("live") / "live.html"
    turning_pairs(Q, K, 0.3, {(m, n): score(m, n) for m, n in PLACES}).save(path)
    return path.as_uri()


@pytest.fixture
def page(browser, address):
    context, page, faults = opened(browser, address)
    yield page
    assert faults == []
    context.close()


def pair_of(text):
    return [number(part) for part in re.findall(r"−?\d+\.\d+", text)]


def check(page, m, n, speed=0.3):
    """Words, table and arrows are those of a query at m and a key at n."""
    said = page.locator(".sx-score").inner_text()
    assert said.startswith(f"Distance m − n = {m - n}, score ".replace("-", "−"))
    assert number(said.split("score ")[1]) == pytest.approx(score(m, n, speed), abs=5.1e-4)
    label = page.locator("svg").get_attribute("aria-label")
    assert f"query at place {m} " in label and f"key at place {n} " in label
    shown = rows(page)[1:]
    for (name, start, turn, end), place, pair, word in zip(
        shown, (m, n), (Q, K), ("query", "key"), strict=True
    ):
        assert name == f"{word} at {place}" and pair_of(start) == list(pair)
        assert number(turn) == pytest.approx(place * speed, abs=5.1e-3)
        expected = turned(pair, place * speed)
        assert pair_of(end) == pytest.approx(expected, abs=5.1e-3)
        x1, y1, x2, y2 = page.locator(f"line.sx-{word[0]}:not(.sx-before)").evaluate(
            "l => ['x1', 'y1', 'x2', 'y2'].map(n => Number(l.getAttribute(n)))"
        )
        drawn, length = math.hypot(x2 - x1, y2 - y1), math.hypot(*pair)
        direction = [(x2 - x1) / drawn * length, (y1 - y2) / drawn * length]
        assert direction == pytest.approx(expected, abs=1e-6)
    return said


def press(page, name):
    page.get_by_role("button", name=name, exact=True).click()


def move(page, **values):
    names = {"m": "Query at m", "n": "Key at n", "speed": "Radians a place"}
    for name, value in values.items():
        page.get_by_role("slider", name=names[name]).fill(str(value))


def test_arrows_and_score_are_those_of_python(page):
    check(page, 2, 1)
    for m, n, speed in ((0, 0, 0.3), (20, 3, 0.3), (3, 20, 0.31), (5, 5, 1), (9, 2, 0)):
        move(page, m=m, n=n, speed=speed)
        check(page, m, n, speed)


def test_moving_both_leaves_the_score_as_it_is(page):
    first = check(page, 2, 1)
    for step in range(1, 19):
        press(page, "Move both by 1")
        assert check(page, 2 + step, 1 + step) == first
    button = page.get_by_role("button", name="Move both by 1", exact=True)
    assert button.get_attribute("aria-disabled") == "true"
    button.click(force=True)
    assert check(page, 20, 19) == first, "the slider ends there"
    press(page, "Move both back by 1")
    press(page, "100 words in front")
    assert check(page, 119, 118) == first
    assert page.get_by_role("slider", name="Query at m").get_attribute("aria-valuetext") == "119"
    move(page, m=12, n=11)
    assert check(page, 112, 111) == first
    press(page, "Take the 100 words away")
    assert check(page, 12, 11) == first
    move(page, m=13)
    assert check(page, 13, 11) != first, "a query that moves alone changes it"


def test_it_works_with_keys_alone(page):
    def press_keys(*keys):
        for key in keys:
            page.keyboard.press(key)

    press_keys("Tab", "ArrowRight")
    check(page, 3, 1)
    press_keys("Tab", "ArrowRight")
    check(page, 3, 2)
    press_keys("Tab", "Enter", "Space")
    check(page, 5, 4)
    press_keys("Tab", "Enter")
    check(page, 4, 3)
    press_keys("Tab", "Space")
    check(page, 104, 103)
    press_keys("Tab", "ArrowLeft")
    check(page, 104, 103, 0.29)


@pytest.mark.parametrize(("mode", "width"), [("light", 1200), ("dark", 390)])
def test_it_fits_and_axe_finds_nothing(browser, address, axe, mode, width):
    context, page, faults = opened(browser, address, mode, width)
    press(page, "100 words in front")
    move(page, m=9, n=20)
    assert complaints(page, axe, width) == [] and faults == []
    context.close()


def test_without_javascript_the_numbers_stay(browser, address):
    context, page = without_javascript(browser, address)
    page.set_viewport_size({"width": 390, "height": 900})
    shown = [[number(text) for text in row] for row in rows(page)[1:]]
    for row, (m, n) in zip(shown, PLACES, strict=True):
        assert row == pytest.approx([m, n, m - n, score(m, n)], abs=5.1e-4)
    assert page.locator("svg[role=img]").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()


def test_the_chapter_shows_it_with_its_own_pair(browser, tmp_path):
    figure = stored("08", "turning_pairs")
    settings = figure.settings
    assert (settings["query"], settings["key"]) == ([*Q], [*K])
    figure.save(tmp_path / "live.html")
    context, page, faults = opened(browser, (tmp_path / "live.html").as_uri())
    check(page, settings["m"], settings["n"], settings["speed"])
    press(page, f"{settings['further']} words in front")
    check(page, 102, 101)
    assert faults == []
    context.close()
