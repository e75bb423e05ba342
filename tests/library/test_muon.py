"""Muon: orthogonal steps for matrices, AdamW's for the rest, and runs that resume."""

import pytest
import torch
from torch import nn

from scratchformer.training import TrainingConfig, fit, token_loss, train
from scratchformer.training.config import make_optimizer
from scratchformer.training.muon import Muon, matrix_groups, newton_schulz
from scratchformer_course.page_model.speedrun import SpeedrunConfig, SpeedrunGPT

SMALL = {"vocab_size": 11, "context_length": 8, "d_model": 16, "n_heads": 2, "n_layers": 2}


def gpt(**options):
    torch.manual_seed(0)
    return SpeedrunGPT(SpeedrunConfig(**SMALL | options))


def drawn(generator):
    x = torch.randint(11, (4, 8), generator=generator)
    return x, (x + 1) % 11


def loss(model, x, y):
    return token_loss(model(x), y)


@pytest.mark.parametrize("shape", [(3, 8, 32), (32, 8), (1, 5)])
def test_singular_values_become_about_one_and_directions_stay(shape):
    G = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    U, _, Vt = torch.linalg.svd(G, full_matrices=False)
    X = newton_schulz(G)
    # the size of a gradient has no say
    torch.testing.assert_close(newton_schulz(1000 * G), X, rtol=1e-3, atol=1e-3)
    # Jordan et al.'s coefficients trade exactness for speed: up to a third off.
    assert (torch.linalg.svdvals(X) - 1).abs().max() < 0.35
    inside = U.mT @ X @ Vt.mT  # diagonal, if U and V are X's too
    off = inside - torch.diag_embed(inside.diagonal(dim1=-2, dim2=-1))
    assert off.abs().max() < 1e-3


def test_the_step_is_pytorchs_muon():
    if not hasattr(torch.optim, "Muon"):
        pytest.skip(f"torch {torch.__version__} has no Muon to compare with")
    torch.manual_seed(0)
    ours, theirs = (
        [nn.Parameter(torch.randn(24, 8)), nn.Parameter(torch.randn(8, 8))] for _ in "12"
    )
    for a, b in zip(ours, theirs, strict=True):
        b.data.copy_(a.data)
    options = {"lr": 0.02, "weight_decay": 0.1, "momentum": 0.8}
    mine = Muon([{"params": ours, "muon": True}], **options)
    peer = torch.optim.Muon(theirs, **options)
    for step in range(4):
        for a, b in zip(ours, theirs, strict=True):
            a.grad = torch.randn(a.shape, generator=torch.Generator().manual_seed(step))
            b.grad = a.grad.clone()
        mine.step()
        peer.step()
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=2e-3)  # both iterate in bfloat16


def test_other_groups_are_adamws():
    torch.manual_seed(0)
    models = nn.Linear(4, 4), nn.Linear(4, 4)
    models[1].load_state_dict(models[0].state_dict())
    for model, kind in zip(models, (Muon, torch.optim.AdamW), strict=True):
        optimizer = kind(model.parameters(), lr=0.1, weight_decay=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.ones(2, 4)).square().sum().backward()
            optimizer.step()
    assert all(map(torch.equal, *(model.parameters() for model in models)))


@pytest.mark.parametrize("tied", [True, False])
def test_muon_takes_the_matrices_of_the_blocks_and_nothing_else(tied):
    model = gpt(tied=tied, smear=2, bigram_rows=121, value_embeddings=True)
    names = {id(p): name for name, p in model.named_parameters()}
    groups = matrix_groups(model, 1e-2, 3e-2, 0.1)
    taken = {names[id(p)] for p in groups[0]["params"]}
    layers = {f"h.{i}.{part}.weight" for i in range(2)
              for part in ("attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj")}  # fmt: skip
    assert taken == layers | {"smear.back.0.weight", "smear.back.1.weight"}
    assert sorted(names) == sorted(id(p) for group in groups for p in group["params"])
    assert [group["lr"] for group in groups] == [3e-2, 1e-2, 1e-2]
    assert [group["weight_decay"] for group in groups] == [0.1, 0.1, 0.0]


def test_adamw_can_have_a_rate_of_its_own_for_the_same_matrices():
    model = gpt()
    config = TrainingConfig(steps=1, lr=3e-2, matrix_lr=4e-3, seed=0)
    optimizer = make_optimizer(model, config)
    assert type(optimizer) is torch.optim.AdamW
    groups = matrix_groups(model, 3e-2, 4e-3, 0.1)
    for group, expected in zip(optimizer.param_groups, groups, strict=True):
        assert [id(p) for p in group["params"]] == [id(p) for p in expected["params"]]
        assert group["initial_lr"] == expected["lr"]
        assert group["weight_decay"] == expected["weight_decay"]


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_rates_of_both_kinds_fall_together_in_the_precision_of_the_run(monkeypatch, precision):
    rates, settings = [], set()

    class Watched(Muon):
        def step(self):
            rates.append([group["lr"] for group in self.param_groups])
            settings.add((self.dtype, self.momentum))
            super().step()

    monkeypatch.setattr("scratchformer.training.config.Muon", Watched)
    config = {"steps": 4, "lr": 1e-2, "muon_lr": 4e-2, "muon_momentum": 0.8, "seed": 0}
    fit(gpt(), drawn, loss, TrainingConfig(**config, precision=precision))
    assert rates == [[4e-2 * f, 1e-2 * f, 1e-2 * f] for f in (1.0, 0.75, 0.5, 0.25)]
    assert settings == {(getattr(torch, precision), 0.8)}


def test_a_run_with_muon_and_without_replacement_resumes_exactly(tmp_path):
    ids = torch.randint(11, (200,), generator=torch.Generator().manual_seed(0))
    settings = {"batch_size": 4, "context_length": 8, "sampling": {"replacement": False}}
    settings |= {"steps": 6, "lr": 1e-2, "muon_lr": 3e-2, "seed": 0, "evaluate_every": 3}
    straight, again = gpt(), gpt()
    train(straight, ids, ids, **settings)
    resumed = {"checkpoint": tmp_path / "run.safetensors", "resume": True}

    def stop(state):
        if state.step == 4:
            raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        train(gpt(), ids, ids, **settings, **resumed, callbacks=[stop])
    other = settings | resumed | {"sampling": {"replacement": True}}
    with pytest.raises(ValueError, match="a run with replacement=False, got replacement=True"):
        train(gpt(), ids, ids, **other)
    train(again, ids, ids, **settings, **resumed)
    assert all(map(torch.equal, straight.parameters(), again.parameters()))
