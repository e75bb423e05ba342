"""The figures that ask the real model: recorded until it is loaded, then its own, and back.

A small random file stands in for SmolLM2. With SmolLM2 itself, where it is at hand, they show what
was recorded.
"""

import re

import pytest

from scratchformer.data.real_model import find_real_model
from tests.site.figures import FIGURES
from tests.site.real_figures import delete, load, real_figure

STATUS = ".sx-status"
MISSING = (
    "[...document.querySelectorAll('.sx-account span')].filter((s) => s.innerText === '?').length"
)
TEXT = "document.querySelector('.live-figure').innerText"


def shown(page):
    """What the figure shows, without the panel that loads the model."""
    text = page.locator(".live-figure").inner_text()
    return text[: text.index("This was recorded")] if "This was recorded" in text else text


def until(page, condition):
    page.wait_for_function(condition, timeout=60_000)


def write(page, label, text):
    page.get_by_label(label, exact=True).fill(text)


def read_a_sentence(page):
    write(page, "A text that SmolLM2 reads", "abab is")
    until(page, f"{TEXT}.includes('at place 4')")
    page.get_by_role("button", name="24.4").click()
    until(page, f"{TEXT}.includes('without 24.4')")


def switch_heads_off(page):
    write(page, "A line that SmolLM2 reads", "abc abc abc")
    page.locator("[data-row='2'][data-column='3']").focus()
    page.get_by_role("button", name="Switch off head 4.3").click()
    until(page, f"{TEXT}.includes('without 2 heads')")
    page.get_by_role("button", name="All on").click()
    until(page, f"{TEXT}.includes('without 0 heads')")


def write_and_stop(page):
    write(page, "A beginning", "abc")
    page.get_by_role("button", name="penalty").click()
    page.get_by_role("button", name="Write").click()
    until(page, r"/penalty: \d of [1-9]/.test(document.body.innerText)")
    # a quick machine has written all of it already
    page.evaluate("""[...document.querySelectorAll("button")]
        .find((button) => button.textContent === "Stop")?.click()""")
    page.get_by_role("button", name="Write").wait_for()


def measure_the_tab(page):
    page.get_by_role("button", name="Bet: they add up").click()  # which uncovers the bars
    until(page, f"{MISSING} === 1")  # the forecasts come first
    go = page.get_by_role("button", name="Write 40 tokens")
    go.evaluate("button => { button.click(); button.click(); }")  # and stop at once
    go.wait_for()
    assert page.evaluate(MISSING) == 1
    go.click()
    until(page, f"/It wrote [0-9]/.test({TEXT})")
    assert page.evaluate(MISSING) == 0


def ask_and_switch(page):
    write(page, "Your question", "abc")
    page.get_by_role("button", name="Ask").click()
    until(page, "document.querySelector('.sx-lin-asks').textContent === 'abc'")
    page.get_by_role("switch", name="Norm").click()
    page.get_by_role("button", name="Ask").wait_for(timeout=60_000)


def lower_the_bits(page):
    write(page, "Your question", "abc")
    page.get_by_role("button", name="2 bits").click()
    until(page, f"{TEXT}.includes('Matrices have 2 bits')")
    page.get_by_role("button", name="Ask").wait_for(timeout=60_000)


def patch_a_country(page):
    page.get_by_label("64 numbers from").select_option("Japan")
    until(page, f"{TEXT}.includes('with 24.5 of Japan')")


def begin_far_out(page):
    write(page, "Your question", "abc")
    page.get_by_label("The text begins at").fill("8")
    until(page, f"{TEXT}.includes('position 100,000,000') && /[0-9] at most/.test({TEXT})")


USED = {
    "real_head": read_a_sentence,
    "all_heads": switch_heads_off,
    "five_rules": write_and_stop,
    "tab_speed": measure_the_tab,
    "lines": ask_and_switch,
    "one_weight": lower_the_bits,
    "capital_patch": patch_a_country,
    "far_start": begin_far_out,
}


@pytest.mark.parametrize("name", USED)
def test_it_is_recorded_then_the_models_own_and_recorded_again(browser, tmp_path, name):
    with real_figure(browser, tmp_path, FIGURES[name].make()) as page:
        recorded = shown(page)
        assert page.locator(".sx-with-model:enabled").count() == 0
        load(page)
        USED[name](page)
        assert shown(page) != recorded
        assert not re.search("Error|undefined|NaN", page.locator(".live-figure").inner_text())
        delete(page)
        assert page.locator(".sx-with-model:enabled").count() == 0
        assert "This was recorded" in page.locator(STATUS).first.inner_text()


@pytest.mark.parametrize("name", ["real_head", "all_heads", "capital_patch"])
def test_smollm2_shows_what_was_recorded(browser, tmp_path, name):
    try:
        file = find_real_model(download=False)
    except OSError:
        pytest.skip("SmolLM2 is not at hand: python -m scratchformer.data.real_model")
    with real_figure(browser, tmp_path, FIGURES[name].make(), file) as page:
        recorded = page.locator("table").inner_text()
        load(page)
        until(page, "document.querySelector('.sx-status').textContent === ''")
        page.wait_for_function("!document.querySelector('[aria-busy]')", timeout=60_000)
        assert page.locator("table").inner_text() == recorded


def test_recorded_heads_can_be_chosen_before_the_model_is_there(browser, tmp_path):
    with real_figure(browser, tmp_path, FIGURES["real_head"].make()) as page:
        page.get_by_role("button", name="24.4").click()
        assert "Head 24.4" in shown(page) and "without 24.4" in shown(page)


def test_what_the_model_refuses_is_said(browser, tmp_path):
    with real_figure(browser, tmp_path, FIGURES["real_head"].make()) as page:
        load(page)
        write(page, "A text that SmolLM2 reads", " ")
        page.locator(STATUS, has_text="Write some words first").wait_for()


@pytest.mark.parametrize("missing", ["Worker", "Worker; delete window.WebAssembly"])
def test_without_workers_and_without_webassembly_it_computes_too(browser, tmp_path, missing):
    script = f"delete window.{missing}"
    with real_figure(browser, tmp_path, FIGURES["capital_patch"].make(), script=script) as page:
        load(page)
        patch_a_country(page)
