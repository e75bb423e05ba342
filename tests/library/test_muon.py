"""Muon: orthogonal steps for matrices, AdamW's for the rest, and runs that resume."""

import pytest
import torch
from short_run import small_gpt
from torch import nn

from scratchformer.models import Llama, LlamaConfig
from scratchformer.training import train
from scratchformer.training.muon import Muon, matrix_groups, newton_schulz


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


def test_the_step_is_pytorchs_muon_and_for_other_groups_adamws():
    if not hasattr(torch.optim, "Muon"):
        pytest.skip(f"torch {torch.__version__} has no Muon to compare with")
    torch.manual_seed(0)
    shapes = (24, 8), (8, 8), (4, 4)  # the last is AdamW's
    ours = [nn.Parameter(torch.randn(shape)) for shape in shapes]
    theirs = [nn.Parameter(p.detach().clone()) for p in ours]
    options = {"lr": 0.02, "weight_decay": 0.1}
    groups = [{"params": ours[:2], "muon": True}, {"params": ours[2:]}]
    optimizers = [Muon(groups, momentum=0.8, **options)]
    optimizers += [torch.optim.Muon(theirs[:2], momentum=0.8, **options)]
    optimizers += [torch.optim.AdamW(theirs[2:], **options)]
    for step in range(4):
        for a, b in zip(ours, theirs, strict=True):
            a.grad = torch.randn(a.shape, generator=torch.Generator().manual_seed(step))
            b.grad = a.grad.clone()
        for optimizer in optimizers:
            optimizer.step()
    for a, b in zip(ours[:2], theirs[:2], strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=2e-3)  # both iterate in bfloat16
    assert torch.equal(ours[2], theirs[2])


@pytest.mark.parametrize("model", [small_gpt(), Llama(LlamaConfig(11, 8, 16, 2, 2, tied=False))])
def test_muon_takes_the_matrices_of_the_blocks_and_nothing_else(model):
    names = {id(p): name for name, p in model.named_parameters()}
    inside = {name for name, p in model.named_parameters()
              if p.dim() == 2 and name.startswith(("h.", "layers."))}  # fmt: skip
    groups = matrix_groups(model, 1e-2, 3e-2, 0.1)
    assert {names[id(p)] for p in groups[0]["params"]} == inside
    assert [{p.dim() for p in group["params"]} for group in groups] == [{2}, {2}, {1}]
    assert sorted(names) == sorted(id(p) for group in groups for p in group["params"])
    assert [group["lr"] for group in groups] == [3e-2, 1e-2, 1e-2]
    assert [group["weight_decay"] for group in groups] == [0.1, 0.1, 0.0]


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_run_with_muon_and_without_replacement_resumes_exactly(tmp_path, monkeypatch, precision):
    rates, given = [], set()

    class Watched(Muon):
        def step(self):
            rates.append([group["lr"] for group in self.param_groups])
            given.add((self.dtype, self.momentum))
            super().step()

    monkeypatch.setattr("scratchformer.training.config.Muon", Watched)
    ids = torch.randint(4, (200,), generator=torch.Generator().manual_seed(0))
    settings = {"batch_size": 4, "context_length": 8, "sampling": {"replacement": False}}
    settings |= {"steps": 4, "lr": 1e-2, "muon_lr": 4e-2, "muon_momentum": 0.8, "seed": 0}
    settings |= {"evaluate_every": 2, "precision": precision}
    straight, again = small_gpt(), small_gpt()
    train(straight, ids, ids, **settings)
    assert rates == [[4e-2 * f, 1e-2 * f, 1e-2 * f] for f in (1.0, 0.75, 0.5, 0.25)]
    assert given == {(getattr(torch, precision), 0.8)}
    resumed = {"checkpoint": tmp_path / "run", "resume": True}
    with pytest.raises(ZeroDivisionError):  # after three steps
        train(small_gpt(), ids, ids, **settings, **resumed, callbacks=[lambda s: 1 / (s.step - 3)])
    train(again, ids, ids, **settings, **resumed)
    assert all(map(torch.equal, straight.parameters(), again.parameters()))
