"""Chapter 20's figures in a browser: what is written, counted and told is true."""

import re

import pytest
import torch

from scratchformer.generation import generate
from scratchformer_course.ch20_inference.counts import describe_counts, unpacked
from scratchformer_course.ch20_inference.live import (
    BITS,
    PROMPT,
    WRITTEN,
    greedy_passes,
    size,
)
from scratchformer_course.measurements import load_measurements
from tests.site.browsing import opened
from tests.site.figures import fill, press, shipped, write_ahead

FIGURE = "draft_ahead"


def written(page):
    """Both texts without what was refused."""
    return page.locator(".sx-text").evaluate_all(
        """all => all.map((text) => {
          const own = text.cloneNode(true);
          for (const out of own.querySelectorAll("del, b")) out.remove();
          return own.textContent;
        })"""
    )


def counted(page):
    """Characters, passes and characters a pass of both."""
    rows = page.locator("tbody tr").all()
    return [
        [float(cell) for cell in row.locator("td").all_inner_texts()[:3] if cell] for row in rows
    ]


def to_the_end(page):
    write_ahead(page, None)


def told(page):
    return page.locator(".sx-status").inner_text()


# ---- the draft ----


def test_a_pass_writes_one_character_or_several(page):
    assert written(page) == ["", ""] and "Nothing" in told(page)
    for n in range(1, 6):
        press(page, "One pass")
        alone, ahead = counted(page)
        assert alone == [n, n, 1] and ahead[1] == n and ahead[0] >= n
        assert [len(text) for text in written(page)] == [n, ahead[0]]
        assert told(page).startswith("The draft said “")
        kept = sum(map(len, page.locator(".sx-text .sx-kept").all_text_contents()))
        own = page.locator(".sx-text :is(.sx-own, .sx-bonus)").count()
        assert (kept + own, own) == (ahead[0], n)
        replaced = page.locator(".sx-text .sx-own").count()
        assert page.locator(".sx-text del").count() == replaced


def test_greedy_texts_are_the_same_and_pythons(page):
    fill(page, Temperature=0)
    to_the_end(page)
    model, tok = shipped()
    ids = torch.tensor([tok.encode(PROMPT)])
    text = tok.decode(generate(model, ids, WRITTEN, temperature=0.0)[0].tolist())
    assert written(page) == [text[len(PROMPT) :]] * 2
    assert f"the same {WRITTEN} characters" in told(page)
    passes = greedy_passes(text, len(PROMPT), unpacked(describe_counts()["tables"]), 4)
    assert counted(page)[1] == [WRITTEN, passes, pytest.approx(WRITTEN / passes, abs=0.006)]


def test_a_seed_writes_its_text_again_and_what_was_refused_can_be_hidden(page):
    to_the_end(page)
    first, refused = written(page), page.locator(".sx-text del").count()
    assert first[0] != first[1] and refused > 5
    page.get_by_label("Show what was refused").uncheck()
    assert page.locator(".sx-text del").count() == 0 and written(page) == first
    press(page, "Start again")
    to_the_end(page)
    assert written(page) == first
    fill(page, Seed=2)
    page.keyboard.press("Tab")
    to_the_end(page)
    assert written(page)[1] != first[1]


def test_a_draft_that_reads_nothing_helps_less(page):
    to_the_end(page)
    reads_five = counted(page)[1][1]
    fill(page, It_reads=0)
    to_the_end(page)
    assert counted(page)[1][1] > reads_five
    assert counted(page)[1][0] == WRITTEN


# ---- fewer bits ----


@pytest.fixture
def bits(browser, saved):
    with opened(browser, saved("fewer_bits")) as page:
        page.locator(LIVE).wait_for()
        yield page


def settle(page):
    page.locator(".sx-status").get_by_text("16 bits").wait_for(timeout=60_000)


def numbers(page):
    cells = page.locator("tbody td").all_inner_texts()
    return [float(re.sub(r"[^\d.]", "", text)) for text in cells]


def test_sizes_and_stored_losses_are_pythons(bits):
    stored, (model, _) = load_measurements("page_bits")["validation"], shipped()
    names = {"tensor": "a matrix", "row": "a row", "group": "32 weights"}
    for shared, number in (("row", 8), ("tensor", 4), ("group", 3)):
        press(bits, names[shared])
        fill(bits, Bits=BITS[::-1].index(number))
        settle(bits)
        shown = numbers(bits)
        assert shown[0] == round(size(model, number, shared) / 1000)
        assert shown[2] == pytest.approx(stored[shared][str(number)], abs=6e-4)
        assert shown[3] == pytest.approx(abs(stored[shared][str(number)] - stored["16"]), abs=6e-4)
        assert abs(shown[4] - shown[2]) < 0.35, "a passage of the same split"


def test_16_bits_are_the_model_itself_and_two_bits_write_another_text(bits):
    fill(bits, Bits=6)
    settle(bits)
    whole, own = bits.locator(".sx-text").all_text_contents()
    assert whole == own and bits.locator("mark:not(:empty)").count() == 0
    assert "All 120 characters" in told(bits)
    fill(bits, Bits=0)
    settle(bits)
    bits.locator("mark:not(:empty)").wait_for()
    whole, own = bits.locator(".sx-text").all_text_contents()
    assert whole != own and own.endswith(bits.locator("mark").inner_text())
