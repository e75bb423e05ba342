"""Turned pairs in a browser: arrows and scores are those that Python computes."""

import math
import re

import pytest

from tests.site.browsing import ends, number, rows
from tests.site.figures import around, drag, fill, press

FIGURE = "turning_pairs"
Q, K = (2.0, 1.0), (0.5, 1.5)


def turned(pair, angle):
    a, b = pair
    return [
        a * math.cos(angle) - b * math.sin(angle),
        a * math.sin(angle) + b * math.cos(angle),
    ]


def pair_of(text):
    return [number(part) for part in re.findall(r"−?\d+\.\d+", text)]


def check(page, m, n, speed=0.3):
    """Words, table and arrows are those of a query at m and a key at n."""
    said = page.locator(".sx-score").inner_text()
    score = sum(a * b for a, b in zip(turned(Q, m * speed), turned(K, n * speed), strict=True))
    assert said.startswith(f"Distance m − n = {m - n}, score ".replace("-", "−"))
    assert number(said.split("score ")[1]) == pytest.approx(score, abs=5.1e-4)
    label = page.locator("svg").get_attribute("aria-label")
    assert f"query at place {m} " in label and f"key at place {n} " in label
    shown = rows(page)[1:]
    for (name, start, turn, end), place, pair, word in zip(
        shown, (m, n), (Q, K), ("query", "key"), strict=True
    ):
        assert name == f"{word} at {place}" and pair_of(start) == list(pair)
        assert number(turn) == pytest.approx(place * speed, abs=5.1e-3)
        expected = turned(pair, place * speed)
        assert pair_of(end) == pytest.approx(expected, abs=5.1e-3)
        ((x1, y1, x2, y2),) = ends(page, f"line.sx-{word[0]}:not(.sx-before)")
        drawn, length = math.hypot(x2 - x1, y2 - y1), math.hypot(*pair)
        direction = [(x2 - x1) / drawn * length, (y1 - y2) / drawn * length]
        assert direction == pytest.approx(expected, abs=1e-6)
    return said


def test_arrows_and_score_are_those_of_python_and_moving_both_leaves_the_score(page):
    first = check(page, 2, 1)
    for step in range(1, 19):
        press(page, "Move both by 1")
        if step % 6 == 0:
            assert check(page, 2 + step, 1 + step) == first
    button = page.get_by_role("button", name="Move both by 1", exact=True)
    assert button.get_attribute("aria-disabled") == "true"
    button.click(force=True)
    assert check(page, 20, 19) == first, "the slider ends there"
    press(page, "Move both back by 1", "100 words in front")
    assert check(page, 119, 118) == first
    assert page.get_by_role("slider", name="Query at m").get_attribute("aria-valuetext") == "119"
    fill(page, Query_at_m=12, Key_at_n=11)
    assert check(page, 112, 111) == first
    press(page, "Take the 100 words away")
    assert check(page, 12, 11) == first
    fill(page, Query_at_m=13)
    assert check(page, 13, 11) != first, "a query that moves alone changes it"
    for m, n, speed in ((3, 20, 0.31), (5, 5, 1), (9, 2, 0)):
        fill(page, Query_at_m=m, Key_at_n=n, Radians_a_place=speed)
        check(page, m, n, speed)


@pytest.mark.parametrize("by", ["mouse", "touch"])
def test_an_arrow_moves_its_word_and_the_disc_moves_both(page, by):
    def turn(pair, place, steps, radius=80.0):  # counter-clockwise, as places turn
        start = -math.atan2(pair[1], pair[0]) - 0.3 * place
        drag(page, around((142, 142), radius, start, -0.3 * steps), by)

    first = check(page, 2, 1)
    turn(Q, 2, 7)
    assert check(page, 9, 1) != first
    turn(K, 1, 3)
    assert check(page, 9, 4) != first
    turn(Q, 9, -4)
    assert check(page, 5, 4) == first
    turn(Q, 0, 8, 30)
    assert check(page, 13, 12) == first, "both"
    turn(Q, 0, -30, 30)
    assert check(page, 1, 0) == first, "both stop where one comes to its end"
    fill(page, Radians_a_place=0)
    drag(page, around((142, 142), 100, -math.atan2(1, 2), 1), by)
    check(page, 1, 0, 0)
