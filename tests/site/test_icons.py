"""The theme's icons: the script holds those that pages use, and each of them is drawn."""

import sys
from pathlib import Path

import pytest
from fontTools.ttLib import TTFont

from tests.site.browsing import opened

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "book" / "_ext"))

from icons_ext import FONTS, SCRIPT, characters, without_unused

# each character that a style shows before or after an element, and the font that it asks for
SHOWN = """[...document.querySelectorAll("*")].flatMap(element =>
  ["::before", "::after"].map(part => getComputedStyle(element, part))
    .filter(style => style.fontFamily.includes("Font Awesome"))
    .filter(style => /^"[\ue000-\uf8ff]"$/.test(style.content))
    .map(style => [style.fontFamily, style.fontWeight, style.content[1]]))"""
FILES = {
    ('"Font Awesome 6 Free"', "900"): "fa-solid-900.woff",
    ('"Font Awesome 6 Free"', "400"): "fa-regular-400.woff",
    ('"Font Awesome 6 Brands"', "400"): "fa-brands-400.woff",
}


def test_an_icon_that_is_not_used_is_dropped():
    icons = 'x={a:[1,2,[],"f0","M0"],"b-c":[1,2,["e"],"f1",["M1","M2"]],d:[1,2,[3],"f2","M3"]};'
    assert without_unused(icons, {"b-c"}) == 'x={"b-c":[1,2,["e"],"f1",["M1","M2"]],};'
    assert without_unused(icons, {"a", "b-c", "d"}) == icons


def test_styles_keep_the_characters_of_used_names_and_the_themes_own():
    styles = r"""
        :root { --info: ""; } .note::after { content: "\f107" }
        .fa-bell:before { content: "\f0f3" } .fa-times:before, .fa-xmark:before { content: "\f00d" }
    """.replace(r"", "")
    assert characters(styles, set()) == {0xF05A, 0xF107}
    assert characters(styles, {"xmark", "other"}) == {0xF05A, 0xF107, 0xF00D}


def test_the_sites_script_and_fonts_are_small(site):
    assert 20_000 < (site / SCRIPT).stat().st_size < 150_000
    assert sorted(path.name for path in (site / FONTS).iterdir()) == sorted(FILES.values())
    assert all(500 < path.stat().st_size < 20_000 for path in (site / FONTS).iterdir())


def test_without_javascript_each_icon_is_in_its_font(browser, site):
    fonts = {name: TTFont(site / FONTS / name).getBestCmap() for name in FILES.values()}
    seen = set()
    names = ("book/welcome", "book/how_to_use", "book/runs_that_survive", "notebooks/01_bpe")
    with opened(browser, (site / f"{names[0]}.html").as_uri(), javascript=False) as page:
        for name in names:
            page.goto((site / f"{name}.html").as_uri())
            for family, weight, character in page.evaluate(SHOWN):
                seen.add(character)
                assert ord(character) in fonts[FILES[family, weight]], f"{name}: {character!r}"
    assert len(seen) > 8


@pytest.mark.parametrize("name", ["notebooks/01_bpe", "book/notation"])
def test_every_icon_of_a_page_is_drawn(browser, site, name):
    with opened(browser, (site / f"{name}.html").as_uri()) as page:
        page.locator("svg.svg-inline--fa").first.wait_for(state="attached")
        page.wait_for_function("!document.querySelector(`i[class*='fa-']`)")
        drawn = page.locator("svg.svg-inline--fa").evaluate_all(
            "all => all.map(e => [e.dataset.icon, e.querySelectorAll('path').length, "
            "e.querySelectorAll('animate').length])"
        )
        assert len(drawn) > 8
        assert all(paths >= 1 and not moving for _, paths, moving in drawn), drawn
