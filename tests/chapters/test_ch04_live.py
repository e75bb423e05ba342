"""The figure of gradient descent: JavaScript steps as Python does, and wrong paths are refused."""

import json
import random
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import pytest

from scratchformer_course.ch04_first_network.live import parabola

COURSE = Path(__file__).resolve().parents[2] / "scratchformer_course"
NODE = shutil.which("node")
PROGRAM = """
global.scratchformerLive = require(%(page)s);
const M = require(%(figure)s), input = JSON.parse(require("fs").readFileSync(0, "utf8"));
const plain = (key, value) => (typeof value === "number" && !isFinite(value) ? "far" : value);
process.stdout.write(JSON.stringify(input.map((given) => [
  M.descend(...given), M.slopeAt(given[0], given[3]), M.lossAt(given[0], given[3])]), plain));
"""


def descend(w, rate, steps, lowest=3.0):
    places = [w]
    for _ in range(steps):
        w = w - rate * 2 * (w - lowest)
        places.append(w)
    return places


def paths(*rates, steps=6, start=0.0, lowest=3.0):
    return {rate: descend(start, rate, steps, lowest) for rate in rates}


@pytest.mark.skipif(NODE is None, reason="no node on the PATH: parabola.js was not run")
def test_javascript_takes_the_steps_of_python():
    draw = random.Random(0)
    given = [
        [draw.uniform(-9, 9), draw.uniform(0, 1.2), draw.randrange(61), draw.uniform(-5, 5)]
        for _ in range(200)
    ]
    files = {
        "page": COURSE / "kit/figure/live_figure.js",
        "figure": COURSE / "ch04_first_network/live.js",
    }
    program = PROGRAM % {name: json.dumps(str(path)) for name, path in files.items()}
    done = subprocess.run(
        [NODE, "-e", program], input=json.dumps(given), capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    for (w, rate, steps, lowest), result in zip(given, json.loads(done.stdout), strict=True):
        places, slope, loss = result
        assert len(places) == steps + 1
        assert places == pytest.approx(descend(w, rate, steps, lowest), rel=1e-12)
        d = 1e-3  # the slope as the chapter measures it
        rise = ((w + d - lowest) ** 2 - (w - d - lowest) ** 2) / (2 * d)
        assert slope == pytest.approx(rise, abs=1e-6) and loss == pytest.approx((w - lowest) ** 2)


def test_the_stored_form_is_small_and_holds_the_numbers():
    figure = parabola(paths(0.02, 0.3, 1.05))
    html = figure.placeholder()
    assert len(html) < 10_000 and "<script" not in html
    settings = json.loads(unescape(re.search(r'data-settings="([^"]*)"', html)[1]))
    assert settings["rates"] == [0.02, 0.3, 1.05] and settings["steps"] == 6
    cells = re.findall(r"<td>(.*?)</td>", figure.still)
    assert cells[-3:] == ["0.65", "2.99", "−2.31"] and len(cells) == 21


NAN = float("nan")


@pytest.mark.parametrize(
    ("given", "lowest", "said"),
    [
        ({}, 3.0, "got 0 paths, expected 1 to 5"),
        ({0.1: []}, 3.0, "the path for rate 0.1 is empty, expected 2 or more places"),
        (paths(0.1) | {0.2: []}, 3.0, "the path for rate 0.2 is empty"),
        ({0.1: [0.0, NAN]}, 3.0, "rate 0.1 holds nan, expected finite numbers"),
        ({0.1: [NAN, 0.0]}, 3.0, "rate 0.1 holds nan, expected finite numbers"),
        ({0.1: [0.0, True]}, 3.0, "rate 0.1 holds True, expected finite numbers"),
        ({NAN: [0.0, 0.6]}, 3.0, "list of rates holds nan, expected finite numbers"),
        (paths(0.1), NAN, "lowest holds nan, expected finite numbers"),
        (paths(*[i / 10 for i in range(1, 7)]), 3.0, "got 6 paths"),
        (paths(0.1, steps=61), 3.0, "a path of 62 places from w=0.0, expected 2 to 61"),
        (paths(0.1, start=9.5), 3.0, "from w=9.5, expected .* at most 6 away from 3"),
        (paths(1.3), 3.0, "a rate of 1.3, expected more than 0 and at most 1.2"),
        (paths(0.1) | paths(0.2, steps=5), 3.0, "rate 0.2 has 6 places from w=0.0, expected 7"),
        (paths(0.1) | paths(0.2, start=1.0), 3.0, "7 places from w=1.0, expected 7 from w=0.0"),
        (paths(0.1, lowest=2.0), 3.0, "step 1 at rate 0.1 leads from w=0.0 to 0.4, expected 0.6"),
    ],
)
@pytest.mark.usefixtures("plain_signatures")
def test_what_is_no_descent_on_this_bowl_is_told(given, lowest, said):
    with pytest.raises(ValueError, match=said):
        parabola(given, lowest)
