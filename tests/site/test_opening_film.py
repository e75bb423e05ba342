"""The film that opens the course: it plays once, waits for who wants no motion, and is dragged."""

import contextlib

from scratchformer_course.measurements import load_measurements
from tests.site.browsing import LIVE, opened, weights

FRAMES = load_measurements("film")["frames"]
FIGURE = "opening_film"
LAST = len(FRAMES) - 1


@contextlib.contextmanager
def moving(browser, address):
    """The film, playing, in a browser that allows motion, whose clock the test turns."""
    context = browser.new_context(has_touch=True)
    page = context.new_page()
    page.clock.install()
    page.add_init_script("""window.moved = [];
      document.addEventListener("input", ({ target }) => moved.push(target.value), true);""")
    page.goto(address)
    control(page, "Pause").wait_for()
    yield page
    context.close()


def slider(page):
    return page.get_by_role("slider", name="Training")


def control(page, name):
    return page.get_by_role("button", name=name, exact=True)


def shows(page, i):
    """All of a frame stands there: its step, its text, its head and its place."""
    frame = FRAMES[i]
    assert slider(page).input_value() == str(i)
    assert slider(page).get_attribute("aria-valuetext") == f"{frame['step']:,} steps"
    assert page.locator(".film-text span").text_content() == frame["text"]
    caption = page.locator(".film-told").inner_text()
    assert f"{100 * frame['right']:.0f} times in 100" in caption
    assert f"{frame['step']:,} steps" in caption or i == 0
    assert weights(page, ".film-map [style]") == [w for row in frame["weights"] for w in row]
    # the curve ends where the step stands between the first and the last
    place = float(page.locator(".film-curve").evaluate("e => e.style.getPropertyValue('--x')"))
    assert (place == 0) == (i == 0) and (place == 1) == (i == LAST)


def test_it_plays_once_rests_while_paused_and_stops_for_who_moves_it_by_mouse_keys_or_finger(
    browser, saved
):
    with moving(browser, saved(FIGURE)) as page:
        page.clock.run_for(3_000)
        control(page, "Pause").click()
        at = int(slider(page).input_value())
        page.clock.run_for(5_000)
        shows(page, at)
        control(page, "Play").click()
        while not control(page, "Play again").count():
            page.clock.run_for(1_000)
        assert page.evaluate("moved").count("0") == 1
        assert page.evaluate("moved")[-LAST:] == [str(i) for i in range(1, LAST + 1)]
        page.clock.run_for(5_000)
        shows(page, LAST)

        control(page, "Play again").click()
        box = slider(page).bounding_box()
        x, y = box["x"] + box["width"] * 3.5 / LAST, box["y"] + box["height"] / 2
        page.mouse.move(box["x"] + 10, y)
        page.mouse.down()
        page.mouse.move(x, y, steps=4)
        page.mouse.up()
        at = int(slider(page).input_value())
        assert at in (3, 4)
        page.clock.run_for(5_000)
        shows(page, at)
        control(page, "Play").click()
        slider(page).press("Home")
        slider(page).press("ArrowRight")
        page.clock.run_for(5_000)
        shows(page, 1)
        control(page, "Play").click()
        page.touchscreen.tap(x, y)
        control(page, "Play").wait_for()


def test_the_end_stands_there_without_motion_and_without_javascript(browser, saved):
    with opened(browser, saved(FIGURE)) as page:  # which asks for reduced motion
        page.locator(LIVE).wait_for()
        shows(page, LAST)
        assert control(page, "Pause").count() == 0
        slider(page).fill("0")
        shows(page, 0)
    with opened(browser, saved(FIGURE), javascript=False) as page:
        assert page.locator(".film-text span").text_content() == FRAMES[-1]["text"]
