"""Guesses in a real browser: kept, shown beside the right output, changed and forgotten.

What answers them is covered: until a guess, or until it is wanted, searched for or linked to.
"""

import contextlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scratchformer_course.kit.figure.live_figure import LOADER, PACKAGE
from tests.chapters.test_guesses import ALL, GUESSES, parts, printed
from tests.site.browsing import PHONE, WIDE, axe_finds, opened, reload

ROOT = Path(__file__).resolve().parents[2]
LINE = ".course-guess-line"
COVER = ".course-cover"
SHOW = "Just show me"
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
    box(page, question).locator("button[type=submit]").click()


def below(line):
    """The text of what answers, which stands uncovered right below a line."""
    return line.evaluate("""e => { const below = e.nextElementSibling;
      return below.matches('.course-veil.course-open') && below.innerText; }""")


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

    reload(page)  # kept by the browser, and told without taking the focus
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
    reload(page)
    assert line.count() == 0
    assert page.evaluate("localStorage.length") == 0 or not page.evaluate(
        "Object.keys(localStorage).some(key => key.startsWith('course-guess'))"
    )


def test_a_choice_is_made_by_keys_alone(open_chapter):
    page = open_chapter("01_bpe")
    radios = box(page, "most-tokens").get_by_role("radio")
    radios.first.focus()
    page.keyboard.press("ArrowDown")  # the second choice, which arrow keys choose
    page.keyboard.press("Tab")
    assert focused_text(page) == "Keep my guess"
    page.keyboard.press("Enter")
    told = focused_text(page)
    assert "3 times as many" in told and answer("01/most-tokens") in told and "right" not in told
    line = page.locator(LINE)
    assert "Chinese" in below(line)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # Change
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert focused_text(page).count(answer("01/most-tokens")) == 2 and "right" in focused_text(page)
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
    box(page, "most-tokens").get_by_role("button").click()
    assert box(page, "most-tokens").get_by_role("status").inner_text() != ""
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
    reload(page)
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


def asked_on(name):
    """The guesses of a page: their attributes, and what is printed below where that is known."""
    page = name.split("/")[-1]
    below_it = {key: cell for key, _, cell in GUESSES}
    for key, attrs in ALL:
        where = key.split("/")[0]
        if page == where or page.startswith(f"{where}_"):
            yield attrs, printed(below_it[key]) if key in below_it else []


def give(page, attrs, values):
    """Keep a guess of these values, by whatever form asks for it."""
    form = box(page, attrs["data-question"])
    if "data-choices" in attrs:
        form.get_by_role("radio", name=values[0], exact=True).check()
    else:
        for field, value in zip(form.get_by_role("textbox").all(), values, strict=True):
            field.fill(value)
    form.locator("button[type=submit]").click()


def wrong_guesses(page, name):
    """Each answer, given as the guess, must be right, and stand above the output that was meant."""
    asked = list(asked_on(name))
    if page.locator(".course-guess form").count() != len(asked):
        yield f"{len(asked)} guesses are asked, the page has others"
    for attrs, texts in asked:
        question = attrs["data-question"]
        values = parts(attrs["data-answer"])
        give(page, attrs, values)
        line = page.locator(f"#course-guess-{question}-result")
        told = line.locator("p").inner_text()
        if told.count("right.") != len(values):
            yield f"{question}: {told}"
        shown = "".join(below(line).split())
        if not all("".join(text.split()) in shown for text in texts):
            yield f"{question}: another output stands below the guess"
    if page.locator(COVER).count():
        yield "after all guesses something is still covered"


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


def test_without_scripts_nothing_is_asked_and_nothing_hidden(browser, server):
    with opened(browser, f"{server}notebooks/01_bpe.html", javascript=False) as page:
        found = page.locator(".course-guess")
        assert found.count() == len(list(asked_on("01_bpe")))
        assert all(e.bounding_box()["height"] == 0 for e in found.all())
        assert page.locator(COVER).count() == 0
        veiled = page.locator(".course-veiled > *")
        assert veiled.count() and all(e.is_visible() for e in veiled.all())


# ---- the covers ----

# a word that no page has and a button in each veil, which take no space
PROBES = """document.querySelectorAll('.course-veiled').forEach((veiled, i) => {
  (veiled.querySelector('p, li, td, .output > *') ?? veiled.firstElementChild)
    .insertAdjacentHTML('beforeend', '<span class="probe" style="position: absolute">' +
      `xyzzy ${i}<button>plugh ${i}</button></span>`);
})"""
PLACES = """[...document.querySelectorAll(
  'article h2, article h3, article .cell, article p, article .course-report')]
  .filter(e => e.checkVisibility() && !e.closest('.course-veil, .course-guess'))
  .map(e => e.getBoundingClientRect().top + scrollY)"""
SEEN = """[...document.querySelectorAll('.course-veiled > *')]
  .map(e => e.checkVisibility({visibilityProperty: true}))"""
PRINTED = """[...document.querySelectorAll('.course-veiled > :not(details)')]
  .every(e => e.checkVisibility({visibilityProperty: true}))"""
REACHED = """[...document.querySelectorAll('.probe button')].filter(e => {
  e.focus({preventScroll: true});
  return e === document.activeElement;
}).length"""
# the frame that sees another width, the one that reserves space for it, and the one after
FRAMES = """async () => {
  for (let i = 0; i < 3; i++) await new Promise(done => requestAnimationFrame(done));
}"""
READY = """!document.querySelector('.course-veiled:not([hidden])')
  && document.querySelector('.course-cover')"""


def covered(page):
    """Wait until the browser has typeset what is covered, and then hidden it for all but search."""
    page.evaluate(FRAMES)
    page.wait_for_function(READY)


def told_in_veils(page):
    return "".join(veil.aria_snapshot() for veil in page.locator(".course-veil").all())


def secrets(page):
    """What a page tells before it is asked, and what moves when it is."""
    if not page.locator(".course-guess").count():
        return
    covered(page)
    page.evaluate(PROBES)
    before, told = page.evaluate(PLACES), told_in_veils(page)
    if any(page.evaluate(SEEN)):
        yield "something veiled is seen"
    if "xyzzy" in told or "plugh" in told:
        yield "something veiled is in the accessibility tree"
    if page.evaluate(REACHED):
        yield "something veiled can be focused"
    page.emulate_media(media="print")
    if not page.evaluate(PRINTED) or page.locator(COVER).filter(visible=True).count():
        yield "something is not printed"
    page.emulate_media(media="screen")
    shows = page.get_by_role("button", name=SHOW)
    if shows.count() != page.locator(".course-guess form").count():
        yield "not each question has one button"
    while shows.count():
        shows.first.click()
        if not page.evaluate("document.activeElement.matches('.course-veil.course-open')"):
            yield "the focus is not where the button was"
    after, told = page.evaluate(PLACES), told_in_veils(page)
    if after != pytest.approx(before, abs=1):
        yield "something has moved"
    probes = page.locator(".probe").count()
    if not all(page.evaluate(SEEN)) or told.count("xyzzy") != probes == page.evaluate(REACHED):
        yield "something is still veiled"
    page.locator(".probe").evaluate_all("probes => probes.forEach(probe => probe.remove())")


def test_on_a_phone_a_page_keeps_its_secrets_until_it_is_asked_and_nothing_moves(browser, server):
    """All pages at a desk: test_browser.py."""
    with opened(browser, f"{server}notebooks/01_bpe.html", width=PHONE) as page:
        assert list(secrets(page)) == []


def test_the_browsers_own_accessibility_tree_has_nothing_that_is_covered(open_chapter):
    page = open_chapter("01_bpe")
    covered(page)
    page.evaluate(PROBES)
    devtools = page.context.new_cdp_session(page)

    def told():
        nodes = devtools.send("Accessibility.getFullAXTree")["nodes"]
        return [name for node in nodes if "xyzzy" in (name := str(node.get("name")))]

    assert told() == []
    page.get_by_role("button", name=SHOW).first.click()
    assert told() != []


def test_a_guess_uncovers_and_forgetting_it_covers_again(open_chapter):
    page = open_chapter("01_bpe")
    covered(page)
    covers = page.locator(COVER)
    before = covers.count()
    keep_number(page, "new-words", "30")
    veils = page.locator('.course-veil[data-question="new-words"]')
    assert all(veil.locator("> .course-veiled").is_visible() for veil in veils.all())
    assert covers.count() == before - veils.count()
    page.locator(LINE).get_by_role("button", name="Forget").click()
    covered(page)
    assert covers.count() == before


def test_what_was_shown_stays_shown_for_one_question_only(open_chapter):
    page = open_chapter("01_bpe")
    shows = page.get_by_role("button", name=SHOW)
    before = shows.count()
    shows.first.click()
    reload(page)
    page.locator(".course-guess form").first.wait_for()
    assert shows.count() == before - 1
    assert page.evaluate("document.activeElement === document.body")


def test_by_keys_one_goes_past_what_is_covered(open_chapter):
    page = open_chapter("01_bpe")
    covered(page)
    page.evaluate(PROBES)
    box(page, "new-words").get_by_role("textbox").focus()
    reached = []
    while SHOW not in reached and len(reached) < 20:
        page.keyboard.press("Tab")
        reached.append(focused_text(page))
    assert SHOW in reached and "plugh" not in "".join(reached)
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("Boolean(document.activeElement.closest('.course-veiled'))")


def test_a_match_of_the_browsers_search_uncovers_its_question(open_chapter):
    page = open_chapter("01_bpe")
    covered(page)
    before = page.locator(COVER).count()
    page.evaluate("""document.querySelectorAll('.course-veiled')[1]
      .dispatchEvent(new Event('beforematch', {bubbles: true}))""")
    veils = page.locator('.course-veil[data-question="new-words"]')
    opened_ones = page.locator(".course-veil.course-open")
    assert opened_ones.count() == veils.count() == before - page.locator(COVER).count()
    assert all(veil.is_visible() for veil in veils.locator("> .course-veiled").all())
    reload(page)  # what is found was not asked for
    covered(page)
    assert page.locator(COVER).count() == before


def first_words(site, chapter):
    """The first five words of a chapter's first veiled paragraph, as a reader would search them."""
    html = (site / "notebooks" / f"{chapter}.html").read_text(encoding="utf-8")
    paragraph = re.search(r'<div class="course-veiled">\s*<p>([^<]*)', html)[1]
    return paragraph.split()[:5]


@pytest.mark.parametrize("how", ["highlight", "stored", "text fragment"])
def test_words_that_the_reader_looks_for_uncover_their_question(browser, server, site, how):
    words = first_words(site, "01_bpe")
    ending = {
        "highlight": f"?highlight={max(words, key=len)}",
        "stored": "",
        "text fragment": "#:~:text=" + "%20".join(words),
    }[how]
    script = f"localStorage.setItem('sphinx_highlight_terms', '{max(words, key=len)}');"
    with opened(
        browser,
        f"{server}notebooks/01_bpe.html{ending}",
        script=script if how == "stored" else "",
    ) as page:
        page.locator(".course-guess form").first.wait_for()
        assert page.evaluate(SEEN)[1]


def test_a_link_to_what_is_covered_uncovers_it(browser, server, site):
    html = (site / "notebooks" / "01_bpe.html").read_text(encoding="utf-8")
    html = re.sub(r'(<div class="course-veiled">\s*<p)', r'\1 id="anchor"', html, count=1)
    address = f"{server}notebooks/01_bpe.html"
    with opened(browser, address) as page:
        page.route(
            lambda url: "01_bpe.html" in url,
            lambda route: route.fulfill(body=html, content_type="text/html"),
        )
        target = page.locator("#anchor")
        page.goto(f"{address}?from-elsewhere#anchor")
        target.wait_for()
        assert target.evaluate("e => Math.abs(e.getBoundingClientRect().top) < innerHeight")
        page.goto(f"{address}?from-this-page")
        covered(page)
        assert not target.is_visible()
        page.evaluate("location.hash = 'anchor'")
        target.wait_for()


def test_never_cover_holds_on_all_pages_and_in_other_tabs(browser, server):
    with opened(browser, f"{server}notebooks/01_bpe.html") as page:
        other = page.context.new_page()
        other.goto(f"{server}notebooks/02_embeddings.html")
        covered(other)
        switch = page.get_by_label("Never cover answers")
        assert switch.count() == 1
        switch.check()
        assert page.locator(COVER).count() == 0 and all(page.evaluate(SEEN))
        other.wait_for_function("!document.querySelector('.course-cover')")
        assert all(other.evaluate(SEEN))
        other.goto(f"{server}notebooks/03_positions.html")
        assert other.get_by_label("Never cover answers").is_checked()
        assert other.locator(COVER).count() == 0 and all(other.evaluate(SEEN))
        switch.uncheck()
        covered(page)
        covered(other)


def test_without_storage_covers_come_off_for_the_visit(open_chapter):
    page = open_chapter("01_bpe", script=NO_STORAGE)
    page.get_by_role("button", name=SHOW).first.click()
    assert page.evaluate(SEEN)[:2] == [True, True]
    page.get_by_label("Never cover answers").check()
    assert page.locator(COVER).count() == 0 and all(page.evaluate(SEEN))
    reload(page)
    covered(page)


def test_when_the_width_changes_the_space_is_measured_again(open_chapter):
    page = open_chapter("01_bpe")
    covered(page)
    page.set_viewport_size({"width": PHONE, "height": 900})
    heights = """[...document.querySelectorAll('.course-veiled')]
      .map(e => Math.round(e.getBoundingClientRect().height))"""
    page.get_by_label("Never cover answers").check()
    shown = page.evaluate(heights)
    page.get_by_label("Never cover answers").uncheck()
    page.set_viewport_size({"width": WIDE, "height": 900})
    page.set_viewport_size({"width": PHONE, "height": 900})
    page.wait_for_function(f"JSON.stringify({heights}) === '{shown}'.replaceAll(' ', '')")


def test_before_the_scripts_nothing_veiled_is_painted_and_without_them_all_is(browser, server):
    faults = []
    with opened(browser, "about:blank", faults=faults) as page:
        page.add_init_script(f"""addEventListener('DOMContentLoaded', () => {{
          window.early = {SEEN}; }});""")
        page.route("**/guess*.js*", lambda route: route.abort())
        page.goto(f"{server}notebooks/01_bpe.html")
        assert page.evaluate("early.length") and not page.evaluate("early.some(Boolean)")
        assert all(page.evaluate(SEEN))


# ---- a small page of its own, for forms and answers that few pages have ----

SMALL = """# A page

Which is the largest?

<div class="course-guess" data-question="sizes" data-answer-is="prose" data-ask="the largest"
  data-choices="ant | bee | cow" data-answer="cow"></div>

<div class="live-figure">Alive.</div>

The cow, says the page.

- and the rest

<div class="course-guess-end" data-question="sizes"></div>

Free again.

<div class="course-guess" data-question="two" data-answer-is="prose" data-unit="nats"
  data-ask="the first | the second" data-answer="1 | 2.5"></div>

One, and two and a half.

<div class="course-guess-end" data-question="two"></div>
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The address of the small page, as Sphinx builds it."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "index.md").write_text(SMALL, encoding="utf-8")
    (folder / "conf.py").write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT / 'book' / '_ext')!r})\n"
        "extensions = ['myst_parser', 'veil_ext']\nhtml_theme = 'basic'\n"
        f"html_static_path = [{str(ROOT / 'book' / '_assets')!r}, {str(PACKAGE / LOADER)!r}]\n"
        "html_css_files = ['course.css']\n"
        "html_js_files = [('loader.js', {'defer': 'defer', 'priority': 100})]\n"
    )
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html"]
    subprocess.run([*command, str(folder), str(folder / "out")], check=True)
    return (folder / "out" / "index.html").as_uri()


@pytest.fixture
def small_page(browser, small):
    with opened(browser, small, width=PHONE) as page:
        covered(page)
        yield page


def test_prose_is_covered_around_a_live_figure(small_page):
    page = small_page
    assert page.get_by_text("Alive.").is_visible() and page.get_by_text("Free again.").is_visible()
    assert not page.get_by_text("The cow").is_visible()
    page.get_by_role("button", name=SHOW).first.click()
    assert page.get_by_text("The cow").is_visible() and page.get_by_text("the rest").is_visible()
    assert not page.get_by_text("two and a half").is_visible()


def test_each_of_several_numbers_is_asked_and_judged(small_page):
    page = small_page
    form = box(page, "two")
    first, second = form.get_by_role("textbox").all()
    first.fill("1 nats")
    form.locator("button[type=submit]").click()
    assert second.evaluate("e => e === document.activeElement")
    assert page.locator(LINE).count() == 0
    second.fill("2")
    second.press("Enter")
    told = page.locator(LINE).locator("p").inner_text().splitlines()
    assert "right." in told[1] and "0.5 too low" in told[2]


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_axe_finds_nothing_on_covers_and_other_forms(browser, server, axe, mode):
    with opened(browser, f"{server}book/playground.html", mode, PHONE) as page:
        covered(page)
        for selector in (".course-guess", ".course-veil"):
            assert axe_finds(page, axe, selector) == []
        small = page.evaluate("""() => [...document.querySelectorAll(
            '.course-cover button, .course-guess-never')]
            .map(e => e.getBoundingClientRect().height).filter(h => h < 24)""")
        assert small == []
