"""Costs by formula equal costs by count; the law is found again where it is known."""

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from scratchformer.models import GPT, GPTConfig
from scratchformer.scaling import (
    ScalingLaw,
    activation_bytes,
    bootstrap,
    cache_bytes,
    count_parameters,
    fit_law,
    forward_flops,
    non_embedding,
)
from scratchformer_course.page_model.speedrun import SpeedrunConfig

GPT2 = {  # Radford et al. 2019's four sizes, with the parameters of the released weights
    (768, 12, 12): 124_439_808,
    (1024, 16, 24): 354_823_168,
    (1280, 20, 36): 774_030_080,
    (1600, 25, 48): 1_557_611_200,
}
CONFIGS = [
    GPTConfig(65, 16, d_model=32, n_heads=4, n_layers=3),
    GPTConfig(11, 8, d_model=16, n_heads=2, n_layers=1, bias=False),
]


def test_gpt2_has_its_published_number_of_parameters():
    for size, expected in GPT2.items():
        assert sum(count_parameters(GPTConfig(50_257, 1024, *size)).values()) == expected


@pytest.mark.parametrize("config", CONFIGS)
def test_parameters_and_flops_by_formula_equal_those_of_the_model(config, T=5):
    with torch.device("meta"):
        model = GPT(config)
    by_part = count_parameters(config)
    assert sum(by_part.values()) == sum(p.numel() for p in model.parameters())
    counted = {"attention": ".attn.", "feed-forward": ".mlp.", "norms": "ln_"}
    for part, piece in counted.items():
        own = [p.numel() for name, p in model.named_parameters() if piece in name]
        assert by_part[part] == sum(own), part
    parts = [*model.h.parameters(), *model.ln_f.parameters()]
    assert non_embedding(config) == sum(p.numel() for p in parts)
    with FlopCounterMode(display=False) as counter:  # the fused kernel, which it does not know,
        model(torch.zeros(1, T, dtype=torch.long, device="meta"))  # is not used there
    assert counter.get_total_flops() == sum(forward_flops(config, T).values())


@pytest.mark.parametrize("config", CONFIGS)
def test_cache_bytes_equal_those_of_a_full_cache(config):
    model = GPT(config)
    cache = model.new_cache()
    model(torch.zeros(1, config.context_length, dtype=torch.long), cache=cache)
    held = sum(x.numel() * x.element_size() for layer in cache for x in (layer.k, layer.v))
    assert held == cache_bytes(config)


def kept_for_backward(model, ids):
    """Bytes of all different tensors that autograd keeps of one forward pass, parameters aside."""
    own = {p.untyped_storage().data_ptr() for p in model.parameters()}
    kept = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = (storage.nbytes(), tensor)  # held, or memory is used again
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        logits = model(ids)
    assert logits.requires_grad
    return sum(size for size, _ in kept.values())


@pytest.mark.parametrize("config", CONFIGS)
def test_activation_bytes_equal_what_autograd_keeps(config, B=3, T=5):
    kept = kept_for_backward(GPT(config), torch.zeros(B, T, dtype=torch.long))
    assert kept == activation_bytes(config, B, T)


COUNTS = [count_parameters, forward_flops, cache_bytes, lambda config: activation_bytes(config, 1)]


@pytest.mark.parametrize("count", COUNTS)
def test_the_config_of_another_model_is_refused_and_dropout_which_keeps_masks(
    plain_signatures, count
):
    with pytest.raises(ValueError, match="got a SpeedrunConfig, expected a GPTConfig"):
        count(SpeedrunConfig(11, 8, 16, 2, 1))
    with pytest.raises(ValueError, match=r"dropout=0\.1 is not counted"):
        activation_bytes(GPTConfig(11, 8, 16, 2, 1, dropout=0.1), 1)


LAW = ScalingLaw(E=1.69, A=406.4, alpha=0.34, B=410.7, beta=0.28)  # Hoffmann et al. 2022
N, D = np.meshgrid([1e7, 1e8, 1e9, 1e10], [1e9, 1e10, 1e11])


def test_a_law_is_found_again_from_its_own_losses_and_one_wild_run_does_not_move_it():
    losses = LAW(N, D)
    found = fit_law(N, D, losses)
    for name in ("E", "A", "alpha", "B", "beta"):
        assert getattr(found, name) == pytest.approx(getattr(LAW, name), rel=1e-2), name
    losses[1, 1] *= 1.5
    assert fit_law(N, D, losses).alpha == pytest.approx(LAW.alpha, rel=0.1)


def test_bootstrap_covers_the_law_and_repeats_with_its_seed():
    noise = np.random.default_rng(0).normal(1, 1e-3, N.shape)
    laws = bootstrap(N, D, LAW(N, D) * noise, repeats=6, seed=1)
    alphas = [law.alpha for law in laws]
    assert min(alphas) < LAW.alpha < max(alphas) and len(set(alphas)) > 1
    assert laws[:2] == bootstrap(N, D, LAW(N, D) * noise, repeats=2, seed=1)


def test_best_allocation_is_a_minimum_on_its_budget():
    flops = 5.76e23  # Chinchilla's
    n, d = LAW.best_allocation(flops)
    assert 6 * n * d == pytest.approx(flops)
    for factor in (0.9, 1.1):
        assert LAW(n * factor, d / factor) > LAW(n, d)


def test_runs_that_make_no_sense_are_refused():
    for n, tokens, loss, words in (
        (5, 1.0, 1.0, "got 5 runs, expected at least 6"),
        (6, 1.0, float("nan"), "positive and finite"),
        (6, 0.0, 1.0, "positive and finite"),
    ):
        with pytest.raises(ValueError, match=words):
            fit_law([1.0] * n, [tokens] * n, [1.0] * (n - 1) + [loss])
