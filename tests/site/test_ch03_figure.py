"""The clock hands in a browser: what they show is the package's sinusoidal encoding."""

import math

import pytest
import torch
import torch.nn.functional as F

from scratchformer.positions import sinusoidal
from tests.site.browsing import ends, number, rows
from tests.site.figures import around, drag, fill, status

FIGURE = "clock_hands"
PE = sinusoidal(100, 8).double()


def shown_product(page):
    return status(page).split(" is ")[1].rstrip(".")


def check(page, t, k):
    """The table has sine and cosine of each hand at both places; the hands point there."""
    shown = rows(page)
    assert shown[0][1:3] == [f"at {t}sin", f"at {t}cos"] and shown[0][3] == f"at {t + k}sin"
    cells = torch.tensor([[number(text) for text in row[1:]] for row in shown[1:]]).double()
    a, b = PE[t].view(-1, 2), PE[t + k].view(-1, 2)
    expected = torch.cat((a, b, (a * b).sum(dim=1, keepdim=True)), dim=1)
    assert (cells - expected).abs().max() < 5.1e-3
    assert number(shown_product(page)) == pytest.approx((PE[t] @ PE[t + k]).item(), abs=5.1e-3)
    for name, hands in (("first", a), ("second", b)):
        x1, y1, x2, y2 = torch.tensor(ends(page, f"line.sx-{name}")).double().T
        drawn = F.normalize(torch.stack([x2 - x1, y1 - y2], dim=1))
        assert (drawn - hands).abs().max() < 1e-5
    label = page.locator("svg").get_attribute("aria-label")
    assert f"at place {t} and, dashed, at place {t + k}" in label


def test_hands_and_numbers_are_those_of_the_package_and_only_the_distance_counts(page):
    check(page, 3, 5)
    product = shown_product(page)
    for t, k in ((0, 0), (49, 50), (7, 5)):
        fill(page, Place=t, Distance=k)
        check(page, t, k)
    assert shown_product(page) == product


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
    fill(page, Place=3)
    there = around((45, 80), 30, 3 - math.pi / 2, -5)
    drag(page, there + around((45, 80), 30, -2 - math.pi / 2, 4), by)
    assert places(page) == (4, 5), "it turns back at once from the end"
