"""Turned pairs in a browser: arrows and scores are those that Python computes."""

import math
import re

import pytest

from tests.site.browsing import ends, number, rows
from tests.site.figures import around, drag, fill, press

FIGURE = "turning_pairs"
PAIRS = {"query": (2.0, 1.0), "key": (0.5, 1.5)}


def check(page, m, n, speed=0.3):
    """Words, table and arrows are those of a query at m and a key at n."""
    said = page.locator(".sx-score").inner_text()
    assert said.startswith(f"Distance m − n = {m - n}, score ".replace("-", "−"))
    tips = []
    for (word, (a, b)), place, row in zip(PAIRS.items(), (m, n), rows(page)[1:], strict=True):
        angle = place * speed
        c, s = math.cos(angle), math.sin(angle)
        tips.append([a * c - b * s, a * s + b * c])
        name, start, turn, end = row
        assert name == f"{word} at {place}"
        assert number(turn) == pytest.approx(angle, abs=5.1e-3)
        for text, pair in ((start, [a, b]), (end, tips[-1])):
            shown = [number(part) for part in re.findall(r"−?\d+\.\d+", text)]
            assert shown == pytest.approx(pair, abs=5.1e-3)
        ((x1, y1, x2, y2),) = ends(page, f"line.sx-{word[0]}:not(.sx-before)")
        drawn, exact = math.atan2(y1 - y2, x2 - x1), math.atan2(*tips[-1][::-1])
        assert math.cos(drawn - exact) == pytest.approx(1)
        assert f"{word} at place {place} " in page.locator("svg").get_attribute("aria-label")
    score = sum(a * b for a, b in zip(*tips, strict=True))
    assert number(said.split("score ")[1]) == pytest.approx(score, abs=5.1e-4)
    return said


def test_arrows_and_score_are_pythons_and_moving_both_leaves_the_score(page):
    first = check(page, 2, 1)
    for m, n, speed in ((3, 20, 0.31), (20, 19, 0.3)):
        fill(page, Query_at_m=m, Key_at_n=n, Radians_a_place=speed)
        check(page, m, n, speed)
    page.get_by_role("button", name="Move both by 1", exact=True).click(force=True)
    assert check(page, 20, 19) == first, "the slider ends there"
    press(page, "Move both back by 1", "100 words in front")
    assert check(page, 119, 118) == first
    press(page, "Take the 100 words away")
    fill(page, Query_at_m=13)
    assert check(page, 13, 18) != first, "a query that moves alone changes it"


def test_a_finger_on_an_arrow_moves_its_word_and_on_the_disc_both(page):
    def turn(word, place, steps, radius=80.0):  # counter-clockwise, as places turn
        x, y = PAIRS[word]
        start = -math.atan2(y, x) - 0.3 * place
        drag(page, around((142, 142), radius, start, -0.3 * steps), "touch")

    first = check(page, 2, 1)
    turn("query", 2, 7)
    turn("key", 1, 3)
    assert check(page, 9, 4) != first
    turn("query", 9, -4)
    assert check(page, 5, 4) == first
    turn("query", 0, -30, 30)
    assert check(page, 1, 0) == first, "both stop where one comes to its end"
