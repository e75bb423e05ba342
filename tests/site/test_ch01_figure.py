"""The figure of merges in a real browser: pieces, ids and counts are those of Python."""

import functools
import re

import pytest

from scratchformer.tokenizers import ByteBPE
from scratchformer_course.ch01_bpe.live import label
from tests.site.browsing import rows
from tests.site.figures import fill, numbers, press, stored

FIGURE = "merges"
SETTINGS = stored("01", FIGURE).settings
TEXT, START = SETTINGS["text"], SETTINGS["start"]
MERGED = [piece.encode("latin-1") for piece in SETTINGS["merged"]]
ALL = len(MERGED)


@functools.cache
def after(n: int) -> ByteBPE:
    """The chapter's tokenizer when it had learned n merges."""
    tokens = [*(bytes([b]) for b in range(256)), *MERGED[:n]]
    return ByteBPE(tokens, pattern=SETTINGS["pattern"])


def name(token):
    return label(after(ALL).tokens[token]).replace(" ", "·")


def expected(text, n):
    """Name and id of each piece after n merges."""
    return [[name(i), i] for i in after(n).encode(text)]


def shown(page):
    return page.locator(".sx-piece").evaluate_all(
        "all => all.map(b => [b.children[0].textContent, Number(b.children[1].textContent)])"
    )


def step(page):
    return int(page.get_by_role("slider", name="Merges").input_value())


def status(page):
    return page.locator(".sx-merges > .sx-status").inner_text()


@functools.cache
def changing():
    """The steps that change the text."""
    ids = [after(n).encode(TEXT) for n in range(ALL + 1)]
    return [n for n in range(1, len(ids)) if ids[n] != ids[n - 1]]


def test_it_opens_half_merged_and_plays_until_a_reader_takes_over(page):
    assert step(page) == START and shown(page) == expected(TEXT, START)
    half = (len(TEXT.encode()) + len(expected(TEXT, ALL))) / 2
    assert len(shown(page)) == pytest.approx(half, abs=1)
    play = page.get_by_role("button", name="Play", exact=True)
    assert play.count() == 0, "nothing offers to move by itself where the reader wants no motion"
    page.clock.install()
    page.emulate_media(reduced_motion="no-preference")
    play.click()
    page.clock.run_for(10_000)
    assert step(page) >= [n for n in changing() if n > START][2]
    press(page, "Back")  # in place of Pause
    kept = step(page)
    page.clock.run_for(10_000)
    assert step(page) == kept and shown(page) == expected(TEXT, kept)
    press(page, "All merges", "Play")  # from the last merge it begins again
    assert step(page) < START


def test_pieces_status_tree_table_and_curve_follow_the_merges(page):
    fill(page, Merges=0)
    assert shown(page) == expected(TEXT, 0)
    steps, before = changing(), len(TEXT.encode())
    for n in steps[:4]:
        press(page, "Next merge")
        assert step(page) == n and shown(page) == expected(TEXT, n)
        left = len(expected(TEXT, n))
        times = before - left
        often = {1: "once", 2: "twice"}.get(times, f"{times} times")
        sentence = rf"→ {re.escape(name(255 + n))}, id {255 + n}, {often} in this text\. {left} "
        assert re.search(sentence, status(page))
        assert page.locator(".sx-piece.sx-new small").all_inner_texts() == [str(255 + n)] * times
        before = left
    chart = page.locator(".sx-main svg")
    bytes_, last = len(TEXT.encode()), len(expected(TEXT, ALL))
    assert numbers(chart.get_attribute("aria-label")) == [bytes_, left, n, last, ALL]
    x, y = (float(chart.locator("circle").get_attribute(axis)) for axis in ("cx", "cy"))
    assert (x, y) == pytest.approx((44 + 250 * n / ALL, 132 - 100 * left / bytes_))
    page.get_by_text("All merges of this text as a table").click()
    table = rows(page, "details table")[1:]
    assert [[int(row[0]), int(row[3]), int(row[5])] for row in table] == [
        [n, 255 + n, len(expected(TEXT, n))] for n in steps
    ]

    # each border of a piece has its sign in the legend
    border = "(e, pseudo) => getComputedStyle(e, pseudo).borderTopColor"
    page.locator(".sx-piece:not(.sx-new)").first.click()
    kinds = (":not(.sx-new, [aria-pressed=true])", ".sx-new", "[aria-pressed=true]")
    borders = [page.locator(f".sx-piece{kind}").first.evaluate(border) for kind in kinds]
    signs = page.locator(".sx-legend span").all()
    assert [sign.evaluate(border, "::before") for sign in signs] == borders[1:]
    assert len(set(borders)) == 3

    press(page, "Back")
    assert step(page) == steps[2]
    unused = next(n for n in range(1, ALL + 1) if n not in steps)
    fill(page, Merges=unused)
    assert f"→ {name(255 + unused)}, id {255 + unused}, not in this text." in status(page)
    press(page, "All merges")
    assert step(page) == ALL and shown(page) == expected(TEXT, ALL)

    pressed, tree = page.locator(".sx-piece[aria-pressed=true]"), page.locator(".sx-detail svg")
    page.locator(".sx-piece", has_text="·the").click()
    token = int(pressed.locator("small").inner_text())
    made = [int(text) for text in tree.locator("text:not(.sx-mono)").all_text_contents()]
    data = after(ALL).tokens[token]
    assert made[-1] == token and sorted(i for i in made if i < 256) == sorted(data)
    assert tree.get_attribute("aria-label").endswith(f"= {name(token)}, id {token}.")
    fill(page, Merges=0)
    assert pressed.locator("span").inner_text() == "·", "the place stays chosen, not the piece"


def test_what_is_typed_is_cut_into_the_tokens_of_python(page):
    field, said = page.get_by_role("textbox", name="Text"), page.locator(".sx-prompt")
    press(page, "All merges")
    for text in ["a", "I'll  wait,\t3 days! \n\n the naïve queen", "語 <b>&amp;</b> e\u0301"]:
        field.fill(text)
        assert shown(page) == expected(text, ALL), text
    field.fill("")
    assert "Type a text." in said.inner_text() and "0 tokens." in status(page)
    assert page.locator(".sx-detail svg, details tbody tr").count() == 0
    field.fill("🎭king " * 400)
    assert "Only the first 2,000 of 2,400 characters" in said.inner_text()
    assert shown(page) == expected(("🎭king " * 400)[:2000], ALL)
    field.evaluate("f => { f.value = 'a\\ud83c'; f.dispatchEvent(new Event('input')); }")
    assert "Half a character was read as �." in said.inner_text()
    assert shown(page) == expected("a\ud83c", ALL)
