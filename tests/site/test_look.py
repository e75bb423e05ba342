"""How pages look: letters, sizes, what a finger and a printer meet."""

import itertools
from pathlib import Path

import pytest

from tests.site.browsing import ARTICLE, DESK, PHONE, WIDE, open_folds, opened

FONTS = Path(__file__).resolve().parents[2] / "book" / "_assets" / "fonts"
CHAPTER = "notebooks/06_self_attention"
# a line of the longest length that a cell may have, put into each kind of box with code
LONGEST = f"""() => [...document.querySelectorAll('{ARTICLE} .cell_input pre')].map(box => {{
  box.textContent = 'm'.repeat(78);
  return box.scrollWidth - box.clientWidth;
}})"""
SIZES = f"""() => ['h1', 'h2', ':not(.course-exercise) > h3', '.course-exercise h3'].map(kind => {{
  const heading = document.querySelector(`{ARTICLE} ${{kind}}`);
  const style = heading && getComputedStyle(heading);
  return style && [parseFloat(style.fontSize), Number(style.fontWeight)];
}}).filter(Boolean)"""
LETTERS = f"""() => {{
  const context = document.createElement('canvas').getContext('2d');
  const lines = [...document.querySelectorAll('{ARTICLE} > section p')].filter(p =>
    p.checkVisibility() && p.parentElement.tagName === 'SECTION' && p.textContent.length > 200);
  return lines.map(p => {{
    const style = getComputedStyle(p);
    context.font = `${{style.fontSize}} ${{style.fontFamily}}`;
    return p.clientWidth / (context.measureText(p.textContent).width / p.textContent.length);
  }});
}}"""
# how far the ring of each control of a live figure reaches over the edge of what hides it
CUT_RINGS = """() => [...document.querySelectorAll(
  '.live-figure :is(button, input, textarea, select, summary, [tabindex="0"])')]
  .filter(e => e.checkVisibility() && !e.disabled).flatMap(e => {
    e.focus();
    const style = getComputedStyle(e), box = e.getBoundingClientRect();
    const reach = style.outlineStyle === 'none' ? 0
      : parseFloat(style.outlineWidth) + parseFloat(style.outlineOffset);
    for (let up = e.parentElement; up; up = up.parentElement) {
      const hides = getComputedStyle(up), edge = up.getBoundingClientRect();
      if (hides.overflowX === 'visible') continue;
      const across = Math.max(edge.left - (box.left - reach), box.right + reach - edge.right);
      const down = Math.max(edge.top - (box.top - reach), box.bottom + reach - edge.bottom);
      const over = Math.max(up.scrollWidth <= up.clientWidth ? across : 0,
        up.scrollHeight <= up.clientHeight ? down : 0);
      if (over > 0.5)
        return [`${over} px: ${e.outerHTML.slice(0, 80)} in ${up.className}`];
    }
    const isRinged = reach > 0 || style.outlineOffset === '-3px';
    return isRinged ? [] : [`no ring: ${e.outerHTML.slice(0, 80)}`];
  })"""


def test_the_fonts_are_small_and_come_with_their_licences():
    sizes = {path.name: path.stat().st_size for path in FONTS.glob("*.woff2")}
    assert len(sizes) >= 4 and sum(sizes.values()) < 95_000, sizes
    licences = [path.read_text(encoding="utf-8") for path in FONTS.glob("LICENSE*")]
    assert len(licences) == 2
    assert all("SIL Open Font License, Version 1.1" in licence for licence in licences)


@pytest.mark.parametrize("from_disk", [True, False])
def test_letters_come_from_the_site_itself(browser, site, server, from_disk):
    address = (site / f"{CHAPTER}.html").as_uri() if from_disk else f"{server}{CHAPTER}.html"
    with opened(browser, address) as page:  # which complains of requests to elsewhere
        page.evaluate("document.fonts.ready.then(() => 0)")
        loaded = page.evaluate(
            "[...document.fonts].filter(f => f.status === 'loaded').map(f => f.family)"
        )
        assert {"Course Text", "Course Code"} <= {name.strip('"') for name in loaded}
        family = page.locator(f"{ARTICLE} p").first.evaluate("e => getComputedStyle(e).fontFamily")
        assert family.startswith('"Course Text"')


@pytest.mark.parametrize("name", ["book/notation", "notebooks/10_bigram_to_gpt"])
def test_no_letter_of_a_sentence_is_missing_in_the_fonts(browser, server, name):
    with opened(browser, f"{server}{name}.html") as page:
        page.evaluate("document.fonts.ready.then(() => 0)")
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
            assert other == [], f"run python -m tools.subset_fonts for {text}"


@pytest.mark.parametrize("width", [WIDE, DESK])
def test_a_line_of_78_characters_fits_each_box_with_code(browser, server, width):
    with opened(browser, f"{server}{CHAPTER}.html", width=width) as page:
        open_folds(page, ARTICLE)
        page.evaluate("document.fonts.ready.then(() => 0)")
        style = "e => [getComputedStyle(e).fontSize, getComputedStyle(e).lineHeight]"
        assert page.locator(f"{ARTICLE} .cell_input pre").first.evaluate(style) == [
            "15px",
            "22.5px",
        ]
        beyond = page.evaluate(LONGEST)
        assert len(beyond) > 20 and max(beyond) <= 0


@pytest.mark.parametrize("width", [DESK, 1440])
def test_a_line_of_prose_has_65_to_75_letters(browser, server, width):
    with opened(browser, f"{server}{CHAPTER}.html", width=width) as page:
        page.evaluate("document.fonts.ready.then(() => 0)")
        found = sorted(page.evaluate(LETTERS))
        assert 65 <= found[len(found) // 2] <= 78  # a line ends before the column does


def test_a_heading_outweighs_those_below_it(browser, server):
    with opened(browser, f"{server}{CHAPTER}.html") as page:
        sizes = page.evaluate(SIZES)
    assert len(sizes) >= 2
    for (size, weight), (smaller, lighter) in itertools.pairwise(sizes):
        assert size > smaller and weight >= lighter


def test_a_finger_meets_controls_of_44_pixels(browser, server):
    context = browser.new_context(
        viewport={"width": PHONE, "height": 844}, has_touch=True, is_mobile=True
    )
    page = context.new_page()
    page.goto(f"{server}{CHAPTER}.html")
    page.locator(".live-figure[data-live=yes]").wait_for()
    assert page.evaluate("matchMedia('(pointer: coarse)').matches")
    heights = page.locator(".live-figure :is(button, input[type=number])").evaluate_all(
        "all => all.filter(e => e.checkVisibility()).map(e => e.getBoundingClientRect().height)"
    )
    assert len(heights) > 20 and min(heights) >= 44
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE
    context.close()


@pytest.mark.parametrize("name", ["notebooks/01_bpe", "notebooks/11_training", CHAPTER])
@pytest.mark.parametrize("width", [PHONE, DESK])
def test_the_ring_around_a_control_is_whole(browser, server, name, width):
    with opened(browser, f"{server}{name}.html", width=width) as page:
        page.locator(".live-figure[data-live=yes]").first.wait_for()
        assert page.evaluate(CUT_RINGS) == []


@pytest.mark.parametrize("name", ["book/welcome", CHAPTER])
def test_on_paper_bars_and_maps_are_there_and_overlap_nothing(browser, server, name):
    with opened(browser, f"{server}{name}.html", width=720) as page:
        page.locator(".live-figure[data-live=yes]").first.wait_for()
        page.emulate_media(media="print")
        painted = page.locator(".live-figure :is(.sx-p, td)").evaluate_all(
            """all => all.filter(e => e.checkVisibility())
              .map(e => getComputedStyle(e).printColorAdjust)"""
        )
        assert len(painted) > 5 and set(painted) == {"exact"}
        assert page.locator(".live-figure").first.is_visible()
        # side by side or one below the other: no column lies on another
        boxes = (
            page.locator(".live-figure")
            .first.locator(".sx-columns > *")
            .evaluate_all(
                """all => all.filter(e => e.checkVisibility()).map(e => e.getBoundingClientRect())
              .map(b => [b.left, b.top, b.right, b.bottom])"""
            )
        )
        for i, (left, top, right, bottom) in enumerate(boxes):
            for other_left, other_top, other_right, other_bottom in boxes[i + 1 :]:
                aside = right <= other_left + 1 or other_right <= left + 1
                below = bottom <= other_top + 1 or other_bottom <= top + 1
                assert aside or below


def test_a_dark_page_is_printed_by_daylight_and_dark_again_after_it(browser, server):
    with opened(browser, f"{server}book/glossary.html", "dark") as page:
        themes = page.evaluate(
            """() => ["beforeprint", "afterprint"].map(name => {
              dispatchEvent(new Event(name));
              return document.documentElement.dataset.theme;
            })"""
        )
    assert themes == ["light", "dark"]


def test_the_contents_scroll_along_and_show_the_section_that_is_read(browser, server):
    with opened(browser, f"{server}notebooks/11_training.html", width=DESK) as page:
        bar = page.locator(".bd-sidebar-secondary")
        assert bar.evaluate("e => e.scrollHeight > e.clientHeight && e.scrollTop === 0")
        read = set()
        for heading in page.locator(f"{ARTICLE} section > h2").all()[3:-2]:
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


def test_a_button_that_copies_has_a_name_is_seen_when_focused_and_covers_no_code(browser, server):
    context = browser.new_context(
        viewport={"width": PHONE, "height": 844}, has_touch=True, is_mobile=True
    )
    page = context.new_page()
    page.goto(f"{server}{CHAPTER}.html")
    buttons = page.locator(".copybtn:visible")
    page.wait_for_function("document.querySelectorAll('.copybtn[aria-label]').length > 20")
    assert page.locator(".copybtn:not([aria-label])").count() == 0
    for button in buttons.all()[:5]:
        button.focus()
        page.wait_for_function("getComputedStyle(document.activeElement).opacity === '1'")
        box = button.locator("xpath=../pre").bounding_box()
        own = button.bounding_box()
        assert own["y"] + own["height"] <= box["y"] + 1
    context.close()


def test_other_scripts_and_emoji_have_fonts_in_the_figure_of_merges(browser, server):
    with opened(browser, f"{server}notebooks/01_bpe.html") as page:
        figure = page.locator(".live-figure[data-figure=merges][data-live=yes]")
        figure.wait_for()
        named = "getComputedStyle(document.documentElement).getPropertyValue('--course-others')"
        others = [name.strip(' "\n') for name in page.evaluate(named).split(",")]
        for part in ("textarea", ".sx-piece span", ".sx-title", "svg text.sx-mono"):
            family = figure.locator(part).first.evaluate("e => getComputedStyle(e).fontFamily")
            assert [name for name in others if name not in family] == [], part
