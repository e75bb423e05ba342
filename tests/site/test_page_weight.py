"""What a page loads of the theme, and that it is light or dark before it is painted."""

import re

from tests.site.browsing import opened, parsed

BACKGROUND = """getComputedStyle(document.body).backgroundColor.match(/\\d+/g)
  .slice(0, 3).map(Number)"""


def test_a_head_waits_for_two_scripts_and_brings_no_icons_and_no_index(site):
    for path in [*site.glob("book/*.html"), *site.glob("notebooks/*.html")]:
        page = parsed(path)
        scripts = page.head.select("script[src]")
        waiting = [s["src"] for s in scripts if not (s.has_attr("defer") or s.has_attr("async"))]
        names = [source.split("?")[0].rsplit("/", 1)[1] for source in waiting]
        assert names == ["documentation_options.js", "doctools.js"], path.name
        texts = [str(script) for script in page.head.select("script")]
        assert len(texts) == len(set(texts)), f"{path.name} names a script twice"
        assert not re.search(r"(fontawesome|searchindex)\.js", "".join(texts)), path.name


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


def test_a_page_prints_its_title_once(browser, server):
    with opened(browser, f"{server}book/glossary.html") as page:
        assert page.locator("h1").count() == 1
        page.emulate_media(media="print")
        assert page.locator("h1").is_visible()
