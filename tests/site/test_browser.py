"""The pages in a real browser: offline, quiet, readable on a phone, accessible.

Each page is visited once, from disk, and the visit looks at everything: on a phone, then at a desk.
"""

from tests.site.browsing import ARTICLE, DESK, HEIGHT, PHONE, WIDE, axe_finds, open_folds, opened
from tests.site.test_guess_pages import keeps_its_secrets

# one page of each kind: also seen in the dark, and asked for its secrets
ONE_OF_EACH = {
    "book/welcome",
    "book/playground",
    "book/train_in_this_tab",
    "notebooks/01_bpe",
    "notebooks/17_speedrun",
}
GUESSES = ":is(.course-guess, .course-guess-answer, .course-guess-cover)"
# MathJax has written, the fonts are there; and all live figures were tried
SETTLED = """() => Promise.all([window.MathJax?.startup?.promise, document.fonts.ready])
  .then(() => true)"""
TRIED = "[...document.querySelectorAll('.live-figure')].every(f => f.dataset.live)"
# At another width the theme slides its sidebar, and the text changes its lines meanwhile.
AT_REST = """() => Promise.race([new Promise(done => setTimeout(done, 2000)),
  Promise.all(document.getAnimations().filter(a => a instanceof CSSTransition)
    .map(a => a.finished.catch(() => 0)))]).then(() => 0)"""
# what scrolls has its tab stop (see book/_assets/course.js)
STOPS = f"""[...document.querySelectorAll('{ARTICLE} :is(.highlight pre, .cell_output pre)')]
  .every(box => box.scrollWidth <= box.clientWidth + 1 || box.tabIndex >= 0)"""
# what sticks out of all boxes that scroll; an editor's colours stand behind a field that scrolls
CUT_OFF = f"""[...document.querySelectorAll('{ARTICLE} *')].filter(e => {{
  const box = e.getBoundingClientRect();
  if (!box.width || box.right <= innerWidth + 1 || e.closest('mjx-assistive-mml, .course-behind'))
    return false;
  for (let up = e.parentElement; up; up = up.parentElement)
    if (['auto', 'scroll'].includes(getComputedStyle(up).overflowX)) return false;
  return true;
}}).map(e => 'cut off: ' + e.outerHTML.slice(0, 80))"""
MISSING = "images => images.filter(i => !i.complete || !i.naturalWidth).map(i => i.src)"


def on_a_phone(page):
    """What somebody with a phone would meet."""
    page.set_viewport_size({"width": PHONE, "height": HEIGHT})
    page.evaluate(SETTLED)
    page.wait_for_function(TRIED)
    for figure in page.locator(".live-figure:not([data-live=yes])").all():
        yield f"not alive: {figure.inner_text()[-90:]}"
    formulas = page.locator(f"{ARTICLE} .math").count()
    drawn = page.locator(f"{ARTICLE} .math mjx-container mjx-math").count()
    if drawn < formulas or page.locator("mjx-merror, [data-mjx-error]").count():
        yield f"{formulas} formulas, {drawn} drawn"
    yield from page.locator(f"{ARTICLE} img").evaluate_all(MISSING)
    if (width := page.evaluate("document.documentElement.scrollWidth")) > PHONE:
        yield f"the page is {width} px wide"
    yield from page.evaluate(CUT_OFF)


def by_axe(page, axe, selector, modes):
    """All rules in light mode; in dark mode those that depend on colours."""
    for mode in modes:
        # the system's setting picks the mode, as for a reader who never touched the switch
        page.emulate_media(color_scheme=mode)
        page.locator(f"html[data-theme={mode}]").wait_for()
        page.evaluate(AT_REST)
        yield from axe_finds(page, axe, selector, all_rules=mode == "light")


def test_a_page_is_quiet_readable_and_accessible(visit, axe, page_name):
    is_thorough = page_name in ONE_OF_EACH
    modes = ["dark", "light"] if is_thorough else ["light"]
    with visit(page_name, width=PHONE) as page:
        assert list(on_a_phone(page)) == []
        asks = is_thorough and page.locator(".course-guess").count() > 0
        if asks:
            assert list(by_axe(page, axe, GUESSES, modes)) == []
        page.set_viewport_size({"width": WIDE, "height": HEIGHT})
        page.evaluate(AT_REST)
        if asks:
            keeps_its_secrets(page)
        page.set_viewport_size({"width": DESK, "height": HEIGHT})
        open_folds(page, ARTICLE)  # folded content is checked too
        page.wait_for_function(STOPS)
        assert list(by_axe(page, axe, ARTICLE, modes)) == []


def test_these_checks_would_notice(tmp_path, browser, axe):
    """A planted page: an error, a request to elsewhere, a wide box, and two faults for axe."""
    words = "<span>dark</span> " * 20 + '<span style="color: #999">pale</span>'
    (tmp_path / "bad.html").write_text(
        '<html lang="en"><title>x</title><article class="bd-article"><div style="width: 800px">wide'
        f'</div><img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">{words}</article>'
        '<script src="http://127.0.0.1:9/x.js"></script><script>undefinedFunction()</script></html>'
    )
    faults: list[str] = []
    with opened(browser, (tmp_path / "bad.html").as_uri(), width=PHONE, faults=faults) as page:
        met = " ".join(on_a_phone(page))
        assert "800" in met and "cut off: <div" in met
        for all_rules in (True, False):
            results = " ".join(axe_finds(page, axe, ARTICLE, all_rules))
            assert "pale" in results and ("image-alt" in results) == all_rules
    noted = " ".join(faults)
    assert "request: http://127.0.0.1:9/" in noted and "undefinedFunction" in noted
