"""Clock hands: JavaScript has the encoding of the package, and other tables are refused."""

import json
import random
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import jaxtyping
import pytest
import torch

from scratchformer.positions import sinusoidal
from scratchformer_course.ch03_positions.live import clock_hands

COURSE = Path(__file__).resolve().parents[2] / "scratchformer_course"
NODE = shutil.which("node")
PROGRAM = """
global.scratchformerLive = require(%(page)s);
const M = require(%(figure)s), input = JSON.parse(require("fs").readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(input.map(([t, u, C]) => {
  const [a, b] = [M.encoding(t, C, 10000), M.encoding(u, C, 10000)], products = M.products(a, b);
  return [a, products, M.sum(products)];
})));
"""


def table(T=100, d_model=8):
    return sinusoidal(T, d_model).tolist()


@pytest.mark.skipif(NODE is None, reason="no node on the PATH: clock_hands.js was not run")
def test_javascript_has_the_encoding_and_the_products_of_the_package():
    draw = random.Random(0)
    given = [
        [draw.randrange(1000), draw.randrange(1000), 2 * draw.randrange(1, 20)] for _ in range(100)
    ]
    files = {
        "page": COURSE / "kit/figure/live_figure.js",
        "figure": COURSE / "ch03_positions/live.js",
    }
    program = PROGRAM % {name: json.dumps(str(path)) for name, path in files.items()}
    done = subprocess.run(
        [NODE, "-e", program], input=json.dumps(given), capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    for (t, u, d_model), result in zip(given, json.loads(done.stdout), strict=True):
        encodings = sinusoidal(1000, d_model).double()
        a, b = encodings[t], encodings[u]
        assert torch.allclose(torch.tensor(result[0]).double(), a, atol=1e-6)
        pairs = (a * b).view(-1, 2).sum(dim=1)
        assert torch.allclose(torch.tensor(result[1]).double(), pairs, atol=1e-6)
        assert result[2] == pytest.approx((a @ b).item(), abs=1e-5)


def test_the_stored_form_is_small_and_the_same_for_a_table_of_another_precision():
    figure = clock_hands(table(), place=3, distance=5)
    html = figure.placeholder()
    assert len(html) < 10_000 and "<script" not in html
    settings = json.loads(unescape(re.search(r'data-settings="([^"]*)"', html)[1]))
    assert settings["most_place"] + settings["most_distance"] == 99
    rounded = [[round(x, 4) for x in row] for row in table()]
    assert clock_hands(rounded, place=3, distance=5).placeholder() == html
    cells = re.findall(r"<td>([^<]+)</td>", figure.still)
    assert cells[:6] == ["0.14", "−0.99", "0.99", "−0.15", "0.28", "0.30"]
    product = (sinusoidal(100, 8)[3] @ sinusoidal(100, 8)[8]).item()
    assert f"dot product is {product:.2f}" in figure.still


def changed(t, channel, value):
    rows = table()
    rows[t][channel] = value
    return rows


@pytest.mark.parametrize(
    ("rows", "options", "said"),
    [
        ([], {}, "a table of 0 places with 0 channels"),
        (table(10, 10), {}, "10 places with 10 channels, expected .* from 2 to 8"),
        ([row[:7] for row in table()], {}, "with 7 channels, expected .* an even number"),
        ([*table()[:9], [0.0] * 6], {}, "place 9 has 6 channels, expected 8"),
        (changed(7, 2, 0.5), {}, "channel 2 of place 7 is 0.500, expected 0.644"),
        (
            changed(7, 2, float("nan")),
            {},
            "place 7 of the table holds nan, expected finite numbers",
        ),
        ([row[::-1] for row in table()], {}, "channel 0 of place 0 is 1.000, expected 0.000"),
        (table(), {"place": 50}, "place=50 and distance=5, expected 0 to 49 and 0 to 50"),
        (changed(0, 1, True), {}, "place 0 of the table holds True, expected finite numbers"),
        (table(), {"place": 2.5}, "place is 2.5, expected a whole number of at least 0"),
        (table(), {"place": True}, "place is True, expected a whole number"),
        (table(), {"distance": -1}, "distance is -1, expected a whole number of at least 0"),
        (table(), {"distance": 51}, "distance=51, expected .* 0 to 50"),
    ],
)
def test_another_encoding_or_place_is_told(rows, options, said, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # it would refuse some first
    with pytest.raises(ValueError, match=said):
        clock_hands(rows, **options)
