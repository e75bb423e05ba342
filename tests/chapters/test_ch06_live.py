"""The steps of attention in JavaScript are PyTorch's, and what does not fit is refused."""

import re

import pytest
import torch

from scratchformer.attention import causal_mask, scaled_dot_product_attention
from scratchformer_course.ch06_self_attention.live import _number, attention_steps
from tests.node import Node

in_node = Node("page_model/model.js", M="ch06_self_attention/live.js")
MATRICES = ("x", "W_q", "W_k", "W_v")


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


def test_every_step_in_javascript_is_pytorchs():
    cases = list(fuzzed())
    given = [{name: m.tolist() for name, m in case.items()} for case in cases]
    shown = in_node("return input.given.map((m) => [M.attend(m), M.attend(m, true)])", given=given)
    for case, (plain, causal) in zip(cases, shown, strict=True):
        q, k, v = (case["x"] @ case[name] for name in MATRICES[1:])
        for steps, mask in ((plain, None), (causal, causal_mask(len(q)))):
            context, weights = scaled_dot_product_attention(q, k, v, mask)
            expected = {"q": q, "k": k, "v": v, "weights": weights, "context": context}
            expected |= {"scores": q @ k.T, "scaled": q @ k.T / q.shape[1] ** 0.5}
            for name, numbers in expected.items():
                torch.testing.assert_close(torch.tensor(steps[name]).double(), numbers, msg=name)


def test_the_rows_that_an_edit_reaches_are_those_whose_weights_differ():
    before, after = [[0.5, 0.5], [1, 0]], [[0.5, 0.5], [0.98, 0.02]]
    body = "return [M.difference(...input.edit), M.difference(...input.none)]"
    found, none = in_node(body, edit=[before, after], none=[after, after])
    assert found == {"cells": [[False, False], [True, True]], "rows": [1], "count": 2}
    assert none["count"] == 0


def test_numbers_are_written_as_python_writes_them():
    numbers = [0, 4, -4, 2.828427, -0.001, -2.5, 0.1 + 0.2, 3 * 0.1 * 10, 99, -0.0]
    assert in_node("return input.numbers.map(M.short)", numbers=numbers) == [
        _number(n) for n in numbers
    ]


def test_the_still_row_is_pytorchs():
    for case in fuzzed(4):
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


def test_words_are_text_and_no_tags():
    figure = small(words=["<b>", "&"])
    assert "<b>" not in figure.still and "&lt;b&gt;" in figure.placeholder()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"words": ["a", "a"]}, r"words=\['a', 'a'\], expected one or more, each once"),
        ({"x": [1, 0]}, r"x is \[1, 0\], expected 2 rows of 2 numbers"),
        ({"asks": "c"}, "asks='c', expected one of a, b"),
        ({"W_q": [[1], [1, 2]]}, r"W_q is \(2, 1, 2\), expected \(2, 1\)"),
    ],
)
@pytest.mark.usefixtures("plain_signatures")
def test_what_does_not_fit_is_refused(changed, said):
    with pytest.raises(ValueError, match=said):
        small(**changed)
