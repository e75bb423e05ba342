"""The figure of gradient descent in a browser: what it shows is what Python computes."""

import pytest

from tests.chapters.test_ch04_live import descend
from tests.site.browsing import ends, number, rows
from tests.site.figures import drag, fill, press, status

FIGURE = "parabola"


def check(page, start, rate, steps):
    """The table, the tangent and the words are those of `steps` steps at this rate."""
    places = descend(start, rate, steps)
    shown = [[number(text) for text in row] for row in rows(page)[1:]]
    expected = [[i, w, 2 * (w - 3), (w - 3) ** 2] for i, w in enumerate(places)]
    assert len(shown) == len(expected)
    for row, of_step in zip(shown, expected, strict=True):
        assert row == pytest.approx(of_step, abs=6e-3, rel=0.06)
    ((x1, y1, x2, y2),) = ends(page, ".sx-tangent")
    slope = ((y1 - y2) / 186 * 36) / ((x2 - x1) / 296 * 12)  # in units of the axes
    assert slope == pytest.approx(2 * (places[-1] - 3), rel=1e-6, abs=1e-6)
    said = status(page).split(" w is ")[1].split(". ")[0]
    assert f"w is {said}" in page.locator("svg").get_attribute("aria-label")
    assert ("outside" in status(page)) == (abs(places[-1] - 3) > 6)


def test_steps_and_rates_on_screen_are_those_of_python(page):
    check(page, 0.0, 0.02, 6)
    press(page, "1.05")
    check(page, 0.0, 1.05, 6)
    press(page, "Start again", "Step", "10 steps", "10 steps")
    check(page, 0.0, 1.05, 21)
    fill(page, Learning_rate=0.73, Start_w=7.5)
    check(page, 7.5, 0.73, 21)
    press(page, *["10 steps"] * 5)
    check(page, 7.5, 0.73, 60)  # and no further


@pytest.mark.parametrize("by", ["mouse", "touch"])
def test_steps_go_on_from_where_the_ball_is_put(page, by):
    def drawn(w):
        return 36 + (w + 3) / 12 * 296, 196 - (w - 3) ** 2 / 36 * 186

    press(page, "0.3")
    ball = descend(0.0, 0.3, 6)[-1]
    drag(page, [drawn(ball), drawn(5), (drawn(6.4)[0], 30)], by)  # it stays on the curve
    check(page, 6.4, 0.3, 0)
    press(page, "Step", "Step")
    check(page, 6.4, 0.3, 2)
