"""The switches of chapter 19 in a browser, as the chapter stores them: what they tell is true."""

import pytest

from scratchformer_course.ch19_since_gpt2.model import MODERN, ChangedGPT, Sizes
from scratchformer_course.ch19_since_gpt2.worth import difference
from tests.site.browsing import numbers
from tests.site.figures import press, status, stored

FIGURE = "changes"
SETTINGS = stored("19", FIGURE).settings
SIZES = Sizes(**SETTINGS["sizes"])
RUNS = {frozenset(names): losses for names, losses in SETTINGS["runs"]}


def test_switches_change_weights_and_cache_and_losses_are_told_when_they_are_asked_for(page):
    def counted():
        return numbers(page.locator(".sx-chg-counts").inner_text())

    on, scale, dot = (page.locator(f".sx-chg-{part}") for part in ("on", "scale", "dot"))
    weights, _, cache = counted()[:3]
    assert weights == sum(p.numel() for p in ChangedGPT(SIZES).parameters()) and on.count() == 0
    page.get_by_role("switch", name="Keys and values").click()
    assert on.count() == 1 and counted()[2] == cache / 4
    assert counted()[0] == sum(p.numel() for p in ChangedGPT(SIZES, ["grouped"]).parameters())

    press(page, "GPT-2")
    assert not numbers(status(page)) and scale.count() == 0, "hidden until it is asked for"
    press(page, "Show the loss")
    plain, six = RUNS[frozenset()], RUNS[frozenset(MODERN)]
    assert numbers(status(page))[0] == pytest.approx(sum(plain) / len(plain), abs=0.0006)
    assert page.locator(".sx-chg-run").count() == len(RUNS)
    press(page, "The first six")
    against = difference(six, plain)
    mean, seeds, _, size, half = numbers(status(page))[:5]
    assert (mean, seeds) == (pytest.approx(sum(six) / len(six), abs=0.0006), len(six))
    assert (size, half) == pytest.approx((abs(against.mean), against.half), abs=0.0006)

    press(page, "GPT-2")
    page.get_by_role("switch", name="Norms").click()
    page.get_by_role("switch", name="Positions").click()
    assert not numbers(status(page)) and dot.count() == 0, "a model that was not trained"
    press(page, "GPT-2", "Hide the loss")
    assert scale.count() == 0
