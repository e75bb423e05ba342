"""Chapter 19's trial: every model is tuned, and its rivals have its size."""

import pytest
import torch

from lab import since_gpt2 as trial
from scratchformer_course.ch19_since_gpt2.worth import MODERN


def test_a_sweep_goes_on_until_its_best_rate_has_worse_neighbours():
    tried = []

    def loss_at(rate):
        tried.append(rate)
        return abs(trial.RATES.index(rate) - 5)

    assert trial.swept(loss_at, losses := {}, lambda: None) == trial.RATES[5]
    assert sorted(tried) == sorted(map(float, losses)) == list(trial.RATES[3:])


def test_a_run_learns_repeats_itself_and_starts_its_gates_wide():
    ids = torch.arange(5).repeat(60)
    first, again = (
        trial.trained(trial.new_model(5, MODERN, 1), ids, 0.01, 20, seed=1) for _ in "12"
    )
    assert all(map(torch.equal, first.parameters(), again.parameters()))
    assert trial.evaluate(first, ids[:66], trial.T) < 1.2 < torch.tensor(5.0).log()
    for name, p in trial.new_model(5, MODERN, 1).named_parameters():
        if name.endswith(("gate_proj.weight", "c_attn.weight")):
            std = trial.WIDTH**-0.5 if "gate" in name else 0.02
            assert p.std().item() == pytest.approx(std, rel=0.05)


def test_experts_have_the_operations_of_the_dense_network_and_the_weights_of_the_wide_one():
    networks = {kind: trial.of_kind(kind, 17, seed=0).h[0].mlp for kind in trial.KINDS}
    size = {kind: sum(p.numel() for p in mlp.parameters()) for kind, mlp in networks.items()}
    expert = sum(p.numel() for p in networks["experts"].experts[0].parameters())
    assert size["experts"] == size["without balance"] == 8 * expert + 8 * 64  # and the router
    assert size["as many weights"] == 8 * expert
    assert 2 * expert == pytest.approx(size["dense"], rel=0.01)
