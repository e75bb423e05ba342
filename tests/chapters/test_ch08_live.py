"""The figure of turned pairs: JavaScript turns as the package's rotary positions do."""

import math
import random

import pytest
import torch

from scratchformer.positions import rotary
from tests.node import Node

Q, K = (2.0, 1.0), (0.5, 1.5)
in_node = Node(M="ch08_rotary/live.js")


def test_javascript_turns_as_the_package_does():
    draw = random.Random(0)
    given = [
        [*([draw.uniform(-3, 3), draw.uniform(-3, 3)] for _ in "qk"), draw.randrange(200), n]
        for n in range(100)
    ]
    body = """return input.given.map(([q, k, m, n]) =>
      [M.rotate(q, m), M.rotate(k, n), M.score(q, k, 1, m, n), M.angleBetween(q, k)])"""
    for (q, k, m, n), (q_m, k_n, dot, angle) in zip(given, in_node(body, given=given), strict=True):
        q, k = (torch.tensor([pair], dtype=torch.float64) for pair in (q, k))
        expected_q, expected_k = rotary(q, offset=m)[0], rotary(k, offset=n)[0]
        assert q_m == pytest.approx(expected_q.tolist(), abs=1e-9)
        assert k_n == pytest.approx(expected_k.tolist(), abs=1e-9)
        assert dot == pytest.approx((expected_q @ expected_k).item(), abs=1e-9)
        assert math.cos(angle) == pytest.approx(torch.cosine_similarity(q, k).item(), abs=1e-6)
