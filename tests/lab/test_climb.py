"""Chapter 10's rungs that write: causal, stored with their settings, as the script computes."""

import pytest
import torch

from lab import climb, runs
from scratchformer.tokenizers import CharTokenizer
from scratchformer_course.ch11_training.stored_steps import training_record

STORED = runs.read(climb.FILE)
V = STORED["settings"]["vocab_size"]


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


def test_a_frame_is_what_a_model_writes_and_expects():
    tok = CharTokenizer.train("ROMEO:\nWhence")
    pairs = climb.Pairs(torch.tensor([tok.ids["e"]] * 9), tok.vocab_size)
    with torch.no_grad():
        pairs.log_p.fill_(-20)
        pairs.log_p[:, tok.ids["h"]] = 0  # sure of one letter
    found = climb.frame(pairs, tok, 8)
    assert found["text"] == "h" * climb.WRITTEN and found["next"][0] == ["h", 1.0]


def test_stored_rungs_have_the_settings_and_the_last_two_their_records():
    pairs, *rungs, narrow, shipped = STORED["rungs"]
    assert [rung["name"] for rung in rungs] == list(climb.RUNGS)
    assert STORED["settings"] | climb.SHORT == STORED["settings"]
    for rung in rungs:
        assert rung["steps"] == climb.STEPS and len(rung["losses"]) == len(climb.SEEDS)
        found = {float(lr): loss for lr, loss in rung["development"].items()}
        assert set(found) == set(climb.RATES) and rung["lr"] == min(found, key=lambda lr: found[lr])
        assert max(rung["losses"]) < pairs["losses"][0]
    assert narrow["losses"] == [training_record()["validation"][str(narrow["steps"])]]
    assert shipped["losses"][0] < narrow["losses"][0]


def test_the_script_runs_from_end_to_end(short_text, monkeypatch):
    monkeypatch.setattr(climb, "RUNGS", dict(list(climb.RUNGS.items())[:1]))
    result = climb.main(["--quick"])
    assert [rung["name"] for rung in result["rungs"]] == [
        "table of pairs",
        "attention",
        "GPT, 48 wide",
        "GPT, 128 wide",
    ]
