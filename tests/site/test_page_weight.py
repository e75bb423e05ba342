"""What a page asks of a reader: stills, weights, the theme's scripts; and dark from the start."""

import json
import re

import pytest

from lab import page_weights
from tests.site.browsing import opened, parsed
from tests.site.conftest import ROOT, toc_pages

# bytes, compressed: of a page's own, and of what all pages share (most of it MathJax)
HEAVIEST, SHARED = 2_300_000, 480_000
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
        sizes = page_weights.sizes(site, name)
        of_page = sum(sizes[part][1] for part in ("html", "live", "pictures"))
        assert of_page <= HEAVIEST and sizes["all"][1] - of_page <= SHARED, f"{name}: {sizes}"


def test_the_table_of_benchmarks_has_every_page():
    stored = json.loads(page_weights.STORED.read_text(encoding="utf-8"))
    assert list(stored["pages"]) == toc_pages(), "run python -m lab.page_weights --write"


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
