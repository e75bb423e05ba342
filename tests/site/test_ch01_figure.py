"""The figure of merges in a real browser: pieces, ids and counts are those of Python."""

import json
import re
from html import unescape
from pathlib import Path

import nbformat
import pytest

from scratchformer.data import Playhouse
from scratchformer.live import LiveFigure, merges
from scratchformer.tokenizers import ByteBPE
from scratchformer_course.ch01_bpe.live import FILES, label
from tests.site import test_browser
from tests.site.test_browser import AXE, start

ROOT = Path(__file__).resolve().parents[2]
TEXT = "Hark, the old king speaks\nha, ha! 🎭"
axe = test_browser.axe  # the fixture


@pytest.fixture(scope="module")
def tok():
    return ByteBPE.train(Playhouse().text(60_000), 700)


@pytest.fixture(scope="module")
def address(tok, tmp_path_factory):
    path = tmp_path_factory.mktemp("merges") / "merges.html"
    merges(tok.tokens, tok.pattern, TEXT, tok.encode(TEXT)).save(path)
    return path.as_uri()


def opened(browser, address, mode="light", width=1200):
    context, page, faults = start(browser, mode)
    page.set_viewport_size({"width": width, "height": 900})
    page.on("request", lambda r: r.url != address and faults.append(f"request: {r.url}"))
    page.goto(address)
    page.locator(".sx-piece").first.wait_for()
    return context, page, faults


@pytest.fixture
def page(browser, address):
    context, page, faults = opened(browser, address)
    yield page
    assert faults == []
    context.close()


def shown(page):
    """The pieces on screen: (text, id) of each."""
    texts = page.locator(".sx-piece").evaluate_all(
        "all => all.map(b => [b.children[0].textContent, Number(b.children[1].textContent)])"
    )
    return [(text, i) for text, i in texts]


def expected(tok, text, n):
    ids = ByteBPE(tok.tokens[: 256 + n]).encode(text)
    return [(label(tok.tokens[i]).replace(" ", "·"), i) for i in ids]


def step(page):
    return int(page.get_by_role("slider", name="Merges").input_value())


def status(page):
    return page.locator(".sx-merges > .sx-status").inner_text()


def press(page, name):
    page.get_by_role("button", name=name, exact=True).click()


def changing(tok, text):
    """The steps that change the text."""
    ids = [ByteBPE(tok.tokens[: 256 + n]).encode(text) for n in range(len(tok.tokens) - 255)]
    return [n for n in range(1, len(ids)) if ids[n] != ids[n - 1]]


def test_each_click_does_the_next_merge_of_the_text(page, tok):
    steps = changing(tok, TEXT)
    assert shown(page) == expected(tok, TEXT, 0) and "each byte is a piece" in status(page)
    before = len(TEXT.encode())
    for n in steps[:12]:
        press(page, "Next merge")
        now = expected(tok, TEXT, n)
        assert step(page) == n and shown(page) == now
        times = before - len(now)
        often = {1: "once", 2: "twice"}.get(times, f"{times} times")
        name = label(tok.tokens[255 + n]).replace(" ", "·")
        said = rf"Merge {n}: .+ \+ .+ → {re.escape(name)}, id {255 + n}, {often} in this text\. "
        assert re.fullmatch(rf"{said}{len(now)} tokens\.", status(page)), status(page)
        new = page.locator(".sx-piece.sx-new small").all_inner_texts()
        assert new == [str(255 + n)] * times
        before = len(now)
    press(page, "Back")
    assert step(page) == steps[10] and shown(page) == expected(tok, TEXT, steps[10])
    press(page, "All merges")
    assert shown(page) == [(text, i) for text, i in expected(tok, TEXT, 444)]
    assert [i for _, i in shown(page)] == tok.encode(TEXT) and step(page) == 444
    unused = next(n for n in range(1, 445) if n not in steps)
    page.get_by_role("slider", name="Merges").fill(str(unused))
    name = label(tok.tokens[255 + unused]).replace(" ", "·")
    assert f"→ {name}, id {255 + unused}, not in this text." in status(page)


def test_what_is_typed_is_cut_into_the_tokens_of_python(page, tok):
    field = page.get_by_role("textbox", name="Text")
    press(page, "All merges")
    for text in ["", "a", "I'll  wait,\t3 days! \n\n the naïve queen", "語 <b>&amp;</b> e\u0301"]:
        field.fill(text)
        assert shown(page) == expected(tok, text, 444), text
    assert page.locator(".sx-prompt .sx-caption").inner_text() == ""
    field.fill("")
    assert "Type a text." in page.locator(".sx-prompt").inner_text()
    assert page.locator(".sx-detail svg").count() == 0 and "0 tokens." in status(page)
    field.fill("🎭king " * 400)
    assert "Only the first 2,000 of 2,400 characters" in page.locator(".sx-prompt").inner_text()
    assert [i for _, i in shown(page)] == tok.encode(("🎭king " * 400)[:2000])
    field.evaluate("f => { f.value = 'a\\ud83c'; f.dispatchEvent(new Event('input')); }")
    assert "Half a character was read as �." in page.locator(".sx-prompt").inner_text()
    assert [i for _, i in shown(page)] == tok.encode("a\ud83c")


def test_the_tree_of_a_piece_has_its_bytes_and_all_that_was_made_on_the_way(page, tok):
    press(page, "All merges")
    longest = max(tok.encode(TEXT), key=lambda i: len(tok.tokens[i]))
    svg = page.locator(".sx-detail svg")
    pressed = page.locator(".sx-piece[aria-pressed=true]")
    assert pressed.locator("small").inner_text() == str(longest), "the longest is looked at first"

    def ids():
        return [int(t) for t in svg.locator("text:not(.sx-mono)").all_text_contents()]

    for n, (text, i) in enumerate(shown(page)):
        page.locator(".sx-piece").nth(n).click()
        assert pressed.locator("small").all_inner_texts() == [str(i)]
        made = ids()
        data = tok.tokens[i]
        assert sorted(i for i in made if i < 256) == sorted(data)
        assert made[-1] == i and len(made) == 2 * len(data) - 1, "two parts each"
        told = svg.get_attribute("aria-label")
        if len(data) > 1:
            assert told.endswith(f"= {text}, id {i}.") and told.count(" + ") == len(data) - 1
        else:
            assert told == f"A single byte, id {i}."
    page.locator(".sx-piece", has_text="·the").click()
    page.get_by_role("slider", name="Merges").fill("0")
    assert pressed.locator("span").inner_text() == "·", "the place stays chosen, not the piece"


def test_the_curve_and_the_table_have_the_lengths_of_python(page, tok):
    page.get_by_text("All merges of this text as a table").click()
    rows = page.locator("details tbody tr").evaluate_all(
        "rows => rows.map(r => [...r.cells].map(c => c.textContent))"
    )
    steps = changing(tok, TEXT)
    assert [int(row[0]) for row in rows] == steps
    for n, row in zip(steps, rows, strict=True):
        assert int(row[3]) == 255 + n and int(row[5]) == len(expected(tok, TEXT, n))
    n = steps[9]
    page.get_by_role("slider", name="Merges").fill(str(n))
    left, last = len(expected(tok, TEXT, n)), len(tok.encode(TEXT))
    chart = page.locator(".sx-main svg")
    bytes_ = len(TEXT.encode())
    assert chart.get_attribute("aria-label") == (
        f"Tokens of the text against merges: {bytes_} without a merge, {left} after {n}, "
        f"{last} after all 444."
    )
    assert chart.locator(".sx-left").text_content() == str(left)
    x, y = (float(chart.locator("circle").get_attribute(name)) for name in ("cx", "cy"))
    assert (x, y) == pytest.approx((44 + 250 * n / 444, 132 - 100 * left / bytes_))
    page.get_by_role("textbox", name="Text").fill("ha, ha")
    texts = page.locator("details tbody tr").all_inner_texts()
    assert len(texts) == len(changing(tok, "ha, ha")), "the table follows the text"


def test_all_of_it_works_with_keys_alone(page, tok):
    def focused():
        return page.evaluate("document.activeElement.textContent")

    def keys(*names):
        for name in names:
            page.keyboard.press(name)

    keys("Tab")
    assert page.evaluate("document.activeElement.tagName") == "TEXTAREA"
    keys("Control+a")
    page.keyboard.type("the king")
    keys("Tab", "End")
    assert shown(page) == expected(tok, "the king", 444)
    keys("Home", "ArrowRight")
    assert step(page) == 1 and shown(page) == expected(tok, "the king", 1)
    keys("Tab", "Tab")
    assert focused() == "Next merge"
    keys("Enter", "Space")
    assert step(page) == [n for n in changing(tok, "the king") if n > 1][1]
    keys("Shift+Tab", "Enter", "Enter", "Enter")
    assert step(page) == 0
    keys("Tab", "Tab", "Tab")
    heading = page.locator(".sx-detail .sx-title")
    keys("Home")
    assert focused() == "t116" and heading.inner_text() == "t is a byte"
    keys("ArrowRight")
    assert focused() == "h104" and heading.inner_text() == "h is a byte"
    keys("End")
    assert focused() == "g103" and page.locator(".sx-piece[tabindex='0']").count() == 1
    keys("Tab")
    assert "What the piece" in page.evaluate("document.activeElement.ariaLabel")
    keys("Tab", "Enter")
    page.locator("details table").wait_for(state="visible")


@pytest.mark.parametrize(("mode", "width"), [("light", 1200), ("dark", 390)])
def test_it_fits_and_axe_finds_nothing(browser, address, axe, mode, width):
    context, page, faults = opened(browser, address, mode, width)
    page.evaluate(axe)
    page.get_by_text("All merges of this text as a table").click()
    for text in (TEXT, "Donaudampfschifffahrtsgesellschaft " + "語" * 60 + "the king " * 30):
        page.get_by_role("textbox", name="Text").fill(text)
        for _ in range(3):
            press(page, "Next merge")
        for _ in range(2):
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            result = page.evaluate(AXE, [".live-figure", True])
            assert [
                (f["id"], n["html"][:90]) for f in result["violations"] for n in f["nodes"]
            ] == []
            press(page, "All merges")
        small = page.locator(".live-figure button, .live-figure input").evaluate_all(
            "all => all.map(e => e.getBoundingClientRect())"
            ".filter(b => b.width < 24 || (b.height < 24 && b.height > 20)).length"
        )
        assert small == 0
    sizes = page.locator(".live-figure *").evaluate_all(
        "all => all.map(e => parseFloat(getComputedStyle(e).fontSize))"
    )
    assert min(sizes) >= 13 and faults == []
    context.close()


def test_a_long_text_is_drawn_at_once(page):
    took = page.get_by_role("textbox", name="Text").evaluate(
        "f => { f.value = 'the king and the queen '.repeat(100); const start = performance.now(); "
        "f.dispatchEvent(new Event('input')); document.body.offsetHeight; "
        "return performance.now() - start; }"
    )
    assert page.locator(".sx-piece").count() == 2000
    assert took < 5000, f"{took:.0f} ms: a reader who types would wait"


def test_without_javascript_the_tokens_of_python_stay(browser, address, tok):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    assert "live where JavaScript runs" in page.locator(".live-figure p").inner_text()
    texts = page.locator(".live-figure svg text").all_text_contents()
    assert (
        texts[0] == f"{len(TEXT.encode())} bytes, {len(tok.encode(TEXT))} tokens after 444 merges"
    )
    assert texts[2::2] == [str(i) for i in tok.encode(TEXT)]
    context.close()


# ---- the chapter's own ----


@pytest.fixture(scope="module")
def stored():
    """The figure that the stored notebook holds."""
    notebook = nbformat.read(ROOT / "notebooks" / "01_bpe.ipynb", as_version=4)
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    html = [output.get("data", {}).get("text/html", "") for output in outputs]
    (found,) = (text for text in html if 'data-figure="merges"' in text)
    return found


def test_the_chapters_figure_shows_what_its_tokenizer_gives(stored, browser, tmp_path):
    assert len(stored) < 60_000 and "<script" not in stored
    settings = json.loads(unescape(re.search(r'data-settings="([^"]*)"', stored)[1]))
    still = stored.split(">", 1)[1].removesuffix("</div>")
    merged = [piece.encode("latin-1") for piece in settings["merged"]]
    tok = ByteBPE([*(bytes([b]) for b in range(256)), *merged], pattern=settings["pattern"])
    ids = tok.encode(settings["text"])
    assert re.findall(r">(\d+)</text>", still) == [str(i) for i in ids]
    path = tmp_path / "stored.html"
    LiveFigure("merges", settings, still, FILES).save(path)
    context, page, faults = opened(browser, path.as_uri())
    for n in (0, 1, 50, 100, 384):
        page.get_by_role("slider", name="Merges").fill(str(n))
        assert shown(page) == expected(tok, settings["text"], n)
    press(page, "All merges")
    assert step(page) == len(merged) == 768 and [i for _, i in shown(page)] == ids
    assert len(ids) == 19 and len(tok.tokens) == 1024, "as the chapter says"
    page.get_by_role("textbox", name="Text").fill("wager")  # the chapter draws this one by hand
    assert [i for _, i in shown(page)] == [119, 709, 272]
    assert faults == []
    context.close()
