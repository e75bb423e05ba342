"""Chapter 19's trial: every model is tuned alike, and what is stored is of such a trial."""

import pytest
import torch

from lab import runs
from lab import since_gpt2 as trial
from scratchformer_course.ch19_since_gpt2.worth import CHANGES, MODERN

STORED = runs.read(trial.FILE)
MODELS = [(group, name) for group in trial.GROUPS for name in trial.GROUPS[group]]


def test_a_sweep_goes_on_until_its_best_rate_has_worse_neighbours():
    tried = []

    def loss_at(rate):
        tried.append(rate)
        return abs(trial.RATES.index(rate) - 5)

    assert trial.swept(loss_at, found := {}, lambda: None) == trial.RATES[5]
    assert sorted(tried) == sorted(map(float, found)) == list(trial.RATES[3:])


def tuned(own):
    """Whether the stored rate is the best of a sweep with a worse neighbour on both sides."""
    losses = {float(rate): loss for rate, loss in own["development"].items()}
    best = min(losses, key=losses.get)
    at = trial.RATES.index(best)
    return own["rate"] == best and {*trial.RATES[at - 1 : at + 2]} <= {*losses}


@pytest.mark.parametrize(("group", "name"), MODELS)
def test_each_model_has_its_own_tuned_rate_and_five_seeds(group, name):
    own = STORED[group][name]
    assert tuned(own) and len(own["validation"]) == len(trial.SEEDS) == 5
    model = trial.new_model(65, trial.GROUPS[group][name], seed=0)
    assert own["parameters"] == sum(p.numel() for p in model.parameters())


def test_each_kind_on_playhouse_is_tuned():
    assert all(tuned(STORED["experts"][kind]) for kind in trial.KINDS)


def test_the_groups_are_each_change_alone_and_all_six_with_one_less_or_one_more():
    assert trial.GROUPS["alone"] == {"none": (), **{change: (change,) for change in CHANGES}}
    company = {name: set(changes) for name, changes in trial.GROUPS["company"].items()}
    assert company.pop("none") == set(MODERN)
    assert all(changes ^ set(MODERN) == {name} for name, changes in company.items())
    assert set(company) == set(CHANGES)


def test_a_run_learns_repeats_itself_and_starts_its_gates_wide():
    ids = torch.arange(5).repeat(60)
    first, again = (trial.trained(MODERN, 5, ids, 0.01, 20, seed=1) for _ in "12")
    assert all(map(torch.equal, first.parameters(), again.parameters()))
    assert trial.evaluate(first, ids[:66], trial.T) < 1.2 < torch.tensor(5.0).log()
    start = trial.trained(MODERN, 5, ids, 0.01, 0, seed=1)
    for name, p in start.named_parameters():
        if name.endswith(("gate_proj.weight", "c_attn.weight")):
            std = trial.WIDTH**-0.5 if "gate" in name else 0.02
            assert p.std().item() == pytest.approx(std, rel=0.05)


def test_experts_have_the_operations_of_the_dense_network_and_the_weights_of_the_wide_one():
    networks = {kind: trial.of_kind(kind, 17, seed=0).h[0].mlp for kind in trial.KINDS}
    size = {
        kind: sum(p.numel() for p in network.parameters()) for kind, network in networks.items()
    }
    one = sum(p.numel() for p in networks["experts"].experts[0].parameters())
    assert size["experts"] == size["without balance"] == 8 * one + 8 * 64  # and the router
    assert size["as many weights"] == 8 * one and 2 * one == pytest.approx(size["dense"], rel=0.01)
    for kind, network in networks.items():
        for name, p in network.named_parameters():
            std = 0.125 if "gate" in name or "up" in name else 0.01 if "down" in name else 0.02
            assert p.std().item() == pytest.approx(std, rel=0.15), (kind, name)
