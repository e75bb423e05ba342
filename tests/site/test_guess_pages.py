"""Guesses in a real browser: kept, shown beside what answers, changed and forgotten.

What answers them is covered: until a guess, or until it is wanted, searched for or linked to.
Chapter 04 asks for a number, for two, and for a choice; test_browser.py asks pages for their
secrets.
"""

import re

import pytest

from tests.site.browsing import opened, parsed, reload
from tests.site.conftest import toc_pages

PAGE = "notebooks/04_first_network"
TWO, NUMBER, CHOICE = "rates-by-hand", "used-twice", "forgotten-slopes"  # the answers of chapter 04
ANCHOR = "fig-swing"  # stands in the answer of CHOICE
COVER = ".course-guess-cover"
SHOW = "Just show me"
NEVER = "Never cover answers"
# as when the browser keeps nothing for a page; the theme's own notes are left alone
NO_STORAGE = """const setItem = Storage.prototype.setItem;
Storage.prototype.setItem = function (key, value) {
  if (key.startsWith('course-guess')) throw new DOMException('full', 'QuotaExceededError');
  setItem.call(this, key, value);
};"""


def box(page, question):
    return page.locator(f'.course-guess[data-question="{question}"]')


def submit_guess(page, question, text):
    box(page, question).get_by_role("textbox").fill(text)
    box(page, question).locator("button[type=submit]").click()


def verdict(page):
    return page.locator(".course-guess-line p")


def status_text(page, question):
    return box(page, question).get_by_role("status").inner_text()


def focused_text(page):
    return page.evaluate("document.activeElement.textContent")


# a word that no page has and a button in each answer, which take no space
PROBES = """document.querySelectorAll('.course-guess-answer').forEach((answer, i) => {
  (answer.querySelector('p, li, td, .output > *') ?? answer.firstElementChild)
    .insertAdjacentHTML('beforeend', '<span class="probe" style="position: absolute">' +
      `xyzzy ${i}<button>plugh ${i}</button></span>`);
})"""
BOTTOMS = """[...document.querySelectorAll('article h2, article h3, article .cell, article p')]
  .filter(e => e.checkVisibility() && !e.closest('.course-guess-answer, .course-guess'))
  .map(e => e.getBoundingClientRect().bottom + scrollY)"""
TOP = "button => button.closest('.course-guess-cover').getBoundingClientRect().top + scrollY"
ANSWERS_VISIBLE = """[...document.querySelectorAll('.course-guess-answer > *')]
  .map(e => e.checkVisibility({visibilityProperty: true}))"""
# the questions of which a reader sees an answer, or a part of it
OPENED = """[...document.querySelectorAll('.course-guess-answer')].filter(answer =>
  [...answer.children].some(e => e.checkVisibility({visibilityProperty: true})))
  .map(answer => answer.dataset.question)"""
STORED_KEYS = "Object.keys(localStorage).filter(k => k.startsWith('course-guess'))"
ANSWERS_PRINTED = """[...document.querySelectorAll('.course-guess-answer > :not(details)')]
  .every(e => e.checkVisibility({visibilityProperty: true}))"""
FOCUSABLE_PROBES = """[...document.querySelectorAll('.probe button')].filter(e => {
  e.focus({preventScroll: true});
  return e === document.activeElement;
}).length"""


def read_in_answers(page):
    return "".join(answer.aria_snapshot() for answer in page.locator(".course-guess-answer").all())


def keeps_its_secrets(page):
    """What a page does not tell before it is asked; then nothing moves above what it tells."""
    page.evaluate(PROBES)
    sizes = page.locator(COVER).all_inner_texts()
    assert all(re.search(r"\(.*about [1-9]\d*0 words\)", size) for size in sizes), sizes
    text = read_in_answers(page)
    assert not any(page.evaluate(ANSWERS_VISIBLE)) and "xyzzy" not in text and "plugh" not in text
    assert page.evaluate(FOCUSABLE_PROBES) == 0
    page.emulate_media(media="print")
    assert page.evaluate(ANSWERS_PRINTED) and not page.locator(COVER).filter(visible=True).count()
    page.emulate_media(media="screen")
    shows = page.get_by_role("button", name=SHOW)
    assert shows.count() == page.locator(".course-guess form").count()
    while shows.count():
        top, before = shows.first.evaluate(TOP), page.evaluate(BOTTOMS)
        shows.first.click()
        pairs = zip(before, page.evaluate(BOTTOMS), strict=True)
        moved = [abs(now - earlier) for earlier, now in pairs if earlier <= top]
        assert moved and max(moved) < 1, "something has moved"
        assert page.evaluate("document.activeElement.matches('.course-guess-answer.course-open')")
    assert all(page.evaluate(ANSWERS_VISIBLE))
    assert read_in_answers(page).count("xyzzy") == page.evaluate(FOCUSABLE_PROBES) > 0
    page.locator(".probe").evaluate_all("probes => probes.forEach(probe => probe.remove())")


def test_each_guess_is_followed_by_the_one_answer_under_its_cover(site):
    for name in toc_pages():
        article = parsed(site / f"{name}.html").article
        for guess in article.select(".course-guess"):
            (answer,) = article.select(
                f".course-guess-answer[data-question={guess['data-question']}]"
            )
            assert answer in guess.find_all_next() and answer.get_text(strip=True), (name, guess)
            assert not answer.select(".course-guess"), "no question stands under a cover"


BACK = re.compile(r"(This|That|These|Those|It|They|So)\b")  # a word that needs what is before it


def test_after_a_cover_the_open_text_begins_anew_and_no_lead_in_is_covered(site):
    faults = []
    for name in toc_pages():
        article = parsed(site / f"{name}.html").article
        for answer in article.select(".course-guess-answer"):
            inside = answer.find_all("p")
            after = answer.find_next_sibling()
            while after is not None and "course-guess-end" in after.get("class", []):
                after = after.find_next_sibling()
            covered = inside[-1].get_text().strip() if inside else ""
            if after is not None and covered.endswith(":"):
                faults.append((name, answer["data-question"], "a lead-in is covered", covered))
            if after is not None and after.name == "p" and BACK.match(text := after.get_text()):
                faults.append((name, answer["data-question"], "refers back", text))
    assert faults == []


@pytest.fixture
def address(site):
    return (site / f"{PAGE}.html").as_uri()


@pytest.fixture
def page(browser, address):
    with opened(browser, address, faults=[]) as page:  # reloads give up what is still on its way
        yield page


def test_a_number_is_kept_told_changed_and_forgotten(page):
    submit_guess(page, NUMBER, "9")
    words = verdict(page).inner_text()
    assert words == focused_text(page) and re.findall(r"\d+", words) == ["9", "6", "3"]
    below = ".course-guess-line + .course-guess-answer.course-open"
    assert "slope 6" in page.locator(below).inner_text() and page.evaluate(OPENED) == [NUMBER]

    reload(page)  # kept by the browser, and told without taking the focus
    assert verdict(page).inner_text() == words
    assert page.evaluate("document.activeElement === document.body")
    line = page.locator(".course-guess-line")
    line.get_by_role("button", name="Change").click()
    assert page.evaluate("document.activeElement.value") == "9"
    submit_guess(page, NUMBER, "6")
    assert "right" in verdict(page).inner_text()
    line.get_by_role("button", name="Forget").click()
    assert "forgotten" in status_text(page, NUMBER)
    assert page.evaluate("document.activeElement.value") == ""
    assert page.evaluate(OPENED) == [], "it is covered again"
    assert page.evaluate(STORED_KEYS) == []


def test_a_choice_is_made_by_keys_and_each_of_several_numbers_is_judged(page):
    box(page, CHOICE).get_by_role("radio").first.focus()
    for key in ("ArrowDown", "Tab", "Enter"):  # the second choice, which arrow keys choose
        page.keyboard.press(key)
    assert "later" in focused_text(page) and page.evaluate(OPENED) == [CHOICE]
    for key in ("Tab", "Enter", "ArrowDown", "Enter"):  # Change
        page.keyboard.press(key)
    assert "never" in focused_text(page) and verdict(page).count() == 1

    first, second = box(page, TWO).get_by_role("textbox").all()
    first.fill("0.5")
    first.press("Enter")
    assert second.evaluate("e => e === document.activeElement") and verdict(page).count() == 1
    second.fill("2")
    second.press("Enter")
    verdicts = verdict(page).first.inner_text().splitlines()
    assert "right." in verdicts[1] and "1 too high" in verdicts[2]


def test_what_is_no_guess_is_told_and_a_browser_that_keeps_nothing_answers(browser, address):
    with opened(browser, address, script=NO_STORAGE, faults=[]) as page:
        submit_guess(page, NUMBER, "many")
        field = box(page, NUMBER).get_by_role("textbox")
        assert status_text(page, NUMBER) != "" and field.get_attribute("aria-invalid") == "true"
        box(page, CHOICE).locator("button").click()
        assert status_text(page, CHOICE) != "" and verdict(page).count() == 0
        submit_guess(page, NUMBER, "5")
        assert "lost" in verdict(page).inner_text()
        page.get_by_label(NEVER).check()
        assert page.locator(COVER).count() == 0 and all(page.evaluate(ANSWERS_VISIBLE))
        page.reload()
        assert verdict(page).count() == 0 and page.locator(COVER).count() == 3


def test_without_scripts_nothing_is_asked_and_before_they_come_no_answer_is_painted(
    browser, address
):
    with opened(browser, address, javascript=False) as page:
        heights = "all => all.map(e => e.getBoundingClientRect().height)"
        assert page.locator(".course-guess").evaluate_all(heights) == [0] * 3
        assert page.locator(COVER).count() == 0 and all(page.evaluate(ANSWERS_VISIBLE))
    with opened(browser, "about:blank", faults=[]) as page:
        page.add_init_script(f"""addEventListener('DOMContentLoaded', () => {{
          window.early = {OPENED}; }});""")
        page.route("**/guess*.js*", lambda route: route.abort())
        page.goto(address)
        assert page.evaluate("early") == []
        assert all(page.evaluate(ANSWERS_VISIBLE)), "they never come"


def test_what_the_reader_looks_for_is_uncovered_and_a_button_uncovers_for_good(page, address):
    assert page.locator(".course-guess-answer[hidden=until-found]").count() == 3
    page.evaluate("""document.querySelector('.course-guess-answer')
      .dispatchEvent(new Event('beforematch', {bubbles: true}))""")  # the browser's own search
    assert page.evaluate(OPENED) == [TWO]
    fragments = {"#:~:text=Each%20path%20brings": NUMBER, f"#{ANCHOR}": CHOICE}
    for fragment, question in fragments.items():
        page.goto("about:blank")
        page.goto(address + fragment)
        page.wait_for_function(f"{OPENED}.join() === '{question}'")
    place = page.locator(f"#{ANCHOR}")
    assert 0 <= place.evaluate("e => e.getBoundingClientRect().top") < 900
    page.goto(f"{address}?anew")
    assert page.evaluate(OPENED) == [], "the visit is over"
    page.evaluate(f"location.hash = '{ANCHOR}'")  # a link on the page itself
    page.wait_for_function(f"{OPENED}.join() === '{CHOICE}'")
    page.get_by_role("button", name=SHOW).first.click()
    page.goto(f"{address}?once-more")
    page.wait_for_function(f"{OPENED}.join() === '{TWO}'")


def test_never_cover_holds_on_all_pages_and_in_other_tabs(page, address):
    other = page.context.new_page()
    other.goto(address)
    other.get_by_label(NEVER).check()
    assert other.locator(COVER).count() == 0 and all(other.evaluate(ANSWERS_VISIBLE))
    page.wait_for_function("!document.querySelector('.course-guess-cover')")
    reload(other)
    assert other.get_by_label(NEVER).is_checked() and all(other.evaluate(ANSWERS_VISIBLE))
    other.get_by_label(NEVER).uncheck()
    page.locator(COVER).first.wait_for()
    assert page.evaluate(OPENED) == []
