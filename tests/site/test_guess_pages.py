"""Guesses in a real browser: kept, shown beside what answers, changed and forgotten.

What answers them is covered: until a guess, or until it is wanted, searched for or linked to. How
the scripts do it is seen on a small page; test_browser.py asks real ones for their secrets.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from scratchformer_course.kit.figure.live_figure import LOADER, PACKAGE
from tests.chapters.test_guesses import ALL, GUESSES, printed
from tests.site.browsing import PHONE, opened, parsed, reload
from tests.site.conftest import toc_pages

ROOT = Path(__file__).resolve().parents[2]
LINE = ".course-guess-line"
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


def keep_number(page, question, text):
    box(page, question).get_by_role("textbox").fill(text)
    box(page, question).locator("button[type=submit]").click()


def below(line):
    """The text of what answers, which stands uncovered right below a line."""
    return line.evaluate("""e => { const below = e.nextElementSibling;
      return below.matches('.course-guess-answer.course-open') && below.innerText; }""")


def focused_text(page):
    return page.evaluate("document.activeElement.textContent")


# ---- on real pages ----


def asked_on(name):
    """The guesses of a page: their attributes, and what is printed below where that is known."""
    cells = {key: cell for key, _, cell in GUESSES}
    for key, attrs in ALL:
        if re.match(f"{key.split('/')[0]}(_|$)", name.split("/")[-1]):
            yield attrs, printed(cells[key]) if key in cells else []


# a word that no page has and a button in each answer, which take no space
PROBES = """document.querySelectorAll('.course-guess-answer').forEach((answer, i) => {
  (answer.querySelector('p, li, td, .output > *') ?? answer.firstElementChild)
    .insertAdjacentHTML('beforeend', '<span class="probe" style="position: absolute">' +
      `xyzzy ${i}<button>plugh ${i}</button></span>`);
})"""
BOTTOMS = """[...document.querySelectorAll('article h2, article h3, article .cell, article p')]
  .filter(e => e.checkVisibility() && !e.closest('.course-guess-answer, .course-guess'))
  .map(e => e.getBoundingClientRect().bottom + scrollY)"""
LOW = """covers => covers.every(e => e.getBoundingClientRect().height <= 300)"""
TOP = "button => button.closest('.course-guess-cover').getBoundingClientRect().top + scrollY"
SEEN = """[...document.querySelectorAll('.course-guess-answer > *')]
  .map(e => e.checkVisibility({visibilityProperty: true}))"""
PRINTED = """[...document.querySelectorAll('.course-guess-answer > :not(details)')]
  .every(e => e.checkVisibility({visibilityProperty: true}))"""
REACHED = """[...document.querySelectorAll('.probe button')].filter(e => {
  e.focus({preventScroll: true});
  return e === document.activeElement;
}).length"""


def read_in_answers(page):
    return "".join(answer.aria_snapshot() for answer in page.locator(".course-guess-answer").all())


def keeps_its_secrets(page):
    """What a page does not tell before it is asked; then nothing moves above what it tells."""
    page.evaluate(PROBES)
    assert page.locator(COVER).evaluate_all(LOW)
    sizes = page.locator(COVER).all_inner_texts()
    assert all(re.search(r"\(.*about [1-9]\d*0 words\)", size) for size in sizes), sizes
    read = read_in_answers(page)
    assert not any(page.evaluate(SEEN)) and "xyzzy" not in read and "plugh" not in read
    assert page.evaluate(REACHED) == 0
    page.emulate_media(media="print")
    assert page.evaluate(PRINTED) and not page.locator(COVER).filter(visible=True).count()
    page.emulate_media(media="screen")
    shows = page.get_by_role("button", name=SHOW)
    assert shows.count() == page.locator(".course-guess form").count()
    while shows.count():
        top, before = shows.first.evaluate(TOP), page.evaluate(BOTTOMS)
        shows.first.click()
        pairs = zip(before, page.evaluate(BOTTOMS), strict=True)
        moved = [abs(now - then) for then, now in pairs if then <= top]
        assert moved and max(moved) < 1, "something has moved"
        assert page.evaluate("document.activeElement.matches('.course-guess-answer.course-open')")
    assert all(page.evaluate(SEEN))
    assert read_in_answers(page).count("xyzzy") == page.evaluate(REACHED) > 0
    page.locator(".probe").evaluate_all("probes => probes.forEach(probe => probe.remove())")


def test_on_each_page_what_answers_a_guess_stands_under_its_cover(site):
    for name in toc_pages():
        article = parsed(site / f"{name}.html").article
        texts = {attrs["data-question"]: answers for attrs, answers in asked_on(name)}
        asked = article.select(".course-guess")
        assert {each["data-question"] for each in asked} == set(texts) and len(asked) == len(texts)
        for question, answers in texts.items():
            (answer,) = article.select(f".course-guess-answer[data-question={question}]")
            shown = "".join(answer.get_text().split())
            assert all("".join(text.split()) in shown for text in answers), (name, question)


# ---- a small page of its own ----


def asking(question, below, **attributes):
    """A guess, and what answers it."""
    given = " ".join(f'data-{name}="{value}"' for name, value in attributes.items())
    return f"""<div class="course-guess" data-question="{question}" data-answer-is="prose"
  {given}></div>

{below}

<div class="course-guess-end" data-question="{question}"></div>
"""


TWELVE = """<div class="live-figure">Alive.</div>

(there)=
Twelve in a hundred, counted by everybody who read as far as here, and by nobody else of those who
were asked how many of the words in the last part of this text are new.

- and the rest

<div class="live-figure">Alive, too.</div>

Why they are few."""
SEVEN = """Much is said before.

<div class="course-guess-result" data-question="later"></div>

Seven."""
SMALL = "\nFree again.\n\n".join([
    asking("share", TWELVE, unit="%", ask="a share", answer="12"),
    asking("largest", "The cow.", ask="the largest", choices="ant | bee | cow", answer="cow"),
    asking("two", "One and 2.5.", unit="nats", ask="the first | the second", answer="1 | 2.5"),
    asking("later", SEVEN, ask="a number", answer="7"),
])  # fmt: skip
QUESTIONS = 4
FIRST = [True] * 2 + [False] * 3  # of all blocks that are covered, those of the first question


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The address of the small page, as Sphinx builds it."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "index.md").write_text(f"# A page\n\n{SMALL}", encoding="utf-8")
    (folder / "conf.py").write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT / 'book' / '_ext')!r})\n"
        "extensions = ['myst_parser', 'guess_ext']\nhtml_theme = 'basic'\n"
        f"html_static_path = [{str(ROOT / 'book' / '_assets')!r}, {str(PACKAGE / LOADER)!r}]\n"
        "html_css_files = ['course.css']\n"
        "html_js_files = [('loader.js', {'defer': 'defer', 'priority': 100})]\n"
    )
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html"]
    subprocess.run([*command, str(folder), str(folder / "out")], check=True)
    return (folder / "out" / "index.html").as_uri()


@pytest.fixture
def page(browser, small):
    with opened(browser, small, width=PHONE) as page:
        yield page


def test_a_number_is_kept_told_changed_and_forgotten(page):
    for words in ("Alive.", "Alive, too.", "Why they are few.", "Free again."):
        assert page.get_by_text(words).first.is_visible()
    line = page.locator(LINE)
    keep_number(page, "share", "30 %")
    verdict = line.locator("p").inner_text()
    assert verdict == focused_text(page) and re.findall(r"\d+", verdict) == ["30", "12", "18"]
    assert "Twelve" in below(line) and page.evaluate(SEEN) == FIRST

    reload(page)  # kept by the browser, and told without taking the focus
    assert line.locator("p").inner_text() == verdict
    assert page.evaluate("document.activeElement === document.body")
    assert box(page, "share").get_by_role("textbox").input_value() == "30"

    line.get_by_role("button", name="Change").click()
    assert page.evaluate("document.activeElement.value") == "30"
    keep_number(page, "share", "12")
    assert "right" in line.locator("p").inner_text() and line.count() == 1

    line.get_by_role("button", name="Forget").click()
    assert "forgotten" in box(page, "share").get_by_role("status").inner_text()
    assert page.evaluate("document.activeElement.value") == ""
    assert not any(page.evaluate(SEEN)), "it is covered again"
    assert page.evaluate("Object.keys(localStorage).filter(k => k.startsWith('course-'))") == []

    keep_number(page, "later", "10")  # whose result comes later, and is linked
    assert re.findall(r"\d+", line.locator("p").inner_text()) == ["10", "7", "3"]
    box(page, "later").get_by_role("status").get_by_role("link").click()
    assert line.evaluate("e => Math.abs(e.getBoundingClientRect().top) < innerHeight")


def test_a_choice_is_made_by_keys_alone(page):
    box(page, "largest").get_by_role("radio").first.focus()
    for key in ("ArrowDown", "Tab", "Enter"):  # the second choice, which arrow keys choose
        page.keyboard.press(key)
    assert "bee" in focused_text(page) and "cow" in below(page.locator(LINE))
    for key in ("Tab", "Enter", "ArrowDown", "Enter"):  # Change
        page.keyboard.press(key)
    assert "cow" in focused_text(page)


def test_each_of_several_numbers_is_asked_and_judged(page):
    first, second = box(page, "two").get_by_role("textbox").all()
    keep = box(page, "two").locator("button[type=submit]")
    first.fill("1 nats")
    keep.click()
    assert second.evaluate("e => e === document.activeElement")
    assert page.locator(LINE).count() == 0
    second.fill("2")
    keep.click()
    verdicts = page.locator(LINE).locator("p").inner_text().splitlines()
    assert "right." in verdicts[1] and "0.5 too low" in verdicts[2]


def test_what_is_no_guess_is_told_and_not_kept(page):
    field = box(page, "share").get_by_role("textbox")
    status = box(page, "share").get_by_role("status")
    field.fill("130")
    field.press("Enter")
    assert "100" in status.inner_text() and field.get_attribute("aria-invalid") == "true"
    assert page.locator(LINE).count() == 0
    box(page, "largest").locator("button").click()
    assert box(page, "largest").get_by_role("status").inner_text() != ""
    page.evaluate("""const page = location.pathname.replace(".html", "");
      for (const [question, guess] of [["share", "many"], ["largest", "Latin"]])
        localStorage.setItem(`course-guess:${page}:${question}`, guess);""")
    reload(page)
    assert page.locator(LINE).count() == 0, "a stored text that is no guess"


def test_without_storage_guesses_and_covers_last_for_the_visit(browser, small):
    with opened(browser, small, script=NO_STORAGE) as page:
        keep_number(page, "share", "5")
        assert "lost" in page.locator(LINE).locator("p").inner_text()
        page.get_by_label(NEVER).check()
        assert page.locator(COVER).count() == 0 and all(page.evaluate(SEEN))
        page.reload()
        assert page.locator(LINE).count() == 0 and page.locator(COVER).count() == QUESTIONS


def test_without_scripts_nothing_is_asked_and_before_they_come_no_answer_is_painted(browser, small):
    with opened(browser, small, javascript=False) as page:
        found = page.locator(".course-guess").all()
        assert [each.bounding_box()["height"] for each in found] == [0] * QUESTIONS
        assert page.locator(COVER).count() == 0 and all(page.evaluate(SEEN))
    with opened(browser, "about:blank", faults=[]) as page:
        page.add_init_script(f"""addEventListener('DOMContentLoaded', () => {{
          window.early = {SEEN}; }});""")
        page.route("**/guess*.js*", lambda route: route.abort())
        page.goto(small)
        assert page.evaluate("early.length") and not page.evaluate("early.some(Boolean)")
        assert all(page.evaluate(SEEN)), "they never come"


def test_keys_and_the_browsers_own_accessibility_tree_go_past_what_is_covered(page):
    page.evaluate(PROBES)
    devtools = page.context.new_cdp_session(page)

    def read():
        nodes = devtools.send("Accessibility.getFullAXTree")["nodes"]
        return [name for node in nodes if "xyzzy" in (name := str(node.get("name")))]

    assert read() == []
    box(page, "share").get_by_role("textbox").focus()
    reached = []
    while SHOW not in reached and len(reached) < 9:
        page.keyboard.press("Tab")
        reached.append(focused_text(page))
    assert SHOW in reached and "plugh" not in "".join(reached)
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("Boolean(document.activeElement.closest('.course-guess-answer'))")
    assert read() != []


def test_a_match_of_the_browsers_search_uncovers_for_this_visit_and_a_button_for_good(page):
    page.evaluate("""document.querySelector('.course-guess-answer')
      .dispatchEvent(new Event('beforematch', {bubbles: true}))""")
    assert page.evaluate(SEEN) == FIRST
    reload(page)
    assert not any(page.evaluate(SEEN))
    page.get_by_role("button", name=SHOW).first.click()
    reload(page)
    assert page.evaluate(SEEN) == FIRST


def test_words_and_places_that_the_reader_looks_for_uncover_their_question(page, small):
    place = page.locator("#there")
    for ending in ("#:~:text=Twelve%20in%20a%20hundred", "#there", ""):
        page.evaluate("localStorage.clear()")
        page.goto("about:blank")
        page.goto(small + ending)
        if not ending:  # a link on the page itself
            page.evaluate("location.hash = 'there'")
        place.wait_for()
        assert page.evaluate(SEEN) == FIRST, ending
    assert 0 <= place.evaluate("e => e.getBoundingClientRect().top") < 900
    page.add_init_script("localStorage.setItem('sphinx_highlight_terms', 'counted');")
    page.goto(f"{small}?anew")
    place.wait_for()
    assert page.evaluate(SEEN) == FIRST


def test_never_cover_holds_on_all_pages_and_in_other_tabs(page, small):
    other = page.context.new_page()
    other.goto(small)
    other.get_by_label(NEVER).check()
    assert other.locator(COVER).count() == 0 and all(other.evaluate(SEEN))
    page.wait_for_function("!document.querySelector('.course-guess-cover')")
    reload(other)
    assert other.get_by_label(NEVER).is_checked() and all(other.evaluate(SEEN))
    other.get_by_label(NEVER).uncheck()
    page.locator(COVER).first.wait_for()
    assert not any(page.evaluate(SEEN))
