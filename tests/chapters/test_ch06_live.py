"""The steps of attention in JavaScript are PyTorch's, and what does not fit is refused."""

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import jaxtyping
import pytest
import torch

from scratchformer.attention import causal_mask, scaled_dot_product_attention
from scratchformer_course.ch06_self_attention.live import attention_steps

COURSE = Path(__file__).resolve().parents[2] / "scratchformer_course"
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="no node on the PATH: the script was not run")
PROGRAM = """
global.scratchformerLive = require(%(page)s);
const { attend, difference, short } = require(%(figure)s);
const input = JSON.parse(require("fs").readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify((() => { %(body)s })()));
"""
MATRICES = ("x", "W_q", "W_k", "W_v")


def in_node(body, given):
    files = {
        "page": COURSE / "kit/figure/live_figure.js",
        "figure": COURSE / "ch06_self_attention/live.js",
    }
    program = PROGRAM % {"body": body, **{k: json.dumps(str(v)) for k, v in files.items()}}
    done = subprocess.run(
        [NODE, "-e", program], input=json.dumps(given), capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def small(**changed):
    """A figure of two words, with two features, one column and one number that is given."""
    given = {"words": ["a", "b"], "x": [[1, 0], [0, 1]], "W_q": [[2], [0]], "W_k": [[0], [3]]}
    given |= {"W_v": [[1], [0]], "features": ["A", "B"], "columns": ["c"], "gives": ["g"]}
    return attention_steps(**given | changed)


def fuzzed(n=40):
    g = torch.Generator().manual_seed(0)
    for i in range(n):
        T, C, D, E = (int(torch.randint(1, most + 1, (1,), generator=g)) for most in (8, 9, 3, 3))
        scale = (0.3, 1, 5, 30)[i % 4]  # up to weights that are all or nothing
        sizes = ((T, C), (C, D), (C, D), (C, E))
        yield {
            name: scale * torch.randn(size, generator=g).double()
            for name, size in zip(MATRICES, sizes, strict=True)
        }


@needs_node
def test_every_step_in_javascript_is_pytorchs():
    cases = list(fuzzed())
    given = [{name: m.tolist() for name, m in case.items()} for case in cases]
    shown = in_node("return input.map((m) => [attend(m), attend(m, true)]);", given)
    for case, (plain, causal) in zip(cases, shown, strict=True):
        q, k, v = (case["x"] @ case[name] for name in MATRICES[1:])
        for steps, mask in ((plain, None), (causal, causal_mask(len(q)))):
            context, weights = scaled_dot_product_attention(q, k, v, mask)
            expected = {"q": q, "k": k, "v": v, "weights": weights, "context": context}
            expected |= {"scores": q @ k.T, "scaled": q @ k.T / q.shape[1] ** 0.5}
            for name, numbers in expected.items():
                torch.testing.assert_close(torch.tensor(steps[name]).double(), numbers, msg=name)


@needs_node
def test_the_rows_that_an_edit_reaches_are_those_whose_weights_differ():
    before, after = [[0.5, 0.5], [1, 0]], [[0.5, 0.5], [0.98, 0.02]]
    found = in_node("return difference(...input);", [before, after])
    assert found == {"cells": [[False, False], [True, True]], "rows": [1], "count": 2}
    assert in_node("return difference(...input);", [after, after])["count"] == 0


@needs_node
def test_numbers_are_written_as_python_writes_them():
    from scratchformer_course.ch06_self_attention.live import _number

    numbers = [0, 4, -4, 2.828427, -0.001, -2.5, 0.1 + 0.2, 3 * 0.1 * 10, 99, -0.0]
    assert in_node("return input.map(short);", numbers) == [_number(n) for n in numbers]


def test_the_still_row_is_pytorchs():
    for case in fuzzed(12):
        case = {name: m.clamp(-99, 99).round(decimals=2) for name, m in case.items()}
        (T, C), D, E = case["x"].shape, case["W_q"].shape[1], case["W_v"].shape[1]
        names = [[f"{kind}{i}" for i in range(n)] for kind, n in zip("wfcg", (T, C, D, E))]  # noqa: B905
        words, features, columns, gives = names
        matrices = (m.tolist() for m in case.values())
        still = attention_steps(words, *matrices, features, columns, gives, asks=words[-1]).still
        q, k, v = (case["x"] @ case[name] for name in MATRICES[1:])
        context, weights = scaled_dot_product_attention(q, k, v)
        shown = re.findall(r"<td>(−?[\d.]+)</td><td>\(", still)
        assert shown == [f"{w:.2f}" for w in weights[-1].tolist()]
        got = [float(n.replace("−", "-")) for n in re.findall(r"g\d (−?\d+\.\d\d)", still)]
        assert got == pytest.approx(context[-1].tolist(), abs=0.0051)


def test_a_stored_figure_is_small_and_holds_its_numbers():
    html = small().placeholder()
    assert len(html) < 2_000 and "<script" not in html and "live where JavaScript runs" in html
    settings = json.loads(unescape(re.search(r'data-settings="([^"]*)"', html)[1]))
    assert settings["W_k"] == [[0], [3]] and settings["asks"] == 0
    assert json.loads(unescape(re.search(r'data-settings="([^"]*)"', small(asks="b").html())[1]))[
        "asks"
    ]
    whole = small(W_q=[[0.123456], [2.0]]).settings
    assert whole["W_q"] == [[0.1235], [2]] and isinstance(whole["W_q"][1][0], int)


def test_words_are_text_and_no_tags():
    figure = small(words=["<b>", "&"])
    assert "<b>" not in figure.still and "&lt;b&gt;" in figure.placeholder()


def test_what_does_not_fit_is_refused(monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # it would refuse some first
    for changed, message in (
        ({"words": ["a", "a"]}, r"words=\['a', 'a'\], expected one or more, each once"),
        ({"gives": []}, r"gives=\[\], expected one or more"),
        ({"words": list("abcdefghi")}, "9 words, 1 columns, 1 given; at most 8, 3 and 3"),
        ({"columns": list("abcd")}, "2 words, 4 columns, 1 given; at most"),
        ({"words": ["a", 2]}, r"words=\['a', 2\], expected a list of texts"),
        ({"words": "ab"}, "words='ab', expected a list of texts"),
        ({"x": [1, 0]}, r"x is \[1, 0\], expected 2 rows of 2 numbers"),
        ({"W_q": [["1"], [2]]}, "W_q holds '1', expected -99 to 99"),
        ({"W_q": [[True], [2]]}, "W_q holds True, expected -99 to 99"),
        ({"asks": "c"}, "asks='c', expected one of a, b"),
        ({"x": [[1, 0]]}, r"x is \(1, 2\), expected \(2, 2\)"),
        ({"W_q": [[1], [1, 2]]}, r"W_q is \(2, 1, 2\), expected \(2, 1\)"),
        ({"W_v": []}, r"W_v is \(0,\), expected \(2, 1\)"),
        ({"W_k": [[0], [100]]}, "W_k holds 100, expected -99 to 99"),
        ({"W_k": [[0], [float("nan")]]}, "W_k holds nan, expected"),
    ):
        with pytest.raises(ValueError, match=message):
            small(**changed)
