"""Chapter 10's rungs that write: causal, and as the script computes."""

import pytest
import torch

from lab import climb, runs

V = runs.CHARACTERS


@pytest.mark.parametrize("name", list(climb.RUNGS))
def test_a_changed_future_token_changes_no_past_logit(name):
    rung, ids = climb.rung(name, V, seed=0), torch.randint(V, (1, 8))
    changed = ids.clone()
    changed[0, 5] = (ids[0, 5] + 1) % V
    before, after = rung(ids), rung(changed)
    torch.testing.assert_close(before[:, :5], after[:, :5], rtol=0, atol=1e-5)
    assert not torch.allclose(before[:, 5], after[:, 5])


def test_counted_pairs_are_a_model_whose_rows_are_shares():
    pairs = climb.Pairs(torch.tensor([0, 1, 0, 1, 1]), 2)
    p = pairs(torch.tensor([[0, 1]])).exp()
    torch.testing.assert_close(p[0], torch.tensor([[1 / 4, 3 / 4], [2 / 4, 2 / 4]]))


def test_the_script_runs_from_end_to_end(short_text, monkeypatch):
    monkeypatch.setattr(climb, "RUNGS", dict(list(climb.RUNGS.items())[:1]))
    result = climb.main(["--quick"])
    assert [rung["name"] for rung in result["rungs"]] == [
        "table of pairs",
        "attention",
        "your GPT",
        "trained for longer",
    ]
