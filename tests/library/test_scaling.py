"""Costs by formula equal costs by count; the law is fitted again where it is known."""

import numpy as np
import pytest
import torch
from refusals import refused
from torch.utils.flop_counter import FlopCounterMode

from scratchformer.models import GPT, BERTConfig, GPTConfig
from scratchformer.scaling import (
    ScalingLaw,
    bootstrap,
    cache_bytes,
    count_parameters,
    fit_law,
    forward_flops,
    non_embedding,
)


@pytest.mark.parametrize(
    "config", [GPTConfig(65, 16, 32, 4, n_layers=3), GPTConfig(11, 8, 16, 2, 1, bias=False)]
)
def test_costs_by_formula_equal_those_of_the_model(config, B=3, T=5):
    model, by_part = GPT(config), count_parameters(config)
    assert sum(by_part.values()) == sum(p.numel() for p in model.parameters())
    for part, piece in {"attention": ".attn.", "feed-forward": ".mlp.", "norms": "ln_"}.items():
        sizes = [p.numel() for name, p in model.named_parameters() if piece in name]
        assert by_part[part] == sum(sizes), part
    parts = [*model.h.parameters(), *model.ln_f.parameters()]
    assert non_embedding(config) == sum(p.numel() for p in parts)
    ids = torch.zeros(B, T, dtype=torch.long)
    cache = model.new_cache()
    model(torch.zeros(1, config.context_length, dtype=torch.long), cache=cache)
    numbers = sum(layer.k.numel() + layer.v.numel() for layer in cache)
    assert 4 * numbers == cache_bytes(config)
    with FlopCounterMode(display=False) as counter:  # the fused kernel, which it does not know,
        model.to("meta")(ids[:1].to("meta"))  # is not used there
    assert counter.get_total_flops() == sum(forward_flops(config, T).values())


OTHER = BERTConfig(11, 8, 16, 2, 1)
ROW = np.ones(6)
test_other_models_and_runs_that_make_no_sense_are_refused = refused(
    {
        "got a BERTConfig, expected a GPTConfig": lambda: count_parameters(OTHER),
        "got a BERTConfig, expected a GPT": lambda: forward_flops(OTHER),
        "got a BERTConfig, expected a": lambda: cache_bytes(OTHER),
        "got 5 runs, expected at least 6": lambda: fit_law(ROW[1:], ROW[1:], ROW[1:]),
        "must be positive and finite": lambda: fit_law(ROW, ROW, [1, 1, 1, 1, 1, np.nan]),
        "positive and finite": lambda: fit_law(ROW, 0 * ROW, ROW),
    }
)


# ---- the law ----

LAW = ScalingLaw(E=1.69, A=406.4, alpha=0.34, B=410.7, beta=0.28)  # Hoffmann et al. 2022
N, D = np.meshgrid([1e7, 1e8, 1e9, 1e10], [1e9, 1e10, 1e11])


def test_a_law_is_fitted_from_its_losses_and_one_wild_run_does_not_move_it():
    losses = LAW(N, D)
    fitted = fit_law(N, D, losses)
    for name in ("E", "A", "alpha", "B", "beta"):
        assert getattr(fitted, name) == pytest.approx(getattr(LAW, name), rel=1e-2), name
    losses[1, 1] *= 1.5
    assert fit_law(N, D, losses).alpha == pytest.approx(LAW.alpha, rel=0.1)


def test_bootstrap_covers_the_law_and_repeats_with_its_seed():
    losses = LAW(N, D) * np.random.default_rng(0).normal(1, 1e-3, N.shape)
    laws = bootstrap(N, D, losses, repeats=6, seed=1)
    alphas = [law.alpha for law in laws]
    assert min(alphas) < LAW.alpha < max(alphas)
    assert laws[:2] == bootstrap(N, D, losses, repeats=2, seed=1)


def test_best_allocation_is_a_minimum_on_its_budget():
    flops = 5.76e23  # Chinchilla's
    n, d = LAW.best_allocation(flops)
    assert 6 * n * d == pytest.approx(flops)
    for factor in (0.9, 1.1):
        assert LAW(n * factor, d / factor) > LAW(n, d)
