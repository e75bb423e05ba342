"""The figure of merges in a real browser: pieces, ids and counts are those of Python."""

import functools
import re

import pytest

from scratchformer.tokenizers import ByteBPE
from scratchformer_course.ch01_bpe.live import label
from tests.site.browsing import rows
from tests.site.figures import fill, press, status, stored

FIGURE = "merges"
SETTINGS = stored("01", FIGURE).settings
TEXT = SETTINGS["text"]
MERGED = [piece.encode("latin-1") for piece in SETTINGS["merged"]]
TOKENS = [*(bytes([b]) for b in range(256)), *MERGED]
ALL = len(MERGED)


@functools.cache
def after(n: int) -> ByteBPE:
    """The chapter's tokenizer when it had learned n merges."""
    return ByteBPE(TOKENS[: 256 + n], pattern=SETTINGS["pattern"])


def expected(text, n):
    return [[named(i), i] for i in after(n).encode(text)]


def named(i):
    return label(TOKENS[i]).replace(" ", "·")


def shown(page):
    """The pieces on screen: [text, id] of each."""
    return page.locator(".sx-piece").evaluate_all(
        "all => all.map(b => [b.children[0].textContent, Number(b.children[1].textContent)])"
    )


def step(page):
    return int(page.get_by_role("slider", name="Merges").input_value())


@functools.cache
def changing():
    """The steps that change the text."""
    ids = [after(n).encode(TEXT) for n in range(ALL + 1)]
    return [n for n in range(1, len(ids)) if ids[n] != ids[n - 1]]


def test_it_opens_half_merged_and_plays_until_a_reader_takes_over(page):
    start = SETTINGS["start"]
    assert step(page) == start and shown(page) == expected(TEXT, start)
    half = (len(TEXT.encode()) + len(after(ALL).encode(TEXT))) / 2
    assert len(shown(page)) == pytest.approx(half, abs=1)
    play = page.get_by_role("button", name="Play", exact=True)
    assert play.count() == 0, "nothing offers to move by itself where the reader wants no motion"
    page.emulate_media(reduced_motion="no-preference")
    play.click()
    third = [n for n in changing() if n > start][2]
    page.wait_for_function(f"Number(document.querySelector('input[type=range]').value) >= {third}")
    press(page, "Back")
    assert play.count() == 1, "it has stopped"
    assert shown(page) == expected(TEXT, step(page))
    press(page, "All merges", "Play")  # from the last merge it begins again
    assert shown(page) == expected(TEXT, 0)


def test_each_click_does_the_next_merge_of_the_text(page):
    steps, border = changing(), "(e, pseudo) => getComputedStyle(e, pseudo).borderTopColor"
    fill(page, Merges=0)
    before = len(TEXT.encode())
    for n in steps[:8]:
        press(page, "Next merge")
        now = expected(TEXT, n)
        assert step(page) == n and shown(page) == now
        times = before - len(now)
        often = {1: "once", 2: "twice"}.get(times, f"{times} times")
        said = rf"→ {re.escape(named(255 + n))}, id {255 + n}, {often} in this text\. "
        assert re.search(rf"Merge {n}: .+ {said}{len(now)} tokens\.$", status(page)), status(page)
        new = page.locator(".sx-piece.sx-new small").all_inner_texts()
        assert new == [str(255 + n)] * times
        before = len(now)
    page.locator(".sx-piece:not(.sx-new)").first.click()
    pieces = (".sx-new", "[aria-pressed=true]", ":not(.sx-new, [aria-pressed=true])")
    borders = [page.locator(f".sx-piece{kind}").first.evaluate(border) for kind in pieces]
    signs = page.locator(".sx-legend span").all()
    assert len(set(borders)) == 3
    assert [sign.evaluate(border, "::before") for sign in signs] == borders[:2], "in the legend"
    press(page, "Back")
    assert step(page) == steps[6] and shown(page) == expected(TEXT, steps[6])
    press(page, "All merges")
    assert step(page) == ALL and shown(page) == expected(TEXT, ALL)
    unused = next(n for n in range(1, ALL + 1) if n not in steps)
    fill(page, Merges=unused)
    assert f"→ {named(255 + unused)}, id {255 + unused}, not in this text." in status(page)


def test_what_is_typed_is_cut_into_the_tokens_of_python(page):
    field, said = page.get_by_role("textbox", name="Text"), page.locator(".sx-prompt")
    press(page, "All merges")
    for text in ("I'll  wait,\t3 days! \n\n the naïve queen", "語 <b>&amp;</b> e\u0301"):
        field.fill(text)
        assert shown(page) == expected(text, ALL), text
    field.fill("")
    assert "Type a text." in said.inner_text() and "0 tokens." in status(page)
    field.fill("🎭king " * 400)
    assert "Only the first 2,000 of 2,400 characters" in said.inner_text()
    assert shown(page) == expected(("🎭king " * 400)[:2000], ALL)
    field.evaluate("f => { f.value = 'a\\ud83c'; f.dispatchEvent(new Event('input')); }")
    assert "Half a character was read as �." in said.inner_text()


def test_the_tree_of_a_piece_has_its_bytes_and_all_that_was_made_on_the_way(page):
    press(page, "All merges")
    longest = max(after(ALL).encode(TEXT), key=lambda i: len(TOKENS[i]))
    svg = page.locator(".sx-detail svg")
    pressed = page.locator(".sx-piece[aria-pressed=true]")
    assert pressed.locator("small").inner_text() == str(longest), "the longest is looked at first"
    for n, (text, i) in enumerate(shown(page)[:9]):
        page.locator(".sx-piece").nth(n).click()
        made = [int(t) for t in svg.locator("text:not(.sx-mono)").all_text_contents()]
        assert sorted(i for i in made if i < 256) == sorted(TOKENS[i])
        assert made[-1] == i and len(made) == 2 * len(TOKENS[i]) - 1, "two parts each"
        one = len(TOKENS[i]) == 1
        told = f"A single byte, id {i}." if one else f"= {text}, id {i}."
        assert svg.get_attribute("aria-label").endswith(told)
    page.locator(".sx-piece", has_text="·the").click()
    fill(page, Merges=0)
    assert pressed.locator("span").inner_text() == "·", "the place stays chosen, not the piece"


def test_the_curve_and_the_table_have_the_lengths_of_python(page):
    page.get_by_text("All merges of this text as a table").click()
    steps = changing()
    assert [[int(row[i]) for i in (0, 3, 5)] for row in rows(page, "details table")[1:]] == [
        [n, 255 + n, len(after(n).encode(TEXT))] for n in steps
    ]
    n = steps[9]
    fill(page, Merges=n)
    left, chart = len(after(n).encode(TEXT)), page.locator(".sx-main svg")
    told = [int(found) for found in re.findall(r"\d+", chart.get_attribute("aria-label"))]
    assert told == [len(TEXT.encode()), left, n, len(after(ALL).encode(TEXT)), ALL]
    x, y = (float(chart.locator("circle").get_attribute(name)) for name in ("cx", "cy"))
    assert (x, y) == pytest.approx((44 + 250 * n / ALL, 132 - 100 * left / told[0]))
    fill(page, Text="ha, ha")
    assert len(rows(page, "details table")) < len(steps), "the table follows the text"
