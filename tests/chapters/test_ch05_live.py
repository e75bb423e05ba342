"""The figure of dragged scores: JavaScript's weights and mixtures are PyTorch's."""

import pytest
import torch

from scratchformer_course.ch05_averaging.exercises import right_masked_softmax
from tests.node import Node

in_node = Node("page_model/model.js", M="ch05_averaging/live.js")


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
