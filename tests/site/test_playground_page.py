"""The playground as built: the clicks that it asks for."""

import re

from tests.quoted_numbers import absent
from tests.site.browsing import LIVE
from tests.site.conftest import ROOT
from tests.site.figures import press

SOURCE = (ROOT / "book" / "playground.md").read_text(encoding="utf-8")


def test_do_it_brings_the_figure_to_its_answer_whatever_was_pressed_before(visit):
    """What is told are PyTorch's numbers (tests/page_model/test_playground.py), and those on screen
    are, too (test_explorer_page.py)."""
    with visit("book/playground") as page:
        page.locator(LIVE).first.wait_for()
        boxes = page.locator(".course-do")
        assert boxes.count() == 6 == len(re.findall("data-answer=", SOURCE))
        for n in (5, 0, 4, 1, 3, 2):  # up and down
            boxes.nth(n).get_by_role("button").press("Enter")
            beside = boxes.nth(n).locator("+ .live-figure")
            beside.wait_for()
            assert page.evaluate("document.activeElement.textContent") == "Do it"
            assert page.locator(".live-figure .sx-switches").count() == 1
            if n == 0:
                chosen = beside.get_by_role("button", name="Block 1, head 3", exact=True)
                assert chosen.get_attribute("aria-pressed") == "true"
            elif n == 5:
                beside.locator(".sx-carried").wait_for()
            else:
                loss = page.locator(".sx-losses tbody tr").nth(1).locator("td").inner_text()
                answers = page.locator(".course-do + .live-figure ~ .course-guess-answer")
                assert not absent(answers.first.evaluate("answer => answer.textContent"), loss)
        press(page, "Bring it back")
        beside.wait_for(state="detached")
        assert page.evaluate("document.activeElement.closest('.live-figure') !== null")
