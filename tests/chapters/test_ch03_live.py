"""Clock hands: JavaScript has the encoding of the package, and other tables are refused."""

import random

import pytest

from scratchformer.positions import sinusoidal
from scratchformer_course.ch03_positions.live import clock_hands
from tests.node import Node

in_node = Node(M="ch03_positions/live.js")


def table(T=100, d_model=8):
    return sinusoidal(T, d_model).tolist()


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


@pytest.mark.parametrize(
    ("rows", "options", "said"),
    [
        (table(10, 10), {}, "10 places with 10 channels, expected .* from 2 to 8"),
        ([row[::-1] for row in table()], {}, "place 0 of the table is no sinusoidal encoding"),
        (table(), {"place": 50}, "place=50 and distance=5, expected 0 to 49 and 0 to 50"),
    ],
)
@pytest.mark.usefixtures("plain_signatures")
def test_another_encoding_or_place_is_told(rows, options, said):
    with pytest.raises(ValueError, match=said):
        clock_hands(rows, **options)
