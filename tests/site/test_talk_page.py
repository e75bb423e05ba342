"""The page *Talk*: recorded, then a talk with a small random model that is opened at its words."""

import re

import pytest

from scratchformer.data import real_model
from scratchformer_course.pages.talk_page import talk
from tests.site.browsing import LIVE, PHONE, TOO_SMALL, axe_finds, tables
from tests.site.figures import fill, press
from tests.site.real_figures import delete, load, real_figure

WORDS, HEADING = ".sx-said .sx-piece", ".sx-detail > .sx-title"
VIEW = ".sx-opened:not([hidden])"
LAST = "[...document.querySelectorAll('.sx-said')].at(-1)"
WRITES = "document.querySelector('.sx-go').textContent === 'Stop'"


@pytest.fixture
def page(browser, tmp_path):
    with real_figure(browser, tmp_path, talk()) as page:
        yield page


def tab(page, name, there):
    """The view of this name, when it has computed what it shows."""
    page.get_by_role("tab", name=name).click()
    page.locator(f"{VIEW} {there}").first.wait_for()


def answered(page):
    """The last answer, when it is all there."""
    page.wait_for_function(f"!({WRITES})", timeout=60_000)
    return page.locator(".sx-said").last.inner_text()


def stopped(page, n=4):
    """The last answer, stopped after some tokens."""
    page.wait_for_function(f"{LAST}.querySelectorAll('.sx-piece').length > {n}")
    if page.evaluate(WRITES):
        press(page, "Stop")
    return answered(page)


def say(page, words):
    fill(page, Your_words=words)
    page.keyboard.press("Enter")


def read(page):
    """All that the model has read where the last word was chosen."""
    page.locator(WORDS).last.click()
    tab(page, "Heads", ".sx-reading span")
    return page.locator(".sx-reading").text_content()


def test_a_recorded_answer_is_opened_at_one_word_until_the_model_is_there_and_comes_back(page):
    assert "The capital of France is Paris." in page.locator(".sx-log").inner_text()
    assert "Paris” had a chance of 95.1 %" in page.locator(HEADING).inner_text()
    assert tables(page, f"{VIEW} table")[0][1][:3] == ["␣Paris", "95.1 %", "100.0 %"]
    tab(page, "Heads", ".sx-reading span")
    assert "Head 24.5 looked most at “France”" in page.locator(VIEW).inner_text()
    page.locator(".sx-model-heads span").nth(29).click()
    assert "Head 30.1" in page.locator(VIEW).inner_text()
    page.locator(WORDS).nth(4).click()
    assert "recorded at another word" in page.locator(VIEW).inner_text()
    assert page.get_by_role("button", name="Send").is_disabled()
    load(page)
    press(page, "New chat")
    assert page.locator(WORDS).count() == 0
    delete(page)
    assert "The capital of France is Paris." in page.locator(".sx-log").inner_text()


def test_it_streams_stops_and_a_second_question_keeps_the_first_in_the_prompt(page):
    load(page)
    say(page, "abab")
    stopped(page)
    say(page, "zz")
    stopped(page)
    seen = read(page)
    assert "abab" in seen.replace("⏎", "") and "zz" in seen and "<|im_start|>" in seen
    press(page, "New chat")
    page.get_by_label("As a chat").uncheck()
    say(page, "abab")
    stopped(page)
    assert read(page).startswith("abab") and "<|im_start|>" not in read(page)


def test_a_pressed_token_shows_its_rivals_and_what_is_silenced_or_coarser_changes_what_follows(
    page,
):
    load(page)
    fill(page, Your_words="ab")
    press(page, "Send")
    first = stopped(page)
    page.locator(WORDS).first.click()
    tab(page, "How did it choose?", "td >> text=100.0 %")
    assert len(tables(page, f"{VIEW} table")[0]) == 11
    tab(page, "Heads", ".sx-reading span")
    page.locator(".sx-model-heads span").first.focus()
    page.keyboard.press("ArrowRight")
    press(page, "Silence head 2.1")
    changed = page.locator(HEADING, has_text=re.compile("and has .* now"))
    changed.wait_for()
    assert "Silenced: head 2.1." in page.locator(".sx-detail").inner_text()
    press(page, "Again")
    assert stopped(page) != first
    assert f"Before: {first[:2]}" in page.locator(".sx-log").inner_text()
    press(page, "As in the file")
    tab(page, "Switches", ".sx-blocks")
    page.locator(WORDS).first.click()
    press(page, "2")
    changed.wait_for()
    assert "2 bits a weight" in page.locator(".sx-detail").inner_text()


def test_on_a_phone_in_the_dark_a_live_talk_fits_and_axe_finds_nothing(browser, tmp_path, axe):
    with real_figure(browser, tmp_path, talk(), mode="dark", width=PHONE) as page:
        load(page)
        press(page, "number", "Send")
        stopped(page)
        page.locator(WORDS).first.focus()
        page.keyboard.press("ArrowRight")
        assert page.locator(f"{WORDS}[aria-pressed=true]").count() == 1
        for name in ("How did it choose?", "Heads", "Lens", "Switches"):
            tab(page, name, ":is(table, .sx-reading, .sx-blocks)")
            assert page.evaluate(TOO_SMALL, LIVE) == []
            assert axe_finds(page, axe, LIVE) == []


def test_the_real_model_answers_as_in_python(browser, tmp_path):
    try:
        file = real_model.find_real_model(download=False)
    except OSError:
        pytest.skip("the real model is not at hand")
    with real_figure(browser, tmp_path, talk(), file) as page:
        load(page)
        press(page, "Send")
        page.wait_for_function(WRITES)
        assert answered(page) == "The capital of France is Paris."
