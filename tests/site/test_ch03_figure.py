"""The clock hands in a browser: what they show is the package's sinusoidal encoding."""

import math

import pytest
import torch

from scratchformer.positions import sinusoidal
from tests.site.browsing import number, rows
from tests.site.figures import around, drag, fill

FIGURE = "clock_hands"
PE = sinusoidal(100, 8).double()


def move(page, place, distance):
    fill(page, Place=place, Distance=distance)


def numbers(t, u):
    """The rows of the table: sine and cosine of each hand at both places, and their product."""
    a, b = PE[t].view(-1, 2), PE[u].view(-1, 2)
    return torch.cat((a, b, (a * b).sum(dim=1, keepdim=True)), dim=1)


def shown_product(page):
    return page.locator(".sx-status").inner_text().split(" is ")[1].rstrip(".")


def check(page, t, k):
    shown = rows(page)
    assert shown[0] == [
        "",
        f"at {t}sin",
        f"at {t}cos",
        f"at {t + k}sin",
        f"at {t + k}cos",
        "product",
    ]
    cells = torch.tensor([[number(text) for text in row[1:]] for row in shown[1:]]).double()
    assert (cells - numbers(t, t + k)).abs().max() < 5.1e-3
    dot = (PE[t] @ PE[t + k]).item()
    assert number(shown_product(page)) == pytest.approx(dot, abs=5.1e-3)
    # the hands point where the numbers say
    for name, at in (("first", t), ("second", t + k)):
        tips = page.locator(f"line.sx-{name}").evaluate_all(
            "all => all.map(l => ['x1', 'y1', 'x2', 'y2'].map(n => Number(l.getAttribute(n))))"
        )
        for (x1, y1, x2, y2), (right, up) in zip(tips, PE[at].view(-1, 2).tolist(), strict=True):
            length = math.hypot(x2 - x1, y2 - y1)
            assert (x2 - x1) / length == pytest.approx(right, abs=1e-5)
            assert (y1 - y2) / length == pytest.approx(up, abs=1e-5)
    angles = page.locator("svg text").all_text_contents()[2::3]
    assert [float(angle.removesuffix(" rad")) for angle in angles] == pytest.approx(
        [k * 10.0**-i for i in range(4)]
    )
    label = page.locator("svg").get_attribute("aria-label")
    assert f"at place {t} and, dashed, at place {t + k}" in label


def test_hands_and_numbers_are_those_of_the_package(page):
    check(page, 3, 5)
    for t, k in ((0, 0), (0, 44), (49, 50), (17, 1), (30, 5)):
        move(page, t, k)
        check(page, t, k)


def test_only_the_distance_changes_the_dot_product(page):
    def pieces():  # the arcs between the hands, by their lengths
        return page.locator(".sx-between").evaluate_all("all => all.map(a => a.getTotalLength())")

    for k in (1, 5, 44):
        move(page, 0, k)
        first, arcs = shown_product(page), pieces()
        for t in (7, 20, 49):
            move(page, t, k)
            assert shown_product(page) == first and pieces() == pytest.approx(arcs, abs=1e-2)
    # at distance 44 the fast hand is back, and the next one is not
    product = [number(row[-1]) for row in rows(page)[1:]]
    assert product[0] == 1 and product[1] < 0


def places(page):
    sliders = (page.get_by_role("slider", name=name) for name in ("Place", "Distance"))
    return tuple(int(slider.input_value()) for slider in sliders)


@pytest.mark.parametrize("by", ["mouse", "touch"])
def test_a_hand_that_is_turned_moves_its_place_and_stops_at_the_ends(page, by):
    """The first hand takes both places along, the second moves alone; speeds are 1, 0.1, …"""

    def turn(i, place, steps):  # of hand i, from a place; an angle of 0 points up
        start = place * 10.0**-i - math.pi / 2
        drag(page, around((90 * (i + 0.5), 80), 30, start, steps * 10.0**-i), by)

    turn(0, 3, 9)  # more than one turn
    assert places(page) == (12, 5)
    check(page, 12, 5)
    turn(0, 17, 4)
    assert places(page) == (12, 9)
    turn(1, 21, -4)
    assert places(page) == (12, 5)
    turn(1, 12, -30)
    assert places(page) == (0, 5)
    turn(2, 5, 300)  # the two hands nearly lie on each other
    assert places(page) == (49, 5)
    check(page, 49, 5)


def test_a_hand_that_has_come_to_an_end_turns_back_at_once(page):
    there = around((45, 80), 30, 3 - math.pi / 2, -5)
    drag(page, there + around((45, 80), 30, -2 - math.pi / 2, 4))
    assert places(page) == (4, 5)
