"""The settings of a run: its rate at every step, its optimiser's groups, and what is refused."""

import math
from itertools import pairwise

import pytest
import torch
from refusals import refused
from short_run import small_gpt

from scratchformer.training import (
    TrainingConfig,
    evaluate,
    learning_rate,
    make_optimizer,
    parameter_groups,
)
from scratchformer.training.distributed import find_device
from scratchformer.training.muon import matrix_groups


def curve(steps=10, warmup=4, lr=0.5, **more):
    return [learning_rate(s, lr=lr, steps=steps, warmup=warmup, **more) for s in range(steps)]


@pytest.mark.parametrize(
    ("schedule", "fall", "last"),
    [
        ("linear", [0.5, 5 / 12, 4 / 12, 3 / 12, 2 / 12, 1 / 12], 0.0),
        ("constant", [0.5] * 6, 0.5),
        ("cosine", [(1 + math.cos(math.pi * k / 6)) / 4 for k in range(6)], 0.0),
    ],
)
def test_the_rate_is_the_formula_at_every_step_and_never_0_on_an_update(schedule, fall, last):
    assert curve(schedule=schedule) == pytest.approx([0.1, 0.2, 0.3, 0.4, *fall])
    later = learning_rate(11, lr=0.5, steps=10, warmup=4, schedule=schedule)
    assert later == pytest.approx(last)
    for steps, warmup in ((1, 0), (2, 1), (100, 20)):
        rates = curve(steps, warmup, schedule=schedule)
        assert min(rates) > 0 and max(rates) == rates[warmup] == pytest.approx(0.5)
        assert all(a < b for a, b in pairwise(rates[: warmup + 1]))


def test_only_matrices_decay_and_each_weight_is_in_one_group():
    model = small_gpt()
    names = {id(p): name for name, p in model.named_parameters()}
    decayed, rest = parameter_groups(model, 0.1)
    assert decayed["weight_decay"] == 0.1 and rest["weight_decay"] == 0.0
    vectors = [names.pop(id(p)) for p in rest["params"]]
    assert all("ln_" in name or "bias" in name for name in vectors)
    matrices = [names.pop(id(p)) for p in decayed["params"]]
    assert all(name.endswith("weight") and "ln_" not in name for name in matrices)
    assert not names  # the tied one once


def test_matrices_may_have_a_rate_of_their_own_in_adamw():
    model = small_gpt()
    optimizer = make_optimizer(model, TrainingConfig(steps=1, lr=3e-2, matrix_lr=4e-3, seed=0))
    assert type(optimizer) is torch.optim.AdamW
    groups = matrix_groups(model, 3e-2, 4e-3, 0.1)
    for group, expected in zip(optimizer.param_groups, groups, strict=True):
        assert [id(p) for p in group["params"]] == [id(p) for p in expected["params"]]
        assert group["initial_lr"] == expected["lr"]
        assert group["weight_decay"] == expected["weight_decay"]


def config(**changes):
    return TrainingConfig(**{"steps": 3, "lr": 1e-2, "seed": 0} | changes)


def score(n=2, **options):
    return evaluate(
        small_gpt(), torch.zeros(n, dtype=torch.long), **{"context_length": 8} | options
    )


test_what_makes_no_sense_is_refused = refused(
    {
        "steps=0, expected at least 1": lambda: config(steps=0),
        "checkpoint_every=-1, expected at least 1": lambda: config(checkpoint_every=-1),
        "muon_lr=-0.1, expected more than 0": lambda: config(muon_lr=-0.1),
        "lr=nan, expected more than 0": lambda: config(lr=math.nan),
        "lr=inf, expected more than 0, and finite": lambda: config(lr=math.inf),
        "matrix_lr and muon_lr are both given": lambda: config(matrix_lr=0.1, muon_lr=0.1),
        "weight_decay=-0.1, expected 0 or more": lambda: config(weight_decay=-0.1),
        "precision='float16', expected 'float32' or": lambda: config(precision="float16"),
        "schedule='none', expected one of linear, cosine": lambda: config(schedule="none"),
        "seed=-1, expected 0 or more and less than": lambda: config(seed=-1),
        "seed=9223372036854775808, expected 0 or more": lambda: config(seed=2**63),
        "muon_momentum=1.0, expected 0 to below 1": lambda: config(muon_momentum=1.0),
        r"betas=\(0.9, 1.0\), expected two numbers": lambda: config(betas=(0.9, 1.0)),
        "warmup=3, expected 0 or more and fewer than steps=3": lambda: config(warmup=3),
        "step=-1, expected 0 or more": lambda: config().learning_rate(-1),
        "got 1 tokens, expected at least 2": lambda: score(1),
        "at most context_length=8": lambda: score(10, context_length=9),
        "context_length=0, batch_size=64, expected": lambda: score(context_length=0),
        "^precision='float16', expected": lambda: score(precision="float16"),
        "device='abacus'": lambda: find_device("abacus"),
    }
)
