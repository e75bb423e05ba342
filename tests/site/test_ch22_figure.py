"""Chapter 22's figure in a browser: heads are silenced, and what is told is what is stored."""

import re

from tests.site.figures import fill, press, status, stored

FIGURE = "silence"


def test_the_run_and_silenced_heads_show_their_own_loss_and_notes(page):
    film = stored("22", FIGURE).settings
    n = len(film["song"]) - 1  # notes that are expected
    heads = page.locator(".sx-song-tiles button")

    def shown():
        notes = page.locator(".sx-song-strip tr").nth(1).locator("td").all_inner_texts()
        return float(re.search(r"loss (\d\.\d+)", status(page))[1]), "".join(notes)

    def without(number):
        return film["losses"][number], film["best"][n * number : n * (number + 1)]

    end = film["frames"][-1]
    assert shown() == (round(end["loss"], 2), end["best"])
    number = 0
    for i in (2, 1, 6):
        heads.nth(i).click()
        number |= 1 << i
        assert shown() == without(number)
    press(page, "All heads back")
    assert shown() == without(0)
    fill(page, Steps=0)
    assert shown()[0] == round(film["frames"][0]["loss"], 2)
    heads.nth(5).press("Enter")  # which leads to the end of the run
    assert shown() == without(1 << 5)
