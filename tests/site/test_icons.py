"""The theme's icons: the script holds those that pages use, and each of them is drawn."""

import sys
from pathlib import Path

import pytest

from tests.site.test_browser import start

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "book" / "_ext"))

from icons_ext import SCRIPT, without_unused


def test_an_icon_that_is_not_used_is_dropped():
    icons = 'x={a:[1,2,[],"f0","M0"],"b-c":[1,2,["e"],"f1",["M1","M2"]],d:[1,2,[3],"f2","M3"]};'
    assert without_unused(icons, {"b-c"}) == 'x={"b-c":[1,2,["e"],"f1",["M1","M2"]],};'
    assert without_unused(icons, {"a", "b-c", "d"}) == icons


def test_the_sites_script_is_small(site):
    assert 20_000 < (site / SCRIPT).stat().st_size < 150_000


@pytest.mark.parametrize("name", ["index", "notebooks/01_bpe", "book/notation"])
def test_every_icon_of_a_page_is_drawn(browser, site, name):
    context, page, faults = start(browser)
    page.goto((site / f"{name}.html").as_uri())
    page.locator("svg.svg-inline--fa").first.wait_for(state="attached")
    page.wait_for_timeout(300)
    drawn = page.locator("svg.svg-inline--fa").evaluate_all(
        "all => all.map(e => [e.dataset.icon, e.querySelectorAll('path').length, "
        "e.querySelectorAll('animate').length])"
    )
    assert len(drawn) > 8 and all(paths >= 1 and not moving for _, paths, moving in drawn), drawn
    assert page.locator("i[class*='fa-']").count() == 0 and faults == []
    context.close()
