"""Helpers for tests of a live figure in a page of its own, as `save` writes it."""

import json
import re
from html import unescape
from pathlib import Path

import nbformat

from scratchformer_course.kit.figure import LiveFigure
from tests.site.test_browser import AXE, start

ROOT = Path(__file__).resolve().parents[2]


def opened(browser, address, mode="light", width=1200):
    """The page at an address of a file, alive, with the list of its faults and requests."""
    context, page, faults = start(browser, mode)
    page.set_viewport_size({"width": width, "height": 900})
    page.on(
        "request",
        lambda request: (
            request.url != address
            and not request.url.startswith("data:")
            and faults.append(f"request: {request.url}")
        ),
    )
    page.goto(address)
    page.locator(".live-figure[data-live=yes]").wait_for()
    return context, page, faults


def without_javascript(browser, address):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    return context, page


def number(text):
    return float(text.replace("−", "-"))


def rows(page, selector="table"):
    """The cells of each row of a table, as texts, its header's first."""
    return page.locator(selector).evaluate(
        "table => [...table.rows].map(row => [...row.cells].map(cell => cell.textContent))"
    )


def complaints(page, axe, width):
    """What axe finds, and how far the page is wider than the window."""
    page.evaluate(axe)
    result = page.evaluate(AXE, [".live-figure", True])
    found = [
        f"{fault['id']}: {node['html'][:90]} | {node['failureSummary'][:160]}"
        for fault in result["violations"]
        for node in fault["nodes"][:2]
    ]
    wide = page.evaluate("document.documentElement.scrollWidth")
    small = page.locator("svg text").evaluate_all(
        "all => all.filter(t => t.getBoundingClientRect().height && "
        "parseFloat(getComputedStyle(t).fontSize) * t.getCTM().a < 12.9).map(t => t.textContent)"
    )
    low = page.locator("button, input").evaluate_all(
        "all => all.filter(e => e.getBoundingClientRect().height < 15.9).map(e => e.outerHTML)"
    )
    return found + [f"{wide} px wide"] * (wide > width) + small + low


def stored(chapter, name):
    """The figure that a notebook's stored output holds, with its settings."""
    path = next((ROOT / "notebooks").glob(f"{chapter}_*.ipynb"))
    for cell in nbformat.read(path, as_version=4).cells:
        for output in cell.get("outputs", ()):
            html = output.get("data", {}).get("text/html", "")
            if f'data-figure="{name}"' in html:
                found = re.search(
                    r'data-files="(.*?)".*?data-settings="(.*?)">(.*)</div>$', html, re.S
                )
                settings = json.loads(unescape(found[2]))
                return LiveFigure(name, settings, found[3], found[1].split())
    raise AssertionError(f"chapter {chapter} stores no figure {name}")
