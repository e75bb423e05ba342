"""The switches of chapter 19 in a browser, as the chapter stores them: what they tell is true."""

import re

import pytest

from scratchformer_course.ch19_since_gpt2.model import MODERN, ChangedGPT, Sizes
from scratchformer_course.ch19_since_gpt2.worth import difference
from tests.site.figures import press, stored

FIGURE = "changes"
SETTINGS = stored("19", FIGURE).settings
SIZES = Sizes(**SETTINGS["sizes"])
RUNS = {frozenset(names): losses for names, losses in SETTINGS["runs"]}


def numbers(text):
    return [float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*\.?\d*", text)]


def counted(page):
    return numbers(page.locator(".sx-chg-counts").inner_text())


def told(page):
    return page.locator(".sx-status").inner_text()


def test_a_switch_changes_its_row_the_weights_and_the_cache(page):
    plain = ChangedGPT(SIZES)
    assert counted(page)[0] == sum(p.numel() for p in plain.parameters())
    before = counted(page)[2]
    assert page.locator(".sx-chg-on").count() == 0
    page.get_by_role("switch", name="Keys and values").click()
    assert page.locator(".sx-chg-on").count() == 1 and counted(page)[2] == before / 4
    model = ChangedGPT(SIZES, ["grouped"])
    assert counted(page)[0] == sum(p.numel() for p in model.parameters())


def test_the_loss_is_hidden_until_it_is_asked_for(page):
    assert not numbers(told(page)) and page.locator(".sx-chg-scale").count() == 0
    press(page, "Show the loss")
    mean = sum(RUNS[frozenset()]) / len(RUNS[frozenset()])
    assert numbers(told(page))[0] == pytest.approx(mean, abs=0.0006)
    assert page.locator(".sx-chg-run").count() == len(RUNS)
    press(page, "Hide the loss")
    assert page.locator(".sx-chg-scale").count() == 0


def test_all_six_are_compared_with_gpt2_by_seeds(page):
    press(page, "Show the loss", "The first six")
    six = RUNS[frozenset(MODERN)]
    against = difference(six, RUNS[frozenset()])
    mean, seeds, _, size, half = numbers(told(page))[:5]
    assert (mean, seeds) == (pytest.approx(sum(six) / len(six), abs=0.0006), len(six))
    assert (size, half) == pytest.approx((abs(against.mean), against.half), abs=0.0006)


def test_what_was_not_trained_is_said(page):
    press(page, "Show the loss")
    for name in ("Norms", "Positions"):
        page.get_by_role("switch", name=name).click()
    assert not numbers(told(page)) and page.locator(".sx-chg-dot").count() == 0
    assert page.locator(".sx-chg-on").count() == 2
    press(page, "GPT-2")
    assert page.locator(".sx-chg-on").count() == 0 and page.locator(".sx-chg-dot").count() == 1
