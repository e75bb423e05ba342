"""The figure of merges in a real browser: pieces, ids and counts are those of Python."""

import functools

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
    page.emulate_media(reduced_motion="no-preference")
    press(page, "Play")
    page.wait_for_function(f"document.querySelector('input[type=range]').value > {start}")
    press(page, "Back")
    assert page.get_by_role("button", name="Play", exact=True).count() == 1, "it has stopped"
    assert shown(page) == expected(TEXT, step(page))


def test_each_click_does_the_next_merge_of_the_text(page):
    steps, before = changing(), len(TEXT.encode())
    fill(page, Merges=0)
    for n in steps[:3]:
        press(page, "Next merge")
        pieces = expected(TEXT, n)
        assert step(page) == n and shown(page) == pieces
        times = before - len(pieces)
        new = page.locator(".sx-piece.sx-new small").all_inner_texts()
        assert new == [str(255 + n)] * times
        assert status(page).startswith(f"Merge {n}: ")
        assert status(page).endswith(f" in this text. {len(pieces)} tokens.")
        before = len(pieces)


def test_what_is_typed_is_cut_into_the_tokens_of_python(page):
    field, said = page.get_by_role("textbox", name="Text"), page.locator(".sx-prompt")
    press(page, "All merges")
    field.fill("語 <b>&amp;</b> e\u0301")
    assert shown(page) == expected("語 <b>&amp;</b> e\u0301", ALL)
    field.fill("")
    assert "Type a text." in said.inner_text() and "0 tokens." in status(page)
    field.fill("🎭king " * 400)
    assert "Only the first 2,000 of 2,400 characters" in said.inner_text()
    assert shown(page) == expected(("🎭king " * 400)[:2000], ALL)


def test_tree_and_table_are_those_of_python(page):
    page.get_by_text("All merges of this text as a table").click()
    table = rows(page, "details table")[1:]
    assert [[int(row[i]) for i in (0, 3, 5)] for row in table] == [
        [n, 255 + n, len(after(n).encode(TEXT))] for n in changing()
    ]
    press(page, "All merges")
    for place in range(4):
        page.locator(".sx-piece").nth(place).click()
        i = shown(page)[place][1]
        texts = page.locator(".sx-detail svg text:not(.sx-mono)").all_text_contents()
        made = [int(text) for text in texts]
        assert sorted(i for i in made if i < 256) == sorted(TOKENS[i])
        assert made[-1] == i and len(made) == 2 * len(TOKENS[i]) - 1, "two parts each"
