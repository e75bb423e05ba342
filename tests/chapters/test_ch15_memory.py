"""The memory of a training step, as the figure of costs counts it, is what PyTorch holds."""

import pytest
import torch
from torch.nn import functional as F

from scratchformer.models import GPT, GPTConfig
from scratchformer_course.ch15_costs.memory import most_at_once
from tests.node import Node

in_node = Node(F="ch15_costs/live.js")


@pytest.mark.parametrize(
    ("sizes", "mixed"),
    [((2000, 32, 48, 2), True), ((2000, 32, 48, 2), False), ((300, 16, 96, 5), False)],
)
def test_the_worst_moment_of_a_step_is_what_pytorch_holds(mixed, sizes):
    V, T, C, L = sizes
    model, B = GPT(GPTConfig(V, T, C, 4, L)), 16
    x, y = (torch.randint(V, (B, T)) for _ in range(2))

    def step():
        with torch.autocast("cpu", torch.bfloat16, enabled=mixed):
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        loss.backward()

    size = {"vocab_size": V, "context_length": T, "d_model": C, "n_layers": L}
    body = "return F.memory(input.size, input.B, { mixed: input.mixed })"
    held = in_node(body, size=size, B=B, mixed=mixed)
    assert ("copies in 16 bits" in held) is mixed
    expected = sum(held.values()) - held["weights"] - held["gradients"] - held["optimiser"]
    most = most_at_once(step, exclude=model.parameters())
    if L * 16 * C < V:  # else the worst moment comes later, among the blocks
        assert most == pytest.approx(expected, rel=0.03)
    else:
        assert most > 0.9 * expected
