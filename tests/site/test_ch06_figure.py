"""The steps of attention in a real browser: every number follows an edit, as PyTorch has it.

Also what chapter 12 asks a reader to do in its live view.
"""

import itertools
import json
import re
from html import unescape
from pathlib import Path

import nbformat
import pytest
import torch

from scratchformer.attention import causal_mask, scaled_dot_product_attention
from scratchformer.models import GPT
from scratchformer.tokenizers import CharTokenizer
from scratchformer_course.ch06_self_attention.live import attention_steps
from scratchformer_course.page_model import explore
from tests.site import test_browser
from tests.site.test_browser import AXE, start

CHAPTER = Path(__file__).resolve().parents[2] / "notebooks" / "06_self_attention.ipynb"
axe = test_browser.axe  # the fixture
SHOWN = """() => {
  const texts = (table) => [...table.querySelectorAll("tr")].map((row) =>
    [...row.children].map((cell) => cell.textContent));
  return [...document.querySelectorAll(".live-figure .sx-att-map, .sx-att-row table")].map(texts);
}"""


@pytest.fixture(scope="module")
def settings():
    """What the stored output of chapter 06 holds."""
    (stored,) = (
        output["data"]["text/html"]
        for cell in nbformat.read(CHAPTER, as_version=4).cells
        for output in cell.get("outputs", ())
        if 'data-figure="attention_steps"' in output.get("data", {}).get("text/html", "")
    )
    return json.loads(unescape(re.search(r'data-settings="([^"]*)"', stored)[1]))


@pytest.fixture(scope="module")
def address(settings, tmp_path_factory):
    """A page with the figure of chapter 06."""
    asks = settings["words"][settings["asks"]]
    path = tmp_path_factory.mktemp("steps") / "steps.html"
    attention_steps(**settings | {"asks": asks}).save(path)
    return path.as_uri()


def opened(browser, address, mode="light", width=1200):
    context, page, faults = start(browser, mode)
    page.set_viewport_size({"width": width, "height": 900})
    page.on("request", lambda r: r.url != address and faults.append(f"request: {r.url}"))
    page.goto(address)
    page.locator(".sx-att-map").wait_for()
    return context, page, faults


@pytest.fixture
def page(browser, address):
    context, page, faults = opened(browser, address)
    yield page
    assert faults == []
    context.close()


def number(text):
    return float(text.replace("−", "-").replace("∞", "inf"))


def vector(text):
    return [number(part) for part in text.strip("()").split(", ")]


def compare(page, settings, asks, changed=(), causal=False):
    """All numbers on the page with PyTorch's; `changed` are the edited entries of W_q and W_k."""
    m = {name: torch.tensor(settings[name]).double() for name in ("x", "W_q", "W_k", "W_v")}
    for name, feature, column, value in changed:
        m[name][settings["features"].index(feature), settings["columns"].index(column)] = value
    q, k, v = (m["x"] @ m[name] for name in ("W_q", "W_k", "W_v"))
    mask = causal_mask(len(q)) if causal else None
    context, weights = scaled_dot_product_attention(q, k, v, mask)
    row, words = settings["words"].index(asks), settings["words"]
    shown_map, steps, mixture = page.evaluate(SHOWN)
    assert shown_map[0][1:] == words and [line[0] for line in shown_map[1:]] == words
    numbers = torch.tensor([[number(text) for text in line[1:]] for line in shown_map[1:]])
    assert (numbers - weights).abs().max() < 0.0051
    q_shown = vector(page.locator(".sx-att-row p b").first.inner_text())
    assert q_shown == pytest.approx(q[row].tolist(), abs=0.0051)
    scores = k @ q[row]
    for s, (word, key, score, scaled, *open_, weight, _) in enumerate(steps[1:]):
        assert word == words[s] and vector(key) == pytest.approx(k[s].tolist(), abs=0.0051)
        assert number(score) == pytest.approx(scores[s].item(), abs=0.0051)
        assert number(scaled) == pytest.approx(scores[s].item() / q.shape[1] ** 0.5, abs=0.0051)
        assert open_ == ([["open", "−∞"][s > row]] if causal else [])
        assert number(weight) == pytest.approx(weights[row, s].item(), abs=0.0051)
        assert [number(n) for n in mixture[s + 1][1:]] == pytest.approx(v[s].tolist(), abs=0.0051)
    assert mixture[-1][0] == f"{asks} gets"
    got = [number(n) for n in mixture[-1][1:]]
    assert got == pytest.approx(context[row].tolist(), abs=0.0051)
    return numbers


def status(page):
    return page.locator(".live-figure [role=status]").inner_text()


def test_the_chapters_figure_shows_pytorchs_numbers(page, settings):
    for word in ("old", "the", "king", "sleeps"):
        page.get_by_role("button", name=f"{word} asks").click()
        compare(page, settings, word)


def test_the_two_edits_of_the_chapter_reach_the_rows_that_it_names(page, settings):
    page.get_by_label("W_q, adjective to noun").fill("1")
    numbers = compare(page, settings, "old", [("W_q", "adjective", "noun", 1)])
    assert numbers[1, 2].item() == pytest.approx(0.40)
    assert status(page).endswith("4 of 16 weights changed (underlined), in 1 of 4 rows: old.")
    page.get_by_role("button", name="As in the chapter").click()
    compare(page, settings, "old")
    page.get_by_label("W_k, article to noun").fill("1")
    numbers = compare(page, settings, "old", [("W_k", "article", "noun", 1)])
    assert numbers[1].tolist() == pytest.approx([0.47, 0.03, 0.47, 0.03])
    assert status(page).endswith("in 3 of 4 rows: the, old, sleeps.")
    marked = page.locator(".sx-att-changed").count()
    assert marked == 12 and page.locator("tr:nth-child(3) .sx-att-changed").count() == 0
    words = " ".join(
        cell.source
        for cell in nbformat.read(CHAPTER, as_version=4).cells
        if cell.id in ("cell-19a", "cell-20")
    )
    for claim in ("*adjective* and *noun* from 4 to 1", "*article* and *noun* from 0 to 1"):
        assert claim in words
    for claim in ("*king* gets 0.40", "*the*, *old* and *sleeps* change", "get 0.47 each"):
        assert claim in words


def test_many_edits_with_and_without_the_mask(page, settings):
    random, changed = torch.Generator().manual_seed(1), []
    for name, feature, column in itertools.product(
        ("W_q", "W_k"), ("adjective", "noun", "royal", "asleep"), settings["columns"]
    ):
        value = round(float(torch.randn((), generator=random)) * 3, 2)
        changed.append((name, feature, column, value))
        page.get_by_label(f"{name}, {feature} to {column}").fill(str(value))
    compare(page, settings, "old", changed)
    page.get_by_label("Mask").check()
    compare(page, settings, "old", changed, causal=True)
    assert page.locator(".sx-att-closed").count() == 6
    page.get_by_role("button", name="sleeps asks").click()
    compare(page, settings, "sleeps", changed, causal=True)
    page.get_by_role("button", name="As in the chapter").click()
    compare(page, settings, "sleeps")
    assert page.locator(".sx-att-changed, .sx-att-edited, .sx-att-closed").count() == 0


def test_what_is_no_number_changes_nothing_and_is_said(page, settings):
    field = page.get_by_label("W_q, adjective to noun")
    for wrong in ("", "100", "-99.5"):
        field.fill(wrong)
        assert "type a number from −99 to 99" in status(page)
        assert field.get_attribute("aria-invalid") == "true"
        compare(page, settings, "old")
    field.blur()
    assert field.input_value() == "4" and field.get_attribute("aria-invalid") == "false"
    field.fill("-99")
    compare(page, settings, "old", [("W_q", "adjective", "noun", -99)])


def test_keys_alone_are_enough(page, settings):
    page.keyboard.press("Tab")
    label = "document.activeElement.getAttribute('aria-label')"
    assert page.evaluate(label) == "W_q, article to noun"
    page.keyboard.press("ArrowDown")  # 4 becomes 3
    compare(page, settings, "old", [("W_q", "article", "noun", 3)])
    page.keyboard.press("ArrowDown")
    assert status(page).startswith("W_q, article to noun: 2. 4 of 16 weights changed")
    for _ in range(28):
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "As in the chapter"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate(label) == "old asks"
    page.keyboard.press("ArrowDown")
    assert page.evaluate(label) == "king asks"
    compare(page, settings, "king")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    compare(page, settings, "king", causal=True)


@pytest.mark.parametrize(("mode", "width"), [("light", 1200), ("dark", 390)])
def test_it_fits_and_axe_finds_nothing(browser, address, axe, mode, width):
    context, page, faults = opened(browser, address, mode, width)
    page.evaluate(axe)
    for edit in (False, True):
        if edit:
            page.get_by_label("W_k, article to noun").fill("-12.25")
            page.get_by_label("W_q, royal to verb").fill("-98.75")
            page.get_by_label("Mask").check()
            page.get_by_role("button", name="sleeps asks").click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        result = page.evaluate(AXE, [".live-figure", True])
        assert [
            f"{fault['id']}: {node['html'][:90]} | {node['failureSummary'][:160]}"
            for fault in result["violations"]
            for node in fault["nodes"][:2]
        ] == []
    small = page.locator(".live-figure :is(button, input)").evaluate_all(
        "all => all.filter(e => e.type !== 'checkbox' && "
        "Math.min(e.offsetWidth, e.offsetHeight) < 24).length"
    )
    letters = page.locator(".live-figure *").evaluate_all(
        "all => Math.min(...all.map(e => parseFloat(getComputedStyle(e).fontSize)))"
    )
    assert small == 0 and letters >= 13 and faults == []
    context.close()


def test_without_javascript_the_row_of_the_chapter_stays(browser, address):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    text = page.locator(".live-figure").inner_text()
    assert "live where JavaScript runs" in text and "royal 0.85, female 0.00, asleep 0.05" in text
    weights = page.locator(".live-figure tbody td:nth-child(5)").all_inner_texts()
    assert weights == ["0.05", "0.05", "0.85", "0.05"]
    context.close()


def test_top_p_keeps_what_chapter_12_says(browser, tmp_path):
    name = "tiny-shakespeare"
    model, tok = GPT.pretrained(name), CharTokenizer.pretrained(name)
    path = tmp_path / "next.html"
    explore(model, tok, "The king ", views=["next"]).save(path)
    context, page, faults = start(browser)
    page.goto(path.as_uri())
    rows = page.locator(".sx-next tbody tr")
    full = page.locator(".sx-next tbody tr:not(.sx-dropped)")
    rows.first.wait_for()
    page.get_by_label("Top-p").fill("0.7")
    assert full.count() == 10
    page.get_by_label("Prompt").fill("The kin")
    page.wait_for_function("document.querySelector('.sx-status').textContent === '7 tokens'")
    assert full.count() == 1 and full.locator("th").inner_text() == "g"
    page.get_by_label("Top-p").fill("1")
    assert full.locator("td").first.inner_text() == "94.3 %"
    page.get_by_label("Top-k").fill("10")
    assert full.count() == 10
    assert faults == []
    context.close()
