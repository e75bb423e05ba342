"""What a page loads of the theme, and that it is light or dark before it is painted."""

import re
import sys
from pathlib import Path

from fontTools.ttLib import TTFont

from tests.site.browsing import opened, parsed

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "book" / "_ext"))

from lean_ext import (
    FONTS,
    ICON,
    with_formulas_last,
    with_theme,
    without_delay,
    without_unused_rules,
)

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
BACKGROUND = """getComputedStyle(document.body).backgroundColor.match(/\\d+/g)
  .slice(0, 3).map(Number)"""


def test_rules_for_what_no_page_has_are_dropped_and_all_others_stay():
    sheet = (
        '@charset "UTF-8";/*! a licence */p{a:b}.card,.card .x,#top:not(.gone){c:d}'
        "@media (x:1){.gone{e:f}}@media print{.gone{e:f}.card>p[data-a=.gone]{g:h}}"
        "@keyframes k{from{i:j}50%{k:l}}.gone:is(.card,.x){m:n}.sm\\:card,.sm\\:x{o:p}"
        "@font-face{q:r}.bs-tip{s:t}"
    )
    assert without_unused_rules(sheet, {"card", "top", "sm:card"}) == (
        '@charset "UTF-8";/*! a licence */p{a:b}.card,#top:not(.gone){c:d}'
        "@media print{.card>p[data-a=.gone]{g:h}}"
        "@keyframes k{from{i:j}50%{k:l}}.sm\\:card{o:p}@font-face{q:r}.bs-tip{s:t}"
    )
    # of icons those that a page names, and the theme's own
    sheet = r""":root{--info:"\f05a"}.note::after{content:"\f107"}.fa-bell:before{content:"\f0f3"}
        .fa-times:before,.fa-xmark:before{content:"\f00d"}"""
    shown = without_unused_rules(sheet, {"note", "fa-xmark"})
    assert ICON.findall(shown) == [chr(code) for code in (0xF05A, 0xF107, 0xF00D)]


def test_the_head_waits_for_no_script_and_asks_for_no_search_but_on_its_page():
    head = (
        '<script src="a/documentation_options.js?v=1"></script>\n<script src="b.js"></script>'
        '<script async src="c.js"></script><script src="searchindex.js"></script>'
        '<link rel="preload" as="script" href="d.js"></head><script src="e.js"></script>'
    )
    expected = '<script>o()</script>\n<script defer src="b.js"></script><script async src="c.js">'
    found = without_delay(head, False, "o()")
    assert found == f'{expected}</script></head><script src="e.js"></script>'
    assert '<script defer src="searchindex.js"></script>' in without_delay(head, True, "o()")
    assert without_delay(found, False, "o()") == found, "a second build changes it again"
    page = with_theme('<html data-theme="auto"><script data-cfasync="false">old()</script><p>')
    assert page.startswith('<html data-theme="light"><meta') and "old()" not in page
    assert with_theme(page) == page


def test_every_built_page_is_lean(site):
    pages = [path for path in site.rglob("*.html") if "_static" not in path.parts]
    pages.remove(site / "index.html")  # leads on
    for path in pages:
        page = parsed(path)
        scripts = page.head.select("script[src]")
        waiting = [s for s in scripts if not (s.has_attr("defer") or s.has_attr("async"))]
        assert waiting == [], path.name
        names = " ".join(str(tag) for tag in page.select("script, link"))
        unused = r"(fontawesome|sphinx-thebe|design-tabs|togglebutton)\.(js|css)"
        assert not re.search(unused, names), path.name
        assert ("searchindex.js" in names) == (path.name == "search.html")
        assert page.html["data-theme"] == "light"


def test_each_icon_is_in_its_font_and_these_are_small(browser, site):
    assert sorted(path.name for path in (site / FONTS).iterdir()) == sorted(FILES.values())
    assert all(500 < path.stat().st_size < 20_000 for path in (site / FONTS).iterdir())
    fonts = {name: TTFont(site / FONTS / name).getBestCmap() for name in FILES.values()}
    seen = set()
    # who leaves a page before its model has come gives it up
    with opened(browser, "about:blank", faults=[]) as page:
        for name in ("welcome", "how_to_use", "runs_that_survive", "../notebooks/01_bpe"):
            page.goto((site / "book" / f"{name}.html").as_uri())
            for family, weight, character in page.evaluate(SHOWN):
                seen.add(character)
                assert ord(character) in fonts[FILES[family, weight]], f"{name}: {character!r}"
    assert len(seen) > 8


def test_a_page_is_light_or_dark_before_any_script_has_come(browser, server):
    chosen = "localStorage.setItem('mode', 'dark')"  # what a reader chose
    for prefers, script in (("dark", ""), ("light", chosen)):
        with opened(browser, "about:blank", prefers, script=script, faults=[]) as page:
            page.route("**/*.js*", lambda route: route.abort())
            page.goto(f"{server}book/glossary.html")
            assert page.locator("html").get_attribute("data-theme") == "dark"
            assert max(page.evaluate(BACKGROUND)) < 60
    with opened(browser, f"{server}book/glossary.html", "dark", javascript=False) as page:
        assert page.locator("html").get_attribute("data-theme") == "light"


def test_mathjax_is_only_named_and_formulas_have_room_by_their_source():
    formula = '<span class="math notranslate nohighlight">\\(\\alpha + x_2\\)</span>'
    page = f'<script defer src="../_static/tex-chtml-full.js?v=1"></script>{formula}'
    found = with_formulas_last(page)
    assert 'data-formulas="../_static/tex-chtml-full.js?v=1"' in found and " src=" not in found
    assert "--signs: 4;" in found
    assert with_formulas_last(found) == found, "a second build changes it again"
