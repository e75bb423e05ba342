"""The figure of turned pairs: JavaScript turns as the package's rotary positions do."""

import json
import math
import random
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import jaxtyping
import pytest
import torch

from scratchformer.positions import rotary
from scratchformer_course.ch08_rotary.live import turning_pairs

COURSE = Path(__file__).resolve().parents[2] / "scratchformer_course"
NODE = shutil.which("node")
PROGRAM = """
global.scratchformerLive = require(%(page)s);
const M = require(%(figure)s), input = JSON.parse(require("fs").readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(input.map(([q, k, speed, m, n]) => [
  M.rotate(q, m * speed), M.rotate(k, n * speed), M.score(q, k, speed, m, n),
  M.angleBetween(q, k)])));
"""
Q, K = (2.0, 1.0), (0.5, 1.5)


def turned(pair, angle):
    a, b = pair
    return [
        a * math.cos(angle) - b * math.sin(angle),
        a * math.sin(angle) + b * math.cos(angle),
    ]


def score(m, n, q=Q, k=K, speed=0.3):
    return sum(a * b for a, b in zip(turned(q, m * speed), turned(k, n * speed), strict=True))


def in_node(given):
    files = {
        "page": COURSE / "kit/figure/live_figure.js",
        "figure": COURSE / "ch08_rotary/live.js",
    }
    program = PROGRAM % {name: json.dumps(str(path)) for name, path in files.items()}
    done = subprocess.run(
        [NODE, "-e", program], input=json.dumps(given), capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.skipif(NODE is None, reason="no node on the PATH: turning_pairs.js was not run")
def test_javascript_turns_as_the_package_does():
    draw = random.Random(0)
    given = [
        [
            [draw.uniform(-3, 3), draw.uniform(-3, 3)],
            [draw.uniform(-3, 3), draw.uniform(-3, 3)],
            1.0,  # the speed of the first pair
            draw.randrange(200),
            draw.randrange(200),
        ]
        for _ in range(100)
    ]
    for (q, k, _, m, n), (q_m, k_n, dot, angle) in zip(given, in_node(given), strict=True):
        q, k = (torch.tensor([pair], dtype=torch.float64) for pair in (q, k))
        expected_q, expected_k = rotary(q, offset=m)[0], rotary(k, offset=n)[0]
        assert q_m == pytest.approx(expected_q.tolist(), abs=1e-9)
        assert k_n == pytest.approx(expected_k.tolist(), abs=1e-9)
        assert dot == pytest.approx((expected_q @ expected_k).item(), abs=1e-9)
        cosine = torch.cosine_similarity(q, k).item()
        assert math.cos(angle) == pytest.approx(cosine, abs=1e-6)
        assert turned(q[0].tolist(), angle) == pytest.approx(
            (k[0] * q.norm() / k.norm()).tolist(), abs=1e-6
        )


@pytest.mark.skipif(NODE is None, reason="no node on the PATH: turning_pairs.js was not run")
def test_the_score_knows_the_distance_alone_at_every_speed():
    given = [
        [Q, K, speed, m + by, 5 + by] for speed in (0, 0.3, 1) for m in (5, 9) for by in (0, 103)
    ]
    scores = [result[2] for result in in_node(given)]
    assert scores[::2] == pytest.approx(scores[1::2], abs=1e-9)
    expected = [score(m, 5, speed=speed) for speed in (0, 0.3, 1) for m in (5, 9)]
    assert scores[::2] == pytest.approx(expected, abs=1e-12)


def test_the_stored_form_is_small_and_the_same_for_scores_of_another_precision():
    scores = {(m, n): score(m, n) for m, n in ((2, 1), (102, 101), (2, 0))}
    figure = turning_pairs(Q, K, 0.3, scores)
    html = figure.placeholder()
    assert len(html) < 10_000 and "<script" not in html
    settings = json.loads(unescape(re.search(r'data-settings="([^"]*)"', html)[1]))
    assert settings["query"] == [2.0, 1.0] and (settings["m"], settings["n"]) == (2, 1)
    rounded = {places: round(value, 4) for places, value in scores.items()}
    assert turning_pairs(Q, K, 0.3, rounded).placeholder() == html
    assert re.findall(r"<td>(\d\.\d{3})</td>", html) == ["3.127", "3.127", "3.475"]


@pytest.mark.parametrize(
    ("query", "speed", "scores", "said"),
    [
        ((1.0, 2.0, 3.0), 0.3, {(2, 1): 1.0}, r"query=\[1.0, 2.0, 3.0\], expected two numbers"),
        ((1.0, float("inf")), 0.3, {(2, 1): 1.0}, "query holds inf, expected finite numbers"),
        (Q, True, {(2, 1): 1.0}, "speed holds True, expected finite numbers"),
        (Q, 0.3, {(2.5, 1): 1.0}, "a place of scores is 2.5, expected a whole number"),
        (Q, 0.3, {(2, 1): score(2, 1), (2, -1): 1.0}, "a place of scores is -1, expected"),
        (Q, 0.3, {"21": 1.0}, r"scores has the key '21', expected two places \(m, n\)"),
        (Q, 0.3, {(2, 1, 0): 1.0}, r"the key \(2, 1, 0\), expected two places"),
        (Q, 0.3, {2: 1.0}, "the key 2, expected two places"),
        ((0.0, 0.0), 0.3, {(2, 1): 0.0}, "not both 0"),
        (Q, 1.5, {(2, 1): 1.0}, "speed=1.5, expected 0 to 1 radians a place"),
        (Q, 0.3, {}, "got 0 scores, expected 1 to 3"),
        (Q, 0.3, {(102, 101): score(102, 101)}, r"first places are \(102, 101\), expected 0 to 20"),
        (Q, 0.3, {(2, 1): score(2, 1), (3, 1): 3.0}, "places 3 and 1 is 3.000, expected 3.475"),
        (Q, 0.3, {(2, 1): float("nan")}, "scores holds nan, expected finite numbers"),
    ],
)
def test_what_is_no_turned_pair_is_told(query, speed, scores, said, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # it would refuse some first
    with pytest.raises(ValueError, match=said):
        turning_pairs(query, K, speed, scores)


@pytest.mark.parametrize("further", [2.5, -1, True, "far"])
def test_a_button_moves_by_whole_places(further, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    with pytest.raises(ValueError, match=f"further is {further!r}, expected a whole number of"):
        turning_pairs(Q, K, 0.3, {(2, 1): score(2, 1)}, further=further)
