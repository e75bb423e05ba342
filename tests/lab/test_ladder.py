"""The ladder: causal rungs, a fair rival, and stored figures that the chapter tells."""

import pytest
import torch

from lab import ladder, runs

V = 65
stored = runs.read(ladder.STORED)
rungs = pytest.mark.parametrize("name", list(ladder.RUNGS))


@rungs
def test_a_changed_future_token_changes_no_past_logit(name):
    model = ladder.build(name, V, seed=0)
    with torch.no_grad():
        for p in model.parameters():  # large enough that a difference shows
            p.normal_(std=0.5)
    ids = torch.randint(V, (1, 8))
    changed = ids.clone()
    changed[0, 5] = (ids[0, 5] + 1) % V
    before, after = model(ids), model(changed)
    torch.testing.assert_close(before[:, :5], after[:, :5], rtol=0, atol=1e-5)
    assert not torch.allclose(before[:, 5], after[:, 5])


@rungs
def test_batched_heads_equal_a_list_of_heads_with_the_same_weights(name):
    batched = ladder.build(name, V, seed=0)
    listed = ladder.with_list_of_heads(batched)
    ids = torch.randint(V, (4, 8))
    torch.testing.assert_close(batched(ids), listed(ids))


def test_the_two_loops_learn_the_same_from_the_same_batches():
    """The textbook's loop is a fair rival: the same gradients, the same optimizer."""
    ids = torch.arange(40) % 7
    batched = ladder.build("layer norm", 7, seed=0)
    listed = ladder.with_list_of_heads(batched)
    ladder.by_package(batched, ids, ids, 1, 1e-3, seed=3)
    ladder.by_textbook(listed, ids, 1, 1e-3, seed=3)
    for name in ("wte", "lm_head", "ln_f"):
        ours, theirs = getattr(batched, name).weight, getattr(listed, name).weight
        torch.testing.assert_close(ours, theirs, rtol=0, atol=2e-5)


def test_stored_figures_are_the_published_ones_up_to_seeds():
    for rung in stored["rungs"]:
        if published := ladder.RUNGS[rung["name"]][2]:
            assert rung["val_loss"] == pytest.approx(published, abs=0.035), rung["name"]


def test_the_script_runs_from_end_to_end(short_text, monkeypatch):
    monkeypatch.setattr(ladder, "RUNGS", dict(list(ladder.RUNGS.items())[:3]))
    result = ladder.main(["--quick"])
    assert [rung["runs"]["1337"]["at"] for rung in result["rungs"]] == [[2]] * 3
    assert set(result) >= {key for key in stored if key != "what"}
