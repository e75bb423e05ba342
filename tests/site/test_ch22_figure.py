"""Chapter 22's figure in a browser: heads are silenced, and what is told is what is stored."""

import re

from tests.site.figures import fill, press, stored

FIGURE = "silence"
FILM = stored("22", FIGURE).settings
N = len(FILM["song"]) - 1  # notes that are expected


def status(page):
    return page.locator(".sx-status").inner_text()


def heads(page):
    return page.locator(".sx-song-tiles button")


def expected(page):
    return "".join(page.locator(".sx-song-strip tr").nth(1).locator("td").all_inner_texts())


def loss(page):
    return float(re.search(r"loss (\d\.\d+)", status(page))[1])


def without(number):
    return FILM["losses"][number], FILM["best"][N * number : N * (number + 1)]


def test_it_begins_at_the_end_of_the_run(page):
    end = FILM["frames"][-1]
    assert loss(page) == round(end["loss"], 2) and expected(page) == end["best"]
    assert page.locator('.sx-song-tiles button[aria-pressed="true"]').count() == 0


def test_silenced_heads_show_their_own_loss_and_notes_and_come_back(page):
    number = 0
    for i in (2, 1, 6):
        heads(page).nth(i).click()
        number |= 1 << i
        assert (loss(page), expected(page)) == without(number)
    assert heads(page).nth(2).inner_text().endswith("off")
    press(page, "All heads back")
    assert (loss(page), expected(page)) == without(0)


def test_the_slider_shows_the_run_and_a_head_leads_to_its_end(page):
    heads(page).nth(0).click()
    fill(page, Steps=0)
    assert loss(page) == round(FILM["frames"][0]["loss"], 2)
    heads(page).nth(5).focus()
    page.keyboard.press("Enter")
    assert (loss(page), expected(page)) == without(1 << 5)
