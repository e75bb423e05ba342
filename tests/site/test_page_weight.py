"""What a page asks of a reader: stills, weights, the theme's scripts; and dark from the start."""

import gzip
import re
from functools import cache
from urllib.parse import unquote, urlsplit

import pytest

from tests.site.browsing import opened, parsed
from tests.site.conftest import ROOT, toc_pages

# bytes, compressed: of a page's own, and of what all pages share (most of it MathJax)
HEAVIEST, SHARED = 2_300_000, 483_000
BACKGROUND = """getComputedStyle(document.body).backgroundColor.match(/\\d+/g)
  .slice(0, 3).map(Number)"""


@pytest.fixture(scope="module")
def live_pages(site):
    """The holders of live figures, page by page."""
    holders = {name: parsed(site / f"{name}.html").select(".live-figure") for name in toc_pages()}
    return {name: figures for name, figures in holders.items() if figures}


def test_each_has_a_still_figure_that_says_so_and_is_described(live_pages):
    for name, holders in live_pages.items():
        for holder in holders:
            words = holder.get_text() + " ".join(str(tag) for tag in holder.select("svg"))
            assert "JavaScript" in words, f"{name}: the still figure does not say that it is still"
            # the race has the reader's own processor for its numbers, the rungs write
            if holder["data-figure"] not in ("race", "rungs_write"):
                assert sum(c.isdigit() for c in words) > 8, f"{name}: no numbers"
            for svg in holder.select("svg"):
                labelled = svg.find_parent(attrs={"aria-label": True}) or svg
                assert labelled.get("aria-label") or svg.get("aria-hidden"), f"{name}: {svg}"[:99]


@cache
def compressed(path):
    """The bytes of a file as a server sends it."""
    return len(gzip.compress(path.read_bytes(), 6))


def weights(path):
    """Of a page, compressed: HTML, live figures and pictures, and the files that pages share."""
    tags = parsed(path).select("script, img, [rel=stylesheet], [rel=preload], [rel=icon]")
    names = [tag.get("src") or tag.get("data-src") or tag.get("href") or "data:" for tag in tags]
    local = [urlsplit(name).path for name in names if not re.match(r"data:|[a-z]+://", name)]
    files = {(path.parent / unquote(name)).resolve() for name in local}
    of_page = {file for file in files if {"live", "_images"} & {*file.parts}}
    return sum(map(compressed, {path, *of_page})), sum(map(compressed, files - of_page))


def test_a_page_carries_each_file_of_weights_once_and_is_no_heavier_than_a_reader_can_wait_for(
    live_pages, site
):
    given = re.compile(r'course.descriptions\["([0-9a-f]{16})"\]')
    for name in toc_pages():
        html = (site / f"{name}.html").read_text(encoding="utf-8")
        figures = live_pages.get(name, ())
        asked = {model for holder in figures for model in holder["data-models"].split()}
        sources = re.findall(r'<script[^>]*src="([^"]*live/(?:model|text)-[^"?]*)', html)
        scripts = [(site / name).parent.joinpath(source).resolve() for source in sources]
        held = [model for path in scripts for model in given.findall(path.read_text("utf-8"))]
        assert len(set(scripts)) == len(scripts), name
        assert sorted(held) == sorted(asked), "each once, and none that nobody asks for"
        of_page, shared = weights(site / f"{name}.html")
        assert of_page <= HEAVIEST and shared <= SHARED, f"{name}: {of_page} and {shared} bytes"


def test_the_playground_shows_or_names_each_figure_of_the_chapters(live_pages):
    source = (ROOT / "book" / "playground.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\{live\} (\w+) (\w+)", source))
    for name, holders in live_pages.items():
        place, stem = name.split("/")
        shown = {(stem, holder["data-figure"]) for holder in holders}
        assert place != "notebooks" or shown <= named


def test_a_page_is_light_or_dark_before_any_script_has_come_and_prints_its_title_once(
    browser, server
):
    address = f"{server}book/glossary.html"
    chosen = "localStorage.setItem('mode', 'dark')"  # what a reader chose
    for prefers, script in (("dark", ""), ("light", chosen)):
        with opened(browser, "about:blank", prefers, script=script, faults=[]) as page:
            page.route("**/*.js*", lambda route: route.abort())
            page.goto(address)
            assert page.locator("html").get_attribute("data-theme") == "dark"
            assert max(page.evaluate(BACKGROUND)) < 60
    with opened(browser, address, "dark", javascript=False) as page:
        assert page.locator("html").get_attribute("data-theme") == "light"
        page.emulate_media(media="print")
        assert page.locator("h1:visible").count() == 1
