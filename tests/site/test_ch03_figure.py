"""The clock hands in a browser: what they show is the package's sinusoidal encoding."""

import math

import pytest
import torch

from scratchformer.positions import sinusoidal
from tests.site.browsing import number, rows
from tests.site.figures import around, arrows, drag, fill, status

FIGURE = "clock_hands"
PE = sinusoidal(100, 8).double()


def check(page, t, k):
    """The table, the product and the hands are those of the places t and t + k."""
    a, b = (PE[place].view(-1, 2) for place in (t, t + k))  # a row for each hand
    expected = torch.cat((a, b, (a * b).sum(dim=1, keepdim=True)), dim=1)
    shown = torch.tensor([[number(text) for text in row[1:]] for row in rows(page)[1:]]).double()
    assert (shown - expected).abs().max() < 5.1e-3
    product = status(page).split(" is ")[1].rstrip(".")
    assert number(product) == pytest.approx((PE[t] @ PE[t + k]).item(), abs=5.1e-3)
    for name, hands in (("first", a), ("second", b)):
        drawn = torch.tensor(arrows(page, f"line.sx-{name}")).double()
        assert (drawn / drawn.norm(dim=1, keepdim=True) - hands).abs().max() < 1e-5
    label = page.locator("svg").get_attribute("aria-label")
    assert f"at place {t} and, dashed, at place {t + k}" in label
    return product


def test_hands_and_numbers_are_those_of_the_package_and_only_the_distance_counts(page):
    check(page, 3, 5)
    for k in (0, 44):
        products, arcs = set(), []
        for t in (0, 49):
            fill(page, Place=t, Distance=k)
            products.add(check(page, t, k))
            between = page.locator(".sx-between")
            arcs.append(between.evaluate_all("all => all.map(a => a.getTotalLength())"))
        assert len(products) == 1 and arcs[0] == pytest.approx(arcs[1], abs=1e-2)
    # at distance 44 the fast hand is back, and the next one is not
    product = [number(row[-1]) for row in rows(page)[1:]]
    assert product[0] == 1 and product[1] < 0


def places(page):
    sliders = (page.get_by_role("slider", name=name) for name in ("Place", "Distance"))
    return tuple(int(slider.input_value()) for slider in sliders)


@pytest.mark.parametrize("by", ["mouse", "touch"])
def test_a_hand_that_is_turned_moves_its_place_and_stops_at_the_ends(page, by):
    """The first hand takes both places along, the second moves alone; speeds are 1, 0.1, …"""

    def way(i, place, steps):  # of hand i, from a place; an angle of 0 points up
        start = place * 10.0**-i - math.pi / 2
        return around((90 * (i + 0.5), 80), 30, start, steps * 10.0**-i)

    # hand 0 by more than one turn and back; the hands of hand 2 nearly lie on each other
    for i, place, steps, there in (
        (0, 3, 9, (12, 5)),
        (0, 17, 4, (12, 9)),
        (1, 21, -4, (12, 5)),
        (1, 12, -30, (0, 5)),
        (2, 5, 300, (49, 5)),
    ):
        drag(page, way(i, place, steps), by)
        assert places(page) == there
    check(page, 49, 5)
    fill(page, Place=3)
    drag(page, way(0, 3, -5) + way(0, -2, 4), by)
    assert places(page) == (4, 5), "a hand that has come to an end turns back at once"
