"""The figure of gradient descent: JavaScript computes what Python does."""

import random

import pytest

from tests.node import Node

in_node = Node(M="ch04_first_network/live.js")


def descend(w, rate, steps, lowest=3.0):
    places = [w]
    for _ in range(steps):
        w = w - rate * 2 * (w - lowest)
        places.append(w)
    return places


def test_javascript_takes_the_steps_of_python():
    draw = random.Random(0)
    given = [
        [draw.uniform(-9, 9), draw.uniform(0, 1.2), draw.randrange(61), draw.uniform(-5, 5)]
        for _ in range(200)
    ]
    body = """return input.given.map(([w, rate, steps, lowest]) =>
      [M.descend(w, rate, steps, lowest), M.slopeAt(w, lowest), M.lossAt(w, lowest)])"""
    for (w, rate, steps, lowest), result in zip(given, in_node(body, given=given), strict=True):
        places, slope, loss = result
        assert places == pytest.approx(descend(w, rate, steps, lowest), rel=1e-12)
        d = 1e-3  # the slope as the chapter measures it
        rise = ((w + d - lowest) ** 2 - (w - d - lowest) ** 2) / (2 * d)
        assert slope == pytest.approx(rise, abs=1e-6) and loss == pytest.approx((w - lowest) ** 2)
