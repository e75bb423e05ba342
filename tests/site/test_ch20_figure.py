"""Chapter 20's figures in a browser: what is written, counted and told is true."""

import re

import pytest

from scratchformer_course.ch20_inference.live import BITS, size
from scratchformer_course.measurements import load_measurements
from tests.site.browsing import LIVE, opened, rows
from tests.site.figures import fill, press, shipped, status, write_ahead

FIGURE = "draft_ahead"


def written(page):
    """Both texts without what was rejected."""
    return page.locator(".sx-text").evaluate_all(
        """all => all.map((text) => {
          const own = text.cloneNode(true);
          for (const out of own.querySelectorAll("del, b")) out.remove();
          return own.textContent;
        })"""
    )


def counted(page):
    """Characters, passes and characters a pass of both."""
    return [[float(cell) for cell in row[1:4]] for row in rows(page)[1:]]


def test_a_pass_writes_several_characters_and_the_same_text_again(page):
    rejected = page.locator(".sx-text del")
    filled = page.locator(".sx-status", has_text="Both have written the same")
    filled.wait_for(timeout=60_000)
    first = written(page)
    assert first[0] == first[1] and counted(page)[0] == [160, 160, 1]
    assert counted(page)[1][1] < 60
    fill(page, Temperature=0.8)
    page.locator(".sx-status", has_text="At this temperature").wait_for(timeout=60_000)
    press(page, "One pass", "One pass")
    alone, ahead = counted(page)
    assert alone == [2, 2, 1] and ahead[1] == 2 <= ahead[0]
    assert [len(text) for text in written(page)] == [2, ahead[0]]
    assert status(page).startswith("The draft said “")
    write_ahead(page)
    first = written(page)
    assert first[0] != first[1] and rejected.count() == 0
    page.get_by_label("Show what was rejected").check()
    assert rejected.count() > 5 and written(page) == first
    press(page, "Start again")
    write_ahead(page)
    assert written(page) == first, "a seed writes its text again"


def test_in_fewer_bits_sizes_and_losses_are_pythons_and_two_bits_write_another_text(browser, saved):
    stored, (model, _) = load_measurements("page_bits")["validation"], shipped()
    with opened(browser, saved("fewer_bits")) as page:
        page.locator(LIVE).wait_for()

        def choose(number):
            fill(page, Bits=BITS[::-1].index(number))
            page.locator(".sx-status").get_by_text("16 bits").wait_for(timeout=60_000)

        press(page, "matrix")
        choose(4)
        cells = page.locator("tbody td").all_inner_texts()
        kilobytes, _, loss, *_ = (float(re.sub(r"[^\d.]", "", cell)) for cell in cells)
        assert kilobytes == round(size(model, 4, "tensor") / 1000)
        assert loss == pytest.approx(stored["tensor"]["4"], abs=6e-4)
        choose(2)
        differs = page.locator("mark:not(:empty)")
        differs.wait_for()
        exact, own = page.locator(".sx-text").all_text_contents()
        assert exact != own and own.endswith(differs.inner_text())
