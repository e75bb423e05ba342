"""The costs of a GPT in a browser: sliders, keys, readers, phones; the package's numbers."""

import re
from html import unescape
from json import loads
from pathlib import Path

import nbformat
import pytest

from scratchformer import scaling
from scratchformer.models import GPTConfig
from scratchformer_course.kit.figure import LiveFigure
from tests.site import test_browser
from tests.site.test_browser import AXE, start

ROOT = Path(__file__).resolve().parents[2]
axe = test_browser.axe  # the fixture
XL = GPTConfig(50_257, 1024, 1600, n_heads=25, n_layers=48)


@pytest.fixture(scope="module")
def stored() -> str:
    """What the chapter has stored."""
    for cell in nbformat.read(ROOT / "notebooks" / "15_costs.ipynb", as_version=4).cells:
        for output in cell.get("outputs", ()):
            html = output.get("data", {}).get("text/html", "")
            if 'data-figure="costs"' in html:
                return html
    raise AssertionError("chapter 15 stores no figure of costs")


@pytest.fixture(scope="module")
def address(stored, tmp_path_factory):
    path = tmp_path_factory.mktemp("live") / "costs.html"
    settings = loads(unescape(re.search(r'data-settings="([^"]*)"', stored)[1]))
    still = stored.split(">", 1)[1].removesuffix("</div>")
    files = re.search(r'data-files="([^"]*)"', stored)[1].split()
    LiveFigure("costs", settings, still, files).save(path)
    return path.as_uri()


def opened(browser, address, mode="light", width=1200):
    context, page, faults = start(browser, mode)
    page.set_viewport_size({"width": width, "height": 900})
    page.on("request", lambda r: r.url != address and faults.append(f"request: {r.url}"))
    page.goto(address)
    page.locator(".sx-cards").wait_for()
    return context, page, faults


@pytest.fixture
def page(browser, address):
    context, page, faults = opened(browser, address)
    yield page
    assert faults == []
    context.close()


def column(page, card, place=0):
    """A column of a card's table, by the names of its rows."""
    rows = page.get_by_role("table", name=card).locator("tbody tr")
    return {
        rows.nth(i).locator("th").inner_text(): rows.nth(i).locator("td").nth(place).inner_text()
        for i in range(rows.count())
    }


def gigabytes(text):
    number, unit = text.replace(",", "").split()
    return float(number) * {"MB": 1e-3, "GB": 1, "TB": 1e3}[unit]


def held(page):
    return sum(map(gigabytes, column(page, "Memory, worst moment").values()))


def limits(page):
    rows = page.locator(".sx-devices tbody tr")
    return [rows.nth(i).locator("td").last.inner_text() for i in range(rows.count())]


def rule(config, batch, bytes_of_one=4, numbers=4):
    n = sum(scaling.count_parameters(config).values())
    token = (16 * config.n_layers + 2) * config.d_model + 3 * config.vocab_size
    return bytes_of_one * (numbers * n + batch * config.context_length * token) / 1e9


def test_the_stored_figure_shows_the_packages_numbers_of_gpt2_xl(page):
    counts = column(page, "Parameters")
    assert [int(n.replace(",", "")) for n in counts.values()] == list(
        scaling.count_parameters(XL).values()
    )
    assert "1,557,611,200" in page.locator(".sx-cards").inner_text()
    products = scaling.forward_flops(XL)
    units = {"million": 1e6, "billion": 1e9}
    shown = [text.split() for text in column(page, "Operations for a token").values()]
    assert [float(n) * units[unit] for n, unit in shown] == pytest.approx(
        [3 * products[name] / 1024 for name in products], rel=5e-3
    )
    assert held(page) == pytest.approx(rule(XL, 1), rel=5e-3)
    assert "30.6 GB: it fits in 80 GB" in page.locator(".sx-status").inner_text()


def test_what_the_chapter_says_of_24_gigabytes_is_what_the_buttons_show(page):
    told = next(
        cell.source
        for cell in nbformat.read(ROOT / "notebooks" / "15_costs.ipynb", as_version=4).cells
        if cell.id == "costs-61b"
    )
    for buttons, size, numbers, fits in (
        (("SGD, momentum",), 4, 3, False),
        (("SGD",), 4, 2, True),
        (("AdamW", "16 bits"), 2, 4, True),
    ):
        for name in buttons:
            page.get_by_role("button", name=name, exact=True).click()
            assert page.locator(".sx-side [aria-pressed=true]", has_text=name).count() == 1
        expected = rule(XL, 1, size, numbers)
        assert held(page) == pytest.approx(expected, rel=5e-3)
        assert f"{expected:.1f} GB" in told and (expected < 24) is fits
        assert (limits(page)[1] != "0 texts") is fits
    page.get_by_role("button", name="32 bits").click()
    page.get_by_label("Context, T").fill("0")
    assert held(page) > 24 and limits(page)[1] == "0 texts"
    assert "24.9 GB by themselves" in told


def test_sliders_and_presets_follow_each_other_by_keys_alone(page):
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    focused = "document.activeElement.textContent"
    assert page.evaluate(focused) == "GPT-2 small"
    assert "124,439,808 parameters" in page.locator(".sx-status").inner_text()
    assert limits(page) == ["4 texts", "17 texts", "63 texts"]
    for _ in range(4):  # to the last preset, then the first slider
        page.keyboard.press("Tab")
    layers = page.get_by_label("Layers, L")
    assert layers.evaluate("e => e === document.activeElement")
    assert layers.get_attribute("aria-valuetext") == "12"
    page.keyboard.press("ArrowRight")
    assert layers.get_attribute("aria-valuetext") == "16"
    deeper = GPTConfig(50_257, 1024, 768, n_heads=12, n_layers=16)
    n = sum(scaling.count_parameters(deeper).values())
    assert f"{n:,} parameters" in page.locator(".sx-status").inner_text()
    assert page.get_by_role("group", name="Model").locator("[aria-pressed=true]").count() == 0
    page.keyboard.press("ArrowLeft")
    for _ in range(4):
        page.keyboard.press("Tab")
    texts = page.get_by_label("Texts")
    page.keyboard.press("Home")
    for _ in range(16):
        page.keyboard.press("ArrowRight")
    assert texts.get_attribute("aria-valuetext") == "17"
    assert "it fits in 24 GB" in page.locator(".sx-status").inner_text()
    page.keyboard.press("ArrowRight")
    assert "it fits in 80 GB" in page.locator(".sx-status").inner_text()
    page.keyboard.press("End")
    assert "64 texts" in page.locator(".sx-status").inner_text()
    assert "more than 80 GB" in page.locator(".sx-status").inner_text()


@pytest.mark.parametrize(("mode", "width"), [("light", 1200), ("dark", 390)])
def test_it_fits_and_axe_finds_nothing(browser, address, axe, mode, width):
    context, page, faults = opened(browser, address, mode, width)
    page.evaluate(axe)
    for name in ("the small GPT", "GPT-2 XL"):
        page.get_by_role("button", name=name).click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        result = page.evaluate(AXE, [".live-figure", True])
        assert [(fault["id"], fault["nodes"][0]["html"]) for fault in result["violations"]] == []
    small = page.locator(":is(button, input, th, td, p, span):visible").evaluate_all(
        "all => all.filter(e => parseFloat(getComputedStyle(e).fontSize) < 13 || "
        "(e.matches('button, input') && e.getBoundingClientRect().height < 24)).length"
    )
    assert small == 0 and faults == []
    context.close()


def test_without_javascript_a_table_with_the_packages_numbers_stays(browser, address):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    assert "live where JavaScript runs" in page.locator(".live-figure p").inner_text()
    row = page.locator(".live-figure tbody tr").last
    cells = row.locator("td").all_inner_texts()
    flops = 3 * sum(scaling.forward_flops(XL).values()) / 1024
    assert row.locator("th").inner_text() == "GPT-2 XL"
    assert cells == ["1,557,611,200", f"{flops:.2e}", "0", "0", "9"]
    context.close()
