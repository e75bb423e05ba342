"""The figure of merges in a real browser: pieces, ids and counts are those of Python."""

import functools
import re

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


def named(i):
    return label(TOKENS[i]).replace(" ", "·")


def expected(text, n):
    return [[named(i), i] for i in after(n).encode(text)]


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


def test_it_plays_until_a_reader_takes_over(page):
    start = SETTINGS["start"]
    assert step(page) == start and shown(page) == expected(TEXT, start)
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
    steps, before = changing(), len(TEXT.encode())
    fill(page, Merges=0)
    for n in steps[:4]:
        press(page, "Next merge")
        pieces = expected(TEXT, n)
        assert step(page) == n and shown(page) == pieces
        times = before - len(pieces)
        often = {1: "once", 2: "twice"}.get(times, f"{times} times")
        words = f"→ {named(255 + n)}, id {255 + n}, {often} in this text. {len(pieces)} tokens."
        assert status(page).startswith(f"Merge {n}: ") and status(page).endswith(words)
        new = page.locator(".sx-piece.sx-new small").all_inner_texts()
        assert new == [str(255 + n)] * times
        before = len(pieces)
    press(page, "Back")
    assert step(page) == steps[2] and shown(page) == expected(TEXT, steps[2])
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


def test_tree_curve_and_table_are_those_of_python(page):
    page.get_by_text("All merges of this text as a table").click()
    lengths = [[n, 255 + n, len(after(n).encode(TEXT))] for n in changing()]
    table = rows(page, "details table")[1:]
    assert [[int(row[i]) for i in (0, 3, 5)] for row in table] == lengths
    n, _, left = lengths[9]
    fill(page, Merges=n)
    label = page.locator(".sx-main svg").get_attribute("aria-label")
    assert [int(found) for found in re.findall(r"\d+", label)] == [
        len(TEXT.encode()), left, n, lengths[-1][2], ALL
    ]  # fmt: skip
    press(page, "All merges")
    svg = page.locator(".sx-detail svg")
    for place in range(6):
        page.locator(".sx-piece").nth(place).click()
        i = shown(page)[place][1]
        made = [int(t) for t in svg.locator("text:not(.sx-mono)").all_text_contents()]
        assert sorted(i for i in made if i < 256) == sorted(TOKENS[i])
        assert made[-1] == i and len(made) == 2 * len(TOKENS[i]) - 1, "two parts each"
    fill(page, Text="ha, ha")
    assert len(rows(page, "details table")) < len(table), "the table follows the text"
