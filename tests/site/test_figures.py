"""What is true of every live figure: it fits, can be read, answers to keys, and leaves a still."""

import pytest

from tests.site.browsing import PHONE, TOO_SMALL, WIDE, axe_finds, open_folds, opened
from tests.site.figures import FIGURES, LIVE

FIGURE = ".live-figure"
# every control that keys must reach; of a row whose elements take turns only one is a stop
CONTROLS = 'button, input, textarea, select, summary, [tabindex="0"]'
STOPS = f"""[...document.querySelector('{FIGURE}').querySelectorAll('{CONTROLS}')]
  .filter(e => e.tabIndex >= 0 && e.checkVisibility() && !e.disabled)"""


@pytest.fixture(params=FIGURES)
def name(request) -> str:
    return request.param


@pytest.mark.parametrize(("mode", "width"), [("light", WIDE), ("dark", PHONE)])
def test_it_fits_can_be_read_and_axe_finds_nothing(browser, saved, axe, name, mode, width):
    with opened(browser, saved(name), mode, width) as page:
        page.locator(LIVE).wait_for()
        FIGURES[name].use(page)
        tabs = page.get_by_role("tab").all()
        for tab in tabs or [None]:
            if tab:
                tab.click()
            open_folds(page, FIGURE)
            assert page.evaluate(TOO_SMALL, FIGURE) == []
            assert axe_finds(page, axe, FIGURE) == []


def test_keys_alone_reach_every_control_and_never_lose_their_place(browser, saved, name):
    with opened(browser, saved(name)) as page:
        page.locator(LIVE).wait_for()
        count = page.evaluate(f"{STOPS}.length")
        reached = set()
        for _ in range(2 * count + 10):  # what scrolls is a stop, too
            page.keyboard.press("Tab")  # what has the focus may have drawn others anew
            reached.add(page.evaluate(f"{STOPS}.indexOf(document.activeElement)"))
        assert set(range(count)) <= reached
        for button in page.locator(f"{FIGURE} button:visible").all()[:12]:
            if not button.is_visible() or button.is_disabled():
                continue  # since another one was pressed
            button.focus()
            page.keyboard.press("Enter")
            assert page.evaluate("document.activeElement !== document.body")


def test_without_javascript_a_described_figure_with_numbers_stays(browser, saved, name):
    with opened(browser, saved(name), width=PHONE, javascript=False) as page:
        figure = page.locator(FIGURE)
        text = figure.inner_text() + " ".join(figure.locator("svg text").all_text_contents())
        assert "JavaScript" in text and sum(c.isdigit() for c in text) > 8
        for svg in figure.locator("svg").all():
            assert svg.get_attribute("role") == "img" and len(svg.get_attribute("aria-label")) > 20
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE


def test_nothing_moves_by_itself(browser, saved, name):
    """No animation, no transition: `prefers-reduced-motion` has nothing left to take away."""
    with opened(browser, saved(name)) as page:
        page.locator(LIVE).wait_for()
        moving = page.locator(f"{FIGURE} *").evaluate_all(
            "all => all.filter(e => { const s = getComputedStyle(e); "
            "return e.isConnected && (s.animationName !== 'none' || "  # text is being written
            "parseFloat(s.transitionDuration) > 0); }).length"
        )
        assert moving == 0


# ---- where a figure cannot come to life ----


def why_it_stays(browser, name, old, new, folder):
    """Open a figure in which a text is another: the still figure stays, and says why."""
    figure = FIGURES[name].make()
    html = figure.html()
    assert old in html
    path = folder / "broken.html"
    path.write_text(f"<title>x</title>{html.replace(old, new)}", encoding="utf-8")
    with opened(browser, path.as_uri()) as page:
        shown = page.locator(f"{FIGURE}[data-live=failed]")
        shown.wait_for()
        for part in ("<svg", "<tr"):
            assert shown.inner_html().count(part) == figure.still.count(part)
        return shown.locator("> p").last.inner_text()


@pytest.mark.parametrize("name", ["merges", "clock_hands"])
def test_where_the_settings_are_broken_the_still_figure_stays(browser, name, tmp_path):
    told = why_it_stays(browser, name, 'data-settings="{', 'data-settings="{no', tmp_path)
    assert "could not start" in told


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"weights": "', '"weights": "AAAA', "bytes of weights, expected"),
        ('data-models="', 'data-models="x', "does not hold the model's weights"),
    ],
)
def test_where_the_weights_are_broken_the_still_figure_stays(browser, tmp_path, old, new, why):
    assert why in why_it_stays(browser, "explorer", old, new, tmp_path)
