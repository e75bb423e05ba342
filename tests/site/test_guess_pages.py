"""Guesses in a real browser: kept, shown beside the right output, changed and forgotten."""

import contextlib
import re

import pytest

from tests.chapters.test_guesses import GUESSES, folded
from tests.site.browsing import PHONE, WIDE, axe_finds, opened

LINE = ".course-guess-line"
# as when the browser keeps nothing for a page; the theme's own notes are left alone
NO_STORAGE = """const setItem = Storage.prototype.setItem;
Storage.prototype.setItem = function (key, value) {
  if (key.startsWith('course-guess')) throw new DOMException('full', 'QuotaExceededError');
  setItem.call(this, key, value);
};"""


@pytest.fixture
def open_chapter(browser, server):
    """A function that opens a chapter; at the end no page may have complained."""
    with contextlib.ExitStack() as stack:

        def open_page(chapter, mode="light", width=WIDE, script=""):
            address = f"{server}notebooks/{chapter}.html"
            page = stack.enter_context(opened(browser, address, mode, width, script))
            page.locator(".course-guess form").first.wait_for()
            return page

        yield open_page


def box(page, question):
    return page.locator(f'.course-guess[data-question="{question}"]')


def keep_number(page, question, text):
    box(page, question).get_by_role("textbox").fill(text)
    box(page, question).get_by_role("button", name="Keep my guess").click()


def below(line):
    """The text of the output that stands right below a line."""
    return line.evaluate("e => e.nextElementSibling.matches('.cell_output') && "
                         "e.nextElementSibling.textContent")  # fmt: skip


def answer(name):
    return next(attrs["data-answer"] for key, attrs, _ in GUESSES if key == name)


def digits(text):
    return re.findall(r"\d+", text)


def focused_text(page):
    return page.evaluate("document.activeElement.textContent")


def test_a_number_is_kept_shown_beside_its_output_and_forgotten(open_chapter):
    page = open_chapter("01_bpe")
    assert page.locator(LINE).count() == 0
    keep_number(page, "new-words", "30 %")
    line = page.locator(LINE)
    told = line.locator("p").inner_text()
    right = int(answer("01/new-words"))
    assert told == focused_text(page) and digits(told) == ["30", str(right), str(30 - right)]

    page.reload(wait_until="load")  # kept by the browser, and told without taking the focus
    assert line.locator("p").inner_text() == told
    assert page.evaluate("document.activeElement === document.body")
    assert box(page, "new-words").get_by_role("textbox").input_value() == "30"

    line.get_by_role("button", name="Change").click()
    assert page.evaluate("document.activeElement.value") == "30"
    keep_number(page, "new-words", str(right))
    assert "right" in line.locator("p").inner_text()
    assert line.count() == 1

    line.get_by_role("button", name="Forget").click()
    assert line.count() == 0
    assert "forgotten" in box(page, "new-words").get_by_role("status").inner_text()
    assert page.evaluate("document.activeElement.value") == ""
    page.reload(wait_until="load")
    assert line.count() == 0
    assert page.evaluate("localStorage.length") == 0 or not page.evaluate(
        "Object.keys(localStorage).some(key => key.startsWith('course-guess'))"
    )


def test_a_choice_is_made_by_keys_alone(open_chapter):
    page = open_chapter("01_bpe")
    radios = box(page, "most-tokens").get_by_role("radio")
    radios.first.focus()
    page.keyboard.press("ArrowDown")  # French, which arrow keys choose
    page.keyboard.press("Tab")
    assert focused_text(page) == "Keep my guess"
    page.keyboard.press("Enter")
    told = focused_text(page)
    assert "French" in told and "Russian" in told and "right" not in told
    line = page.locator(LINE)
    assert "Chinese" in below(line)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # Change
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert focused_text(page).count("Russian") == 2 and "right" in focused_text(page)
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # Forget
    assert line.count() == 0
    assert page.locator(".course-guess input:checked").count() == 0


def test_what_is_no_guess_is_told_and_not_kept(open_chapter):
    page = open_chapter("01_bpe")
    field = box(page, "new-words").get_by_role("textbox")
    status = box(page, "new-words").get_by_role("status")
    for text, told in (("", "number"), ("many", "“many”"), ("130", "100")):
        field.fill(text)
        field.press("Enter")
        assert told in status.inner_text()
        assert field.get_attribute("aria-invalid") == "true"
        assert field.evaluate("e => e === document.activeElement")
    box(page, "word-tokens").get_by_role("button").click()
    assert box(page, "word-tokens").get_by_role("status").inner_text() != ""
    assert page.locator(LINE).count() == 0
    field.fill("9")
    field.press("Enter")
    assert status.inner_text() == ""
    assert field.get_attribute("aria-invalid") == "false"


def test_a_stored_text_that_is_no_guess_is_ignored(open_chapter):
    planted = """localStorage.setItem('course-guess:/notebooks/01_bpe:new-words', 'many');
      localStorage.setItem('course-guess:/notebooks/01_bpe:most-tokens', 'Latin');"""
    page = open_chapter("01_bpe", script=planted)
    assert page.locator(LINE).count() == 0


def test_without_storage_a_guess_lasts_for_the_visit_and_says_so(open_chapter):
    page = open_chapter("01_bpe", script=NO_STORAGE)
    keep_number(page, "new-words", "5")
    told = page.locator(LINE).locator("p").inner_text()
    assert digits(told)[0] == "5" and "lost" in told
    page.reload(wait_until="load")
    assert page.locator(LINE).count() == 0


def test_a_result_that_comes_later_is_linked(open_chapter):
    page = open_chapter("17_speedrun")
    keep_number(page, "times-as-fast", "10")
    status = box(page, "times-as-fast").get_by_role("status")
    line, right = page.locator(LINE), int(answer("17/times-as-fast"))
    told = digits(line.locator("p").inner_text())
    assert told == ["10", str(right), str(right - 10)]
    status.get_by_role("link").click()
    assert line.evaluate("e => Math.abs(e.getBoundingClientRect().top) < innerHeight")


def wrong_guesses(page, name):
    """Each answer, given as the guess, must be right, and stand above the output that was meant."""
    asked = [
        (attrs, cell) for key, attrs, cell in GUESSES if name.startswith(f"notebooks/{key[:2]}")
    ]
    if page.locator(".course-guess form").count() != len(asked):
        yield f"{len(asked)} guesses are asked, the page has others"
    for attrs, cell in asked:
        question, answer = attrs["data-question"], attrs["data-answer"]
        if "data-choices" in attrs:
            box(page, question).get_by_role("radio", name=answer, exact=True).check()
            box(page, question).get_by_role("button").click()
        else:
            keep_number(page, question, answer)
        line = page.get_by_role("group", name=f"Guess: {attrs['data-ask']}", exact=True)
        if "right." not in line.locator("p").inner_text() or folded(cell):
            yield f"{question}: {line.inner_text()}"
        shown = "".join(below(line).split())
        printed = [output.text for output in cell.outputs if output.output_type == "stream"]
        if not all("".join(text.split()) in shown for text in printed):
            yield f"{question}: another output stands below the guess"


@pytest.mark.parametrize(("mode", "width"), [("light", WIDE), ("dark", PHONE)])
def test_axe_finds_nothing_and_no_page_scrolls_sideways(open_chapter, axe, mode, width):
    page = open_chapter("01_bpe", mode, width)
    keep_number(page, "round-of-the", "x")
    keep_number(page, "new-words", "30")
    box(page, "most-tokens").get_by_role("radio").first.check()
    box(page, "most-tokens").get_by_role("button").click()
    assert page.locator(LINE).count() == 2
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for selector in (".course-guess", LINE):
        assert axe_finds(page, axe, selector) == []
    small = page.evaluate("""() => [...document.querySelectorAll(
        '.course-guess button, .course-guess-row label, .course-guess-line button')]
        .map(e => e.getBoundingClientRect().height).filter(h => h < 24)""")
    assert small == []


def test_without_scripts_nothing_stands_in_place_of_a_form(browser, server):
    with opened(browser, f"{server}notebooks/01_bpe.html", javascript=False) as page:
        found = page.locator(".course-guess")
        assert found.count() == sum(key.startswith("01/") for key, *_ in GUESSES)
        assert all(e.bounding_box()["height"] == 0 for e in found.all())
