"""What is true of every live figure: it fits, can be read, and answers to keys.

And of several in one page: all come to life, and none changes how another one looks.
"""

import copy
import re
import time

import pytest

from scratchformer_course.kit.figure.live_figure import PAGE
from scratchformer_course.kit.figure.scripts import registered
from scratchformer_course.page_model import explore
from tests.site.browsing import HEIGHT, LIVE, PHONE, TOO_SMALL, WIDE, axe_finds, open_folds, opened
from tests.site.conftest import Quiet, serving
from tests.site.figures import FIGURES, shipped

FIGURE = ".live-figure"
# every control that keys must reach; of a row whose elements take turns only one is a stop
CONTROLS = 'button, input, textarea, select, summary, [tabindex="0"]'
STOPS = f"""[...document.querySelector('{FIGURE}').querySelectorAll('{CONTROLS}')]
  .filter(e => e.tabIndex >= 0 && e.checkVisibility() && !e.disabled)"""
# what an animation or a transition moves, in text that is not just being written anew
MOVING = """all => all.filter(e => { const s = getComputedStyle(e);
  return e.isConnected && (s.animationName !== 'none' || parseFloat(s.transitionDuration) > 0);
}).length"""
# Each control is used, at most 40 of them, and the figure's height noted with the control's name.
# What a field asks for a moment later has then been asked before.
USED = """async keepsTexts => {
  const figure = document.querySelector('.live-figure');
  const all = () => [...figure.querySelectorAll('button, input:not([type=file]), select, textarea')]
    .filter(e => e.checkVisibility() && !e.disabled && !e.closest('[role=tablist], [inert]'));
  const drawn = (ms = 0) => new Promise(done => setTimeout(() => requestAnimationFrame(done), ms));
  const heights = [['start', figure.getBoundingClientRect().height]];
  const values = e => e.localName === 'select' ? [...e.options].map(o => o.value)
    : e.type === 'range' ? [e.min, e.max, (Number(e.min) + Number(e.max)) / 2]
    : e.type === 'number' ? [e.min || -9, e.max || 9]
    : keepsTexts ? [] : [e.value + 'x', 'Zürich ' + 'word '.repeat(20), e.value];
  for (let i = 0; i < Math.min(all().length, 40); i++) {
    const control = all()[i], name = control.outerHTML.slice(0, 120);
    control.focus();
    if (control.matches('button:not(.sx-go), [type=checkbox]')) control.click();
    else if (control.localName !== 'button') for (const value of values(control)) {
      control.value = value;
      for (const kind of ['input', 'change'])
        control.dispatchEvent(new Event(kind, {bubbles: true}));
      await drawn(control.matches('textarea, [type=text]') ? 150 : 0);
    }
    await drawn();
    heights.push([name, figure.getBoundingClientRect().height]);
  }
  return heights;
}"""
LINE = 24  # pixels
WAIT = 1.3  # seconds between a figure's still form and its scripts: longer than any try waits


def test_what_a_reader_does_is_known_of_every_figure():
    assert set(registered()) <= set(FIGURES)


@pytest.mark.parametrize("name", FIGURES)
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
                page.evaluate("new Promise(done => setTimeout(() => requestAnimationFrame(done)))")
                assert page.evaluate(TOO_SMALL, FIGURE) == []
                assert axe_finds(page, axe, FIGURE, all_rules) == []
        for button in page.locator(f"{FIGURE} button:visible").all()[:12]:
            if not button.is_visible() or button.is_disabled():
                continue  # since another one was pressed
            button.press("Enter")
            assert page.evaluate("document.activeElement !== document.body")


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("width", [WIDE, PHONE])
def test_it_keeps_its_height_while_its_controls_are_used(browser, saved, name, width):
    """A page below it would jump. The explorer's views are as high as the prompt that they show.

    Letters of other machines may need a line more. On a phone it has at most two screens,
    since nothing scrolls inside it.
    """
    with opened(browser, saved(name), width=width) as page:
        page.locator(LIVE).wait_for()
        heights = page.evaluate(USED, name in ("explorer", "heads_out", "patching", "race"))
        least, most = (pick(height for _, height in heights) for pick in (min, max))
        assert most - least <= LINE, heights
        assert width > PHONE or most <= 2 * HEIGHT, most


def test_figures_wait_for_what_is_still_being_read_and_stay_still_and_say_what_never_comes(browser):
    """The second lacks its view alone, the third the weights of another model, the last its own."""
    model, tok = shipped()
    other = copy.deepcopy(model)
    other.ln_f.weight.data[0] += 1.0
    views = (model, "next"), (model, "attention"), (other, "lens"), (model, "next")
    figures = [explore(gpt, tok, "ROMEO", views=[view]) for gpt, view in views]
    *html, last = (figure.html() for figure in figures)
    html.append(last.replace('data-models="', 'data-models="x', 1))
    # cut before the styles and scripts of each figure
    parts = re.split("(?=<style>)", PAGE.format(title="Several", body="".join(html)))

    class Slow(Quiet):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            for part in parts if self.path == "/page.html" else ():
                self.wfile.write(part.encode())
                self.wfile.flush()
                time.sleep(WAIT)

    with serving(Slow) as base, opened(browser, f"{base}page.html") as page:
        page.wait_for_function("document.querySelectorAll('[data-live]').length === 4")
        shown = page.locator(FIGURE)
        states = shown.evaluate_all("all => all.map(figure => figure.dataset.live)")
        assert states == ["yes"] * 3 + ["failed"]
        why = "could not start: the page does not hold the model's weights"
        assert why in shown.last.inner_text()
        assert shown.last.inner_html().count("<tr") == figures[-1].still.count("<tr") > 0
