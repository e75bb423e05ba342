"""Chapter 22's songs: what is silenced or cut is that and nothing else."""

import pytest
import torch

from lab import induction
from scratchformer_course.ch22_inside.songs import new_model


@pytest.fixture(scope="module")
def model():
    return new_model(0).eval()


@pytest.fixture(scope="module")
def ids():
    return induction.test_songs(32)


def score_by_loop(weights, ids):
    """The weight on all places after earlier plays of the present note; mean over such places."""
    found = []
    for song, maps in zip(ids.tolist(), weights, strict=True):
        for t, note in enumerate(song):
            after = [s + 1 for s in range(t) if song[s] == note]
            if after:
                found.append(maps[:, t, after].sum(dim=-1))
    return torch.stack(found).mean(dim=0)


def test_the_score_is_that_of_a_loop(model, ids):
    weights = induction.maps_of(model, ids[:, :-1])
    found = induction.induction_score(weights, ids[:, :-1])
    for block in (0, 1):
        expected = score_by_loop(weights[block], ids[:, :-1])
        assert torch.allclose(found[block], expected, atol=1e-6)


def test_the_weight_on_the_note_before_is_the_diagonal_below():
    weights = torch.zeros(1, 1, 4, 4)
    weights[0, 0, 1, 0] = weights[0, 0, 2, 1] = 0.6
    assert induction.on_the_note_before(weights).item() == pytest.approx(0.4)


def test_a_silenced_head_gives_its_mean_and_the_others_what_they_gave(model, ids):
    seen = []
    hook = model.h[0].attn.c_proj.register_forward_pre_hook(lambda m, args: seen.append(args[0]))
    induction.losses(model, ids)
    hook.remove()
    with induction.silenced(model, [(0, 2)]):
        hook = model.h[0].attn.c_proj.register_forward_pre_hook(
            lambda m, args: seen.append(args[0])
        )
        induction.losses(model, ids)
        hook.remove()
    plain, without = seen
    own = slice(16, 24)
    mean = plain[..., own].mean(dim=(0, 1)).expand_as(plain[..., own])
    assert torch.allclose(without[..., own], mean, atol=1e-6)
    assert torch.equal(without[..., :16], plain[..., :16])
    assert not model.h[0].attn.c_proj._forward_pre_hooks


def test_a_cut_of_nobody_changes_nothing_and_each_part_is_cut_alone(ids):
    model = new_model(1).eval()
    for p in model.h.parameters():
        p.data.mul_(5)  # untrained, but its heads matter
    plain = round(induction.copy_loss(model, ids), 3)
    assert all(induction.cut(model, ids, [], part) == plain for part in "qkv")
    every = [(0, head) for head in range(4)]
    assert len({induction.cut(model, ids, every, part) for part in "qkv"}) == 3
