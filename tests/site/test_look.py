"""How pages look: letters, sizes, what a finger and a printer meet."""

from tests.site.browsing import ARTICLE, DESK, HEIGHT, LIVE, PHONE, WIDE, open_folds, opened, parsed
from tests.site.conftest import ROOT

FONTS = ROOT / "book" / "_assets" / "fonts"
CHAPTER = "notebooks/06_self_attention"
# a line of the longest length that a cell may have, put into each kind of box with code
LONGEST = f"""() => [...document.querySelectorAll('{ARTICLE} .cell_input pre')].map(box => {{
  box.textContent = 'm'.repeat(78);
  return box.scrollWidth - box.clientWidth;
}})"""
# the controls of live figures around which no ring is drawn when they have the focus
UNMARKED = """() => [...document.querySelectorAll(
  '.live-figure :is(button, input, textarea, select, summary, [tabindex="0"])')]
  .filter(e => e.checkVisibility() && !e.disabled).filter(e => {
    e.focus();
    const { outlineStyle, outlineWidth } = getComputedStyle(e);
    return outlineStyle === 'none' || outlineWidth === '0px';
  }).map(e => e.outerHTML.slice(0, 80))"""
RING = """() => {
  const style = getComputedStyle(document.activeElement);
  return [style.outlineStyle, style.outlineColor];
}"""
THEMES = """() => ["beforeprint", "afterprint"].map(name => {
  dispatchEvent(new Event(name));
  return document.documentElement.dataset.theme;
})"""
# of the blocks of code: how far they go on behind their edge, and, of lines that wrap, how much
# further to the right than its own text a line goes on
WRAPPED = """() => {
  const inPage = box => !box.closest('.cell_output') && box.checkVisibility();
  const boxes = [...document.querySelectorAll('.highlight pre')].filter(inPage);
  const lines = boxes.flatMap(box => [...box.querySelectorAll('.course-line')]);
  const deeper = lines.flatMap(line => {
    const text = document.createRange();
    text.selectNodeContents(line);
    const words = [...line.children].filter(part => part.textContent.trim());
    const [first, rows] = [[...(words[0]?.getClientRects() ?? [])], [...text.getClientRects()]];
    const isWrapped = first.length === 1 && rows.at(-1).top > rows[0].bottom;
    return isWrapped ? [rows.at(-1).left - first[0].left] : [];
  });
  return [boxes.map(box => box.scrollWidth - box.clientWidth), deeper];
}"""
LETTERS = """all => all.filter(e => e.checkVisibility() && e.getScreenCTM())
  .filter(e => !e.closest('.course-machine')).map(e => {
    const { a, b } = e.getScreenCTM();
    return parseFloat(getComputedStyle(e).fontSize) * Math.hypot(a, b);
  })"""
SMALLEST = """all => all.filter(e => e.checkVisibility())
  .map(e => e.getBoundingClientRect().height)"""


def test_fonts_come_with_their_licences_code_fits_focus_is_marked_and_paper_is_white(
    browser, server
):
    assert sum(path.stat().st_size for path in FONTS.glob("*.woff2")) < 95_000
    licences = [path.read_text(encoding="utf-8") for path in FONTS.glob("LICENSE*")]
    assert ["SIL Open Font License, Version 1.1" in text for text in licences] == [True] * 2
    with opened(browser, f"{server}{CHAPTER}.html") as page:  # which complains of other servers
        page.locator(LIVE).first.wait_for()
        page.keyboard.press("Tab")
        rings = []
        for label in ("Toggle primary sidebar", "Download this page", "Search"):
            page.get_by_role("button", name=label, exact=True).first.focus()
            rings.append(page.evaluate(RING))
        page.locator("article a").first.focus()
        assert rings == [page.evaluate(RING)] * 3 and rings[0][0] == "solid", "the theme's, too"
        assert page.evaluate(UNMARKED) == []
        page.evaluate("document.fonts.ready.then(() => 0)")
        open_folds(page, ARTICLE)
        for width in (WIDE, DESK):
            page.set_viewport_size({"width": width, "height": HEIGHT})
            beyond = page.evaluate(LONGEST)
            assert len(beyond) > 20 and max(beyond) <= 0, "a line of 78 characters fits its box"
        page.emulate_media(color_scheme="dark")
        page.locator("html[data-theme=dark]").wait_for()
        assert page.evaluate(THEMES) == ["light", "dark"], "paper is white"
        page.emulate_media(media="print")
        painted = page.locator(".live-figure td:visible").evaluate_all(
            "all => all.map(e => getComputedStyle(e).printColorAdjust)"
        )
        assert len(painted) > 5 and set(painted) == {"exact"}


def test_on_a_phone_controls_have_44_pixels_copy_buttons_have_names_and_code_wraps(browser, server):
    address = f"{server}{CHAPTER}.html"
    with opened(browser, address, width=PHONE, has_touch=True, is_mobile=True) as page:
        page.locator(LIVE).first.wait_for()
        controls = page.locator(".live-figure :is(button, input[type=number])")
        heights = controls.evaluate_all(SMALLEST)
        assert len(heights) > 20 and min(heights) >= 44
        page.wait_for_function("document.querySelectorAll('.copybtn[aria-label]').length > 20")
        assert page.locator(".copybtn:not([aria-label])").count() == 0
        beyond, deeper = page.evaluate(WRAPPED)
        assert len(beyond) > 10 and max(beyond) <= 1, "no code is cut"
        assert len(deeper) > 10 and min(deeper) > 5, "a line goes on deeper than it begins"
        assert page.locator("#how-we-know td[data-column^=result]").count() > 3
        letters = page.locator("article svg text:not(.live-figure *)").evaluate_all(LETTERS)
        assert len(letters) > 20 and min(letters) > 9.8, "drawings can be read"
        page.get_by_role("button", name="Color mode").tap()
        assert page.locator(".tooltip:visible").count() == 0, "none stays after a tap"
        page.locator(".secondary-toggle").tap()
        drawer = page.locator("#pst-secondary-sidebar-modal")
        drawer.locator("a").last.tap()
        drawer.wait_for(state="hidden")


def test_no_page_is_wider_than_320_pixels(browser, site):
    """Those that were, by the strip of the machine, a live figure's table, or a file's name."""
    with opened(browser, (site / f"{CHAPTER}.html").as_uri(), width=320) as page:
        for name in (CHAPTER, "notebooks/03_positions", "book/playground", "book/add_an_exercise"):
            page.goto((site / f"{name}.html").as_uri())
            if "add" not in name:
                page.locator(LIVE).first.wait_for()
            assert page.evaluate("document.documentElement.scrollWidth") == 320, name


def test_a_term_shows_its_first_sentence_on_hover_focus_and_tap(visit, site):
    """From disk; Escape puts it away, and a second tap follows the link."""
    with visit(CHAPTER, has_touch=True) as page:
        term, box = page.locator("article a[data-preview]").first, page.get_by_role("tooltip")
        (entry,) = term.get_attribute("href").split("#")[1:]
        glossary = parsed(site / "book" / "glossary.html")
        definition = glossary.select_one(f"[id='{entry}'] ~ dd p").get_text().replace("\n", " ")
        page.locator(LIVE).first.wait_for()
        page.evaluate("MathJax.startup.promise.then(() => 0)")  # nothing moves under the pointer
        page.locator("h1").scroll_into_view_if_needed()
        for act in (term.hover, term.focus, term.tap):
            assert not box.is_visible()
            act()
            assert definition.startswith(box.inner_text()) and len(box.inner_text()) > 10
            assert term.get_attribute("aria-describedby") == box.get_attribute("id")
            page.keyboard.press("Escape")
            page.mouse.move(0, 0)
        term.tap()
        term.tap()
        page.wait_for_url(f"**/glossary.html#{entry}")
