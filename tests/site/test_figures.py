"""What is true of every live figure: it fits, can be read, answers to keys, and leaves a still."""

import pytest

from tests.site.browsing import HEIGHT, LIVE, PHONE, TOO_SMALL, WIDE, axe_finds, open_folds, opened
from tests.site.figures import FIGURES

FIGURE = ".live-figure"
# every control that keys must reach; of a row whose elements take turns only one is a stop
CONTROLS = 'button, input, textarea, select, summary, [tabindex="0"]'
STOPS = f"""[...document.querySelector('{FIGURE}').querySelectorAll('{CONTROLS}')]
  .filter(e => e.tabIndex >= 0 && e.checkVisibility() && !e.disabled)"""
# what an animation or a transition moves, in text that is not just being written anew
MOVING = """all => all.filter(e => { const s = getComputedStyle(e);
  return e.isConnected && (s.animationName !== 'none' || parseFloat(s.transitionDuration) > 0);
}).length"""


@pytest.fixture(params=FIGURES)
def name(request) -> str:
    return request.param


def test_keys_reach_every_control_it_fits_can_be_read_and_axe_finds_nothing(
    browser, saved, axe, name
):
    """At both widths, in both colours; `prefers-reduced-motion` has nothing left to take away."""
    with opened(browser, saved(name)) as page:
        page.locator(LIVE).wait_for()
        assert page.locator(f"{FIGURE} *").evaluate_all(MOVING) == 0
        count = page.evaluate(f"{STOPS}.length")
        reached = set()
        for _ in range(2 * count + 10):  # what scrolls is a stop, too
            page.keyboard.press("Tab")  # what has the focus may have drawn others anew
            reached.add(page.evaluate(f"{STOPS}.indexOf(document.activeElement)"))
            if set(range(count)) <= reached:
                break
        assert set(range(count)) <= reached
        page.set_viewport_size({"width": PHONE, "height": HEIGHT})  # curves are drawn for a width
        FIGURES[name].use(page)
        # the views inside the race are those of the explorer
        tabs = [None] if name == "race" else page.get_by_role("tab").all() or [None]
        # what scrolls, and must then be reached, scrolls on a phone
        for mode, width, all_rules in (("dark", PHONE, True), ("light", WIDE, False)):
            page.emulate_media(color_scheme=mode)
            page.set_viewport_size({"width": width, "height": HEIGHT})
            for tab in tabs:
                if tab:
                    tab.click()
                open_folds(page, FIGURE)
                page.evaluate("new Promise(then => setTimeout(() => requestAnimationFrame(then)))")
                assert page.evaluate(TOO_SMALL, FIGURE) == []
                assert axe_finds(page, axe, FIGURE, all_rules) == []
        for button in page.locator(f"{FIGURE} button:visible").all()[:12]:
            if not button.is_visible() or button.is_disabled():
                continue  # since another one was pressed
            button.press("Enter")
            assert page.evaluate("document.activeElement !== document.body")


def test_without_javascript_a_described_figure_with_numbers_stays(browser, saved, name):
    with opened(browser, saved(name), width=PHONE, javascript=False) as page:
        figure = page.locator(FIGURE)
        text = figure.inner_text() + " ".join(figure.locator("svg text").all_text_contents())
        assert "JavaScript" in text and sum(c.isdigit() for c in text) > 8
        for svg in figure.locator("svg").all():
            assert svg.get_attribute("role") == "img" and len(svg.get_attribute("aria-label")) > 20
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE


@pytest.mark.parametrize(
    ("name", "old", "new", "why"),
    [
        ("merges", 'data-settings="{', 'data-settings="{no', "could not start"),
        ("explorer", '"weights": "', '"weights": "AAAA', "bytes of weights, expected"),
        ("explorer", 'data-models="', 'data-models="x', "does not hold the model's weights"),
    ],
)
def test_a_figure_that_cannot_start_stays_still_and_says_why(
    browser, tmp_path, name, old, new, why
):
    figure = FIGURES[name].make()
    html = figure.html()
    assert old in html
    path = tmp_path / "broken.html"
    path.write_text(f"<title>x</title>{html.replace(old, new)}", encoding="utf-8")
    with opened(browser, path.as_uri()) as page:
        shown = page.locator(f"{FIGURE}[data-live=failed]")
        shown.wait_for()
        for part in ("<svg", "<tr"):
            assert shown.inner_html().count(part) == figure.still.count(part)
        assert why in shown.locator("> p").last.inner_text()
