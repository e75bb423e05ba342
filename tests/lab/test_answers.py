"""Chapter 21's trial: methods are tuned alike, and what is stored is of such a trial."""

import pytest
import torch

from lab import answers as trial
from lab import runs
from scratchformer_course.ch21_answers.world import demonstrations, new_model

STORED = runs.read(trial.FILE)


@pytest.mark.parametrize("name", trial.METHODS)
def test_each_method_has_a_tuned_rate_and_five_other_seeds(name):
    own = STORED["methods"][name]
    if not trial.METHODS[name][2]:  # a control, at the rate of what it is a control of
        assert own["best"] == STORED["methods"]["sft"]["best"]
        return
    tried = {tuple(sorted(trial.settings_of(one).items())) for one in own["tried"]}
    assert trial.best(own["tried"]) == own["best"]
    assert not trial.missing_neighbours(own["tried"]) and len(tried) >= 3
    assert set(own["seeds"]) == set(map(str, trial.SEEDS))
    assert trial.TUNING_SEED not in trial.SEEDS


def test_the_log_chance_is_that_of_the_answer_alone():
    model = new_model(seed=0)
    ids = demonstrations(5, seed=0)[:, :8]
    log_p = model(ids).log_softmax(dim=-1)
    by_hand = sum(log_p[torch.arange(5), i - 1, ids[:, i]] for i in range(3, 8))
    assert torch.allclose(trial.log_prob(model, ids), by_hand, atol=1e-5)


def test_a_constant_reward_moves_nothing(monkeypatch):
    monkeypatch.setattr(trial, "STEPS", 2)
    model = new_model(seed=0)
    before = [p.clone() for p in model.parameters()]
    trial.reinforced(model, 0, 0.01, reward=lambda ids: torch.ones(len(ids)))
    assert all(map(torch.equal, before, model.parameters()))


def test_a_sweep_goes_on_until_its_best_rate_has_worse_neighbours():
    tried = [{"lr": lr, "beta": 1.0, "score": s} for lr, s in ((1e-3, 0.5), (3e-3, 0.8))]
    assert trial.missing_neighbours(tried) == [{"lr": 1e-2, "beta": 1.0}]
    tried.append({"lr": 1e-2, "beta": 1.0, "score": 0.2})
    assert not trial.missing_neighbours(tried)
