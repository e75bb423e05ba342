"""The figure of merges in a real browser: pieces, ids and counts are those of Python."""

import functools
import re

import pytest

from scratchformer.tokenizers import ByteBPE
from scratchformer_course.ch01_bpe.live import label
from tests.site.figures import fill, press, stored

FIGURE = "merges"
SETTINGS = stored("01", FIGURE).settings
TEXT = SETTINGS["text"]
MERGED = [piece.encode("latin-1") for piece in SETTINGS["merged"]]
ALL = len(MERGED)


@functools.cache
def after(n: int) -> ByteBPE:
    """The chapter's tokenizer when it had learned n merges."""
    tokens = [*(bytes([b]) for b in range(256)), *MERGED[:n]]
    return ByteBPE(tokens, pattern=SETTINGS["pattern"])


@pytest.fixture(scope="module")
def tok() -> ByteBPE:
    return after(ALL)


def shown(page):
    """The pieces on screen: (text, id) of each."""
    texts = page.locator(".sx-piece").evaluate_all(
        "all => all.map(b => [b.children[0].textContent, Number(b.children[1].textContent)])"
    )
    return [(text, i) for text, i in texts]


def expected(tok, text, n):
    return [(label(tok.tokens[i]).replace(" ", "·"), i) for i in after(n).encode(text)]


def step(page):
    return int(page.get_by_role("slider", name="Merges").input_value())


def status(page):
    return page.locator(".sx-merges > .sx-status").inner_text()


@functools.cache
def changing(text):
    """The steps that change the text."""
    ids = [after(n).encode(text) for n in range(ALL + 1)]
    return [n for n in range(1, len(ids)) if ids[n] != ids[n - 1]]


def test_it_opens_half_merged_and_plays_until_a_reader_takes_over(page, tok):
    start = SETTINGS["start"]
    assert step(page) == start and shown(page) == expected(tok, TEXT, start)
    half = (len(TEXT.encode()) + len(tok.encode(TEXT))) / 2
    assert len(shown(page)) == pytest.approx(half, abs=1)
    play = page.get_by_role("button", name="Play", exact=True)
    assert play.count() == 0, "nothing offers to move by itself where the reader wants no motion"
    page.emulate_media(reduced_motion="no-preference")
    play.click()
    third = [n for n in changing(TEXT) if n > start][2]
    page.wait_for_function(f"Number(document.querySelector('input[type=range]').value) >= {third}")
    assert page.get_by_role("button", name="Pause", exact=True).count() == 1
    press(page, "Back")
    kept = step(page)
    page.wait_for_timeout(900)
    assert step(page) == kept and shown(page) == expected(tok, TEXT, kept)
    press(page, "All merges", "Play")  # from the last merge it begins again
    assert shown(page) == expected(tok, TEXT, 0)


def test_each_click_does_the_next_merge_of_the_text(page, tok):
    steps = changing(TEXT)
    fill(page, Merges=0)
    assert shown(page) == expected(tok, TEXT, 0)
    before = len(TEXT.encode())
    for n in steps[:8]:
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
    assert step(page) == steps[6] and shown(page) == expected(tok, TEXT, steps[6])
    press(page, "All merges")
    assert shown(page) == [(text, i) for text, i in expected(tok, TEXT, ALL)]
    assert [i for _, i in shown(page)] == tok.encode(TEXT) and step(page) == ALL
    unused = next(n for n in range(1, ALL + 1) if n not in steps)
    page.get_by_role("slider", name="Merges").fill(str(unused))
    name = label(tok.tokens[255 + unused]).replace(" ", "·")
    assert f"→ {name}, id {255 + unused}, not in this text." in status(page)


def test_what_is_typed_is_cut_into_the_tokens_of_python(page, tok):
    field = page.get_by_role("textbox", name="Text")
    press(page, "All merges")
    for text in ["", "a", "I'll  wait,\t3 days! \n\n the naïve queen", "語 <b>&amp;</b> e\u0301"]:
        field.fill(text)
        assert shown(page) == expected(tok, text, ALL), text
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
    steps = changing(TEXT)
    assert [int(row[0]) for row in rows] == steps
    for n, row in zip(steps, rows, strict=True):
        assert int(row[3]) == 255 + n and int(row[5]) == len(expected(tok, TEXT, n))
    n = steps[9]
    page.get_by_role("slider", name="Merges").fill(str(n))
    left, last = len(expected(tok, TEXT, n)), len(tok.encode(TEXT))
    chart = page.locator(".sx-main svg")
    bytes_ = len(TEXT.encode())
    told = re.findall(r"\d+", chart.get_attribute("aria-label"))
    assert told == [str(number) for number in (bytes_, left, n, last, ALL)]
    assert chart.locator(".sx-left").text_content() == str(left)
    x, y = (float(chart.locator("circle").get_attribute(name)) for name in ("cx", "cy"))
    assert (x, y) == pytest.approx((44 + 250 * n / ALL, 132 - 100 * left / bytes_))
    page.get_by_role("textbox", name="Text").fill("ha, ha")
    texts = page.locator("details tbody tr").all_inner_texts()
    assert len(texts) == len(changing("ha, ha")), "the table follows the text"


def test_each_border_of_a_piece_has_its_entry_in_the_legend(page):
    press(page, "Next merge", "Next merge")
    page.locator(".sx-piece:not(.sx-new)").first.click()
    border = "(e, pseudo) => getComputedStyle(e, pseudo).borderTopColor"
    plain = page.locator(".sx-piece:not(.sx-new, [aria-pressed=true])").first.evaluate(border)
    pieces = (".sx-piece.sx-new", ".sx-piece[aria-pressed=true]")
    shown = [page.locator(piece).first.evaluate(border) for piece in pieces]
    signs = page.locator(".sx-legend span")
    assert len({plain, *shown}) == 3
    assert [sign.evaluate(border, "::before") for sign in signs.all()] == shown
