"""The budget's figure in JavaScript: its losses, best sizes and wasted shares are Python's."""

from dataclasses import astuple

import numpy as np
import pytest

from scratchformer_course.ch16_scaling.joint import JointLaw
from scratchformer_course.ch16_scaling.live import wasted
from tests.node import Node

in_node = Node(F="ch16_scaling/live.js")


def fuzzed(n, seed=0):
    draw = np.random.default_rng(seed)
    rows = draw.uniform((0, 2, 0.2, 4, 0.2, 0.3), (1, 4, 1, 6, 1, 3), (n, 6))
    rows[:, [1, 3]] = 10 ** rows[:, [1, 3]]
    return [JointLaw(*row) for row in rows.tolist()]


def test_losses_best_sizes_and_wasted_shares_are_pythons():
    laws = fuzzed(60)
    body = """return input.laws.map((law) =>
      [F.loss(law, 3e4, 7e5), F.best(law, 5e10), F.best(law, 2e13), F.wasted(law, 5e11, 9e4)])"""
    found = in_node(body, laws=[astuple(each) for each in laws])
    for each, (loss, *sizes, share) in zip(laws, found, strict=True):
        assert loss == pytest.approx(each(3e4, 7e5), rel=1e-12)
        assert sizes == pytest.approx([each.best_size(C) for C in (5e10, 2e13)], rel=1e-9)
        assert share == pytest.approx(wasted(each, 5e11, 9e4), abs=1e-9)
