"""The speedrun's rival: nanoGPT's network, which learns, and its rates."""

import pytest
import torch

from lab import nanogpt


def test_the_rival_is_nanogpts_network_learns_and_has_its_rates():
    rival = nanogpt.reference(65)
    assert sum(p.numel() for p in rival.parameters()) == 804_096  # as its own code counts
    assert all(block.mlp.activation.approximate == "none" for block in rival.h)
    ids = torch.randint(65, (700,), generator=torch.Generator().manual_seed(0))
    _, curve = nanogpt.reference_run(ids, 65, seed=0, steps=60)
    assert curve["train_loss"][0] > 4 > 3.5 > curve["train_loss"][-1]
    rates = [nanogpt.reference_rate(step, 2000) for step in (0, 100, 1050, 1999)]
    assert rates == pytest.approx([1e-3 / 101, 1e-3, 5.5e-4, 1e-4], rel=1e-3)
