"""Live figures of the built site: they come to life; where they cannot, the still ones stay."""

import json
import re
from html import unescape
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from conftest import toc_pages
from test_browser import start

from lab import page_weights

ROOT = Path(__file__).resolve().parents[2]

FIGURE = ".live-figure"
MODEL = re.compile(r"model-([0-9a-f]{16})\.js$")
# bytes, compressed: of a page's own, of what all pages share, and of chapter 11's live figures
HEAVIEST, SHARED = 2_500_000, 1_000_000
TIME_MACHINE, ITS_OWN = "notebooks/11_training", 5_000_000


def holders(path):
    page = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
    return page.select(FIGURE)


@pytest.fixture(scope="module")
def live_pages(site):
    """The pages that hold live figures, with how many."""
    found = {name: len(holders(site / f"{name}.html")) for name in toc_pages()}
    found = {name: n for name, n in found.items() if n}
    assert "book/playground" in found
    return found


def opened(browser, address, **options):
    context, page, faults = start(browser, **options)
    folder = address.rsplit("/", 2)[0]
    page.on(
        "request",
        lambda request: (
            request.url.startswith((folder, "data:", "blob:"))
            or faults.append(f"request: {request.url}")
        ),
    )
    return context, page, faults


ALL_TRIED = f"n => document.querySelectorAll('{FIGURE}[data-live]').length === n"


@pytest.mark.parametrize("scheme", ["file", "http"])
def test_all_come_to_life_without_a_fault(live_pages, scheme, site, server, browser):
    base = f"{site.as_uri()}/" if scheme == "file" else server
    for name, n in live_pages.items():
        context, page, faults = opened(browser, f"{base}{name}.html")
        page.goto(f"{base}{name}.html")
        page.wait_for_function(ALL_TRIED, arg=n, timeout=30_000)
        page.wait_for_timeout(200)
        states = page.locator(FIGURE).evaluate_all("all => all.map(one => one.dataset.live)")
        assert states == ["yes"] * n, name
        assert faults == [], name
        context.close()


def test_each_has_a_still_figure_that_is_shown_without_javascript(live_pages, site, browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    for name, n in live_pages.items():
        for holder in holders(site / f"{name}.html"):
            assert len(" ".join(holder.get_text().split())) > 40, f"{name}: no text"
            words = holder.get_text() + " ".join(str(tag) for tag in holder.select("svg"))
            assert "JavaScript" in words, f"{name}: the still figure does not say that it is still"
            for svg in holder.select("svg"):
                labelled = svg.find_parent(attrs={"aria-label": True}) or svg
                assert labelled.get("aria-label") or svg.get("aria-hidden"), f"{name}: {svg}"[:99]
        page.goto((site / f"{name}.html").as_uri())
        for i in range(n):
            assert page.locator(FIGURE).nth(i).is_visible(), name
            assert len(page.locator(FIGURE).nth(i).inner_text()) > 40, name
    context.close()


def answer(body, kind):
    """What the server seems to say."""
    return lambda route: route.fulfill(body=body, content_type=kind)


def stays(page, still, n):
    """All figures say in a sentence that they could not start, below the still figure."""
    page.wait_for_function(ALL_TRIED, arg=n, timeout=30_000)
    for i in range(n):
        figure = page.locator(FIGURE).nth(i)
        assert figure.get_attribute("data-live") == "failed"
        assert "could not start" in figure.locator("> p").last.inner_text()
        shown = " ".join((figure.text_content() or "").split())
        assert shown.startswith(still[i]), "the still figure is gone"


def test_where_the_settings_are_broken_the_still_figure_stays(live_pages, site, server, browser):
    for name, n in live_pages.items():
        path = site / f"{name}.html"
        still = [" ".join(holder.get_text().split()) for holder in holders(path)]
        html = path.read_text(encoding="utf-8")
        context, page, faults = opened(browser, f"{server}{name}.html")
        broken = re.sub(r'(data-settings=")[^"]*', r"\1{no", html)
        page.route(f"**/{name}.html", answer(broken, "text/html"))
        page.goto(f"{server}{name}.html")
        stays(page, still, n)
        assert faults == [], name
        context.close()


def test_where_the_weights_are_broken_the_still_figure_stays(site, server, browser):
    """Some letters too many, or no weights at all."""
    path = site / "book" / "playground.html"
    holder = next(h for h in holders(path) if h["data-figure"] == "explorer")
    still = " ".join(holder.get_text().split())
    start_of_weights = '"weights": "'
    for told, script in (
        (
            "bytes of weights, expected",
            lambda text: text.replace(start_of_weights, f"{start_of_weights}AAAA"),
        ),
        ("does not hold the model's weights", lambda text: "// nothing"),
    ):
        context, page, faults = opened(browser, f"{server}book/playground.html")

        for file in (site / "_static" / "live").glob("model-*.js"):
            changed = script(file.read_text(encoding="utf-8"))
            page.route(f"**/live/{file.name}*", answer(changed, "text/javascript"))
        page.goto(f"{server}book/playground.html")
        figure = page.locator(f"{FIGURE}[data-figure=explorer]").first
        page.locator(f"{FIGURE}[data-figure=explorer][data-live=failed]").first.wait_for()
        assert told in figure.locator("> p").last.inner_text()
        assert " ".join(figure.text_content().split()).startswith(still)
        assert faults == []
        context.close()


def test_a_page_carries_each_file_of_weights_once(live_pages, site):
    for name in live_pages:
        html = (site / f"{name}.html").read_text(encoding="utf-8")
        asked = {
            model
            for holder in holders(site / f"{name}.html")
            for model in unescape(holder["data-models"]).split()
        }
        sources = re.findall(r'<script[^>]*src="([^"]*live/(?:model|text)-[^"?]*)', html)
        scripts = [(site / name).parent.joinpath(source).resolve() for source in sources]
        held = [
            told
            for script in scripts
            for told in re.findall(
                r'scratchformerDescriptions\["([0-9a-f]{16})"\]', script.read_text(encoding="utf-8")
            )
        ]
        assert len(set(scripts)) == len(scripts), name
        assert sorted(held) == sorted(asked), "each once, and none that nobody asks for"
        assert len(html) < 1_500_000, f"{name} holds weights itself"


def test_no_page_is_heavier_than_a_reader_can_wait_for(site):
    for name in toc_pages():
        found = page_weights.sizes(site, name)
        own = sum(found[part][1] for part in ("html", "live", "pictures"))
        limit = HEAVIEST + (ITS_OWN if name == TIME_MACHINE else 0)
        assert own <= limit, f"{name}: {found}"
        assert found["live"][1] <= (ITS_OWN if name == TIME_MACHINE else HEAVIEST), name
        assert found["all"][1] - own <= SHARED, f"{name}: {found}"


def test_the_table_of_benchmarks_has_every_page():
    stored = json.loads(page_weights.STORED.read_text(encoding="utf-8"))
    assert list(stored["pages"]) == toc_pages(), "run python -m lab.page_weights --write"


def test_the_playground_shows_or_names_each_figure_of_the_chapters(live_pages, site):
    source = (ROOT / "book" / "playground.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\{live\} (\w+) (\w+)", source))
    for name in live_pages:
        if name.startswith("notebooks/"):
            chapter = name.removeprefix("notebooks/")
            for holder in holders(site / f"{name}.html"):
                assert (chapter, holder["data-figure"]) in named
