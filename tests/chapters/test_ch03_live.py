"""Clock hands: JavaScript has the encoding of the package, and other tables are refused."""

import random

import pytest

from scratchformer.positions import sinusoidal
from tests.node import Node

in_node = Node(M="ch03_positions/live.js")


def test_javascript_has_the_encoding_and_the_products_of_the_package():
    draw = random.Random(0)
    given = [
        [draw.randrange(1000), draw.randrange(1000), 2 * draw.randrange(1, 20)] for _ in range(100)
    ]
    body = """return input.given.map(([t, u, C]) => {
      const [a, b] = [M.encoding(t, C, 10000), M.encoding(u, C, 10000)];
      const products = M.products(a, b);
      return [a, products, M.sum(products)];
    })"""
    for (t, u, d_model), result in zip(given, in_node(body, given=given), strict=True):
        a, b = sinusoidal(1000, d_model).double()[[t, u]]
        assert result[0] == pytest.approx(a.tolist(), abs=1e-6)
        assert result[1] == pytest.approx((a * b).view(-1, 2).sum(dim=1).tolist(), abs=1e-6)
        assert result[2] == pytest.approx((a @ b).item(), abs=1e-5)
