"""The steps of attention in JavaScript are PyTorch's, and what does not fit is refused."""

import torch

from scratchformer.attention import causal_mask, scaled_dot_product_attention
from tests.node import Node

in_node = Node("page_model/model.js", M="ch06_self_attention/live.js")
MATRICES = ("x", "W_q", "W_k", "W_v")


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
