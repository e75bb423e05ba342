"""Live figures of the built site as files: stills, weights, and what a page asks of a reader."""

import json
import re
from pathlib import Path

import pytest

from lab import page_weights
from tests.site.browsing import parsed
from tests.site.conftest import toc_pages

ROOT = Path(__file__).resolve().parents[2]
# bytes, compressed: of a page's own, and of what all pages share (most of it MathJax)
HEAVIEST, SHARED = 2_300_000, 480_000


@pytest.fixture(scope="module")
def live_pages(site):
    """The holders of live figures, page by page."""
    found = {name: parsed(site / f"{name}.html").select(".live-figure") for name in toc_pages()}
    found = {name: holders for name, holders in found.items() if holders}
    assert "book/playground" in found
    return found


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


def test_a_page_carries_each_file_of_weights_once(live_pages, site):
    given = re.compile(r'course.descriptions\["([0-9a-f]{16})"\]')
    for name, holders in live_pages.items():
        html = (site / f"{name}.html").read_text(encoding="utf-8")
        asked = {model for holder in holders for model in holder["data-models"].split()}
        sources = re.findall(r'<script[^>]*src="([^"]*live/(?:model|text)-[^"?]*)', html)
        scripts = [(site / name).parent.joinpath(source).resolve() for source in sources]
        held = [model for path in scripts for model in given.findall(path.read_text("utf-8"))]
        assert len(set(scripts)) == len(scripts), name
        assert sorted(held) == sorted(asked), "each once, and none that nobody asks for"
        assert len(html) < 1_500_000, f"{name} holds weights itself"


def test_no_page_is_heavier_than_a_reader_can_wait_for(site):
    for name in toc_pages():
        found = page_weights.sizes(site, name)
        own = sum(found[part][1] for part in ("html", "live", "pictures"))
        assert own <= HEAVIEST, f"{name}: {found}"
        assert found["all"][1] - own <= SHARED, f"{name}: {found}"


def test_the_table_of_benchmarks_has_every_page():
    stored = json.loads(page_weights.STORED.read_text(encoding="utf-8"))
    assert list(stored["pages"]) == toc_pages(), "run python -m lab.page_weights --write"


def test_the_playground_shows_or_names_each_figure_of_the_chapters(live_pages):
    source = (ROOT / "book" / "playground.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\{live\} (\w+) (\w+)", source))
    shown = {
        (name.removeprefix("notebooks/"), holder["data-figure"])
        for name, holders in live_pages.items()
        for holder in holders
        if name.startswith("notebooks/")
    }
    assert shown <= named
