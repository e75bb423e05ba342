"""Figures that are dragged, edited or played, in a browser: what is shown follows the reader.

All that they compute is compared with Python's in Node.js, in tests/chapters/.
"""

import math
from base64 import b64encode

import pytest

from book._ext.real_model_ext import vocabulary_script
from scratchformer.tokenizers import ByteBPE
from scratchformer_course.ch20_inference.live import BITS
from tests.library.small_gguf import tokenizer, write_gguf
from tests.site.browsing import number, rows
from tests.site.figures import around, drag, fill, press, status, stored, write_ahead


def of(name):
    """A test of this figure."""
    return pytest.mark.parametrize("page", [name], indirect=True)


def drawn_texts(page, selector):
    return page.locator(selector).all_text_contents()


@of("merges")
def test_pieces_follow_the_merges_and_what_is_typed_and_a_piece_says_what_it_was_made_of(page):
    merges = page.get_by_role("slider", name="Merges")

    def pieces():
        ids = [int(text) for text in drawn_texts(page, ".sx-piece small")]
        learned = 256 + int(merges.input_value())
        assert max(ids) < learned and status(page).endswith(f" {len(ids)} tokens.")
        return ids

    start = merges.input_value()
    press(page, "Back")
    assert int(merges.input_value()) < int(start)
    fill(page, Merges=0)
    untouched = pieces()
    press(page, "Next merge", "Next merge")
    assert len(pieces()) < len(untouched)
    new = page.locator(".sx-piece.sx-new small").first.inner_text()
    assert int(new) == 255 + int(merges.input_value())
    press(page, "All merges")
    typed = "語 <b>&amp;</b> e\u0301"
    page.get_by_role("textbox", name="Text").fill(typed)
    assert len(pieces()) <= len(typed.encode())
    page.locator(".sx-piece").first.click()
    tree = drawn_texts(page, ".sx-detail svg text:not(.sx-mono)")
    assert tree[-1] == page.locator(".sx-piece small").first.inner_text()


@of("real_tokens")
def test_what_is_typed_is_read_in_the_vocabulary_that_the_site_has(page, tmp_path):
    names = ["<|im_start|>", "a", "b", "Ġ", "1", "ab", "Ġa", "Ã", "©"]
    path = write_gguf(tmp_path / "a.gguf", **tokenizer(names, [3] + [1] * 8, merges=["a b", "Ġ a"]))
    script = b64encode(vocabulary_script(path).encode()).decode()
    page.evaluate(
        "(to) => document.body.insertAdjacentHTML('beforeend', `<i data-vocabulary='${to}'></i>`)",
        f"data:text/javascript;base64,{script}",
    )
    text = "ab ab11é<|im_start|>"
    page.get_by_role("textbox", name="Text").fill(text)
    ids = ByteBPE.from_gguf(path).encode(text)
    page.get_by_text(f"{len(text)} characters, {len(ids)} tokens").wait_for()
    assert drawn_texts(page, ".sx-piece small") == [str(i) for i in ids]


@of("real_tokens")
def test_without_the_vocabulary_the_recorded_tokens_stay_and_a_sentence_says_so(page):
    recorded = drawn_texts(page, ".sx-piece small")
    page.get_by_role("textbox", name="Text").press_sequentially("x")
    page.get_by_text("The vocabulary is not part of this page").wait_for()
    assert drawn_texts(page, ".sx-piece small") == recorded


@of("word_map")
def test_a_word_is_chosen_by_typing_keys_and_pressing(page):
    field = page.get_by_label("Word", exact=True)

    def chosen():
        """The word that all parts of the figure are about."""
        word = page.locator("text.sx-chosen").text_content()
        assert field.input_value() == word and len(drawn_texts(page, ".sx-list button")) == 8
        assert status(page).startswith(f"Nearest to {word}: ")
        return word

    field.fill("queen")
    assert chosen() == "queen"
    field.fill("kingfisher")
    field.press("Enter")
    assert "“kingfisher” is not among the 400 words" in status(page)
    page.locator(".sx-stage").press("ArrowLeft")
    assert chosen() != "queen"
    label = page.locator("text.sx-far").nth(5)
    word = label.text_content()
    label.click()
    assert chosen() == word


@of("clock_hands")
@pytest.mark.parametrize("by", ["mouse", "touch"])
def test_a_hand_that_is_turned_moves_its_place_and_stops_at_the_ends(page, by):
    """The first hand takes both places along, the second moves alone; speeds are 1, 0.1, …"""

    def turn(i, place, steps):  # of hand i, from a place; an angle of 0 points up
        start = place * 10.0**-i - math.pi / 2
        drag(page, around((90 * (i + 0.5), 80), 30, start, steps * 10.0**-i), by)

    for way, t, k in (
        ((0, 3, 9), 12, 5),  # more than one turn
        ((0, 17, 4), 12, 9),
        ((1, 12, -30), 0, 9),
        ((2, 9, 300), 49, 9),  # the two hands nearly lie on each other
    ):
        turn(*way)
        assert f"Places {t} and {t + k}, distance {k}" in status(page)


@of("parabola")
def test_steps_go_on_from_where_the_ball_is_put(page):
    def drawn(w):
        return 36 + (w + 3) / 12 * 296, 196 - (w - 3) ** 2 / 36 * 186

    def steps():
        """Where the path starts, and how many steps it has taken."""
        _, (_, start, *_), *taken = rows(page)
        return number(start), len(taken)

    press(page, "1.05", "Start again", "Step", "10 steps", "10 steps")
    assert steps() == (0, 21) and "outside" in status(page)
    fill(page, Learning_rate=0.3, Start_w=7.5)
    assert steps() == (7.5, 21) and "outside" not in status(page)
    drag(page, [drawn(3), drawn(5), (drawn(6.4)[0], 30)])  # it stays on the curve
    press(page, "Step", "Step")
    assert steps() == (6.4, 2)


@of("attention_steps")
def test_weights_follow_the_words_the_edits_and_the_mask(page):
    def asks():
        """The word whose steps are shown, below its sentence and its map."""
        word = page.locator(".sx-word-map [aria-pressed=true]").text_content()
        steps, mixture = page.locator(".sx-att-row table").all()
        assert mixture.locator("tfoot th").text_content() == f"{word} gets"
        weights = drawn_texts(page, ".sx-word-map .sx-asks td")
        assert steps.locator("tbody td:nth-last-child(2)").all_text_contents() == weights
        return word

    page.locator(".sx-att-row summary").click()
    press(page, "the asks")
    assert asks() == "the"
    field = page.get_by_label("W_q, adjective to noun")
    for wrong in ("", "100"):
        field.fill(wrong)
        assert field.get_attribute("aria-invalid") == "true"
    field.blur()
    assert field.input_value() == "4" and field.get_attribute("aria-invalid") == "false"
    field.fill("1")
    assert asks() == "old", "the row follows the change"
    assert page.locator(".sx-att-changed").count() == 4
    page.get_by_label("Mask").check()
    press(page, "king asks")
    assert asks() == "king"
    assert drawn_texts(page, ".sx-word-map .sx-asks .sx-closed") == ["0.00"]
    press(page, "As in the chapter")
    assert page.locator(".sx-att-changed, .sx-att-edited, .sx-closed").count() == 0


@of("turning_pairs")
def test_arrows_are_turned_by_a_finger_and_moving_both_leaves_the_score(page):
    pairs = {"query": (2.0, 1.0), "key": (0.5, 1.5)}

    def score(m, n):
        """What is said of a query at m and a key at n."""
        assert [row[0] for row in rows(page)[1:]] == [f"query at {m}", f"key at {n}"]
        return page.locator(".sx-score").inner_text()

    def turn(word, place, steps, radius=80.0):  # counter-clockwise, as places turn
        x, y = pairs[word]
        start = -math.atan2(y, x) - 0.3 * place
        drag(page, around((142, 142), radius, start, -0.3 * steps), "touch")

    first = score(2, 1)
    turn("query", 2, 7)
    turn("key", 1, 3)
    assert score(9, 4) != first
    turn("query", 9, -4)
    turn("query", 0, -30, 30)
    assert score(1, 0) == first, "the disc moves both, until one comes to its end"
    press(page, "Move both by 1", "100 words in front")
    assert score(102, 101) == first
    page.get_by_role("button", name="Move both back by 1").click()
    page.get_by_role("button", name="Move both back by 1").click(force=True)
    assert score(101, 100) == first, "the slider ends there"


@of("time_machine")
def test_each_step_shows_its_own_numbers_and_play_stops_where_a_reader_moves(page):
    settings = stored("11", "time_machine").settings
    slider, play = page.get_by_role("slider"), page.locator(".sx-slider button")
    last = len(settings["steps"]) - 1

    def place_after(milliseconds):
        page.clock.run_for(milliseconds)
        return int(slider.input_value())

    texts, told = set(), page.locator(".sx-time > .sx-status")
    for place in (9, last, 0):
        fill(page, Steps_of_training=place)
        assert f"After {settings['steps'][place]:,} step" in told.inner_text()
        assert f" {settings['losses'][place]:.2f} nats" in told.inner_text()
        texts.add(page.locator(".sx-text mark").inner_text())
    assert len(texts) == 3, "each step writes its own text"
    page.get_by_role("button", name="Silence this head").click()
    less = settings["without"][0][0][0]
    assert f"without head 1 of block 1: {less:.2f} nats" in told.inner_text()
    page.get_by_role("button", name="Let it speak again").click()
    assert "without" not in told.inner_text()
    page.get_by_label("Prompt").fill("To be")
    page.get_by_text("5 tokens.").wait_for()
    assert drawn_texts(page, ".sx-grid thead th")[-5:] == list("To␣be")

    page.clock.install()
    assert place_after(60_000) == 0, "nothing moves until it is asked to"
    play.click()
    assert place_after(60_000) == 1, "and by one step where nothing may move"
    page.emulate_media(reduced_motion="no-preference")
    page.get_by_role("button", name="Play", exact=True).wait_for()
    play.click()
    assert 1 < place_after(3_000) < last
    fill(page, Steps_of_training=11)
    assert place_after(60_000) == 11
    play.click()
    assert place_after(60_000) == last


@of("draft_ahead")
def test_a_pass_writes_several_characters_and_the_same_text_again(page):
    def written():
        """Both texts, without the prompt."""
        texts = drawn_texts(page, ".sx-text")
        prompt = page.locator(".sx-text b").first.text_content()
        return [text.removeprefix(prompt) for text in texts]

    def counted():
        return [[float(cell) for cell in row[1:4]] for row in rows(page)[1:]]

    page.locator(".sx-status", has_text="Both have written the same").wait_for(timeout=60_000)
    alone, ahead = written()
    assert alone == ahead and counted()[0] == [160, 160, 1] and counted()[1][1] < 60
    fill(page, Temperature=0.8)
    page.locator(".sx-status", has_text="At this temperature").wait_for(timeout=60_000)
    first = written()
    assert first[0] != first[1]
    press(page, "One pass", "One pass")
    assert counted()[0] == [2, 2, 1] and counted()[1][1] == 2
    assert [len(text) for text in written()] == [row[0] for row in counted()]
    assert status(page).startswith("The draft said “")
    write_ahead(page)
    assert written() == first, "a seed writes its text again"
    page.get_by_label("Show what was rejected").check()
    assert page.locator(".sx-text del").count() > 5


@of("fewer_bits")
def test_two_bits_write_another_text(page):
    seen = set()
    press(page, "matrix")
    for bits in (4, 2):
        fill(page, Bits=BITS[::-1].index(bits))
        page.locator(".sx-status").get_by_text("16 bits").wait_for(timeout=60_000)
        seen.add(tuple(drawn_texts(page, "tbody td")))
    assert len(seen) == 2
    differs = page.locator("mark:not(:empty)")
    differs.wait_for()
    exact, rounded = drawn_texts(page, ".sx-text")
    assert exact != rounded and rounded.endswith(differs.inner_text())
