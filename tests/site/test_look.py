"""How pages look: letters, sizes, what a finger and a printer meet."""

from pathlib import Path

import pytest

from tests.site.browsing import (
    ARTICLE,
    DESK,
    HEIGHT,
    LIVE,
    PHONE,
    WIDE,
    open_folds,
    opened,
    parsed,
)

FONTS = Path(__file__).resolve().parents[2] / "book" / "_assets" / "fonts"
CHAPTER = "notebooks/06_self_attention"
# a line of the longest length that a cell may have, put into each kind of box with code
LONGEST = f"""() => [...document.querySelectorAll('{ARTICLE} .cell_input pre')].map(box => {{
  box.textContent = 'm'.repeat(78);
  return box.scrollWidth - box.clientWidth;
}})"""
FONTS_READY = "document.fonts.ready.then(() => 0)"
# the controls of live figures around which no ring is drawn when they have the focus
UNMARKED = """() => [...document.querySelectorAll(
  '.live-figure :is(button, input, textarea, select, summary, [tabindex="0"])')]
  .filter(e => e.checkVisibility() && !e.disabled).filter(e => {
    e.focus();
    const { outlineStyle, outlineWidth } = getComputedStyle(e);
    return outlineStyle === 'none' || outlineWidth === '0px';
  }).map(e => e.outerHTML.slice(0, 80))"""


def test_the_fonts_are_small_and_come_with_their_licences():
    sizes = {path.name: path.stat().st_size for path in FONTS.glob("*.woff2")}
    assert len(sizes) >= 4 and sum(sizes.values()) < 95_000, sizes
    licences = [path.read_text(encoding="utf-8") for path in FONTS.glob("LICENSE*")]
    assert len(licences) == 2
    assert all("SIL Open Font License, Version 1.1" in licence for licence in licences)


def test_fonts_are_loaded_code_fits_focus_is_marked_and_paper_is_white(browser, server):
    with opened(browser, f"{server}{CHAPTER}.html") as page:  # which complains of other servers
        page.evaluate(FONTS_READY)
        loaded = page.evaluate(
            "[...document.fonts].filter(f => f.status === 'loaded').map(f => f.family)"
        )
        assert {"Course Text", "Course Code"} <= {name.strip('"') for name in loaded}
        open_folds(page, ARTICLE)
        for width in (WIDE, DESK):
            page.set_viewport_size({"width": width, "height": HEIGHT})
            beyond = page.evaluate(LONGEST)
            assert len(beyond) > 20 and max(beyond) <= 0, "a line of 78 characters fits its box"
        page.locator(LIVE).first.wait_for()
        assert page.evaluate(UNMARKED) == []
        page.emulate_media(color_scheme="dark")
        page.locator("html[data-theme=dark]").wait_for()
        themes = page.evaluate(
            """() => ["beforeprint", "afterprint"].map(name => {
              dispatchEvent(new Event(name));
              return document.documentElement.dataset.theme;
            })"""
        )
        assert themes == ["light", "dark"], "paper is white"
        page.emulate_media(media="print")
        painted = page.locator(".live-figure td:visible").evaluate_all(
            "all => all.map(e => getComputedStyle(e).printColorAdjust)"
        )
        assert len(painted) > 5 and set(painted) == {"exact"}


@pytest.mark.parametrize("name", ["book/notation", "notebooks/10_bigram_to_gpt"])
def test_no_letter_of_a_sentence_is_missing_in_the_fonts(browser, server, name):
    with opened(browser, f"{server}{name}.html") as page:
        page.evaluate(FONTS_READY)
        devtools = page.context.new_cdp_session(page)
        for domain in ("DOM", "CSS"):
            devtools.send(f"{domain}.enable")
        root = devtools.send("DOM.getDocument")["root"]["nodeId"]
        chosen = {
            "nodeId": root,
            "selector": f"{ARTICLE} :is(section > p, section > p :is(em, strong, code))",
        }
        for node in devtools.send("DOM.querySelectorAll", chosen)["nodeIds"]:
            fonts = devtools.send("CSS.getPlatformFontsForNode", {"nodeId": node})["fonts"]
            other = [font["familyName"] for font in fonts if not font["isCustomFont"]]
            text = devtools.send("DOM.getOuterHTML", {"nodeId": node})["outerHTML"]
            assert other == [], f"run tools/subset_fonts.sh for {text}"


def test_a_finger_meets_controls_of_44_pixels_and_buttons_that_copy_have_names(browser, server):
    address = f"{server}{CHAPTER}.html"
    with opened(browser, address, width=PHONE, has_touch=True, is_mobile=True) as page:
        page.locator(LIVE).wait_for()
        assert page.evaluate("matchMedia('(pointer: coarse)').matches")
        heights = page.locator(".live-figure :is(button, input[type=number])").evaluate_all(
            "all => all.filter(e => e.checkVisibility()).map(e => e.getBoundingClientRect().height)"
        )
        assert len(heights) > 20 and min(heights) >= 44
        page.wait_for_function("document.querySelectorAll('.copybtn[aria-label]').length > 20")
        assert page.locator(".copybtn:not([aria-label])").count() == 0


def test_the_contents_scroll_along_and_show_the_section_that_is_read(browser, server):
    with opened(browser, f"{server}notebooks/11_training.html", width=DESK) as page:
        page.set_viewport_size({"width": DESK, "height": 480})  # too low for all of it
        bar = page.locator(".bd-sidebar-secondary")
        assert bar.evaluate("e => e.scrollHeight > e.clientHeight && e.scrollTop === 0")
        read = set()
        for heading in page.locator(f"{ARTICLE} section > h2").all()[3:-2:2]:
            heading.evaluate("e => scrollBy(0, e.getBoundingClientRect().top - 100)")
            shown = page.wait_for_function(
                """read => {
                  const bar = document.querySelector('.bd-sidebar-secondary');
                  const link = bar.querySelector('a[aria-current]');
                  if (!link || read.includes(link.hash)) return false;
                  const [box, line] = [bar, link].map(e => e.getBoundingClientRect());
                  return line.top >= box.top && line.bottom <= box.bottom && link.hash;
                }""",
                arg=sorted(read),
            )
            read.add(shown.json_value())
        assert bar.evaluate("e => e.scrollTop > 0")


TERM = "article a[data-preview]"


def test_a_term_shows_its_first_sentence_on_hover_focus_and_tap(browser, site):
    """From disk; Escape puts it away, and a second tap follows the link."""
    address = (site / "notebooks" / "06_self_attention.html").as_uri()
    with opened(browser, address, has_touch=True) as page:
        term, box = page.locator(TERM).first, page.get_by_role("tooltip")
        (entry,) = term.get_attribute("href").split("#")[1:]
        glossary = parsed(site / "book" / "glossary.html")
        definition = glossary.select_one(f"[id='{entry}'] ~ dd p").get_text().replace("\n", " ")
        page.locator(LIVE).wait_for()
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


RING = """() => {
  const style = getComputedStyle(document.activeElement);
  return [style.outlineStyle, style.outlineColor];
}"""


def test_a_control_of_the_theme_has_the_focus_ring_of_all_others(browser, site):
    address = (site / "notebooks" / "06_self_attention.html").as_uri()
    with opened(browser, address) as page:
        page.keyboard.press("Tab")
        rings = []
        for label in ("Toggle primary sidebar", "Download this page", "Search"):
            page.get_by_role("button", name=label, exact=True).first.focus()
            rings.append(page.evaluate(RING))
        page.locator("article a").first.focus()
        assert rings == [page.evaluate(RING)] * 3 and rings[0][0] == "solid"
