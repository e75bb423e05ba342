"""The figure of dragged scores: JavaScript's weights and mixtures are PyTorch's."""

import re

import pytest
import torch

from scratchformer_course.ch05_averaging.exercises import right_masked_softmax
from scratchformer_course.ch05_averaging.live import weighted_past
from tests.node import Node

in_node = Node("page_model/model.js", M="ch05_averaging/live.js")
CAUSAL = {"causal": [[True, False], [True, True]]}


def small(**changed):
    given = {"words": ["a", "<b>"], "x": [[1, 0.5], [0, -2]], "gives": ["f", "g"], "masks": CAUSAL}
    return weighted_past(**given | changed)


def test_weights_and_mixtures_in_javascript_are_pytorchs():
    g = torch.Generator().manual_seed(0)
    cases = []
    for i in range(60):
        T, C = (int(torch.randint(1, most + 1, (1,), generator=g)) for most in (6, 3))
        scores = (4 * torch.randn(T, T, generator=g).clamp(-1, 1)).double()
        mask = (torch.rand(T, T, generator=g) > i / 60) | torch.eye(T).bool()
        cases.append((scores, mask, torch.randn(T, C, generator=g).double()))
    given = [[scores[0].tolist(), mask[0].tolist(), x.tolist()] for scores, mask, x in cases]
    shown = in_node("return input.given.map((row) => M.mix(...row))", given=given)
    for (scores, mask, x), found in zip(cases, shown, strict=True):
        weights = right_masked_softmax(scores, mask)[0]
        assert found["weights"] == pytest.approx(weights.tolist(), abs=1e-12)
        assert found["mixture"] == pytest.approx((weights @ x).tolist(), abs=1e-12)
        powers = (scores[0].exp() * mask[0]).tolist()
        assert found["powers"] == pytest.approx(powers, abs=1e-12)


def test_the_still_figure_has_the_row_with_scores_of_0():
    words, x = list("abc"), [[1, 0], [0, 3], [2, 0]]
    masks = {"causal": torch.ones(3, 3).tril().bool().tolist()}
    still = weighted_past(words, x, ["f", "g"], masks).still
    assert re.findall(r"<td>(?:0|−∞)</td><td>(\d\.\d\d)</td>", still) == ["0.33"] * 3
    assert "<em>c</em> gets: f 1.00, g 1.00." in still


def test_words_are_text_and_no_tags():
    figure = small()
    assert "<b>" not in figure.still and "&lt;b&gt;" in figure.placeholder()
    assert figure.settings["looks"] == 1
