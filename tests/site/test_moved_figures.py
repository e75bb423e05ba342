"""Figures that are dragged, edited or played, in a browser: what is shown follows the reader.

All their calculations are compared with Python's in Node.js, in tests/chapters/.
"""

import copy
import math

import pytest
import torch
import torch.nn.functional as F

from scratchformer.positions import sinusoidal
from scratchformer.tokenizers import ByteBPE
from scratchformer.training import evaluate
from scratchformer_course.ch02_embeddings.live import load_map
from scratchformer_course.ch11_training.stored_steps import load_checkpoints
from scratchformer_course.ch20_inference.live import BITS, PASSAGE, size
from scratchformer_course.measurements import load_measurements
from scratchformer_course.page_model.fewer_bits import round_model
from tests.chapters.test_live_figures import descend
from tests.site.browsing import number, numbers, rows, tables
from tests.site.figures import around, drag, fill, press, shipped, status, stored, write_ahead


def of(name):
    """A test of this figure."""
    return pytest.mark.parametrize("page", [name], indirect=True)


def near(values, error=0.0051):
    return pytest.approx([float(value) for value in values], abs=error)


@of("merges")
def test_merges_play_until_a_reader_takes_over_and_cut_what_is_typed(page):
    settings = stored("01", "merges").settings
    merged = [piece.encode("latin-1") for piece in settings["merged"]]
    tokens = [*(bytes([b]) for b in range(256)), *merged]
    merges = page.get_by_role("slider", name="Merges")

    def check(text):
        """The ids on screen are those of the tokenizer that has learned so many merges."""
        learned = 256 + int(merges.input_value())
        expected = ByteBPE(tokens[:learned], pattern=settings["pattern"]).encode(text)
        assert page.locator(".sx-piece small").all_inner_texts() == list(map(str, expected))
        assert status(page).endswith(f" {len(expected)} tokens.")

    start = settings["start"]
    check(settings["text"])
    page.emulate_media(reduced_motion="no-preference")
    press(page, "Play")
    page.wait_for_function(f"document.querySelector('input[type=range]').value > {start}")
    press(page, "Back")
    assert page.get_by_role("button", name="Play", exact=True).count() == 1, "it has stopped"
    check(settings["text"])
    fill(page, Merges=0)
    press(page, "Next merge", "Next merge")
    check(settings["text"])
    new = int(page.locator(".sx-piece.sx-new small").first.inner_text())
    assert new == 255 + int(merges.input_value())
    press(page, "All merges")
    page.get_by_role("textbox", name="Text").fill("語 <b>&amp;</b> e\u0301")
    check("語 <b>&amp;</b> e\u0301")
    page.locator(".sx-piece").first.click()
    tree = page.locator(".sx-detail svg text:not(.sx-mono)").all_text_contents()
    made = tokens[int(tree[-1])]
    assert sorted(int(i) for i in tree if int(i) < 256) == sorted(made)


@of("word_map")
def test_a_word_is_chosen_by_typing_keys_and_pressing(page):
    words, field = load_map(), page.get_by_label("Word", exact=True)

    def check(word):
        names = page.locator(".sx-list button").all_text_contents()
        cosines = page.locator(".sx-list td:nth-child(2)").all_text_contents()
        expected = words.nearest(word, 8)
        assert names == [name for name, _ in expected]
        assert [number(c) for c in cosines] == near((c for _, c in expected), 6e-3)
        assert page.locator("text.sx-chosen").text_content() == field.input_value() == word

    check("king")
    field.fill("kingfisher")
    field.press("Enter")
    said = page.locator(".sx-nearest > .sx-status").inner_text()
    assert "“kingfisher” is not among the 400 words" in said
    page.locator(".sx-stage").press("ArrowLeft")
    reached = page.locator("text.sx-chosen").text_content()
    assert reached != "king"
    check(reached)
    label = page.locator("text.sx-far").nth(5)
    word = label.text_content()
    label.click()
    check(word)


@of("clock_hands")
@pytest.mark.parametrize("by", ["mouse", "touch"])
def test_a_hand_that_is_turned_moves_its_place_and_stops_at_the_ends(page, by):
    """The first hand takes both places along, the second moves alone; speeds are 1, 0.1, …"""
    encodings = sinusoidal(100, 8).double()

    def check(t, k):
        a, b = encodings[t].view(-1, 2), encodings[t + k].view(-1, 2)
        for row, *hand in zip(rows(page)[1:], a, b, (a * b).sum(dim=1), strict=True):
            assert [number(text) for text in row[1:]] == near(torch.hstack(hand).tolist())
        assert f"Places {t} and {t + k}, distance {k}" in status(page)

    def turn(i, place, steps):  # of hand i, from a place; an angle of 0 points up
        start = place * 10.0**-i - math.pi / 2
        drag(page, around((90 * (i + 0.5), 80), 30, start, steps * 10.0**-i), by)

    check(3, 5)
    for way, t, k in (
        ((0, 3, 9), 12, 5),  # more than one turn
        ((0, 17, 4), 12, 9),
        ((1, 12, -30), 0, 9),
        ((2, 9, 300), 49, 9),  # the two hands nearly lie on each other
    ):
        turn(*way)
        check(t, k)


@of("parabola")
@pytest.mark.parametrize("by", ["mouse", "touch"])
def test_steps_go_on_from_where_the_ball_is_put(page, by):
    def drawn(w):
        return 36 + (w + 3) / 12 * 296, 196 - (w - 3) ** 2 / 36 * 186

    def check(start, rate, steps):
        places = descend(start, rate, steps)
        shown = [number(row[1]) for row in rows(page)[1:]]
        assert shown == pytest.approx(places, abs=6e-3, rel=0.06)
        assert ("outside" in status(page)) == (abs(places[-1] - 3) > 6)

    press(page, "1.05", "Start again", "Step", "10 steps", "10 steps")
    check(0.0, 1.05, 21)
    fill(page, Learning_rate=0.3, Start_w=7.5)
    check(7.5, 0.3, 21)
    ball = descend(7.5, 0.3, 21)[-1]
    drag(page, [drawn(ball), drawn(5), (drawn(6.4)[0], 30)], by)  # it stays on the curve
    press(page, "Step", "Step")
    check(6.4, 0.3, 2)


@of("attention_steps")
def test_weights_follow_the_words_the_edits_and_the_mask(page):
    settings = stored("06", "attention_steps").settings
    words = settings["words"]
    matrices = {name: torch.tensor(settings[name]).double() for name in ("x", "W_q", "W_k", "W_v")}

    def check(asks, causal=False):
        q, k, v = (matrices["x"] @ matrices[name] for name in ("W_q", "W_k", "W_v"))
        closed = torch.ones(len(q), len(q)).triu(1).bool() & causal
        weights = (q @ k.T / q.shape[1] ** 0.5).masked_fill(closed, -math.inf).softmax(dim=-1)
        shown, _, mixture = tables(page, ".live-figure .sx-word-map, .sx-att-row table")
        assert [[number(t) for t in line[1:]] for line in shown[1:]] == list(map(near, weights))
        assert mixture[-1][0] == f"{asks} gets"
        assert [number(n) for n in mixture[-1][1:]] == near((weights @ v)[words.index(asks)])

    page.locator(".sx-att-row summary").click()
    check("old")
    press(page, "the asks")
    check("the")
    field = page.get_by_label("W_q, adjective to noun")
    for wrong in ("", "100"):
        field.fill(wrong)
        assert field.get_attribute("aria-invalid") == "true"
    field.blur()
    assert field.input_value() == "4" and field.get_attribute("aria-invalid") == "false"
    field.fill("1")
    at = settings["features"].index("adjective"), settings["columns"].index("noun")
    matrices["W_q"][at] = 1
    check("old")  # the row follows the change
    assert page.locator(".sx-att-changed").count() == 4
    page.get_by_label("Mask").check()
    press(page, "sleeps asks")
    check("sleeps", causal=True)
    press(page, "As in the chapter")
    matrices["W_q"][at] = 4
    check("sleeps")
    assert page.locator(".sx-att-changed, .sx-att-edited, .sx-closed").count() == 0


@of("turning_pairs")
def test_arrows_are_turned_by_a_finger_and_moving_both_leaves_the_score(page):
    pairs = {"query": (2.0, 1.0), "key": (0.5, 1.5)}

    def check(m, n):
        """The score on screen, which is that of a query at m and a key at n."""
        said = page.locator(".sx-score").inner_text()
        angle = 0.3 * (m - n)
        q, k = (complex(*pair) for pair in pairs.values())
        score = (q * complex(math.cos(angle), math.sin(angle)) * k.conjugate()).real
        assert numbers(said) == [m - n, pytest.approx(score, abs=5.1e-4)]
        assert [row[0] for row in rows(page)[1:]] == [f"query at {m}", f"key at {n}"]
        return said

    def turn(word, place, steps, radius=80.0):  # counter-clockwise, as places turn
        x, y = pairs[word]
        start = -math.atan2(y, x) - 0.3 * place
        drag(page, around((142, 142), radius, start, -0.3 * steps), "touch")

    first = check(2, 1)
    turn("query", 2, 7)
    turn("key", 1, 3)
    assert check(9, 4) != first
    turn("query", 9, -4)
    turn("query", 0, -30, 30)
    assert check(1, 0) == first, "the disc moves both, until one comes to its end"
    press(page, "Move both by 1", "100 words in front")
    assert check(102, 101) == first
    page.get_by_role("button", name="Move both back by 1").click()
    page.get_by_role("button", name="Move both back by 1").click(force=True)
    assert check(101, 100) == first, "the slider ends there"


@of("time_machine")
def test_each_step_shows_its_own_numbers_and_play_stops_where_a_reader_moves(page):
    settings = stored("11", "time_machine").settings
    slider, play = page.get_by_role("slider"), page.locator(".sx-slider button")
    last = len(settings["steps"]) - 1
    line = torch.tensor(shipped()[1].encode(settings["line"]))

    def place_after(milliseconds):
        page.clock.run_for(milliseconds)
        return int(slider.input_value())

    for place in (9, last, 0):
        fill(page, Steps_of_training=place)
        said, loss = page.locator(".sx-time > .sx-status").inner_text(), settings["losses"][place]
        assert f"After {settings['steps'][place]:,} step" in said and f" {loss:.2f} nats" in said
        passed = [name for name, counted in settings["counted"] if loss < counted]
        assert [name for name, _ in settings["counted"] if name in said] == passed
        with torch.no_grad():
            logits = load_checkpoints()[place][1](line[None])[0, :-1]
        mean = F.cross_entropy(logits, line[1:]).item()
        assert numbers(page.locator(".sx-main .sx-title").nth(1).inner_text()) == near([mean])
    page.get_by_label("Prompt").fill("To be")
    page.get_by_text("5 tokens.").wait_for()
    assert page.locator(".sx-grid thead th").all_inner_texts()[-5:] == list("To␣be")

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
        texts = page.locator(".sx-text").all_text_contents()
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
def test_in_fewer_bits_sizes_and_losses_are_pythons_and_two_bits_write_another_text(page):
    model, _ = shipped()
    losses = load_measurements("page_bits")["validation"]["tensor"]

    def choose(bits):
        fill(page, Bits=BITS[::-1].index(bits))
        page.locator(".sx-status").get_by_text("16 bits").wait_for(timeout=60_000)

    press(page, "matrix")
    choose(4)
    kilobytes, _, loss, *_ = page.locator("tbody td").all_inner_texts()
    assert kilobytes == f"{round(size(model, 4, 'tensor') / 1000):,} kB"
    assert float(loss) == pytest.approx(losses["4"], abs=6e-4)
    choose(2)
    ids = torch.tensor(shipped()[1].encode(PASSAGE))
    in_two_bits = evaluate(round_model(copy.deepcopy(model), 2, "tensor"), ids, len(ids))
    assert number(page.locator("tbody td").nth(4).inner_text()) == pytest.approx(
        in_two_bits, abs=1e-3
    )
    differs = page.locator("mark:not(:empty)")
    differs.wait_for()
    exact, own = page.locator(".sx-text").all_text_contents()
    assert exact != own and own.endswith(differs.inner_text())
