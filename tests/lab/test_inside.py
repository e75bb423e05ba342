"""Chapter 22's instruments on vectors whose secret is known."""

import pytest
import torch

from lab import inside
from scratchformer_course.ch22_inside import play


@pytest.fixture(scope="module")
def model():
    """Untrained, with weights so large that its answers differ."""
    found = play.new_model(0)
    for p in found.parameters():
        p.data.mul_(4 if p.dim() == 2 else 1)
    return found.eval()


@pytest.fixture(scope="module")
def own(model):
    return inside.Inside(model, quick=True)


def noise(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_a_probe_finds_the_directions_that_classes_were_given():
    y = torch.arange(6).repeat(50)
    directions = torch.linalg.qr(noise(16, 6)).Q.T  # (6, C)
    x = directions[y] + 0.05 * noise(300, 16, seed=1)
    scores = inside.probe(x, y, directions)
    assert torch.equal(scores.argmax(dim=1), torch.arange(6))
    by_chance = y[torch.randperm(300, generator=torch.Generator().manual_seed(0))]
    guess = inside.probe(x[:200], by_chance[:200], x[200:]).argmax(dim=1)
    assert (guess == by_chance[200:]).float().mean() < 0.4


def test_what_is_erased_is_gone_and_nothing_else_is():
    x, directions = noise(20, 12), noise(3, 12, seed=1)
    once = inside.erase(x, directions)
    assert torch.allclose(once @ directions.T, torch.zeros(20, 3), atol=1e-4)
    assert torch.allclose(inside.erase(once, directions), once, atol=1e-5)
    assert torch.allclose(inside.erase(once, 7 * directions.flip(0)), once, atol=1e-5)


def test_the_stream_is_that_of_the_forward_pass(model):
    ids = play.pairs().clean[:3]
    kept = inside.stream(model, ids)
    assert torch.allclose(model.lm_head(model.ln_f(kept[-1])), model(ids), atol=1e-5)
    assert torch.allclose(kept[1], model.h[0](kept[0], is_causal=True), atol=1e-5)


def test_all_places_patched_restore_everything(model, own):
    pairs = own.pairs
    clean = inside.stream(model, pairs.clean)
    with inside.changed(model.h[0], lambda x: clean[1]), torch.no_grad():
        assert torch.allclose(model(pairs.other), model(pairs.clean), atol=1e-5)


def test_a_push_of_length_zero_changes_nothing(own):
    p = own.chances()
    now = own.pushed(torch.zeros(len(own.test), 64))
    assert now[1] == pytest.approx(p[own.rows, own.test.rhyme].mean().item(), abs=1e-6)
    assert (own.to != own.test.rhyme).all()
